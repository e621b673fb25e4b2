#include "results/compare.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "results/compare_parts.h"
#include "results/statistics.h"
#include "results/student.h"
#include "results/units.h"

/* Of fewer runs a side nothing is said: two values have a deviation by formula only. */
#define RUNS_LEAST 3
/* Of fewer an interval leans on the runs' scatter being normal. */
#define RUNS_FEW 9

const char *const compare_verdict_names[COMPARE_NR_VERDICTS] = {
        [COMPARE_NO_VERDICT] = "no verdict",
        [COMPARE_FASTER] = "faster",
        [COMPARE_SLOWER] = "slower",
        [COMPARE_NO_DIFFERENCE] = "no difference seen",
        [COMPARE_CANNOT_SAY] = "cannot say",
};

static const char *const side_names[COMPARE_SIDES] = {"base", "patched"};

/* ---- Lines -------------------------------------------------------------------------- */

int compare_add_line(char ***lines, size_t *nr_lines, const char *format, ...) {
	char *line;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&line, format, args);
	va_end(args);
	char **grown = len < 0 ? NULL : realloc(*lines, (*nr_lines + 1) * sizeof(*grown));
	if (!grown) {
		if (len >= 0)
			free(line);
		return hc_fail_memory("no memory for a line");
	}
	*lines = grown;
	grown[(*nr_lines)++] = line;
	return 0;
}

static void free_lines(char **lines, size_t nr_lines) {
	for (size_t i = 0; i < nr_lines; i++)
		free(lines[i]);
	free(lines);
}

struct comparison *comparison_free(struct comparison *comparison) {
	if (!comparison)
		return NULL;
	free(comparison->rows);
	free_lines(comparison->refused, comparison->nr_refused);
	free_lines(comparison->unmatched, comparison->nr_unmatched);
	free_lines(comparison->notes, comparison->nr_notes);
	free(comparison);
	return NULL;
}

/* ---- Values -------------------------------------------------------------------------- */

/* What is far from the rest is counted and shown, and stays in. */
static int find_far(const double *values, size_t n, double factor, struct compare_value *out) {
	bool *flags = calloc(n, sizeof(*flags));
	if (!flags)
		return hc_fail_memory("no memory for %zu values", n);
	out->nr_far = statistics_outliers(values, n, flags);
	double distance = -1;
	for (size_t i = 0; i < n; i++) {
		if (flags[i] && fabs(values[i] * factor - out->median) > distance) {
			distance = fabs(values[i] * factor - out->median);
			out->farthest = values[i] * factor;
		}
	}
	free(flags);
	return 0;
}

static int value_of_one(const struct results_measured *run, double factor, struct compare_value *out) {
	*out = (struct compare_value){
	        .value = run->mean * factor,
	        .has_stdev = run->has_stdev,
	        .stdev = run->stdev * factor,
	        .median = run->median * factor,
	        .n = run->n,
	        .nr_runs = 1,
	};
	return run->nr_samples > 0 ? find_far(run->samples, run->nr_samples, factor, out) : 0;
}

static int value_of_many(const struct compare_entry *entries, size_t n, const char *unit, struct compare_value *out) {
	double *values = malloc(n * sizeof(*values));
	if (!values)
		return hc_fail_memory("no memory for %zu runs", n);
	for (size_t i = 0; i < n; i++) {
		double factor = 1;
		units_factor(entries[i].run->unit, unit, &factor);
		values[i] = entries[i].run->median * factor;
	}
	struct statistics s;
	int r = statistics_of(values, n, &s);
	if (r == 0) {
		*out = (struct compare_value){
		        .value = s.mean,
		        .has_stdev = s.has_stdev,
		        .stdev = s.has_stdev ? s.stdev : 0,
		        .median = s.median,
		        .n = n,
		        .nr_runs = n,
		};
		r = find_far(values, n, 1, out);
	}
	free(values);
	return r;
}

static int fill_value(const struct compare_entry *entries, size_t n, const char *unit, struct compare_value *out) {
	double factor = 1;
	units_factor(entries[0].run->unit, unit, &factor);
	int r = n == 1 ? value_of_one(entries[0].run, factor, out) : value_of_many(entries, n, unit, out);
	if (r < 0)
		return r;
	double pct = out->value != 0 ? out->stdev / fabs(out->value) * 100 : INFINITY;
	out->has_stdev_pct = out->has_stdev && isfinite(pct);
	out->stdev_pct = out->has_stdev_pct ? pct : 0;
	return 0;
}

/* ---- Change, interval, verdict ---------------------------------------------------------- */

static struct student_side student_of(const struct compare_value *value) {
	return (struct student_side){.mean = value->value, .stdev = value->stdev, .n = value->has_stdev ? value->n : 0};
}

