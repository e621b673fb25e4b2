#include "report_page.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/counted.h"
#include "base/size.h"
#include "report_groups.h"
#include "report_html.h"
#include "report_plot.h"
#include "report_tables.h"

/* Lines of notes that are shown; groups that have plots. */
#define NOTES_MAX 100
#define PLOTTED_GROUPS_MAX 24

/* ---- The host ------------------------------------------------------------------- */

enum fact { FACT_TEXT, FACT_BYTES, FACT_FLAG };

static void put_fact_begin(FILE *out, const char *label) {
	fprintf(out, "<div><dt>%s</dt><dd>", label);
}

static void put_fact_end(FILE *out) {
	fputs("</dd></div>\n", out);
}

/* A field of the host; nothing where it isn't there or of another kind. */
static void put_fact(FILE *out, const json_t *host, const char *name, const char *label, enum fact kind) {
	const json_t *value = json_object_get(host, name);
	if (json_is_string(value)) {
		put_fact_begin(out, label);
		html_text(out, json_string_value(value));
		put_fact_end(out);
	} else if (json_is_boolean(value) && kind == FACT_FLAG) {
		put_fact_begin(out, label);
		fputs(json_is_true(value) ? "yes" : "no", out);
		put_fact_end(out);
	} else if (json_is_integer(value) && json_integer_value(value) >= 0) {
		put_fact_begin(out, label);
		if (kind == FACT_BYTES)
			fputs(hc_size_rounded((uint64_t)json_integer_value(value)).s, out);
		else
			fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		put_fact_end(out);
	}
}

static void put_caches(FILE *out, const json_t *host) {
	static const char *const names[] = {"l1d", "l2", "l3"}, *const labels[] = {"L1d", "L2", "L3"};
	const json_t *caches = json_object_get(host, "caches");
	bool any = false;
	for (size_t i = 0; i < 3; i++) {
		const json_t *size = json_object_get(caches, names[i]);
		if (!json_is_integer(size) || json_integer_value(size) <= 0)
			continue;
		if (!any)
			put_fact_begin(out, "caches");
		fprintf(out, "%s%s %s", any ? ", " : "", labels[i],
		        hc_size_exact((uint64_t)json_integer_value(size)).s);
		any = true;
	}
	if (any)
		put_fact_end(out);
}

static void put_pools(FILE *out, const json_t *host) {
	const json_t *pools = json_object_get(host, "pools");
	bool any = false;
	for (size_t i = 0; i < json_array_size(pools) && i < 16; i++) {
		const json_t *pool = json_array_get(pools, i);
		const json_t *page_size = json_object_get(pool, "page_size"), *total = json_object_get(pool, "total");
		const json_t *free_pages = json_object_get(pool, "free");
		if (!json_is_integer(page_size) || json_integer_value(page_size) <= 0 || !json_is_integer(total))
			continue;
		if (!any)
			put_fact_begin(out, "huge pages");
		fprintf(out, "%s%" JSON_INTEGER_FORMAT " of %s", any ? "; " : "", json_integer_value(total),
		        hc_size_exact((uint64_t)json_integer_value(page_size)).s);
		if (json_is_integer(free_pages) && json_integer_value(total) > 0)
			fprintf(out, ", %" JSON_INTEGER_FORMAT " free", json_integer_value(free_pages));
		any = true;
	}
	if (any)
		put_fact_end(out);
}

static void put_host(FILE *out, const json_t *host) {
	fputs("<dl>\n", out);
	put_fact(out, host, "processor", "processor", FACT_TEXT);
	put_fact(out, host, "architecture", "architecture", FACT_TEXT);
	put_fact(out, host, "kernel", "Linux", FACT_TEXT);
	put_fact(out, host, "preemption", "preemption", FACT_TEXT);
	put_fact(out, host, "cpus", "CPUs", FACT_TEXT);
	put_fact(out, host, "cpus_allowed", "allowed CPUs", FACT_TEXT);
	put_fact(out, host, "nodes", "nodes", FACT_TEXT);
	put_fact(out, host, "memory", "memory", FACT_BYTES);
	put_caches(out, host);
	put_fact(out, host, "features", "features", FACT_TEXT);
	put_fact(out, host, "features_masked", "masked features", FACT_TEXT);
	put_fact(out, host, "virtualised", "virtual machine", FACT_FLAG);
	put_fact(out, host, "hypervisor", "hypervisor", FACT_TEXT);
	put_fact(out, host, "thp", "THP", FACT_TEXT);
	put_fact(out, host, "thp_defrag", "THP defrag", FACT_TEXT);
	put_fact(out, host, "thp_process_disabled", "THP off for the process", FACT_FLAG);
	put_pools(out, host);
	put_fact(out, host, "boot_id", "boot", FACT_TEXT);
	fputs("</dl>\n", out);
}

