#include "report_compare.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "base/error.h"
#include "report_html.h"
#include "report_plot.h"
#include "report_tables.h"
#include "report_words.h"

/* Lines of each kind, and files of a side, that are shown. */
#define LINES_MAX 100
/* A row of the plot: its name, and below it the interval. */
#define ROW 36.0
#define TOP 6.0
#define BOTTOM 42.0
#define EDGE 12.0

struct section {
	FILE *out;
	const struct comparison *comparison;
	json_t *common; /* parameters that all rows have */
	bool one_bench, one_metric;
	char **labels; /* of rows: what tells them apart */
};

/* ---- Names of rows -------------------------------------------------------------- */

static int find_common(struct section *section) {
	const struct comparison *comparison = section->comparison;
	const struct results_measured *first = comparison->rows[0].sides[COMPARE_BASE];
	section->one_bench = section->one_metric = true;
	section->common = json_copy(first->params);
	for (size_t i = 1; i < comparison->nr_rows && section->common; i++) {
		const struct results_measured *run = comparison->rows[i].sides[COMPARE_BASE];
		const char *name;
		void *next;
		json_t *value;
		section->one_bench = section->one_bench && strcmp(run->bench, first->bench) == 0;
		section->one_metric = section->one_metric && strcmp(run->metric, first->metric) == 0;
		json_object_foreach_safe(section->common, next, name, value) {
			if (!json_equal(value, json_object_get(run->params, name)))
				json_object_del(section->common, name);
		}
	}
	return section->common ? 0 : -ENOMEM;
}

/* "map, throughput, populate, 2 MiB THP pages", without what all have in common. NULL: no memory. */
static char *label_of(const struct section *section, const struct results_measured *run) {
	json_t *rest = json_copy(run->params);
	const char *name;
	json_t *value;
	/* A size of pages without the kind of pages says the wrong thing, and the other way round. */
	bool split = rest && (json_object_get(section->common, "page_size") == NULL) !=
	                             (json_object_get(section->common, "backing") == NULL);
	json_object_foreach(section->common, name, value) {
		if (!split || (strcmp(name, "page_size") != 0 && strcmp(name, "backing") != 0))
			json_object_del(rest, name);
	}
	char *words = rest ? report_words_of(rest) : NULL, *metric = report_metric_words(run->metric), *label = NULL;
	const char *place = report_metric_place(run->metric);
	if (words && metric &&
	        asprintf(&label, "%s%s%s%s%s%s%s", section->one_bench ? "" : run->bench, section->one_bench ? "" : ", ",
	                section->one_metric ? "" : place, section->one_metric || !*place ? "" : ", ",
	                section->one_metric ? "" : metric, section->one_metric || !*words ? "" : ", ", words) < 0)
		label = NULL;
	if (label && !*label) {
		free(label);
		label = strdup("all");
	}
	json_decref(rest);
	free(words);
	free(metric);
	return label;
}

static int make_labels(struct section *section) {
	size_t nr = section->comparison->nr_rows;
	section->labels = calloc(nr, sizeof(char *));
	if (!section->labels || find_common(section) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		section->labels[i] = label_of(section, section->comparison->rows[i].sides[COMPARE_BASE]);
		if (!section->labels[i])
			return -ENOMEM;
	}
	return 0;
}

static void free_labels(struct section *section) {
	for (size_t i = 0; section->labels && i < section->comparison->nr_rows; i++)
		free(section->labels[i]);
	free(section->labels);
	json_decref(section->common);
}

/* ---- The plot ------------------------------------------------------------------- */

/* Colour and shape by verdict, as series have them. */
static unsigned series_of(const struct compare_row *row) {
	return row->verdict == COMPARE_FASTER ? 3 : row->verdict == COMPARE_SLOWER ? 2 : 0;
}

static void draw_row(const struct section *section, size_t i, const struct axis *axis, double y) {
	const struct compare_row *row = &section->comparison->rows[i];
	FILE *out = section->out;
	double width = PLOT_WIDTH - 2 * EDGE, middle = y + 25;
	char figure[48];
	snprintf(figure, sizeof(figure), "%+.1f %%", row->change_pct);
	fprintf(out, "<g class=\"s%u\"><title>", series_of(row));
	html_text(out, section->labels[i]);
	fprintf(out, ": %s", figure);
	if (row->has_interval)
		fprintf(out, " (%+.1f to %+.1f)", row->low_pct, row->high_pct);
	fprintf(out, ", %s</title><text x=\"2\" y=\"%.1f\">", compare_verdict_names[row->verdict], y + 13);
	html_fit(out, section->labels[i], PLOT_WIDTH - 16 - html_width(figure));
	fprintf(out, "</text><text class=\"e\" x=\"%.1f\" y=\"%.1f\">%s</text>", PLOT_WIDTH - 2, y + 13, figure);
	if (row->has_interval) {
		double low = EDGE + width * axis_place(axis, row->low_pct);
		double high = EDGE + width * axis_place(axis, row->high_pct);
		fprintf(out, "<path class=\"interval\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8\"/>", low, middle,
		        high, low, middle - 4, high, middle - 4);
	}
	plot_marker(out, series_of(row), EDGE + width * axis_place(axis, row->change_pct), middle);
	fputs("</g>\n", out);
}

