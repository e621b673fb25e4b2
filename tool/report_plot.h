/*
 * Plots of the report: inline SVG as figures, made of the same numbers as its tables. Colours come from the
 * page's style by class, and series differ in shape as well.
 */
#ifndef HC_TOOL_REPORT_PLOT_H
#define HC_TOOL_REPORT_PLOT_H

#include <stdio.h>

#include "report_axis.h"
#include "report_groups.h"

/* Series in one plot, which have a colour and a shape each; plots of one group. */
#define PLOT_SERIES_MAX 6
#define PLOT_LINES_MAX 24
/* Rows in one plot, plots of one group; dots in a row. */
#define PLOT_ROWS_MAX 30
#define PLOT_ROW_FIGURES_MAX 4
#define PLOT_DOTS_MAX 200

/* The metric by extent, a line a way of clearing. */
void plot_lines(FILE *out, const struct report_group *group, size_t metric);

/* The metric of each case as a bar. */
void plot_bars(FILE *out, const struct report_group *group, size_t metric);

/* Every sample of each case as a dot; nothing where no case has two. */
void plot_samples(FILE *out, const struct report_group *group, size_t metric);

/* ---- Parts ---------------------------------------------------------------------- */

/* Which colour and shape, from 0. */
void plot_marker(FILE *out, unsigned series, double x, double y);

/* Begins a figure with its SVG, and ends it with its caption. title and what are escaped here. */
void plot_begin(FILE *out, double height, const char *title, const char *what);
void plot_end(FILE *out, const char *caption);

/* An axis along x, from left for width at y: ticks with their numbers below, lines up to top. */
void plot_x_axis(FILE *out, const struct axis *axis, double left, double width, double top, double y);

/* The series' number of a line: base, patched and default have their own. */
unsigned plot_series_of(const struct report_group *group, size_t line);

#endif
