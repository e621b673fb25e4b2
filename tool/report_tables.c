#include "report_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_html.h"
#include "report_words.h"

/* Metrics side by side. */
#define METRICS_ABREAST 8

void table_begin(FILE *out, const char *title) {
	/* Outside of the box: it is to be read without scrolling. */
	fputs("<h4>", out);
	html_text(out, title);
	fputs("</h4>\n<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
	html_text(out, title);
	fputs("\"><table>\n", out);
}

void table_end(FILE *out) {
	fputs("</tbody></table></div>\n", out);
}

void table_identity(FILE *out, const struct results_measured *run) {
	char *params = json_dumps(run->params, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
	fputs(" data-bench=\"", out);
	html_text(out, run->bench);
	fputs("\" data-metric=\"", out);
	html_text(out, run->metric);
	fputs("\" data-unit=\"", out);
	html_text(out, run->unit);
	fputs("\" data-case=\"", out);
	html_text(out, params ? params : "");
	fputc('"', out);
	free(params);
}

/* "throughput, GiB/s"; a time's cells have their unit themselves. */
static void put_metric(FILE *out, const struct report_metric *metric, bool with_place) {
	char *words = report_metric_words(metric->name);
	if (with_place && *report_metric_place(metric->name))
		fprintf(out, "%s: ", report_metric_place(metric->name));
	html_text(out, words ? words : metric->name);
	free(words);
	if (*html_unit(metric->unit)) {
		fputs(", ", out);
		html_text(out, metric->unit);
	}
}

static void put_deviation(FILE *out, const struct statistics *s) {
	if (s->has_stdev_pct)
		fprintf(out, " <small>\xc2\xb1&nbsp;%.*f&nbsp;%%</small>", s->stdev_pct < 99.95 ? 1 : 0, s->stdev_pct);
}

/* In words, with a sign; better and worse also differ in colour. */
static void put_change(FILE *out, const struct results_measured *base, const struct results_measured *run) {
	double pct, b = report_statistics(base).mean;
	if (!statistics_change_pct(b, run->mean, &pct))
		return;
	fprintf(out, "<br><span class=\"%s\" data-stat=\"change_pct\"",
	        pct == 0                             ? "same"
	        : (pct > 0) == run->higher_is_better ? "better"
	                                             : "worse");
	html_value(out, pct);
	fprintf(out, ">%+.*f&nbsp;%%</span>", fabs(pct) < 999.5 ? 1 : 0, pct);
}

static void put_mean_cell(FILE *out, const struct results_measured *run, const struct results_measured *base) {
	if (!run) {
		fputs("<td>\xe2\x80\x93</td>", out);
		return;
	}
	struct statistics s = report_statistics(run);
	fputs("<td", out);
	table_identity(out, run);
	fputs(" data-stat=\"mean\"", out);
	html_value(out, s.mean);
	fprintf(out, ">%s", html_figure(s.mean, run->unit).s);
	put_deviation(out, &s);
	if (base)
		put_change(out, base, run);
	fputs("</td>", out);
}

static bool line_has(const struct report_group *group, size_t line, size_t metric) {
	for (size_t c = 0; c < group->nr_columns; c++)
		if (report_at(group, line, c, metric))
			return true;
	return false;
}

void table_matrix(FILE *out, const struct report_group *group, size_t metric) {
	if (group->shape == REPORT_LIST)
		return;
	bool compared = false, column_has[REPORT_COLUMNS_MAX] = {false};
	for (size_t i = 0; i < group->nr_cases; i++) {
		const struct report_case *c = &group->cases[i];
		column_has[c->column] = column_has[c->column] || c->runs[metric];
		compared = compared || (c->runs[metric] && report_base_of(group, c, metric));
	}
	char *words = report_metric_words(group->metrics[metric].name);
	char title[512];
	snprintf(title, sizeof(title), "%s%s%s: mean and standard deviation%s", words ? words : "",
	        *html_unit(group->metrics[metric].unit) ? ", " : "", html_unit(group->metrics[metric].unit),
	        compared ? "; below it the change from base" : "");
	free(words);
	table_begin(out, title);
	fprintf(out, "<thead><tr><th scope=\"col\">%s</th>", group->shape == REPORT_BY_EXTENT ? "extent" : "pages");
	for (size_t c = 0; c < group->nr_columns; c++) {
		if (!column_has[c])
			continue;
		fputs("<th scope=\"col\">", out);
		html_text(out, group->columns[c].label);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t l = 0; l < group->nr_lines; l++) {
		if (!line_has(group, l, metric))
			continue;
		fputs("<tr><th scope=\"row\">", out);
		html_text(out, group->lines[l].label);
		fputs("</th>", out);
		for (size_t c = 0; c < group->nr_columns; c++) {
			if (!column_has[c])
				continue;
			const struct report_case place = {.line = l, .column = c};
			put_mean_cell(out, report_at(group, l, c, metric), report_base_of(group, &place, metric));
		}
		fputs("</tr>\n", out);
	}
	table_end(out);
}

/* "2 MiB THP, populate" */
static void put_case(FILE *out, const struct report_group *group, const struct report_case *c) {
	const char *column = group->columns[c->column].label, *line = group->lines[c->line].label;
	html_text(out, column);
	if (*column && *line)
		fputs(", ", out);
	html_text(out, *line || *column ? line : "all");
}

static void put_some_metrics(FILE *out, const struct report_group *group, const size_t *metrics, size_t nr) {
	const char *place = report_metric_place(group->metrics[metrics[0]].name);
	char title[128];
	snprintf(title, sizeof(title), "%s: mean and standard deviation", *place ? place : "Quantities");
	table_begin(out, title);
	fputs("<thead><tr><th scope=\"col\">case</th>", out);
	for (size_t m = 0; m < nr; m++) {
		fputs("<th scope=\"col\">", out);
		put_metric(out, &group->metrics[metrics[m]], false);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < group->nr_cases; i++) {
		const struct report_case *c = &group->cases[i];
		bool any = false;
		for (size_t m = 0; m < nr; m++)
			any = any || c->runs[metrics[m]];
		if (!any)
			continue;
		fputs("<tr><th scope=\"row\">", out);
		put_case(out, group, c);
		fputs("</th>", out);
		for (size_t m = 0; m < nr; m++)
			put_mean_cell(out, c->runs[metrics[m]], NULL);
		fputs("</tr>\n", out);
	}
	table_end(out);
}

void table_metrics(FILE *out, const struct report_group *group, size_t without) {
	bool done[REPORT_METRICS_MAX] = {false};
	if (without < REPORT_METRICS_MAX)
		done[without] = true;
	for (size_t first = 0; first < group->nr_metrics; first++) {
		/* What belongs together, beginning with the first that has no table yet. */
		size_t metrics[METRICS_ABREAST], nr = 0;
		const char *place = report_metric_place(group->metrics[first].name);
		for (size_t m = first; m < group->nr_metrics && !done[first] && nr < METRICS_ABREAST; m++)
			if (!done[m] && strcmp(report_metric_place(group->metrics[m].name), place) == 0)
				metrics[nr++] = m;
		for (size_t i = 0; i < nr; i++)
			done[metrics[i]] = true;
		if (nr > 0)
			put_some_metrics(out, group, metrics, nr);
	}
}

static void put_figure_cell(FILE *out, const char *stat, bool has, double value, const char *unit) {
	if (!has) {
		fputs("<td>\xe2\x80\x93</td>", out);
		return;
	}
	fprintf(out, "<td data-stat=\"%s\"", stat);
	html_value(out, value);
	fprintf(out, ">%s</td>", html_figure(value, unit).s);
}

static void put_figures_row(FILE *out, const struct report_group *group, const struct report_case *c, size_t metric) {
	const struct results_measured *run = c->runs[metric];
	struct statistics s = report_statistics(run);
	fputs("<tr", out);
	table_identity(out, run);
	fputs("><th scope=\"row\">", out);
	put_case(out, group, c);
	fputs("</th><td class=\"w\">", out);
	put_metric(out, &group->metrics[metric], true);
	if (run->below_clock)
		fputs(" (below the clock's resolution)", out);
	fputs("</td>", out);
	if (s.n > 0)
		fprintf(out, "<td data-stat=\"n\" data-value=\"%zu\">%zu</td>", s.n, s.n);
	else
		fputs("<td>\xe2\x80\x93</td>", out);
	put_figure_cell(out, "mean", true, s.mean, run->unit);
	if (s.has_stdev_pct)
		fprintf(out, "<td data-stat=\"stdev_pct\" data-value=\"%.17g\">%.*f&nbsp;%%</td>", s.stdev_pct,
		        s.stdev_pct < 99.95 ? 1 : 0, s.stdev_pct);
	else
		fputs("<td>\xe2\x80\x93</td>", out);
	put_figure_cell(out, "median", run->nr_samples > 0, s.median, run->unit);
	put_figure_cell(out, "min", isfinite(s.min), s.min, run->unit);
	put_figure_cell(out, "max", isfinite(s.max), s.max, run->unit);
	fputs("</tr>\n", out);
}

void table_figures(FILE *out, const struct report_group *group) {
	table_begin(out, "All figures");
	fputs("<thead><tr><th scope=\"col\">case</th><th scope=\"col\" class=\"w\">quantity</th>"
	      "<th scope=\"col\">samples</th><th scope=\"col\">mean</th><th scope=\"col\">stdev</th>"
	      "<th scope=\"col\">median</th><th scope=\"col\">least</th><th scope=\"col\">most</th></tr></thead>\n"
	      "<tbody>\n",
	        out);
	for (size_t m = 0; m < group->nr_metrics; m++)
		for (size_t i = 0; i < group->nr_cases; i++)
			if (group->cases[i].runs[m])
				put_figures_row(out, group, &group->cases[i], m);
	table_end(out);
}
