#include "compare_output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "base/error.h"

/* What would end a cell or begin markup is a letter there. */
static void print_escaped(FILE *out, const char *text) {
	for (; *text; text++) {
		if (strchr("|\\`*_<>[]&", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static int print_markdown_row(FILE *out, const struct compare_row *row, const json_t *common) {
	char *label = compare_label_of(row, common);
	if (!label)
		return -ENOMEM;
	fputs("| ", out);
	print_escaped(out, label);
	fprintf(out, " | %s | %s | %s | %s | %s", compare_value_cell(row, COMPARE_BASE).s,
	        compare_value_cell(row, COMPARE_PATCHED).s, compare_change_cell(row).s, compare_interval_cell(row).s,
	        compare_verdict_cell(row).s);
	if (*row->why)
		fprintf(out, " (%s)", row->why);
	fputs(" |\n", out);
	free(label);
	return 0;
}

static int print_markdown_table(FILE *out, const struct comparison *comparison, size_t first, bool *printed) {
	const struct compare_row *head = &comparison->rows[first];
	const struct results_measured *run = head->sides[COMPARE_BASE];
	json_t *common = compare_common_params(comparison, head);
	char *all = common ? compare_params_text(common) : NULL;
	int r = all ? 0 : -ENOMEM;
	if (r == 0) {
		fputs("\n**", out);
		print_escaped(out, run->bench);
		fputs(*run->metric ? " " : "", out);
		print_escaped(out, run->metric);
		fputs("**, ", out);
		print_escaped(out, head->unit);
		fprintf(out, ", %s%s", compare_better_words(head), *all ? ": " : "");
		print_escaped(out, all);
		fputs("\n\n| case | base | patched | change | 95 % interval | verdict |\n|---|--:|--:|--:|--:|---|\n",
		        out);
	}
	for (size_t i = first; i < comparison->nr_rows && r == 0; i++) {
		if (printed[i] || !compare_same_table(&comparison->rows[i], head))
			continue;
		printed[i] = true;
		r = print_markdown_row(out, &comparison->rows[i], common);
	}
	free(all);
	json_decref(common);
	return r;
}

static void print_markdown_lines(FILE *out, const char *heading, char **lines, size_t nr_lines) {
	for (size_t i = 0; i < nr_lines; i++) {
		fprintf(out, "- %s: ", heading);
		print_escaped(out, lines[i]);
		fputc('\n', out);
	}
}

int compare_print_markdown(
        FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison) {
	bool *printed = calloc(comparison->nr_rows + 1, sizeof(*printed));
	if (!printed)
		return hc_fail_memory("no memory for %zu rows", comparison->nr_rows);
	fprintf(out, "%s against %s\n", hc_counted(sides[COMPARE_BASE].nr_documents, "run").s,
	        hc_counted(sides[COMPARE_PATCHED].nr_documents, "run").s);
	int r = 0;
	for (size_t i = 0; i < comparison->nr_rows && r == 0; i++)
		if (!printed[i])
			r = print_markdown_table(out, comparison, i, printed);
	free(printed);
	fputc('\n', out);
	print_markdown_lines(out, "note", comparison->notes, comparison->nr_notes);
	print_markdown_lines(out, "refused", comparison->refused, comparison->nr_refused);
	print_markdown_lines(out, "no partner", comparison->unmatched, comparison->nr_unmatched);
	return r < 0 ? hc_fail_memory("no memory for a table") : 0;
}
