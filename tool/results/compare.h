/*
 * Base against patched: two sides of result files made into rows of one case each, with the change, the interval
 * of it, and a verdict.
 *
 * What is measured in one process isn't independent: its pages, its caches, its placement are the same in all samples. So
 * where a side has several files, one a process run or a boot, a run is one value, its median, and the
 * statistics are those of the runs. With one file a side they are those of the samples, which says
 * nothing about another run, so there is no verdict.
 *
 * Runs that were measured side by side, in rounds (results_document.round), are compared round by round: the change is
 * that of the rounds, and what both sides of a round met takes no part.
 */
#ifndef HC_RESULTS_COMPARE_H
#define HC_RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "results/results_read.h"

/* The part of intervals that doesn't hold the true change; verdicts of all rows together are wrong this often. */
#define COMPARE_ALPHA 0.05

enum { COMPARE_BASE, COMPARE_PATCHED, COMPARE_SIDES };

/* Result files of one side. Belongs to the caller, and stays until the comparison is freed. */
struct compare_side {
	struct results_document **documents;
	size_t nr_documents;
};

enum compare_verdict {
	COMPARE_NO_VERDICT, /* one run on a side */
	COMPARE_FASTER,     /* better, in the sense of the metric */
	COMPARE_SLOWER,
	COMPARE_NO_DIFFERENCE,
	COMPARE_CANNOT_SAY,
	COMPARE_NR_VERDICTS,
};

/* "faster", "slower", "no difference seen", "cannot say"; "no verdict" for the first. */
extern const char *const compare_verdict_names[COMPARE_NR_VERDICTS];

struct compare_value {
	double value; /* in the row's unit: the mean of the runs' medians, or of one run the mean */
	bool has_stdev, has_stdev_pct;
	double stdev, stdev_pct; /* of runs, or of one run's samples */
	double median;           /* of the runs' medians, or of the samples */
	size_t n;                /* of what: runs, or one run's samples; 0: unknown */
	size_t nr_runs;          /* files that have the case */
	size_t nr_far;           /* runs or samples that are far from the others */
	double farthest;         /* one of them */
};

struct compare_row {
	const struct results_measured *sides[COMPARE_SIDES]; /* the first of each: bench, metric, case, direction */
	const char *unit;                                    /* base's */
	const char *converted_from;                          /* patched's, where it is another; else NULL */
	struct compare_value values[COMPARE_SIDES];
	bool has_change;   /* false where base is 0 */
	double change_pct; /* of the value, whatever is better */
	double speedup;    /* how many times as fast: above 1 is better for either direction. 0: not a number */
	bool within_run;   /* the statistics are of samples */
	bool paired;       /* they are of rounds, and so is the change */
	bool has_interval;
	double low_pct, high_pct; /* of change_pct, at 95 % */
	bool has_test;
	double t, df, p; /* Welch's; of rounds Student's */
	enum compare_verdict verdict;
	char why[120]; /* what a reader must know of the verdict or its absence; may be "" */
};

struct comparison {
	struct compare_row *rows; /* in the order of base's first file */
	size_t nr_rows;
	/* Lines for people. */
	char **refused; /* what is the same work and can't be compared */
	size_t nr_refused;
	char **unmatched; /* what only one side has, and by what it differs from the nearest of the other */
	size_t nr_unmatched;
	char **notes; /* different hosts, interrupted runs, few runs */
	size_t nr_notes;
};

struct compare_opts {
	/* Names of case parameters that may differ, as they are what is compared; ended by NULL, or NULL. */
	char **across;
	/* Metrics to compare, ended by NULL; NULL: all. Verdicts allow for the number of rows: fewer see smaller changes. */
	char **metrics;
};

/*
 * Returns 0 and a comparison, perhaps without rows; -EINVAL where a file has a case twice when across is left
 * out of it; -ENOMEM.
 */
int compare(const struct compare_side sides[COMPARE_SIDES], const struct compare_opts *opts,
        struct comparison **ret_comparison);

/* Takes and returns NULL. */
struct comparison *comparison_free(struct comparison *comparison);

/*
 * Which parameters to compare across where two files have no work in common, but one run of each metric each: all
 * in which these differ. *ret_across is owned by the caller, each name and the list, which NULL ends; NULL where
 * work is in common or it isn't clear which runs belong together. 0 or -ENOMEM.
 */
int compare_find_across(
        const struct results_document *base, const struct results_document *patched, char ***ret_across);

/* How much worse patched is than base in percent, in the sense of the metric; 0 where it isn't. */
double compare_loss_pct(const struct compare_row *row);

/* ---- Parts ------------------------------------------------------------------------- */

/* Appends a line to a list of them. -ENOMEM. */
int compare_add_line(char ***lines, size_t *nr_lines, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A parameter of a case as people write it: "page_size=2M", "function=demand". Freed by the caller; NULL: no memory. */
char *compare_param_text(const char *name, const json_t *value);

#endif
