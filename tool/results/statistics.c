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

static int compare_doubles(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double *sorted_copy(const double *samples, size_t n) {
	double *sorted = n <= SIZE_MAX / sizeof(*sorted) ? malloc(n * sizeof(*sorted)) : NULL;
	if (sorted) {
		memcpy(sorted, samples, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), compare_doubles);
	}
	return sorted;
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

	double *sorted = sorted_copy(samples, n);
	if (!sorted)
		return hc_fail_memory("no memory for %s", hc_counted(n, "sample").s);
	s.min = sorted[0];
	s.max = sorted[n - 1];
	s.median = statistics_quantile(sorted, n, 0.5);
	free(sorted);

	*ret_statistics = s;
	return 0;
}

size_t statistics_outliers(const double *samples, size_t n, bool *ret_flags) {
	memset(ret_flags, 0, n * sizeof(*ret_flags));
	if (n < OUTLIER_LEAST)
		return 0;
	double *distances = sorted_copy(samples, n);
	if (!distances)
		return 0;

	double median = statistics_quantile(distances, n, 0.5), sum = 0;
	for (size_t i = 0; i < n; i++) {
		distances[i] = fabs(samples[i] - median);
		sum += distances[i];
	}
	qsort(distances, n, sizeof(*distances), compare_doubles);
	double deviation = 1.4826 * statistics_quantile(distances, n, 0.5);
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
