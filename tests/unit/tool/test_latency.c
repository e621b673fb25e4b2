/* Percentiles from buckets against those of the sorted values. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/latency.h"

static struct latency latency;

static void clear(void) {
	memset(&latency, 0, sizeof(latency));
}

static void test_none(void **state) {
	(void)state;
	clear();
	assert_int_equal(latency_at(&latency, 0.5), 0);
	assert_int_equal(latency_at(&latency, 1), 0);
}

/* Nearest rank of 1 to 100: the p-th percentile is p. */
static void test_small_ones_are_exact(void **state) {
	(void)state;
	clear();
	for (uint64_t ns = 100; ns > 0; ns--)
		latency_add(&latency, ns);
	assert_int_equal(latency_at(&latency, 0.5), 50);
	assert_int_equal(latency_at(&latency, 0.99), 99);
	assert_int_equal(latency_at(&latency, 1), 100);
	assert_int_equal(latency_at(&latency, 0.0001), 1);
	latency_add(&latency, 255);
	assert_int_equal(latency_at(&latency, 1), 255);
}

static int compare(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void test_large_ones_within_a_hundredth(void **state) {
	(void)state;
	enum { N = 10000 };
	uint64_t *values = malloc(N * sizeof(*values)), x = 1;
	clear();
	for (size_t i = 0; i < N; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		/* From some ns to some minutes, evenly by powers of 2. */
		values[i] = (x >> 20) >> (x >> 58) % 40;
		values[i] %= UINT64_C(1) << 39;
		latency_add(&latency, values[i]);
	}
	qsort(values, N, sizeof(*values), compare);
	const double fractions[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999};
	for (size_t i = 0; i < 6; i++) {
		uint64_t right = values[(size_t)(fractions[i] * N + 0.5) - 1], got = latency_at(&latency, fractions[i]);
		assert_true(got >= right);
		assert_true((double)got <= (double)right * 1.01 + 1);
	}
	assert_int_equal(latency_at(&latency, 1), values[N - 1]);
	free(values);
}

static void test_the_longest_is_exact_and_beyond_all_buckets(void **state) {
	(void)state;
	clear();
	latency_add(&latency, UINT64_C(1234567891));
	assert_int_equal(latency_at(&latency, 0.5), UINT64_C(1234567891));
	latency_add(&latency, UINT64_MAX);
	assert_int_equal(latency_at(&latency, 1), UINT64_MAX);
	assert_int_equal(latency.max, UINT64_MAX);
	assert_int_equal(latency.count, 2);
}

static void test_merged_is_as_if_added(void **state) {
	(void)state;
	static struct latency one, other;
	memset(&one, 0, sizeof(one));
	memset(&other, 0, sizeof(other));
	clear();
	for (uint64_t ns = 1; ns < 1000000; ns = ns * 5 / 4 + 1) {
		latency_add(ns % 2 ? &one : &other, ns);
		latency_add(&latency, ns);
	}
	latency_merge(&one, &other);
	assert_memory_equal(&one, &latency, sizeof(one));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_none),
	        cmocka_unit_test(test_small_ones_are_exact),
	        cmocka_unit_test(test_large_ones_within_a_hundredth),
	        cmocka_unit_test(test_the_longest_is_exact_and_beyond_all_buckets),
	        cmocka_unit_test(test_merged_is_as_if_added),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
