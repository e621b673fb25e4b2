/*
 * What of a results file belongs into one table and one plot: the runs of one benchmark that
 * differ in what is put side by side alone: ways of clearing by extents, ways to get memory by sizes of pages.
 * Cases of benchmarks that aren't known are listed.
 */
#ifndef HC_TOOL_REPORT_GROUPS_H
#define HC_TOOL_REPORT_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "results/results_read.h"
#include "results/statistics.h"

/* More places side by side are listed one below the other. */
#define REPORT_COLUMNS_MAX 24
/* Metrics of one group. */
#define REPORT_METRICS_MAX 24

enum report_shape { REPORT_BY_EXTENT, REPORT_BY_PAGE, REPORT_LIST };

struct report_metric {
	const char *name, *unit; /* the document's */
	bool higher_is_better;
};

struct report_line {
	char *label;  /* "base", "avx2-nt", "populate, futex" */
	char *intent; /* or NULL */
	bool is_base, is_method;
};

struct report_column {
	char *label; /* "2 MiB"; "" in a list */
	double place;
};

struct report_case {
	size_t line, column;
	const struct results_measured *runs[REPORT_METRICS_MAX]; /* NULL: not measured */
};

struct report_group {
	enum report_shape shape;
	const char *bench;
	char *title; /* what all cases have in common: "64 MiB, 2 MiB THP pages, 1 thread" */
	struct report_metric metrics[REPORT_METRICS_MAX];
	size_t nr_metrics;
	size_t main; /* the metric that is plotted */
	struct report_line *lines;
	size_t nr_lines;
	struct report_column *columns; /* ascending */
	size_t nr_columns;
	struct report_case *cases; /* by columns, then lines */
	size_t nr_cases;
};

struct report_groups {
	struct report_group **groups;
	size_t nr_groups;
};

/* Returns 0 and groups that borrow from the document, for report_groups_free(); or -ENOMEM. */
int report_groups_of(const struct results_document *document, struct report_groups *ret_groups);

/* Leaves it empty. */
void report_groups_free(struct report_groups *groups);

/* The run of a metric at a place, or NULL. pre: the group isn't a list */
const struct results_measured *report_at(const struct report_group *group, size_t line, size_t column, size_t metric);

/* The run that run is a change of: function base at the same place. NULL where there is none, or it is that. */
const struct results_measured *report_base_of(
        const struct report_group *group, const struct report_case *c, size_t metric);

/* Of the samples, or what the file says; n 0 is unknown. min and max are NAN, and median the mean, without samples. */
struct statistics report_statistics(const struct results_measured *run);

#endif
