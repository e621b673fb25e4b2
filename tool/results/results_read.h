/*
 * Result files read: hugeclear-results/1, of this program or written by hand.
 * hugeclear-results(5) describes the format. Nothing of a file is believed: what is missing, twice, too
 * large or of another kind is an error with the file's name and the place.
 */
#ifndef HC_RESULTS_READ_H
#define HC_RESULTS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

/* Larger files are refused: 1,000 runs of 1,000 samples are 20 MB. */
#define RESULTS_BYTES_MAX ((size_t)128 << 20)

/* One quantity of one case, as it was measured in one process. All belongs to the document. */
struct results_measured {
	const char *bench, *metric; /* metric "": the file names none */
	const char *unit;
	bool higher_is_better;
	json_t *params; /* the case: an object; whole numbers are integers, however they were written */
	json_t *got;    /* an object, or NULL */
	bool below_clock;
	/* Bench, metric and case in one canonical line: equal where the work is. */
	char *key;
	/* NULL, 0 for a published table, which has only the rest. Finite. */
	double *samples;
	size_t nr_samples;
	/* Worked out from the samples where there are some, else as the file says. */
	double mean, median; /* the median of a published table is its mean, for want of another */
	bool has_stdev;
	double stdev;
	size_t n; /* 0: unknown */
};

struct results_document {
	char *name;     /* the path it was read from */
	json_t *host;   /* an object; empty where the file has none */
	json_t *notes;  /* an array of strings; empty where the file has none */
	json_t *source; /* where a published table is from: a string, or NULL */
	/* Equal in two files that were measured side by side, as a pair; "": none. */
	const char *round;
	bool interrupted;
	struct results_measured *runs; /* as in the file */
	size_t nr_runs;
	json_t *words; /* what the runs' words belong to */
};

/*
 * Reads path; "-" is standard input.
 *
 * Returns 0 and a document for results_document_free(), or a negative errno with a detail that begins
 * with the path: what opening and reading say; -EISDIR; -EFBIG; -EPROTONOSUPPORT for another schema, or a newer
 * one; -EBADMSG for what isn't a results file, with line and column or the run's place; -ENOMEM.
 */
int results_read(const char *path, struct results_document **ret_document);

/* The same from len bytes in memory; name is for messages. */
int results_read_text(const char *text, size_t len, const char *name, struct results_document **ret_document);

/* Takes and returns NULL. */
struct results_document *results_document_free(struct results_document *document);

#endif