static bool is_drawn(const struct compare_row *row) {
	return row->has_change && isfinite(row->change_pct);
}

/* Rows [first, last). */
static void plot_some(const struct section *section, const struct axis *axis, size_t first, size_t last, bool more) {
	size_t rows = 0;
	for (size_t i = first; i < last; i++)
		rows += is_drawn(&section->comparison->rows[i]);
	if (rows == 0)
		return;
	double height = TOP + ROW * (double)rows + BOTTOM, y = TOP;
	plot_begin(section->out, height, "change from base to patched, percent", "Intervals of 95 %");
	plot_x_axis(section->out, axis, EDGE, PLOT_WIDTH - 2 * EDGE, TOP, height - BOTTOM + 4);
	for (size_t i = first; i < last; i++) {
		if (!is_drawn(&section->comparison->rows[i]))
			continue;
		draw_row(section, i, axis, y);
		y += ROW;
	}
	fprintf(section->out, "<text class=\"t m\" x=\"%.1f\" y=\"%.1f\">change in percent</text>\n", PLOT_WIDTH / 2,
	        height - 6);
	char caption[256];
	snprintf(caption, sizeof(caption),
	        "Change from base to patched and its 95 %% interval; a diamond is faster, a triangle slower, a circle "
	        "neither.%s",
	        more ? " More rows are in the table alone." : "");
	plot_end(section->out, caption);
}

static void plot_changes(const struct section *section) {
	const struct comparison *comparison = section->comparison;
	double low = INFINITY, high = -INFINITY;
	for (size_t i = 0; i < comparison->nr_rows; i++) {
		const struct compare_row *row = &comparison->rows[i];
		if (!is_drawn(row))
			continue;
		low = fmin(low, row->has_interval && isfinite(row->low_pct) ? row->low_pct : row->change_pct);
		high = fmax(high, row->has_interval && isfinite(row->high_pct) ? row->high_pct : row->change_pct);
	}
	struct axis axis;
	if (!axis_make(low, high, "%", &axis))
		return;
	fputs("<div class=\"plots\">\n", section->out);
	size_t first = 0;
	for (size_t figure = 1; figure <= PLOT_ROW_FIGURES_MAX && first < comparison->nr_rows; figure++) {
		size_t last = first + PLOT_ROWS_MAX < comparison->nr_rows ? first + PLOT_ROWS_MAX : comparison->nr_rows;
		plot_some(section, &axis, first, last, figure == PLOT_ROW_FIGURES_MAX && last < comparison->nr_rows);
		first = last;
	}
	fputs("</div>\n", section->out);
}

/* ---- The table ------------------------------------------------------------------ */

static void put_value(FILE *out, const struct compare_row *row, int side) {
	const struct compare_value *value = &row->values[side];
	fprintf(out, "<td data-stat=\"%s\"", side == COMPARE_BASE ? "base" : "patched");
	html_value(out, value->value);
	fprintf(out, ">%s ", html_figure(value->value, row->unit).s);
	html_text(out, html_unit(row->unit));
	if (value->has_stdev_pct)
		fprintf(out, " <small>\xc2\xb1&nbsp;%.*f&nbsp;%%</small>", value->stdev_pct < 99.95 ? 1 : 0,
		        value->stdev_pct);
	fprintf(out, "</td><td>%s</td>",
	        row->within_run ? hc_counted(value->n, "sample").s
	                        : hc_counted(value->nr_runs, row->paired ? "round" : "run").s);
}

static void put_percent(FILE *out, const char *stat, double value) {
	fprintf(out, "<span data-stat=\"%s\"", stat);
	html_value(out, value);
	fprintf(out, ">%+.*f&nbsp;%%</span>", fabs(value) < 999.5 ? 1 : 0, value);
}

