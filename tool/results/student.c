#include "results/student.h"

#include <float.h>
#include <math.h>

/* Terms of the continued fraction: it needs about the root of the larger parameter. */
#define TERMS_MAX 100000
/* Halvings of an interval of doubles until there is nothing between its ends. */
#define HALVINGS_MAX 200

/*
 * 1 + d1 / (1 + d2 / (1 + ...)), the continued fraction of the incomplete beta function (NIST Digital
 * Library of Mathematical Functions, 8.17.22), evaluated forwards by the method of Lentz as modified by Thompson
 * and Barnett ("Coulomb and Bessel functions of complex arguments and order", 1986).
 */
static double beta_fraction(double a, double b, double x) {
	double value = 1, numerator = 1, denominator = 0;
	for (int i = 1; i < TERMS_MAX; i++) {
		double m = i / 2, d; // NOLINT(bugprone-integer-division): the pairs of terms are counted
		if (i % 2 == 0)
			d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		else
			d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		denominator = 1 + d * denominator;
		denominator = 1 / (denominator != 0 ? denominator : DBL_MIN);
		numerator = 1 + d / numerator;
		numerator = numerator != 0 ? numerator : DBL_MIN;
		value *= numerator * denominator;
		if (fabs(numerator * denominator - 1) < DBL_EPSILON)
			break;
	}
	return value;
}

/* The regularised incomplete beta function by the fraction, which is fast below (a + 1) / (a + b + 2). rest: 1 - x */
static double beta_below(double a, double b, double x, double rest) {
	int sign;
	double factor = lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log(rest);
	return exp(factor) / a / beta_fraction(a, b, x);
}

/* The same everywhere. rest is 1 - x, which the caller knows better. */
static double beta_part(double a, double b, double x, double rest) {
	if (x <= 0)
		return 0;
	if (rest <= 0)
		return 1;
	return x > (a + 1) / (a + b + 2) ? 1 - beta_below(b, a, rest, x) : beta_below(a, b, x, rest);
}

double student_two_sided(double t, double df) {
	/* As quotients of squares that can't overflow. */
	double larger = fmax(fabs(t), sqrt(df)), tt = t / larger * (t / larger), dd = df / larger / larger;
	return beta_part(df / 2, 0.5, dd / (dd + tt), tt / (dd + tt));
}

double student_quantile(double alpha, double df) {
	double low = 0, high = 1;
	while (student_two_sided(high, df) > alpha && high < DBL_MAX / 2)
		high *= 2;
	for (int i = 0; i < HALVINGS_MAX; i++) {
		double middle = low + (high - low) / 2;
		if (middle <= low || middle >= high)
			break;
		if (student_two_sided(middle, df) > alpha)
			low = middle;
		else
			high = middle;
	}
	return high;
}

bool student_welch(const struct student_side *a, const struct student_side *b, struct student_welch *ret_welch) {
	if (a->n < 2 || b->n < 2)
		return false;
	double error_a = a->stdev / sqrt((double)a->n), error_b = b->stdev / sqrt((double)b->n);
	double error = hypot(error_a, error_b);
	if (!(error > 0))
		return false;
	/* In parts of the whole, so that nothing under- or overflows when it is squared twice. */
	double part_a = error_a / error * (error_a / error), part_b = error_b / error * (error_b / error);
	struct student_welch welch = {
	        .t = (b->mean - a->mean) / error,
	        .df = 1 / (part_a * part_a / (double)(a->n - 1) + part_b * part_b / (double)(b->n - 1)),
	};
	if (!isfinite(welch.t) || !isfinite(welch.df))
		return false;
	welch.p = student_two_sided(welch.t, welch.df);
	*ret_welch = welch;
	return true;
}

bool student_ratio_interval(
        const struct student_side *a, const struct student_side *b, double alpha, double *ret_low, double *ret_high) {
	struct student_welch welch;
	if (!student_welch(a, b, &welch) || a->mean == 0)
		return false;
	double t = student_quantile(alpha, welch.df);
	/* In units of mean a: its margin, mean b, and the margin of that. */
	double margin_a = t * a->stdev / sqrt((double)a->n) / fabs(a->mean), ratio = b->mean / a->mean;
	double margin_b = t * b->stdev / sqrt((double)b->n) / fabs(a->mean);
	/* (ratio - r)^2 <= margin_b^2 + r^2 margin_a^2, a parabola in r that is open upwards while 1 > margin_a^2. */
	double open = 1 - margin_a * margin_a;
	if (!(open > 0))
		return false;
	double root = sqrt(fmax(0, margin_b * margin_b * open + ratio * ratio * margin_a * margin_a));
	double low = (ratio - root) / open, high = (ratio + root) / open;
	if (!isfinite(low) || !isfinite(high))
		return false;
	*ret_low = low;
	*ret_high = high;
	return true;
}

bool student_paired(const struct student_pair *pairs, size_t n, double alpha, struct student_paired *ret_paired) {
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++) {
		if (!(pairs[i].a > 0) || !(pairs[i].b > 0))
			return false;
		sum += log(pairs[i].b / pairs[i].a);
	}
	double mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (log(pairs[i].b / pairs[i].a) - mean) * (log(pairs[i].b / pairs[i].a) - mean);
	if (n < 2 || !isfinite(squares) || !(squares > 0))
		return false;
	double error = sqrt(squares / (double)(n - 1) / (double)n), df = (double)(n - 1);
	double margin = student_quantile(alpha, df) * error, t = mean / error;
	struct student_paired paired = {.t = t,
	        .df = df,
	        .p = student_two_sided(t, df),
	        .ratio = exp(mean),
	        .low = exp(mean - margin),
	        .high = exp(mean + margin)};
	if (!isfinite(paired.t) || !isfinite(paired.low) || !isfinite(paired.high))
		return false;
	*ret_paired = paired;
	return true;
}
