#include "compare_output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define WIDTH 72

/* Words of a text in lines of WIDTH columns, behind a heading, later lines as far in as it is long. */
static void print_wrapped(FILE *out, const char *heading, const char *text) {
	int indent = fprintf(out, "%s", heading), column = indent;
	while (*text) {
		int len = (int)strcspn(text, " ");
		if (column > indent && column + 1 + len > WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		column += fprintf(out, "%.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_lines(FILE *out, const char *heading, char **lines, size_t nr_lines) {
	for (size_t i = 0; i < nr_lines; i++)
		print_wrapped(out, heading, lines[i]);
}

/* ---- For a mail -------------------------------------------------------------------------- */

static void print_row(FILE *out, const struct compare_row *row, const char *label) {
	struct compare_cell verdict = compare_verdict_cell(row), base = compare_value_cell(row, COMPARE_BASE);
	struct compare_cell patched = compare_value_cell(row, COMPARE_PATCHED), change = compare_change_cell(row);
	struct compare_cell interval = compare_interval_cell(row);
	size_t len = strlen(label), room = WIDTH > strlen(verdict.s) + 2 ? WIDTH - strlen(verdict.s) - 2 : 0;
	if (len <= room)
		fprintf(out, "%-*s  %s\n", (int)room, label, verdict.s);
	else {
		print_wrapped(out, "", label);
		fprintf(out, "%*s\n", WIDTH, verdict.s);
	}
	fprintf(out, "%20s %20s %9s", base.s, patched.s, change.s);
	if (*interval.s)
		fprintf(out, " %20s", interval.s);
	fputc('\n', out);
	if (*row->why)
		fprintf(out, "%*s\n", WIDTH, row->why);
	if (row->has_test && row->within_run)
		fprintf(out, "    t %.3f, df %.2f, p %.3g\n", row->t, row->df, row->p);
	for (int side = 0; side < COMPARE_SIDES; side++)
		if (row->values[side].nr_far > 0)
			fprintf(out, "    %s: %zu of %zu far from the others, as %.5g; medians %.5g and %.5g\n",
			        side == COMPARE_BASE ? "base" : "patched", row->values[side].nr_far,
			        row->values[side].n, row->values[side].farthest, row->values[COMPARE_BASE].median,
			        row->values[COMPARE_PATCHED].median);
}

static int print_table(FILE *out, const struct comparison *comparison, size_t first, bool *printed) {
	const struct compare_row *head = &comparison->rows[first];
	json_t *common = compare_common_params(comparison, head);
	char *all = common ? compare_params_text(common) : NULL;
	int r = all ? 0 : -ENOMEM;
	if (r == 0) {
		const struct results_measured *run = head->sides[COMPARE_BASE];
		fprintf(out, "\n%s%s%s, %s, %s\n", run->bench, *run->metric ? " " : "", run->metric, head->unit,
		        compare_better_words(head));
		if (*all)
			print_wrapped(out, "all: ", all);
		fprintf(out, "%20s %20s %9s %20s\n", "base", "patched", "change", "95 % interval");
	}
	for (size_t i = first; i < comparison->nr_rows && r == 0; i++) {
		if (printed[i] || !compare_same_table(&comparison->rows[i], head))
			continue;
		printed[i] = true;
		char *label = compare_label_of(&comparison->rows[i], common);
		r = label ? 0 : -ENOMEM;
		if (label)
			print_row(out, &comparison->rows[i], label);
		free(label);
	}
	free(all);
	json_decref(common);
	return r;
}

/* "3 runs", and the files' names where they are few. */
static void print_side(FILE *out, const char *name, const struct compare_side *side) {
	fprintf(out, "%-8s ", name);
	if (side->nr_documents == 1)
		fprintf(out, "%s\n", side->documents[0]->name);
	else
		fprintf(out, "%zu runs, %s to %s\n", side->nr_documents, side->documents[0]->name,
		        side->documents[side->nr_documents - 1]->name);
}

/* Where published figures are from; the same of both sides is said once. */
static void print_sources(FILE *out, const struct compare_side sides[COMPARE_SIDES]) {
	const json_t *base = sides[COMPARE_BASE].documents[0]->source,
	             *patched = sides[COMPARE_PATCHED].documents[0]->source;
	if (base)
		print_wrapped(out, "source:  ", json_string_value(base));
	if (patched && !(base && json_equal(base, patched)))
		print_wrapped(out, "source of patched: ", json_string_value(patched));
}

static bool mentions(const struct comparison *comparison, const char *part) {
	for (size_t i = 0; i < comparison->nr_rows; i++)
		if (strstr(comparison->rows[i].unit, part) ||
		        (comparison->rows[i].converted_from && strstr(comparison->rows[i].converted_from, part)))
			return true;
	return false;
}

/* What is to be known of all tables. */
static void print_legend(FILE *out, const struct comparison *comparison) {
	bool within = false, pooled = false, paired = false, converted = false;
	for (size_t i = 0; i < comparison->nr_rows; i++) {
		within = within || comparison->rows[i].within_run;
		pooled = pooled || !(comparison->rows[i].within_run || comparison->rows[i].paired);
		paired = paired || comparison->rows[i].paired;
		converted = converted || comparison->rows[i].converted_from;
	}
	if (within)
		print_wrapped(out, "",
		        "Within one run a side: the intervals are of its samples, and say nothing of another run.");
	if (pooled)
		print_wrapped(out, "", "A run counts once, by its median; +- and intervals are of the runs.");
	if (paired)
		print_wrapped(out, "",
		        "A run counts once, by its median; +- is of the runs. The change and its interval are of the "
		        "rounds: of what a run is more or less than the one it was paired with.");
	if (mentions(comparison, "GB") || mentions(comparison, "MB"))
		print_wrapped(out, "", "GB = 10^9 bytes, MB = 10^6.");
	if (mentions(comparison, "GiB") || mentions(comparison, "MiB"))
		print_wrapped(out, "", "GiB = 2^30 bytes, MiB = 2^20.");
	if (converted)
		print_wrapped(out, "", "Patched was measured in another unit and is converted to base's.");
}

int compare_print_text(FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison) {
	bool *printed = calloc(comparison->nr_rows + 1, sizeof(*printed));
	if (!printed)
		return hc_fail_memory("no memory for %zu rows", comparison->nr_rows);
	print_side(out, "base:", &sides[COMPARE_BASE]);
	print_side(out, "patched:", &sides[COMPARE_PATCHED]);
	print_sources(out, sides);
	int r = 0;
	for (size_t i = 0; i < comparison->nr_rows && r == 0; i++)
		if (!printed[i])
			r = print_table(out, comparison, i, printed);
	free(printed);
	if (comparison->nr_rows > 0)
		fputc('\n', out);
	print_legend(out, comparison);
	print_lines(out, "note: ", comparison->notes, comparison->nr_notes);
	print_lines(out, "refused: ", comparison->refused, comparison->nr_refused);
	print_lines(out, "no partner: ", comparison->unmatched, comparison->nr_unmatched);
	return r < 0 ? hc_fail_memory("no memory for a table") : 0;
}
