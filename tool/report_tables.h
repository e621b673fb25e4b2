/*
 * The tables of the report. Every figure is in a cell with data-value, the number in 17 digits, and
 * data-stat; data-bench, data-metric and data-case are at the cell or at its row.
 */
#ifndef HC_TOOL_REPORT_TABLES_H
#define HC_TOOL_REPORT_TABLES_H

#include <stdio.h>

#include "report_groups.h"

/* Means of the metric: lines by columns, with deviation and the change from base. Nothing for a list. */
void table_matrix(FILE *out, const struct report_group *group, size_t metric);

/* Means of all metrics but one: cases by metrics. */
void table_metrics(FILE *out, const struct report_group *group, size_t without);

/* All statistics of all cases and metrics. */
void table_figures(FILE *out, const struct report_group *group);

/* A box that scrolls sideways where its table is too wide for the page. */
void table_begin(FILE *out, const char *title);
void table_end(FILE *out);

/* Which run it is, as attributes of the row or cell. */
void table_identity(FILE *out, const struct results_measured *run);

#endif
