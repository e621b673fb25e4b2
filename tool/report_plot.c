/* Plots: what all have in common, and lines by extent. */
#include "report_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "report_html.h"
#include "report_words.h"

#define HEIGHT 280.0
#define TOP 30.0
#define BOTTOM 46.0
#define RIGHT 14.0
#define MARKER 4.0

/* ---- Parts ---------------------------------------------------------------------- */

void plot_marker(FILE *out, unsigned series, double x, double y) {
	const double r = MARKER;
	switch (series % PLOT_SERIES_MAX) {
	case 0:
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, r);
		break;
	case 1:
		fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x - r * 0.9, y - r * 0.9,
		        r * 1.8, r * 1.8);
		break;
	case 2:
		fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>", x, y - r * 1.2, r * 1.2, r * 2.1, -r * 2.4);
		break;
	case 3:
		fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\"/>", x, y - r * 1.4, r * 1.4,
		        r * 1.4, -r * 1.4, r * 1.4, -r * 1.4, -r * 1.4);
		break;
	case 4:
		fprintf(out, "<path d=\"M%.1f %.1fh%.1fl%.1f %.1fz\"/>", x - r * 1.2, y - r, r * 2.4, -r * 1.2,
		        r * 2.1);
		break;
	default:
		fprintf(out, "<path class=\"x\" d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"/>", x - r, y - r, r * 2,
		        r * 2, -r * 2, -r * 2, r * 2);
		break;
	}
}

void plot_begin(FILE *out, double height, const char *title, const char *what) {
	fprintf(out, "<figure>\n<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>", PLOT_WIDTH, height);
	html_text(out, title);
	fputs("</title><desc>", out);
	html_text(out, what);
	fputs("</desc>\n", out);
}

void plot_end(FILE *out, const char *caption) {
	fputs("</svg>\n<figcaption>", out);
	html_text(out, caption);
	fputs("</figcaption>\n</figure>\n", out);
}

/* Every how many ticks have a number so that none touches the next. */
static size_t ticks_apart(double widest, double between) {
	size_t apart = 1;
	while (between * (double)apart < widest + 6 && apart < 100)
		apart++;
	return apart;
}

void plot_x_axis(FILE *out, const struct axis *axis, double left, double width, double top, double y) {
	double value, widest = 0;
	char text[32];
	size_t nr = 0;
	for (; axis_tick(axis, nr, &value, text); nr++)
		widest = fmax(widest, html_width(text));
	size_t apart = ticks_apart(widest, width / (double)(nr > 1 ? nr - 1 : 1));
	for (size_t i = 0; axis_tick(axis, i, &value, text); i++) {
		double x = left + width * axis_place(axis, value);
		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>", value == 0 ? "zero" : "grid", x, top, y);
		if (i % apart == 0)
			fprintf(out, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">%s</text>", x, y + 14, text);
	}
	fputc('\n', out);
}

unsigned plot_series_of(const struct report_group *group, size_t line) {
	static const char *const own[] = {"base", "patched", "default"};
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (strcmp(group->lines[line].label, own[i]) == 0)
			return i;
	return (unsigned)(line % PLOT_SERIES_MAX);
}

/* ---- Lines ---------------------------------------------------------------------- */

struct line_plot {
	FILE *out;
	const struct report_group *group;
	size_t metric;
	const struct axis *axis;
	double left, width;
};

static double x_of(const struct line_plot *plot, size_t column) {
	return plot->left + plot->width * ((double)column + 0.5) / (double)plot->group->nr_columns;
}

static double y_of(const struct line_plot *plot, double value) {
	return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * axis_place(plot->axis, value);
}

static void draw_frame(const struct line_plot *plot, const char *x_title) {
	FILE *out = plot->out;
	const struct report_group *group = plot->group;
	double value, widest = 0;
	char text[32];
	for (size_t i = 0; axis_tick(plot->axis, i, &value, text); i++) {
		double y = y_of(plot, value);
		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>", value == 0 ? "zero" : "grid", plot->left, y,
		        plot->left + plot->width);
		fprintf(out, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">%s</text>", plot->left - 6, y + 4, text);
	}
	for (size_t i = 0; i < group->nr_columns; i++)
		widest = fmax(widest, html_width(group->columns[i].label));
	size_t apart = ticks_apart(widest, plot->width / (double)group->nr_columns);
	for (size_t i = 0; i < group->nr_columns; i += apart) {
		fprintf(out, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">", x_of(plot, i), HEIGHT - BOTTOM + 16);
		html_text(out, group->columns[i].label);
		fputs("</text>", out);
	}
	fputs("\n<text class=\"t\" x=\"2\" y=\"14\">", out);
	html_fit(out, plot->axis->unit, PLOT_WIDTH);
	fprintf(out, "</text><text class=\"t m\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", plot->left + plot->width / 2,
	        HEIGHT - 10, x_title);
}

