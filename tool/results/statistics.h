/* Statistics of a handful of samples: what a benchmark prints of them. */
#ifndef HC_RESULTS_STATISTICS_H
#define HC_RESULTS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct statistics {
	size_t n;
	double mean, median, min, max;
	/*
	 * The sample deviation (n - 1), and in percent of |mean|. One sample has none:
	 * it is unknown, not 0. A mean of 0 has no percentage.
	 */
	bool has_stdev, has_stdev_pct;
	double stdev, stdev_pct;
};

/*
 * Returns 0; -EINVAL for no samples or one that isn't finite; -ERANGE where the
 * samples are so large that their mean or deviation isn't a number; -ENOMEM.
 */
int statistics_of(const double *samples, size_t n, struct statistics *ret_statistics);

/*
 * The q-quantile, q in [0, 1], of samples in ascending order, linear between the
 * two nearest (R's type 7). pre: n > 0
 */
double statistics_quantile(const double *sorted, size_t n, double q);

/*
 * Flags the samples that are far from the rest, on either side, and returns how
 * many: a distance from the median of more than 3.5 robust deviations, which are
 * 1.4826 times the median distance, or, where more than half of the samples are equal, so that it
 * is 0, 1.2533 times the mean distance (Iglewicz and Hoaglin, "How to Detect and
 * Handle Outliers", 1993). None among fewer than five. Flags are for showing:
 * samples are never dropped.
 */
size_t statistics_outliers(const double *samples, size_t n, bool *ret_flags);

/* The change from base in percent. False, and nothing written, where base is 0 or the result isn't a number. */
bool statistics_change_pct(double base, double value, double *ret_pct);

#endif
