/*
 * Result files, hugeclear-results/1: building the document and writing it whole
 * or not at all. hugeclear-results(5) describes the format.
 */
#ifndef HC_RESULTS_WRITE_H
#define HC_RESULTS_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#define RESULTS_SCHEMA "hugeclear-results/1"

/* ---- The document -------------------------------------------------------- */

/* A number, or null where it isn't finite: JSON has no NaN. NULL: no memory. */
json_t *results_number(double value);

/* A document without runs. Takes host, also when it fails. NULL: no memory. */
json_t *results_new(json_t *host);

/* One quantity of one case. All is copied or borrowed, nothing is taken. */
struct results_run {
	const char *bench, *metric, *unit;
	bool higher_is_better;
	json_t *params;   /* the "case": what defines the work and nothing else */
	json_t *got;      /* what is worth knowing about how it was done: an object, or NULL */
	bool below_clock; /* the samples are too short for the clock */
	const double *samples;
	size_t nr_samples;
	const double *warmup;
	size_t nr_warmup;
};

/*
 * Appends a run, with its mean, deviation and the samples that are far off. Where one of the first earlier runs of the
 * document is the same bench, metric and case, the samples are added to that: a file has each once.
 * -EINVAL without samples; -ENOMEM.
 */
int results_add(json_t *document, const struct results_run *run, size_t earlier);

/* ---- The file ------------------------------------------------------------ */

struct results_file;

/*
 * Gets ready to write path and finds out now, before anything is measured,
 * whether it can be: the folder takes new files, path isn't a folder or write-protected.
 * path itself isn't touched. "-" is standard output; a device or a pipe is written to directly; a
 * symbolic link is followed.
 *
 * Returns 0 and an object for results_file_close(), or a negative errno with a detail.
 */
int results_file_open(const char *path, struct results_file **ret_file);

/*
 * Writes the document: into a new file in the same folder, synced, and renamed
 * over path. On a failure path is as it was and nothing is left beside it.
 */
int results_file_commit(struct results_file *file, const json_t *document);

/* Takes and returns NULL. */
struct results_file *results_file_close(struct results_file *file);

#endif
