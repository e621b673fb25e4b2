/* Plots with a row a case: bars, and every sample as a dot. */
#include "report_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "report_html.h"
#include "report_words.h"

#define ROW 18.0
#define TOP 6.0
#define BOTTOM 40.0
#define GAP 8.0
#define LABEL_MAX 150.0

struct row_plot {
	const struct report_group *group;
	size_t metric;
	const struct axis *axis;
	double label_width, left, width;
	/* What is in the band of a row, and the number behind it. */
	void (*draw)(FILE *out, const struct row_plot *plot, const struct results_measured *run, double y);
	double (*figure)(const struct statistics *s);
	const char *kind, *caption;
	bool thinned; /* more samples than dots */
};

static double x_of(const struct row_plot *plot, double value) {
	return plot->left + plot->width * axis_place(plot->axis, value);
}

static double mean_of(const struct statistics *s) {
	return s->mean;
}

static double median_of(const struct statistics *s) {
	return s->median;
}

/* ---- The band of a row ---------------------------------------------------------- */

static void draw_bar(FILE *out, const struct row_plot *plot, const struct results_measured *run, double y) {
	struct statistics s = report_statistics(run);
	double zero = x_of(plot, 0), x = x_of(plot, s.mean);
	fprintf(out, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", fmin(zero, x), y + 3,
	        fabs(x - zero), ROW - 6);
	if (s.has_stdev)
		fprintf(out, "<path class=\"whisker out\" d=\"M%.1f %.1fH%.1f\"/>", x_of(plot, s.mean - s.stdev),
		        y + ROW / 2, x_of(plot, s.mean + s.stdev));
}

/* From top to bottom in the order in which they were measured: a drift is a slope. */
static void draw_dots(FILE *out, const struct row_plot *plot, const struct results_measured *run, double y) {
	size_t n = run->nr_samples < PLOT_DOTS_MAX ? run->nr_samples : PLOT_DOTS_MAX;
	for (size_t i = 0; i < n; i++) {
		double value = run->samples[i * run->nr_samples / n];
		fprintf(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\"/>", x_of(plot, value),
		        y + 4 + (ROW - 8) * (n > 1 ? (double)i / (double)(n - 1) : 0.5));
	}
	double x = x_of(plot, report_statistics(run).median);
	fprintf(out, "<path class=\"median\" d=\"M%.1f %.1fV%.1f\"/>", x, y + 1.5, y + ROW - 1.5);
}

/* ---- Figures -------------------------------------------------------------------- */

static void draw_row(FILE *out, const struct row_plot *plot, const struct report_case *c, double y) {
	const struct results_measured *run = c->runs[plot->metric];
	const char *unit = plot->group->metrics[plot->metric].unit;
	struct statistics s = report_statistics(run);
	double value = plot->figure(&s);
	fprintf(out, "<g class=\"s%u\"><title>", plot_series_of(plot->group, c->line));
	html_text(out, plot->group->lines[c->line].label);
	if (*plot->group->columns[c->column].label)
		fputs(", ", out);
	html_text(out, plot->group->columns[c->column].label);
	fprintf(out, ": %s ", html_figure(value, unit).s);
	html_text(out, html_unit(unit));
	fprintf(out, "</title><text x=\"2\" y=\"%.1f\">", y + 13);
	html_fit(out, plot->group->lines[c->line].label, plot->label_width);
	fputs("</text>", out);
	plot->draw(out, plot, run, y);
	fprintf(out, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", PLOT_WIDTH - 2, y + 13,
	        html_figure(value, unit).s);
}

/* Cases [first, last), those that have the metric; headed by their column where there are several. */
static void plot_figure(FILE *out, const struct row_plot *plot, size_t first, size_t last, bool more) {
	const struct report_group *group = plot->group;
	bool headed = group->nr_columns > 1;
	size_t rows = 0, before = SIZE_MAX;
	for (size_t i = first; i < last; i++) {
		if (!group->cases[i].runs[plot->metric])
			continue;
		rows += 1 + (headed && group->cases[i].column != before);
		before = group->cases[i].column;
	}
	double height = TOP + ROW * (double)rows + BOTTOM, y = TOP;
	char *words = report_metric_words(group->metrics[plot->metric].name);
	char title[512];
	snprintf(title, sizeof(title), "%s%s, %s", words ? words : "", plot->kind, plot->axis->unit);
	free(words);
	plot_begin(out, height, title, group->title);
	plot_x_axis(out, plot->axis, plot->left, plot->width, TOP, height - BOTTOM + 2);
	before = SIZE_MAX;
	for (size_t i = first; i < last; i++) {
		const struct report_case *c = &group->cases[i];
		if (!c->runs[plot->metric])
			continue;
		if (headed && c->column != before) {
			fprintf(out, "<text class=\"h\" x=\"2\" y=\"%.1f\">", y + 14);
			html_fit(out, group->columns[c->column].label, plot->label_width);
			fputs("</text>\n", out);
			y += ROW;
		}
		before = c->column;
		draw_row(out, plot, c, y);
		y += ROW;
	}
	fprintf(out, "<text class=\"t m\" x=\"%.1f\" y=\"%.1f\">", plot->left + plot->width / 2, height - 6);
	html_fit(out, plot->axis->unit, plot->width);
	fputs("</text>\n", out);
	char caption[1024];
	snprintf(caption, sizeof(caption), "%s: %s%s%s", title, plot->caption,
	        plot->thinned ? " Where a case has more than 200 samples, 200 of them are drawn, evenly chosen." : "",
	        more ? " More cases are in the tables alone." : "");
	plot_end(out, caption);
}