static void set_speedup(struct compare_row *row, double ratio) {
	double better = row->sides[COMPARE_BASE]->higher_is_better ? ratio : 1 / ratio;
	row->speedup = isfinite(better) && better > 0 ? better : 0;
}

static void fill_change(struct compare_row *row) {
	const struct compare_value *a = &row->values[COMPARE_BASE], *b = &row->values[COMPARE_PATCHED];
	row->has_change = statistics_change_pct(a->value, b->value, &row->change_pct);
	set_speedup(row, b->value / a->value);

	struct student_side base = student_of(a), patched = student_of(b);
	struct student_welch welch;
	row->has_test = student_welch(&base, &patched, &welch);
	if (row->has_test) {
		row->t = welch.t;
		row->df = welch.df;
		row->p = welch.p;
	}
	double low, high;
	row->has_interval = row->has_change && student_ratio_interval(&base, &patched, COMPARE_ALPHA, &low, &high);
	if (row->has_interval) {
		row->low_pct = (low - 1) * 100;
		row->high_pct = (high - 1) * 100;
	}
}

/* Base's value of each round and patched's. False where a run has no round, or no partner in it. */
static bool pair_up(const struct compare_entry *base, const struct compare_entry *patched, size_t n, const char *unit,
        bool *taken, struct student_pair *ret_pairs) {
	/* Nearly always both sides are in the same order: a search from where the last one was ends at once. */
	for (size_t i = 0, at = 0; i < n; i++, at = (at + 1) % n) {
		const char *round = base[i].document->round;
		size_t tries = 0;
		for (; tries < n && (taken[at] || strcmp(patched[at].document->round, round) != 0); tries++)
			at = (at + 1) % n;
		if (!*round || tries == n)
			return false;
		taken[at] = true;
		double factor = 1;
		units_factor(base[i].run->unit, unit, &factor);
		ret_pairs[i].a = base[i].run->median * factor;
		units_factor(patched[at].run->unit, unit, &factor);
		ret_pairs[i].b = patched[at].run->median * factor;
	}
	return true;
}

/* Where the runs are of rounds, what was filled in of the sides as wholes is replaced by what the rounds say. */
static int fill_paired(
        struct compare_row *row, const struct compare_entry *entries, size_t nr_base, size_t nr_patched) {
	if (row->within_run || nr_base != nr_patched)
		return 0;
	struct student_pair *pairs = calloc(nr_base, sizeof(*pairs));
	bool *taken = calloc(nr_base, sizeof(*taken));
	struct student_paired paired;
	int r = pairs && taken ? 0 : hc_fail_memory("no memory for %zu runs", nr_base);
	row->paired = r == 0 && pair_up(entries, entries + nr_base, nr_base, row->unit, taken, pairs) &&
	              student_paired(pairs, nr_base, COMPARE_ALPHA, &paired);
	free(pairs);
	free(taken);
	if (!row->paired)
		return r;
	row->has_change = row->has_test = row->has_interval = true;
	row->change_pct = (paired.ratio - 1) * 100;
	set_speedup(row, paired.ratio);
	row->t = paired.t;
	row->df = paired.df;
	row->p = paired.p;
	row->low_pct = (paired.low - 1) * 100;
	row->high_pct = (paired.high - 1) * 100;
	return 0;
}