static void put_tip(const struct line_plot *plot, size_t line, size_t column, const struct statistics *s) {
	const char *unit = plot->group->metrics[plot->metric].unit;
	fputs("<title>", plot->out);
	html_text(plot->out, plot->group->lines[line].label);
	fputs(", ", plot->out);
	html_text(plot->out, plot->group->columns[column].label);
	fprintf(plot->out, ": %s ", html_figure(s->mean, unit).s);
	html_text(plot->out, html_unit(unit));
	if (s->has_stdev_pct)
		fprintf(plot->out, " \xc2\xb1 %.1f %%", s->stdev_pct);
	fputs("</title>", plot->out);
}

static void draw_series(const struct line_plot *plot, size_t line, unsigned series) {
	FILE *out = plot->out;
	bool drawing = false;
	fprintf(out, "<g class=\"s%u\"><path class=\"line\" d=\"", series);
	for (size_t c = 0; c < plot->group->nr_columns; c++) {
		const struct results_measured *run = report_at(plot->group, line, c, plot->metric);
		if (run)
			fprintf(out, "%s%.1f %.1f", drawing ? "L" : "M", x_of(plot, c), y_of(plot, run->mean));
		drawing = run != NULL;
	}
	fputs("\"/>\n", out);
	for (size_t c = 0; c < plot->group->nr_columns; c++) {
		const struct results_measured *run = report_at(plot->group, line, c, plot->metric);
		if (!run)
			continue;
		struct statistics s = report_statistics(run);
		fputs("<g>", out);
		put_tip(plot, line, c, &s);
		if (s.has_stdev)
			fprintf(out, "<path class=\"whisker\" d=\"M%.1f %.1fV%.1f\"/>", x_of(plot, c),
			        y_of(plot, s.mean - s.stdev), y_of(plot, s.mean + s.stdev));
		plot_marker(out, series, x_of(plot, c), y_of(plot, s.mean));
		fputs("</g>\n", out);
	}
	fputs("</g>\n", out);
}

static void put_legend(FILE *out, const struct report_group *group, size_t first, size_t last) {
	fputs("</svg>\n<ul class=\"legend\">", out);
	for (size_t i = first; i < last; i++) {
		unsigned series = plot_series_of(group, i);
		fprintf(out,
		        "<li><svg class=\"key\" viewBox=\"0 0 24 12\" aria-hidden=\"true\"><g class=\"s%u\">"
		        "<path class=\"line\" d=\"M0 6H24\"/>",
		        series);
		plot_marker(out, series, 12, 6);
		fputs("</g></svg>", out);
		html_text(out, group->lines[i].label);
		fputs("</li>", out);
	}
	fputs("</ul>\n", out);
}

static void plot_some_lines(FILE *out, const struct report_group *group, size_t metric, const struct axis *axis,
        size_t first, size_t last) {
	struct line_plot plot = {.out = out, .group = group, .metric = metric, .axis = axis};
	double value, widest = 0;
	char text[32];
	for (size_t i = 0; axis_tick(axis, i, &value, text); i++)
		widest = fmax(widest, html_width(text));
	plot.left = widest + 12;
	plot.width = PLOT_WIDTH - RIGHT - plot.left;
	char *words = report_metric_words(group->metrics[metric].name);
	char title[512];
	snprintf(title, sizeof(title), "%s by extent, %s", words ? words : "", axis->unit);
	free(words);
	plot_begin(out, HEIGHT, title, group->title);
	draw_frame(&plot, "extent");
	for (size_t i = first; i < last; i++)
		draw_series(&plot, i, plot_series_of(group, i));
	put_legend(out, group, first, last);
	fputs("<figcaption>", out);
	html_text(out, title);
	fputs(": mean and standard deviation.", out);
	if (last == PLOT_LINES_MAX && group->nr_lines > last)
		fprintf(out, " %s more are in the table alone.", hc_counted(group->nr_lines - last, "line").s);
	fputs("</figcaption>\n</figure>\n", out);
}

void plot_lines(FILE *out, const struct report_group *group, size_t metric) {
	double low = INFINITY, high = -INFINITY;
	for (size_t i = 0; i < group->nr_cases; i++) {
		if (!group->cases[i].runs[metric] || group->cases[i].line >= PLOT_LINES_MAX)
			continue;
		struct statistics s = report_statistics(group->cases[i].runs[metric]);
		double spread = s.has_stdev ? s.stdev : 0;
		low = fmin(low, fmin(s.mean, s.mean < 0 ? s.mean - spread : s.mean));
		high = fmax(high, s.mean + spread);
	}
	struct axis axis;
	if (!axis_make(low, high, group->metrics[metric].unit, &axis))
		return;
	size_t nr = group->nr_lines < PLOT_LINES_MAX ? group->nr_lines : PLOT_LINES_MAX;
	for (size_t first = 0, last; first < nr; first = last) {
		/* Where there are many, methods stand apart from what is built of them. */
		last = first;
		while (last < nr && last - first < PLOT_SERIES_MAX &&
		        (nr <= PLOT_SERIES_MAX || group->lines[last].is_method == group->lines[first].is_method))
			last++;
		plot_some_lines(out, group, metric, &axis, first, last);
	}
}