static void plot_rows(FILE *out, struct row_plot *plot) {
	const struct report_group *group = plot->group;
	double widest = 0, widest_figure = 0;
	for (size_t i = 0; i < group->nr_cases; i++) {
		const struct results_measured *run = group->cases[i].runs[plot->metric];
		if (!run)
			continue;
		struct statistics s = report_statistics(run);
		widest = fmax(widest, html_width(group->lines[group->cases[i].line].label));
		widest_figure = fmax(
		        widest_figure, html_width(html_figure(plot->figure(&s), group->metrics[plot->metric].unit).s));
		plot->thinned = plot->thinned || (plot->draw == draw_dots && run->nr_samples > PLOT_DOTS_MAX);
	}
	/* Headings are bold. */
	for (size_t i = 0; group->nr_columns > 1 && i < group->nr_columns; i++)
		widest = fmax(widest, 1.1 * html_width(group->columns[i].label));
	plot->label_width = fmin(widest, LABEL_MAX);
	plot->left = 2 + plot->label_width + GAP;
	plot->width = PLOT_WIDTH - 2 - widest_figure - GAP - plot->left;

	size_t first = 0;
	for (size_t figure = 0; figure < PLOT_ROW_FIGURES_MAX && first < group->nr_cases; figure++) {
		/* As many columns as there is room for; of a longer one, a part. */
		size_t last = first;
		while (last < group->nr_cases) {
			size_t end = last;
			while (end < group->nr_cases && group->cases[end].column == group->cases[last].column)
				end++;
			if (last > first && end - first > PLOT_ROWS_MAX)
				break;
			last = end - first > PLOT_ROWS_MAX ? first + PLOT_ROWS_MAX : end;
			if (last < end)
				break;
		}
		plot_figure(out, plot, first, last, figure + 1 == PLOT_ROW_FIGURES_MAX && last < group->nr_cases);
		first = last;
	}
}

void plot_bars(FILE *out, const struct report_group *group, size_t metric) {
	double low = INFINITY, high = -INFINITY;
	for (size_t i = 0; i < group->nr_cases; i++) {
		if (!group->cases[i].runs[metric])
			continue;
		struct statistics s = report_statistics(group->cases[i].runs[metric]);
		double spread = s.has_stdev ? s.stdev : 0;
		low = fmin(low, s.mean < 0 ? s.mean - spread : s.mean);
		high = fmax(high, s.mean + spread);
	}
	struct axis axis;
	if (!axis_make(low, high, group->metrics[metric].unit, &axis))
		return;
	struct row_plot plot = {.group = group,
	        .metric = metric,
	        .axis = &axis,
	        .draw = draw_bar,
	        .figure = mean_of,
	        .kind = group->shape == REPORT_BY_PAGE ? " by size of pages and function" : "",
	        .caption = "the mean as a bar and a number, the standard deviation as a line."};
	plot_rows(out, &plot);
}

void plot_samples(FILE *out, const struct report_group *group, size_t metric) {
	double low = INFINITY, high = -INFINITY;
	bool any = false;
	for (size_t i = 0; i < group->nr_cases; i++) {
		const struct results_measured *run = group->cases[i].runs[metric];
		for (size_t j = 0; run && j < run->nr_samples; j++) {
			low = fmin(low, run->samples[j]);
			high = fmax(high, run->samples[j]);
		}
		any = any || (run && run->nr_samples > 1);
	}
	struct axis axis;
	if (!any || !axis_make(low, high, group->metrics[metric].unit, &axis))
		return;
	struct row_plot plot = {.group = group,
	        .metric = metric,
	        .axis = &axis,
	        .draw = draw_dots,
	        .figure = median_of,
	        .kind = ", every sample",
	        .caption = "a dot each, from top to bottom in the order of the loops; the line and the number are the "
	                   "median."};
	plot_rows(out, &plot);
}