static void put_row(const struct section *section, size_t i) {
	FILE *out = section->out;
	const struct compare_row *row = &section->comparison->rows[i];
	fputs("<tr", out);
	table_identity(out, row->sides[COMPARE_BASE]);
	fputs("><th scope=\"row\">", out);
	html_text(out, section->labels[i]);
	fputs("</th>", out);
	put_value(out, row, COMPARE_BASE);
	put_value(out, row, COMPARE_PATCHED);
	fputs("<td>", out);
	if (is_drawn(row))
		put_percent(out, "change_pct", row->change_pct);
	else
		fputs("\xe2\x80\x93", out);
	fputs("</td><td>", out);
	if (row->has_interval) {
		put_percent(out, "low_pct", row->low_pct);
		fputs(" to ", out);
		put_percent(out, "high_pct", row->high_pct);
	} else {
		fputs("\xe2\x80\x93", out);
	}
	fprintf(out, "</td><td class=\"w %s\">%s",
	        row->verdict == COMPARE_FASTER   ? "better"
	        : row->verdict == COMPARE_SLOWER ? "worse"
	                                         : "same",
	        compare_verdict_names[row->verdict]);
	if (*row->why) {
		fputs(": ", out);
		html_text(out, row->why);
	}
	fputs("</td></tr>\n", out);
}

static void put_table(const struct section *section) {
	FILE *out = section->out;
	table_begin(out, "Base against patched: values, change, and its 95 % interval");
	fputs("<thead><tr><th scope=\"col\">case</th><th scope=\"col\">base</th><th scope=\"col\">of</th>"
	      "<th scope=\"col\">patched</th><th scope=\"col\">of</th><th scope=\"col\">change</th>"
	      "<th scope=\"col\">95 % interval</th><th scope=\"col\" class=\"w\">verdict</th></tr></thead>\n<tbody>\n",
	        out);
	for (size_t i = 0; i < section->comparison->nr_rows; i++)
		put_row(section, i);
	table_end(out);
}

/* ---- All ------------------------------------------------------------------------ */

static void put_lines(FILE *out, const char *title, char *const *lines, size_t nr) {
	if (nr == 0)
		return;
	fprintf(out, "<h4>%s</h4>\n<ul class=\"notes\">\n", title);
	for (size_t i = 0; i < nr && i < LINES_MAX; i++) {
		fputs("<li>", out);
		html_text(out, lines[i]);
		fputs("</li>\n", out);
	}
	if (nr > LINES_MAX)
		fprintf(out, "<li>and %s</li>\n", hc_counted(nr - LINES_MAX, "more line").s);
	fputs("</ul>\n", out);
}

/* As the text of compare has it. */
static void put_side(FILE *out, const char *title, const struct compare_side *side) {
	fprintf(out, "<div><dt>%s</dt><dd>", title);
	if (side->nr_documents > 1)
		fprintf(out, "%s, ", hc_counted(side->nr_documents, "run").s);
	html_text(out, side->documents[0]->name);
	if (side->nr_documents > 1) {
		fputs(" to ", out);
		html_text(out, side->documents[side->nr_documents - 1]->name);
	}
	fputs("</dd></div>\n", out);
}

static void put_heading(const struct section *section) {
	const struct results_measured *first = section->comparison->rows[0].sides[COMPARE_BASE];
	char *words = report_words_of(section->common), *metric = report_metric_words(first->metric);
	fputs("<h3>", section->out);
	html_text(section->out, section->one_bench ? first->bench : "all benchmarks");
	if (section->one_metric) {
		fputs(", ", section->out);
		html_text(section->out, metric ? metric : first->metric);
	}
	fputs(words && *words ? ": " : "", section->out);
	html_text(section->out, words ? words : "");
	fputs("</h3>\n", section->out);
	free(words);
	free(metric);
}

int report_comparison(FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison) {
	struct section section = {.out = out, .comparison = comparison};
	int r = make_labels(&section);
	if (r == 0) {
		fputs("<section class=\"file\" id=\"comparison\">\n<h2>Base against patched</h2>\n<dl "
		      "class=\"sides\">\n",
		        out);
		put_side(out, "base", &sides[COMPARE_BASE]);
		put_side(out, "patched", &sides[COMPARE_PATCHED]);
		fputs("</dl>\n", out);
		put_lines(out, "Notes", comparison->notes, comparison->nr_notes);
		put_heading(&section);
		plot_changes(&section);
		put_table(&section);
		put_lines(out, "Not comparable", comparison->refused, comparison->nr_refused);
		put_lines(out, "On one side alone", comparison->unmatched, comparison->nr_unmatched);
		fputs("</section>\n", out);
	}
	free_labels(&section);
	return r < 0 ? hc_fail(ENOMEM, "no memory for the comparison") : 0;
}
