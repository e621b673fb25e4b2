#include <stdlib.h>
#include <string.h>

#include "tune.h"

/* A profile departs from the built-in choice only where that gains more than this. */
#define MARGIN 1.03

/* Methods this close to the best are as good: then the profile has fewer steps. */
#define AS_GOOD 0.99

/* Methods behind by this after so many rounds are out. */
#define FAR_BEHIND 0.8
#define ROUNDS_BEFORE_DROPPING 3

static int compare_doubles(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double sorted_median(const double *sorted, unsigned n) {
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/*
 * The index in n sorted values of the lower end of a one-sided interval for their
 * median, with 99 % confidence and no assumption on how they are distributed: the
 * largest k with P(Binomial(n, 1/2) <= k) <= 0.01. -1 where n is below TUNE_ROUNDS_LEAST.
 */
static int lower_bound_index(unsigned n) {
	double term = 1; /* P(Binomial = k), from 2^-n on */
	for (unsigned i = 0; i < n; i++)
		term /= 2;
	double sum = 0;
	int k = -1;
	while (k + 1 < (int)n && (sum += term) <= 0.01) {
		k++;
		term = term * (n - (unsigned)k) / (k + 1);
	}
	return k;
}

struct tune_comparison tune_compare(const struct tune_cell *cell, unsigned method) {
	struct tune_comparison comparison = {0, 0, 0};
	double ratios[TUNE_ROUNDS_MAX];
	for (unsigned i = 0; i < cell->nr_rounds; i++)
		if (cell->ns[method][i] && cell->ns[cell->builtin][i])
			ratios[comparison.nr_rounds++] = (double)cell->ns[cell->builtin][i] /
			                                 (double)cell->ns[method][i];
	if (comparison.nr_rounds == 0)
		return comparison;

	qsort(ratios, comparison.nr_rounds, sizeof(*ratios), compare_doubles);
	comparison.ratio = sorted_median(ratios, comparison.nr_rounds);
	int k = lower_bound_index(comparison.nr_rounds);
	if (k >= 0)
		comparison.at_least = ratios[k];
	return comparison;
}

double tune_speed(const struct tune_cell *cell, unsigned method) {
	double times[TUNE_ROUNDS_MAX];
	unsigned n = 0;
	for (unsigned i = 0; i < cell->nr_rounds; i++)
		if (cell->ns[method][i])
			times[n++] = (double)cell->ns[method][i];
	if (n == 0)
		return 0;
	qsort(times, n, sizeof(*times), compare_doubles);
	return (double)cell->sample_bytes / (1024.0 * 1024 * 1024) / (sorted_median(times, n) * 1e-9);
}

void tune_drop(struct tune_cell *cell, unsigned nr_methods) {
	if (cell->nr_rounds < ROUNDS_BEFORE_DROPPING)
		return;
	for (unsigned m = 0; m < nr_methods; m++)
		if (m != cell->builtin && tune_compare(cell, m).ratio < FAR_BEHIND)
			cell->dropped[m] = true;
}

unsigned tune_choose(const struct tune_cell *cell, unsigned nr_methods, unsigned preferred) {
	unsigned best = cell->builtin;
	double best_ratio = 0;
	for (unsigned m = 0; m < nr_methods; m++) {
		struct tune_comparison comparison = tune_compare(cell, m);
		if (m != cell->builtin && !cell->dropped[m] && comparison.at_least > MARGIN &&
		        comparison.ratio > best_ratio) {
			best = m;
			best_ratio = comparison.ratio;
		}
	}
	if (best != cell->builtin && preferred < nr_methods && preferred != cell->builtin &&
	        !cell->dropped[preferred]) {
		struct tune_comparison comparison = tune_compare(cell, preferred);
		if (comparison.at_least > MARGIN && comparison.ratio >= best_ratio * AS_GOOD)
			return preferred;
	}
	return best;
}

/* Half way between two lengths on a scale of powers of two, rounded down to one. */
static uint64_t between(uint64_t a, uint64_t b) {
	unsigned log_a = 63 - (unsigned)__builtin_clzll(a), log_b = 63 - (unsigned)__builtin_clzll(b);
	uint64_t middle = UINT64_C(1) << ((log_a + log_b) / 2);
	return middle < a ? a : middle;
}

unsigned tune_steps(const struct tune *tune, enum hc_intent intent, const unsigned *choices,
        const struct hc_clear_profile_step *builtin, unsigned nr_builtin,
        struct hc_clear_profile_step ret_steps[HC_CLEAR_PROFILE_STEPS_MAX]) {
	unsigned n = 0, step = 0;
	bool differs = false, first = true;

	/* Walks along the lengths; what is below low is done. */
	uint64_t low = 0;
	for (unsigned i = 0; i < tune->nr_cells; i++) {
		const struct tune_cell *cell = &tune->cells[i];
		if (cell->intent != intent)
			continue;
		bool last = i + 1 == tune->nr_cells || tune->cells[i + 1].intent != intent;
		uint64_t cell_end = last ? HC_UNKNOWN : between(cell->extent, tune->cells[i + 1].extent);
		/* Nobody measured what is well below the first extent. */
		uint64_t cell_start = first ? cell->extent / 2 : 0;
		first = false;

		while (low < cell_end) {
			while (step + 1 < nr_builtin && builtin[step].up_to <= low)
				step++;
			bool other = choices[i] != cell->builtin && low >= cell_start;
			uint64_t end = choices[i] != cell->builtin && !other ? cell_start : cell_end;
			if (!other && builtin[step].up_to < end)
				end = builtin[step].up_to;
			const char *method = other ? tune->methods[choices[i]]->name : builtin[step].method;
			differs = differs || other;

			if (n > 0 && strcmp(ret_steps[n - 1].method, method) == 0)
				ret_steps[n - 1].up_to = end;
			else if (n < HC_CLEAR_PROFILE_STEPS_MAX)
				ret_steps[n++] = (struct hc_clear_profile_step){intent, method, end};
			else
				return 0; /* more steps than a profile has room for: that is noise */
			low = end;
		}
	}
	return differs ? n : 0;
}
