#include "compare_output.h"

#include <errno.h>

#include "base/error.h"
#include "results/results_write.h"

static json_t *number_or_null(bool has, double value) {
	return has ? results_number(value) : json_null();
}

static json_t *value_object(const struct compare_value *v) {
	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "value", results_number(v->value), "stdev",
	        number_or_null(v->has_stdev, v->stdev), "stdev_pct", number_or_null(v->has_stdev_pct, v->stdev_pct),
	        "median", results_number(v->median), "n", (json_int_t)v->n, "runs", (json_int_t)v->nr_runs, "far",
	        (json_int_t)v->nr_far);
}

static const char *statistics_of(const struct compare_row *row) {
	return row->within_run ? "samples" : row->paired ? "rounds" : "runs";
}

static json_t *row_object(const struct compare_row *row) {
	const struct results_measured *base = row->sides[COMPARE_BASE], *patched = row->sides[COMPARE_PATCHED];
	json_t *object = json_pack("{s:s, s:s, s:O, s:s, s:s}", "bench", base->bench, "metric", base->metric, "case",
	        base->params, "unit", row->unit, "better", base->higher_is_better ? "higher" : "lower");
	if (!object)
		return NULL;
	/* json_object_set_new() takes a NULL of a failed value as its own failure. */
	bool ok = true;
	if (!json_equal(base->params, patched->params))
		ok = json_object_set(object, "patched_case", patched->params) == 0;
	if (row->converted_from)
		ok = ok && json_object_set_new(object, "patched_unit", json_string(row->converted_from)) == 0;
	json_t *rest = json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:s}", "base",
	        value_object(&row->values[COMPARE_BASE]), "patched", value_object(&row->values[COMPARE_PATCHED]),
	        "change_pct", number_or_null(row->has_change, row->change_pct), "speedup",
	        number_or_null(row->speedup > 0, row->speedup), "interval_pct",
	        row->has_interval ? json_pack("[o, o]", results_number(row->low_pct), results_number(row->high_pct))
	                          : json_null(),
	        "statistics_of", statistics_of(row), "t", number_or_null(row->has_test, row->t), "df",
	        number_or_null(row->has_test, row->df), "p", number_or_null(row->has_test, row->p), "verdict",
	        row->verdict == COMPARE_NO_VERDICT ? json_null() : json_string(compare_verdict_names[row->verdict]),
	        "why", row->why);
	ok = ok && rest && json_object_update(object, rest) == 0;
	json_decref(rest);
	if (!ok) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *names_of(const struct compare_side *side) {
	json_t *names = json_array();
	for (size_t i = 0; i < side->nr_documents; i++)
		json_array_append_new(names, json_string(side->documents[i]->name));
	return names;
}

static json_t *lines_of(char **lines, size_t nr_lines) {
	json_t *array = json_array();
	for (size_t i = 0; i < nr_lines; i++)
		json_array_append_new(array, json_string(lines[i]));
	return array;
}

int compare_print_json(FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison) {
	json_t *rows = json_array();
	bool ok = rows;
	for (size_t i = 0; i < comparison->nr_rows && ok; i++)
		ok = json_array_append_new(rows, row_object(&comparison->rows[i])) == 0;
	json_t *document = json_pack("{s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "hugeclear-compare/1",
	        "level", 1 - COMPARE_ALPHA, "base", names_of(&sides[COMPARE_BASE]), "patched",
	        names_of(&sides[COMPARE_PATCHED]), "rows", rows, "notes",
	        lines_of(comparison->notes, comparison->nr_notes), "refused",
	        lines_of(comparison->refused, comparison->nr_refused), "no_partner",
	        lines_of(comparison->unmatched, comparison->nr_unmatched));
	/* What goes wrong with the file is told by cli_finish(). */
	ok = ok && document && (json_dumpf(document, out, JSON_INDENT(1) | JSON_REAL_PRECISION(17)), true);
	if (ok)
		fputc('\n', out);
	json_decref(document);
	return ok ? 0 : hc_fail_memory("no memory for the comparison");
}
