/* Student's t, Welch's test and Fieller's interval against scipy's figures: tests/fixtures/bench/student.tsv. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "results/statistics.h"
#include "results/student.h"

static unsigned rows_of[4];

static void expect_close(double got, const char *expected, double relative) {
	double wanted = strtod(expected, NULL);
	if (!(fabs(got - wanted) <= relative * fabs(wanted)))
		fail_msg("%.17g isn't %s", got, expected);
}

#define VALUES_MAX 64

static size_t values_of(char *text, double values[VALUES_MAX]) {
	size_t n = 0;
	for (char *rest = text, *end; *rest; rest = *end ? end + 1 : end)
		values[n++] = strtod(rest, &end);
	return n;
}

static struct student_side side_of(char *text) {
	double values[VALUES_MAX];
	size_t n = values_of(text, values);
	struct statistics s;
	assert_ok(statistics_of(values, n, &s));
	return (struct student_side){.mean = s.mean, .stdev = s.stdev, .n = n};
}

static void check_paired(char **fields) {
	double a[VALUES_MAX], b[VALUES_MAX];
	struct student_pair pairs[VALUES_MAX];
	size_t n = values_of(fields[1], a);
	assert_int_equal(values_of(fields[2], b), n);
	for (size_t i = 0; i < n; i++)
		pairs[i] = (struct student_pair){a[i], b[i]};
	struct student_paired paired;
	assert_true(student_paired(pairs, n, 0.05, &paired));
	expect_close(paired.t, fields[3], 1e-9);
	expect_close(paired.df, fields[4], 0);
	expect_close(paired.p, fields[5], 1e-8);
	expect_close(paired.ratio, fields[6], 1e-12);
	expect_close(paired.low, fields[7], 1e-9);
	expect_close(paired.high, fields[8], 1e-9);
	assert_int_equal(paired.low <= 1 && 1 <= paired.high, paired.p >= 0.05);
}

static void check_row(void *user, char **fields, unsigned nr_fields) {
	(void)user;
	if (strcmp(fields[0], "p") == 0) {
		assert_int_equal(nr_fields, 4);
		rows_of[0]++;
		/* Far out a probability is exp() of a large number: its last digits go. */
		expect_close(student_two_sided(strtod(fields[2], NULL), strtod(fields[1], NULL)), fields[3], 2e-9);
		expect_close(student_two_sided(-strtod(fields[2], NULL), strtod(fields[1], NULL)), fields[3], 2e-9);
	} else if (strcmp(fields[0], "quantile") == 0) {
		assert_int_equal(nr_fields, 4);
		rows_of[1]++;
		/* As near as scipy's are: with 40 digits the probabilities of its quantiles are off by up to 6e-9. */
		expect_close(student_quantile(strtod(fields[2], NULL), strtod(fields[1], NULL)), fields[3], 1e-8);
	} else if (strcmp(fields[0], "paired") == 0) {
		assert_int_equal(nr_fields, 9);
		rows_of[3]++;
		check_paired(fields);
	} else {
		assert_int_equal(nr_fields, 8);
		rows_of[2]++;
		struct student_side a = side_of(fields[1]), b = side_of(fields[2]);
		struct student_welch welch;
		assert_true(student_welch(&a, &b, &welch));
		expect_close(welch.t, fields[3], 1e-9);
		expect_close(welch.df, fields[4], 1e-9);
		expect_close(welch.p, fields[5], 1e-8);
		double low, high;
		bool bounded = student_ratio_interval(&a, &b, 0.05, &low, &high);
		assert_int_equal(bounded, strcmp(fields[6], "none") != 0);
		if (bounded) {
			expect_close(low, fields[6], 1e-8);
			expect_close(high, fields[7], 1e-8);
			/* It holds 1 exactly where the test finds nothing. */
			assert_int_equal(low <= 1 && 1 <= high, welch.p >= 0.05);
		}
	}
}

static void test_figures_of_scipy(void **state) {
	(void)state;
	assert_int_equal(fixture_rows("bench/student.tsv", check_row, NULL), 172);
	assert_int_equal(rows_of[0], 110);
	assert_int_equal(rows_of[1], 48);
	assert_int_equal(rows_of[2], 9);
	assert_int_equal(rows_of[3], 5);
}

static void test_BN_04_one_wild_value_is_not_significant(void **state) {
	(void)state;
	struct student_welch welch;
	assert_true(student_welch(
	        &(struct student_side){14.0, 8.94427190999916, 5}, &(struct student_side){10.01, 0.0742, 5}, &welch));
	assert_true(fabs(welch.t - -0.997) < 0.0005 && fabs(welch.df - 4.00) < 0.005 && fabs(welch.p - 0.375) < 0.0005);
}

static void test_BN_15_two_and_thirty(void **state) {
	(void)state;
	struct student_welch welch;
	assert_true(student_welch(
	        &(struct student_side){10.1, 0.1414213562, 2}, &(struct student_side){11.1, 0.1414213562, 2}, &welch));
	assert_true(fabs(welch.t - 7.07) < 0.005 && fabs(welch.df - 2.00) < 0.005 && fabs(welch.p - 0.0194) < 0.00005);
}

static void test_what_has_no_test(void **state) {
	(void)state;
	struct student_welch welch;
	double low, high;
	const struct student_side one = {1, 0, 1}, still = {1, 0, 5}, other = {2, 0, 5}, spread = {1, 0.1, 5},
	                          zero = {0, 1, 5};
	assert_false(student_welch(&one, &spread, &welch));
	assert_false(student_welch(&spread, &one, &welch));
	assert_false(student_welch(&still, &other, &welch));
	assert_true(student_welch(&still, &spread, &welch));
	/* BN-02: no ratio to 0, nor to what can't be told from it. */
	assert_false(student_ratio_interval(&zero, &spread, 0.05, &low, &high));
	assert_false(student_ratio_interval(&(struct student_side){0.1, 1, 5}, &spread, 0.05, &low, &high));
	assert_false(student_ratio_interval(&still, &other, 0.05, &low, &high));
	/* No ratio of what isn't above 0; of one pair, and of pairs that are all alike, no deviation. */
	struct student_paired paired;
	assert_false(student_paired((struct student_pair[]){{1, 2}, {0, 2}, {1, 3}}, 3, 0.05, &paired));
	assert_false(student_paired((struct student_pair[]){{1, 2}, {2, -2}, {1, 3}}, 3, 0.05, &paired));
	assert_false(student_paired((struct student_pair[]){{1, 2}}, 1, 0.05, &paired));
	assert_false(student_paired((struct student_pair[]){{1, 2}, {2, 4}, {4, 8}}, 3, 0.05, &paired));
	assert_false(student_paired(NULL, 0, 0.05, &paired));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_figures_of_scipy),
	        cmocka_unit_test(test_BN_04_one_wild_value_is_not_significant),
	        cmocka_unit_test(test_BN_15_two_and_thirty),
	        cmocka_unit_test(test_what_has_no_test),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
