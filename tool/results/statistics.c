#include "results/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "base/error.h"

#define OUTLIER_SCORE 3.5
#define OUTLIER_LEAST 5
/* Halving 2^64 values by the worst of pivots that aren't bad. */
#define SELECT_ROUNDS_MAX 200

static int compare_doubles(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double *copy_of(const double *samples, size_t n) {
	double *copy = n <= SIZE_MAX / sizeof(*copy) ? malloc(n * sizeof(*copy)) : NULL;
	if (copy)
		memcpy(copy, samples, n * sizeof(*copy));
	return copy;
}

static void swap(double *a, double *b) {
	double kept = *a;
	*a = *b;
	*b = kept;
}

/*
 * Reorders values so that the k-th smallest stands at k, none larger before it, none smaller behind it:
 * Hoare's "Algorithm 65: Find" (1961). Where pivots are bad again and again the rest is sorted.
 */
static void select_kth(double *values, size_t n, size_t k) {
	size_t low = 0, high = n - 1;
	for (unsigned rounds = 0; low < high; rounds++) {
		if (rounds == SELECT_ROUNDS_MAX) {
			qsort(values + low, high - low + 1, sizeof(*values), compare_doubles);
			return;
		}
		double pivot = values[low + (high - low) / 2];
		size_t i = low, j = high;
		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (pivot < values[j])
				j--;
			if (i > j)
				break;
			swap(&values[i++], &values[j]);
			if (j-- == 0)
				break;
		}
		if (k <= j && j != SIZE_MAX)
			high = j;
		else if (k >= i)
			low = i;
		else
			return;
	}
}

/* Reorders values. pre: n > 0 */
static double median_of(double *values, size_t n) {
	select_kth(values, n, n / 2);
	double upper = values[n / 2];
	if (n % 2 == 1)
		return upper;
	double lower = values[0];
	for (size_t i = 1; i < n / 2; i++)
		lower = values[i] > lower ? values[i] : lower;
	/* As statistics_quantile() has it. */
	return lower + (upper - lower) / 2;
}

double statistics_quantile(const double *sorted, size_t n, double q) {
	double place = q * (double)(n - 1);
	size_t below = (size_t)place;
	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

int statistics_of(const double *samples, size_t n, struct statistics *ret_statistics) {
	struct statistics s = {.n = n};
	if (n == 0)
		return hc_fail(EINVAL, "no samples");
	for (size_t i = 0; i < n; i++)
		if (!isfinite(samples[i]))
			return hc_fail(EINVAL, "sample %zu is not a finite number", i);

	/* Relative to the first sample: large equal parts cancel before anything is squared. */
	double shifted = 0;
	for (size_t i = 0; i < n; i++)
		shifted += samples[i] - samples[0];
	s.mean = samples[0] + shifted / (double)n;

	if (n > 1) {
		/* Two passes; the second sum takes out what rounding left in the mean. */
		double squares = 0, rest = 0;
		for (size_t i = 0; i < n; i++) {
			double d = samples[i] - s.mean;
			squares += d * d;
			rest += d;
		}
		double variance = (squares - rest * rest / (double)n) / (double)(n - 1);
		s.has_stdev = true;
		s.stdev = variance > 0 ? sqrt(variance) : 0;
		double pct = s.mean != 0 ? s.stdev / fabs(s.mean) * 100 : INFINITY;
		s.has_stdev_pct = isfinite(pct);
		s.stdev_pct = s.has_stdev_pct ? pct : 0;
		if (isnan(variance) || !isfinite(s.stdev))
			return hc_fail(ERANGE, "the samples are too large for a deviation");
	}
	if (!isfinite(s.mean))
		return hc_fail(ERANGE, "the samples are too large for a mean");

	double *copy = copy_of(samples, n);
	if (!copy)
		return hc_fail_memory("no memory for %s", hc_counted(n, "sample").s);
	s.min = s.max = samples[0];
	for (size_t i = 1; i < n; i++) {
		s.min = samples[i] < s.min ? samples[i] : s.min;
		s.max = samples[i] > s.max ? samples[i] : s.max;
	}
	s.median = median_of(copy, n);
	free(copy);

	*ret_statistics = s;
	return 0;
}

size_t statistics_outliers(const double *samples, size_t n, bool *ret_flags) {
	memset(ret_flags, 0, n * sizeof(*ret_flags));
	if (n < OUTLIER_LEAST)
		return 0;
	double *distances = copy_of(samples, n);
	if (!distances)
		return 0;

	double median = median_of(distances, n), sum = 0;
	for (size_t i = 0; i < n; i++) {
		distances[i] = fabs(samples[i] - median);
		sum += distances[i];
	}
	double deviation = 1.4826 * median_of(distances, n);
	if (deviation <= 0)
		deviation = 1.2533 * sum / (double)n;
	free(distances);

	size_t found = 0;
	for (size_t i = 0; i < n; i++) {
		/* A product, so that a deviation of 0 (all equal) divides nothing. */
		ret_flags[i] = fabs(samples[i] - median) > OUTLIER_SCORE * deviation;
		found += ret_flags[i];
	}
	return found;
}

bool statistics_change_pct(double base, double value, double *ret_pct) {
	if (base == 0)
		return false;
	double pct = (value / base - 1) * 100;
	if (!isfinite(pct))
		return false;
	*ret_pct = pct;
	return true;
}
