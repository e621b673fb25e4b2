/* Statistics of samples against values worked out elsewhere: tests/fixtures/bench/expected.tsv, and paper. */
#include "support/support.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <hugeclear/hugeclear.h>

#include "results/statistics.h"

#define LEN(array) (sizeof(array) / sizeof(*(array)))

static struct statistics of(const double *samples, size_t n) {
	struct statistics s;
	assert_ok(statistics_of(samples, n, &s));
	return s;
}

static void expect_near(double got, double expected, double tolerance) {
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%.17g isn't %.17g", got, expected);
}

static void test_BN_10_deviation_divides_by_n_minus_1(void **state) {
	(void)state;
	/* Squares of the distances add up to 4 + 1 + 0 + 1 + 4; 10 / 4 = 2.5. */
	struct statistics s = of((double[]){10, 11, 12, 13, 14}, 5);
	assert_true(s.has_stdev && s.has_stdev_pct);
	expect_near(s.mean, 12, 0);
	expect_near(s.stdev, 1.5811388300841898, 1e-15);
	expect_near(s.stdev_pct, 13.176156917368249, 1e-12);
	expect_near(s.median, 12, 0);
	expect_near(s.min, 10, 0);
	expect_near(s.max, 14, 0);
}

static void test_BN_10_large_equal_parts_do_not_cancel_digits(void **state) {
	(void)state;
	/* Distances from the mean 10 are 6, 3, 3, 6: 90 / 3 = 30. */
	struct statistics s = of((double[]){1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, 4);
	expect_near(s.mean, 1e9 + 10, 0);
	expect_near(s.stdev * s.stdev, 30, 1e-9);
	expect_near(s.stdev, 5.4772, 5e-5);

	/* Fractions of a nanosecond stay. */
	s = of((double[]){1.8, 1.8, 1.8, 1.8}, 4);
	expect_near(s.mean, 1.8, 1e-15);
	expect_near(s.stdev, 0, 1e-15);
}

static void test_BN_01_one_sample_has_no_deviation(void **state) {
	(void)state;
	struct statistics s = of((double[]){15468.63}, 1);
	assert_false(s.has_stdev);
	assert_false(s.has_stdev_pct);
	assert_false(isnan(s.stdev) || isnan(s.stdev_pct));
	expect_near(s.mean, 15468.63, 0);
	expect_near(s.median, 15468.63, 0);
}

static void test_BN_02_mean_of_zero_has_no_percentage(void **state) {
	(void)state;
	struct statistics s = of((double[]){0, 0, 0}, 3);
	assert_true(s.has_stdev);
	assert_false(s.has_stdev_pct);
	expect_near(s.stdev, 0, 0);
	s = of((double[]){-1, 1}, 2);
	assert_false(s.has_stdev_pct);

	double pct = 7;
	assert_false(statistics_change_pct(0, 0.2, &pct));
	assert_false(statistics_change_pct(DBL_MIN, DBL_MAX, &pct));
	expect_near(pct, 7, 0);
}

static void test_refused_samples(void **state) {
	(void)state;
	struct statistics s;
	assert_error(statistics_of(NULL, 0, &s), EINVAL);
	assert_error(statistics_of((double[]){1, NAN}, 2, &s), EINVAL);
	assert_detail_has("sample 1");
	assert_error(statistics_of((double[]){INFINITY, 1}, 2, &s), EINVAL);
	assert_error(statistics_of((double[]){-DBL_MAX, DBL_MAX}, 2, &s), ERANGE);
	assert_error(statistics_of((double[]){DBL_MAX, DBL_MAX / 2}, 2, &s), ERANGE);
}

static void test_quantiles(void **state) {
	(void)state;
	/* R: quantile(c(1, 2, 3, 4), c(0, .25, .5, .9, 1)) is 1.00 1.75 2.50 3.70 4.00 */
	const double sorted[] = {1, 2, 3, 4};
	expect_near(statistics_quantile(sorted, 4, 0), 1, 0);
	expect_near(statistics_quantile(sorted, 4, 0.25), 1.75, 1e-15);
	expect_near(statistics_quantile(sorted, 4, 0.5), 2.5, 1e-15);
	expect_near(statistics_quantile(sorted, 4, 0.9), 3.7, 1e-15);
	expect_near(statistics_quantile(sorted, 4, 1), 4, 0);
	expect_near(statistics_quantile(sorted, 1, 0.5), 1, 0);
	expect_near(of((double[]){4, 1, 3, 2}, 4).median, 2.5, 1e-15);
}

static void expect_flags(const double *samples, size_t n, const char *expected) {
	bool flags[16];
	size_t found = statistics_outliers(samples, n, flags), wanted = 0;
	for (size_t i = 0; i < n; i++) {
		wanted += expected[i] == 'x';
		if (flags[i] != (expected[i] == 'x'))
			fail_msg("sample %zu (%g) is %sflagged", i, samples[i], flags[i] ? "" : "not ");
	}
	assert_int_equal(found, wanted);
}

static void test_BN_04_outliers_on_both_sides_without_dividing_by_0(void **state) {
	(void)state;
	expect_flags((double[]){10, 10.1, 9.9, 10, 30}, 5, "....x");
	expect_flags((double[]){10, 10.1, 9.9, 10, 10.05}, 5, ".....");
	expect_flags((double[]){1, 1, 1, 1, 1, 1, 1.0001}, 7, "......x");
	expect_flags((double[]){1, 1, 1, 1, 1, 1, 0.2}, 7, "......x");
	expect_flags((double[]){1, 1, 1, 1, 1}, 5, ".....");
	expect_flags((double[]){0, 0, 0, 0, 0}, 5, ".....");
	/* More than half are equal, and the rest isn't rare: 1 / (1.2533 * 4 / 9) = 1.8. */
	expect_flags((double[]){0, 1, 0, 1, 0, 1, 0, 1, 0}, 9, ".........");
	expect_flags((double[]){1, 100}, 2, "..");
	expect_flags((double[]){1, 2, 3, 4, 5}, 5, ".....");
}

struct file {
	double samples[64];
	size_t n;
};

static bool read_file(const char *pair, const char *side, struct file *ret) {
	char name[128];
	snprintf(name, sizeof(name), "bench/%s%s.json", pair, side);
	json_error_t error;
	json_t *document = json_load_file(fixture_path(name), 0, &error);
	if (!document)
		return false;
	json_t *samples = json_object_get(json_array_get(json_object_get(document, "runs"), 0), "samples"), *sample;
	size_t i;
	assert_in_range(json_array_size(samples), 1, LEN(ret->samples));
	json_array_foreach(samples, i, sample) ret->samples[i] = json_number_value(sample);
	ret->n = json_array_size(samples);
	json_decref(document);
	return true;
}

/* One digit in the last printed place, as the table is rounded. */
static double last_place(const char *text) {
	const char *point = strchr(text, '.');
	return point ? pow(10, -(double)strlen(point + 1)) : 1;
}

static void expect_as_printed(double got, const char *text) {
	expect_near(got, strtod(text, NULL), 0.51 * last_place(text));
}

static void check_side(const struct file *file, const char *mean, const char *stdev) {
	struct statistics s = of(file->samples, file->n);
	expect_as_printed(s.mean, mean);
	assert_int_equal(s.has_stdev, strcmp(stdev, "n/a") != 0);
	if (s.has_stdev && strcmp(stdev, "0") == 0)
		expect_near(s.stdev, 0, 1e-12);
	else if (s.has_stdev)
		expect_as_printed(s.stdev, stdev);
}

static void check_row(void *user, char **fields, unsigned nr_fields) {
	struct file a, b;
	assert_true(nr_fields >= 6);
	if (read_file(fields[0], "", &a)) {
		check_side(&a, fields[1], fields[2]);
		++*(unsigned *)user;
		return;
	}
	if (!read_file(fields[0], "-a", &a) || !read_file(fields[0], "-b", &b))
		return;
	check_side(&a, fields[1], fields[2]);
	check_side(&b, fields[3], fields[4]);

	double pct;
	bool has_pct = statistics_change_pct(of(a.samples, a.n).mean, of(b.samples, b.n).mean, &pct);
	assert_int_equal(has_pct, strncmp(fields[5], "n/a", 3) != 0);
	if (has_pct)
		expect_near(pct, strtod(fields[5], NULL), 0.0051);
	++*(unsigned *)user;
}

static void test_BN_expected_table(void **state) {
	(void)state;
	unsigned checked = 0;
	fixture_rows("bench/expected.tsv", check_row, &checked);
	assert_int_equal(checked, 8);
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median isn't found by sorting; in orders of all kinds, with many equal values, it is the same. */
static void test_medians_are_those_of_the_sorted(void **state) {
	(void)state;
	uint64_t random = 1;
	for (unsigned round = 0; round < 20000; round++) {
		double values[40], sorted[40];
		size_t n = 1 + round % LEN(values);
		unsigned kinds = 1 + round / 7 % 12;
		for (size_t i = 0; i < n; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			values[i] = sorted[i] = (double)((random >> 33) % kinds);
		}
		qsort(sorted, n, sizeof(*sorted), by_value);
		expect_near(of(values, n).median, statistics_quantile(sorted, n, 0.5), 0);
	}
	double ordered[1000];
	for (size_t i = 0; i < LEN(ordered); i++)
		ordered[i] = (double)i;
	expect_near(of(ordered, LEN(ordered)).median, 499.5, 0);
	for (size_t i = 0; i < LEN(ordered); i++)
		ordered[i] = -(double)i;
	expect_near(of(ordered, LEN(ordered)).median, -499.5, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_medians_are_those_of_the_sorted),
	        cmocka_unit_test(test_BN_10_deviation_divides_by_n_minus_1),
	        cmocka_unit_test(test_BN_10_large_equal_parts_do_not_cancel_digits),
	        cmocka_unit_test(test_BN_01_one_sample_has_no_deviation),
	        cmocka_unit_test(test_BN_02_mean_of_zero_has_no_percentage),
	        cmocka_unit_test(test_refused_samples),
	        cmocka_unit_test(test_quantiles),
	        cmocka_unit_test(test_BN_04_outliers_on_both_sides_without_dividing_by_0),
	        cmocka_unit_test(test_BN_expected_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
