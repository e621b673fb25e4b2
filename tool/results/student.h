/*
 * Student's t distribution, and what is worked out with it: whether two means differ, and by how much.
 * Degrees of freedom needn't be whole.
 */
#ifndef HC_RESULTS_STUDENT_H
#define HC_RESULTS_STUDENT_H

#include <stdbool.h>
#include <stddef.h>

/* The probability of a value at least as far from 0 as t, on either side. pre: df > 0 */
double student_two_sided(double t, double df);

/* The t beyond which, on both sides together, lies the part alpha. pre: 0 < alpha < 1, df > 0 */
double student_quantile(double alpha, double df);

/* The mean of n values and their sample deviation (n - 1). */
struct student_side {
	double mean, stdev;
	size_t n;
};

struct student_welch {
	double t, df, p;
};

/*
 * Welch's test of whether the means of two sides differ, whose deviations and numbers may differ
 * ("The generalization of 'Student's' problem when several different population variances are involved",
 * 1947), with Satterthwaite's degrees of freedom (1946). t has the sign of b - a. False, and nothing
 * written, where there is no such thing: fewer than two values on a side, or no deviation on both.
 */
bool student_welch(const struct student_side *a, const struct student_side *b, struct student_welch *ret_welch);

/*
 * The interval that holds the ratio of the means, b / a, at the level 1 - alpha: all ratios r for
 * which b and r * a don't differ by the test above (Fieller, "Some problems in interval estimation",
 * 1954, with the degrees of freedom of that test). So it holds 1 exactly where the test finds no
 * difference. False, and nothing written, where the test isn't possible, and where mean a is so near to 0 for its
 * deviation that no ratio can be ruled out.
 */
bool student_ratio_interval(
        const struct student_side *a, const struct student_side *b, double alpha, double *ret_low, double *ret_high);

struct student_pair {
	double a, b;
};

struct student_paired {
	double t, df, p;
	double ratio, low, high; /* b / a: the geometric mean of the pairs' ratios, and its interval */
};

/*
 * Student's test of whether the ratios b / a of n pairs differ from 1, of their logarithms, and the interval at the
 * level 1 - alpha, which holds 1 exactly where the test finds no difference. What the two of a pair share, as
 * the same moment of a machine, takes no part. False, and nothing written, where there is no such thing: fewer than two
 * pairs, a value that isn't above 0, or no deviation.
 */
bool student_paired(const struct student_pair *pairs, size_t n, double alpha, struct student_paired *ret_paired);

#endif