static void say(struct compare_row *row, enum compare_verdict verdict, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void say(struct compare_row *row, enum compare_verdict verdict, const char *format, ...) {
	row->verdict = verdict;
	va_list args;
	va_start(args, format);
	vsnprintf(row->why, sizeof(row->why), format, args);
	va_end(args);
}

static size_t smaller(size_t a, size_t b) {
	return a < b ? a : b;
}

static bool below_clock(const struct compare_row *row) {
	return row->sides[COMPARE_BASE]->below_clock || row->sides[COMPARE_PATCHED]->below_clock;
}

/* All that can be said of a row without the others. Rows that are left at "no difference" have a test. */
static void judge_alone(struct compare_row *row) {
	const struct compare_value *a = &row->values[COMPARE_BASE], *b = &row->values[COMPARE_PATCHED];
	enum compare_verdict none = row->within_run ? COMPARE_NO_VERDICT : COMPARE_CANNOT_SAY;
	if (!row->has_change)
		say(row, none, a->value == 0 ? "base is 0" : "the change isn't a number");
	else if (below_clock(row))
		say(row, none, "too short for the clock");
	else if (row->within_run && (a->n == 1 || b->n == 1))
		say(row, none, "one sample: no deviation");
	else if (row->within_run && (!a->has_stdev || !b->has_stdev))
		say(row, none, "no deviation is known");
	else if (row->within_run && (a->n == 0 || b->n == 0))
		say(row, none, "of how many samples isn't known");
	else if (row->within_run && !row->has_test)
		say(row, none, "one run a side, whose samples are all equal");
	else if (row->within_run && smaller(a->n, b->n) < RUNS_LEAST)
		say(row, none, "one run a side, only %zu samples", smaller(a->n, b->n));
	else if (row->within_run)
		say(row, none, "one run a side; its samples %s", row->p < COMPARE_ALPHA ? "differ" : "don't differ");
	else if (a->nr_runs == 1 || b->nr_runs == 1)
		say(row, COMPARE_NO_VERDICT, "one run of %s",
		        side_names[a->nr_runs == 1 ? COMPARE_BASE : COMPARE_PATCHED]);
	else if (smaller(a->nr_runs, b->nr_runs) < RUNS_LEAST)
		say(row, none, "only %zu runs of %s", smaller(a->nr_runs, b->nr_runs),
		        side_names[a->nr_runs <= b->nr_runs ? COMPARE_BASE : COMPARE_PATCHED]);
	else if (!row->has_test && a->value != b->value)
		say(row, none, "no run differs from another of its side");
	else if (row->has_test && !row->has_interval)
		say(row, none, "base can't be told from 0");
	else
		say(row, COMPARE_NO_DIFFERENCE, "%s", "");
}

static int by_probability(const void *a, const void *b) {
	const struct compare_row *const *x = a, *const *y = b;
	return ((*x)->p > (*y)->p) - ((*x)->p < (*y)->p);
}

/*
 * Of many rows some look different by chance: one in twenty. Holm's procedure ("A simple sequentially rejective
 * multiple test procedure", 1979) keeps the chance that any verdict of the table is wrong at COMPARE_ALPHA: the
 * smallest of m probabilities is compared with a m-th of it, the next with a (m-1)-th, until one isn't below.
 */
static int judge_together(struct comparison *comparison) {
	struct compare_row **tested = calloc(comparison->nr_rows + 1, sizeof(*tested));
	if (!tested)
		return hc_fail_memory("no memory for %zu rows", comparison->nr_rows);
	size_t m = 0;
	for (size_t i = 0; i < comparison->nr_rows; i++)
		if (comparison->rows[i].verdict == COMPARE_NO_DIFFERENCE && comparison->rows[i].has_test)
			tested[m++] = &comparison->rows[i];
	qsort(tested, m, sizeof(struct compare_row *), by_probability);

	size_t i = 0, by_chance = 0;
	for (; i < m && tested[i]->p < COMPARE_ALPHA / (double)(m - i); i++)
		tested[i]->verdict = tested[i]->speedup > 1 ? COMPARE_FASTER : COMPARE_SLOWER;
	for (; i < m && tested[i]->p < COMPARE_ALPHA; i++) {
		snprintf(tested[i]->why, sizeof(tested[i]->why), "its own interval leaves out 0");
		by_chance++;
	}
	free(tested);
	if (by_chance == 0)
		return 0;
	return compare_add_line(&comparison->notes, &comparison->nr_notes,
	        "%zu %s an interval without 0 and no verdict: of %zu rows some have by chance; fewer are compared with "
	        "--metric",
	        by_chance, by_chance == 1 ? "row has" : "rows have", m);
}

double compare_loss_pct(const struct compare_row *row) {
	if (!row->has_change)
		return 0;
	double loss = row->sides[COMPARE_BASE]->higher_is_better ? -row->change_pct : row->change_pct;
	return loss > 0 ? loss : 0;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* The same work, but it can't be compared: 1 after having said so, 0, or -ENOMEM. */
static int refuse(struct comparison *comparison, const struct compare_entry *entries, size_t n) {
	const struct compare_entry *first = &entries[0], *other = NULL;
	double factor;
	for (size_t i = 1; i < n && !other; i++)
		if (entries[i].run->higher_is_better != first->run->higher_is_better ||
		        !units_factor(entries[i].run->unit, first->run->unit, &factor))
			other = &entries[i];
	if (!other)
		return 0;
	char *label = compare_label(first->run);
	if (!label)
		return hc_fail_memory("no memory for a label");
	int r;
	if (other->run->higher_is_better != first->run->higher_is_better)
		r = compare_add_line(&comparison->refused, &comparison->nr_refused, "%s: %s is better in %s, %s in %s",
		        label, first->run->higher_is_better ? "higher" : "lower", first->document->name,
		        other->run->higher_is_better ? "higher" : "lower", other->document->name);
	else
		r = compare_add_line(&comparison->refused, &comparison->nr_refused,
		        "%s: '%s' in %s and '%s' in %s can't be turned into each other", label, first->run->unit,
		        first->document->name, other->run->unit, other->document->name);
	free(label);
	return r < 0 ? r : 1;
}

/* entries of the same work: first base's, then patched's. */
static int make_row(struct comparison *comparison, const struct compare_side sides[COMPARE_SIDES],
        const struct compare_entry *entries, size_t nr_base, size_t nr_patched) {
	int r = refuse(comparison, entries, nr_base + nr_patched);
	if (r != 0)
		return r < 0 ? r : 0;
	struct compare_row *row = &comparison->rows[comparison->nr_rows];
	const struct results_measured *a = entries[0].run, *b = entries[nr_base].run;
	*row = (struct compare_row){
	        .sides = {a, b},
	        .unit = a->unit,
	        .converted_from = strcmp(a->unit, b->unit) != 0 ? b->unit : NULL,
	        .within_run = sides[COMPARE_BASE].nr_documents == 1 && sides[COMPARE_PATCHED].nr_documents == 1,
	};
	r = fill_value(entries, nr_base, row->unit, &row->values[COMPARE_BASE]);
	if (r == 0)
		r = fill_value(entries + nr_base, nr_patched, row->unit, &row->values[COMPARE_PATCHED]);
	if (r < 0)
		return r;
	/* Between runs and within one isn't the same deviation. */
	for (int side = 0; side < COMPARE_SIDES && !row->within_run; side++)
		if (row->values[side].nr_runs == 1)
			row->values[side].has_stdev = row->values[side].has_stdev_pct = false;
	fill_change(row);
	r = fill_paired(row, entries, nr_base, nr_patched);
	if (r < 0)
		return r;
	judge_alone(row);
	comparison->nr_rows++;
	return 0;
}

static int by_order(const void *a, const void *b) {
	const struct compare_group *x = a, *y = b;
	return (x->order > y->order) - (x->order < y->order);
}

static int make_rows(struct comparison *comparison, const struct compare_side sides[COMPARE_SIDES],
        const struct compare_matching *matching) {
	qsort(matching->groups, matching->nr_groups, sizeof(*matching->groups), by_order);
	comparison->rows = calloc(matching->nr_groups + 1, sizeof(*comparison->rows));
	if (!comparison->rows)
		return hc_fail_memory("no memory for %zu rows", matching->nr_groups);
	int r = 0;
	for (size_t i = 0; i < matching->nr_groups && r == 0; i++) {
		const struct compare_group *group = &matching->groups[i];
		if (group->nr[COMPARE_BASE] > 0 && group->nr[COMPARE_PATCHED] > 0)
			r = make_row(
			        comparison, sides, group->entries, group->nr[COMPARE_BASE], group->nr[COMPARE_PATCHED]);
	}
	return r;
}

/* ---- All ----------------------------------------------------------------------------------- */

static int note_runs(const struct compare_side sides[COMPARE_SIDES], struct comparison *comparison) {
	int r = 0;
	for (int side = 0; side < COMPARE_SIDES && r == 0; side++) {
		for (size_t i = 0; i < sides[side].nr_documents && r == 0; i++)
			if (sides[side].documents[i]->interrupted)
				r = compare_add_line(&comparison->notes, &comparison->nr_notes,
				        "%s: %s was interrupted and has fewer samples", side_names[side],
				        sides[side].documents[i]->name);
	}
	size_t least = 0, lacking = 0;
	for (size_t i = 0; i < comparison->nr_rows; i++) {
		const struct compare_row *row = &comparison->rows[i];
		size_t runs = smaller(row->values[COMPARE_BASE].nr_runs, row->values[COMPARE_PATCHED].nr_runs);
		least = i == 0 ? runs : smaller(least, runs);
		lacking += row->values[COMPARE_BASE].nr_runs < sides[COMPARE_BASE].nr_documents ||
		           row->values[COMPARE_PATCHED].nr_runs < sides[COMPARE_PATCHED].nr_documents;
	}
	if (r == 0 && lacking > 0)
		r = compare_add_line(&comparison->notes, &comparison->nr_notes, "%zu %s in all files of its side",
		        lacking, lacking == 1 ? "row isn't" : "rows aren't");
	if (r == 0 && least > 1 && least < RUNS_FEW)
		r = compare_add_line(&comparison->notes, &comparison->nr_notes,
		        "only %zu runs on a side: the intervals lean on the runs' scatter being normal", least);
	return r;
}

int compare(const struct compare_side sides[COMPARE_SIDES], const struct compare_opts *opts,
        struct comparison **ret_comparison) {
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	if (!comparison)
		return hc_fail_memory("no memory to compare");
	struct compare_matching matching = {0};
	int r = compare_match(sides, opts, &matching);
	if (r == 0)
		r = make_rows(comparison, sides, &matching);
	if (r == 0)
		r = compare_unmatched(&matching, comparison);
	if (r == 0)
		r = judge_together(comparison);
	if (r == 0)
		r = note_runs(sides, comparison);
	if (r == 0)
		r = compare_hosts(sides, comparison);
	compare_matching_end(&matching);
	if (r < 0) {
		comparison_free(comparison);
		return r;
	}
	*ret_comparison = comparison;
	return 0;
}