static void put_notes(FILE *out, const struct results_document *document) {
	size_t nr = json_array_size(document->notes);
	if (document->source) {
		fputs("<p>Source: ", out);
		html_text(out, json_string_value(document->source));
		fputs("</p>\n", out);
	}
	if (document->interrupted)
		fputs("<p class=\"warning\">The benchmark was interrupted: cases have fewer samples than were asked "
		      "for.</p>\n",
		        out);
	if (nr == 0)
		return;
	fputs("<ul class=\"notes\">\n", out);
	for (size_t i = 0; i < nr && i < NOTES_MAX; i++) {
		const char *note = json_string_value(json_array_get(document->notes, i));
		fputs("<li>", out);
		html_text(out, note ? note : "");
		fputs("</li>\n", out);
	}
	if (nr > NOTES_MAX)
		fprintf(out, "<li>%s more</li>\n", hc_counted(nr - NOTES_MAX, "note").s);
	fputs("</ul>\n", out);
}

/* ---- Sections ------------------------------------------------------------------- */

static void put_legend(FILE *out, const struct report_group *group) {
	bool has[3] = {false};
	for (size_t i = 0; i < group->nr_lines; i++) {
		unsigned series = plot_series_of(group, i);
		const char *label = group->lines[i].label;
		has[0] = has[0] || (series == 0 && strcmp(label, "base") == 0);
		has[1] = has[1] || (series == 1 && strcmp(label, "patched") == 0);
		has[2] = has[2] || (series == 2 && strcmp(label, "default") == 0);
	}
	if (strcmp(group->bench, "clear") != 0 || !(has[0] || has[1] || has[2]))
		return;
	fputs("<p class=\"what\">", out);
	if (has[0])
		fputs("<b>base</b> clears a base page at a time, as Linux before the series. ", out);
	if (has[1])
		fputs("<b>patched</b> clears an extent at a time, as the series. ", out);
	if (has[2])
		fputs("<b>default</b> is what libhugeclear chooses here. ", out);
	fputs("Each is measured in user space.</p>\n", out);
}

static void put_group(FILE *out, const struct report_group *group, bool plotted) {
	fputs("<section class=\"group\">\n<h3>", out);
	html_text(out, group->bench);
	if (*group->title)
		fputs(": ", out);
	html_text(out, group->title);
	fputs("</h3>\n", out);
	if (plotted) {
		fputs("<div class=\"plots\">\n", out);
		if (group->shape == REPORT_BY_EXTENT)
			plot_lines(out, group, group->main);
		else
			plot_bars(out, group, group->main);
		plot_samples(out, group, group->main);
		fputs("</div>\n", out);
	}
	table_matrix(out, group, group->main);
	put_legend(out, group);
	table_metrics(out, group, group->shape == REPORT_LIST ? SIZE_MAX : group->main);
	table_figures(out, group);
	fputs("</section>\n", out);
}

int report_section(FILE *out, const struct results_document *document, size_t number) {
	struct report_groups groups;
	int r = report_groups_of(document, &groups);
	if (r < 0)
		return r;
	fprintf(out, "<section class=\"file\" id=\"f%zu\" data-file=\"%zu\">\n<h2>", number, number);
	html_text(out, document->name);
	fputs("</h2>\n", out);
	if (json_object_size(document->host) > 0)
		put_host(out, document->host);
	put_notes(out, document);
	if (groups.nr_groups > PLOTTED_GROUPS_MAX)
		fprintf(out, "<p>The first %d of %zu groups of cases have plots; all have tables.</p>\n",
		        PLOTTED_GROUPS_MAX, groups.nr_groups);
	for (size_t i = 0; i < groups.nr_groups; i++)
		put_group(out, groups.groups[i], i < PLOTTED_GROUPS_MAX);
	fputs("</section>\n", out);
	report_groups_free(&groups);
	return 0;
}

/* ---- The page ------------------------------------------------------------------- */

void report_contents(FILE *out, struct results_document *const *documents, size_t nr_documents, bool compared) {
	if (nr_documents + compared < 2)
		return;
	fputs("<nav aria-label=\"Contents\"><ol>\n", out);
	if (compared)
		fputs("<li><a href=\"#comparison\">Base against patched</a></li>\n", out);
	for (size_t i = 0; i < nr_documents; i++) {
		fprintf(out, "<li><a href=\"#f%zu\">", i);
		html_text(out, documents[i]->name);
		fputs("</a></li>\n", out);
	}
	fputs("</ol></nav>\n", out);
}

void report_page_begin(FILE *out, const char *title) {
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"generator\" content=\"hugeclear\">\n<title>",
	        out);
	html_text(out, title);
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n<h1>", report_style);
	html_text(out, title);
	fputs("</h1>\n<p>GiB = 2<sup>30</sup> bytes. \xc2\xb1 is the standard deviation of the samples in percent of "
	      "their mean; all samples count.</p>\n</header>\n<main>\n",
	        out);
}

void report_page_end(FILE *out) {
	fputs("</main>\n</body>\n</html>\n", out);
}
