#include "compare_output.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "results/compare_parts.h"

/* ---- Cells --------------------------------------------------------------------------- */

/* Seconds are read best between 1 and 1000. */
static double time_scale(const struct compare_row *row, const char **ret_unit) {
	static const struct {
		double below, scale;
		const char *unit;
	} scales[] = {{1e-6, 1e9, "ns"}, {1e-3, 1e6, "us"}, {1, 1e3, "ms"}};
	double value = fmax(fabs(row->values[COMPARE_BASE].value), fabs(row->values[COMPARE_PATCHED].value));
	*ret_unit = "";
	if (strcmp(row->unit, "s") != 0 || !(value > 0))
		return 1;
	for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++) {
		if (value < scales[i].below) {
			*ret_unit = scales[i].unit;
			return scales[i].scale;
		}
	}
	return 1;
}

struct compare_cell compare_value_cell(const struct compare_row *row, int side) {
	const struct compare_value *v = &row->values[side];
	const char *unit;
	double value = v->value * time_scale(row, &unit);
	struct compare_cell cell;
	double size = fabs(value);
	int decimals = size >= 100 ? 1 : size >= 10 || size == 0 ? 2 : size >= 1 ? 3 : 4;
	/* What a double can hold and a table can't. */
	int len = fabs(value) < 1e12 ? snprintf(cell.s, sizeof(cell.s), "%.*f", decimals, value)
	                             : snprintf(cell.s, sizeof(cell.s), "%.3e", value);
	size_t at = (size_t)len;
	if (*unit)
		at += (size_t)snprintf(cell.s + at, sizeof(cell.s) - at, " %s", unit);
	if (v->has_stdev_pct)
		snprintf(cell.s + at, sizeof(cell.s) - at, " +- %.*f %%", v->stdev_pct < 99.995 ? 2 : 0, v->stdev_pct);
	return cell;
}

struct compare_cell compare_change_cell(const struct compare_row *row) {
	struct compare_cell cell = {"n/a"};
	if (row->has_change && fabs(row->change_pct) < 1e6)
		snprintf(cell.s, sizeof(cell.s), "%+.*f %%", fabs(row->change_pct) < 1000 ? 2 : 0, row->change_pct);
	else if (row->has_change)
		snprintf(cell.s, sizeof(cell.s), "%+.1e %%", row->change_pct);
	return cell;
}

struct compare_cell compare_interval_cell(const struct compare_row *row) {
	struct compare_cell cell = {""};
	double widest = fmax(fabs(row->low_pct), fabs(row->high_pct));
	if (row->has_interval && widest < 1e6)
		snprintf(cell.s, sizeof(cell.s), "%+.*f to %+.*f %%", widest < 1000 ? 2 : 0, row->low_pct,
		        widest < 1000 ? 2 : 0, row->high_pct);
	else if (row->has_interval)
		snprintf(cell.s, sizeof(cell.s), "%+.0e to %+.0e %%", row->low_pct, row->high_pct);
	return cell;
}

struct compare_cell compare_verdict_cell(const struct compare_row *row) {
	struct compare_cell cell;
	size_t at = (size_t)snprintf(cell.s, sizeof(cell.s), "%s", compare_verdict_names[row->verdict]);
	bool moved = row->verdict != COMPARE_NO_DIFFERENCE && row->speedup > 0 && row->change_pct != 0;
	if (moved && !row->sides[COMPARE_BASE]->higher_is_better)
		snprintf(cell.s + at, sizeof(cell.s) - at, ", %.*fx as fast", row->speedup < 100 ? 3 : 0, row->speedup);
	return cell;
}

/* ---- Tables: rows of one bench, metric, unit and direction ---------------------------------- */

bool compare_same_table(const struct compare_row *a, const struct compare_row *b) {
	const struct results_measured *x = a->sides[COMPARE_BASE], *y = b->sides[COMPARE_BASE];
	return strcmp(x->bench, y->bench) == 0 && strcmp(x->metric, y->metric) == 0 && strcmp(a->unit, b->unit) == 0 &&
	       x->higher_is_better == y->higher_is_better;
}

/* What all rows of a table have the same, on both sides: said once. A new object; NULL: no memory. */
json_t *compare_common_params(const struct comparison *comparison, const struct compare_row *of) {
	json_t *common = json_copy(of->sides[COMPARE_BASE]->params);
	size_t rows = 0;
	for (size_t i = 0; common && i < comparison->nr_rows; i++) {
		if (!compare_same_table(&comparison->rows[i], of))
			continue;
		rows++;
		const char *name;
		json_t *value;
		void *next;
		json_object_foreach_safe(common, next, name, value) {
			for (int side = 0; side < COMPARE_SIDES; side++) {
				const json_t *own = json_object_get(comparison->rows[i].sides[side]->params, name);
				if (!own || !json_equal(own, value)) {
					json_object_del(common, name);
					break;
				}
			}
		}
	}
	/* One row needs no heading for what is its own. */
	if (rows == 1)
		json_object_clear(common);
	return common;
}

/* "page_size=2M function=demand": what isn't common; "method=stosb->clzero" where the sides differ in it. */
static int print_label(FILE *out, const struct compare_row *row, const json_t *common) {
	json_t *base = row->sides[COMPARE_BASE]->params, *patched = row->sides[COMPARE_PATCHED]->params;
	json_t *all = json_copy(base);
	int r = all && json_object_update_missing(all, patched) == 0 ? 0 : -ENOMEM;
	const char *name, *between = "";
	json_t *value;
	json_object_foreach(all, name, value) {
		if (r < 0 || json_object_get(common, name))
			continue;
		const json_t *a = json_object_get(base, name), *b = json_object_get(patched, name);
		char *before = a ? compare_param_text(name, a) : NULL, *after = b ? compare_param_text(name, b) : NULL;
		if ((a && !before) || (b && !after))
			r = -ENOMEM;
		else if (a && b && json_equal(a, b))
			fprintf(out, "%s%s", between, before);
		else
			fprintf(out, "%s%s=%s->%s", between, name, a ? before + strlen(name) + 1 : "none",
			        b ? after + strlen(name) + 1 : "none");
		free(before);
		free(after);
		between = " ";
	}
	json_decref(all);
	return r;
}

/* The label as a text of its own. Freed by the caller; NULL: no memory. */
char *compare_label_of(const struct compare_row *row, const json_t *common) {
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int r = out ? print_label(out, row, common) : -ENOMEM;
	if (out && fclose(out) != 0)
		r = -ENOMEM;
	if (r < 0) {
		free(text);
		return NULL;
	}
	return text;
}

char *compare_params_text(json_t *params) {
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool failed = !out;
	const char *name, *between = "";
	json_t *value;
	json_object_foreach(params, name, value) {
		char *param = failed ? NULL : compare_param_text(name, value);
		failed = failed || !param;
		if (param)
			fprintf(out, "%s%s", between, param);
		free(param);
		between = " ";
	}
	if ((out && fclose(out) != 0) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

const char *compare_better_words(const struct compare_row *row) {
	return row->sides[COMPARE_BASE]->higher_is_better ? "higher is better" : "lower is better";
}
