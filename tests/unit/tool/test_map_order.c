/* The order in which bench map touches pages: each once, in its page, another for another seed. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "bench/map_order.h"

static bool is_permutation(uint64_t n, uint64_t seed) {
	struct map_order order;
	unsigned char *seen = calloc(n, 1);
	assert_non_null(seen);
	map_order_init(&order, n, seed);
	bool ok = true;
	for (uint64_t i = 0; i < n && ok; i++) {
		uint64_t page = map_order_at(&order, i);
		ok = page < n && !seen[page];
		if (ok)
			seen[page] = 1;
	}
	free(seen);
	return ok;
}

static void test_each_page_once(void **state) {
	(void)state;
	for (uint64_t n = 1; n <= 1100; n++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			if (!is_permutation(n, seed))
				fail_msg("%llu pages, seed %llu", (unsigned long long)n, (unsigned long long)seed);
	const uint64_t large[] = {16384, 262144, 262145, 1000003, (UINT64_C(1) << 22) - 1};
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		assert_true(is_permutation(large[i], INT64_MAX));
}

/* Of a random order of n pages, few stay in place and few are next to the one before: about 1 and 2, whatever n is. */
static void test_not_in_order(void **state) {
	(void)state;
	enum { N = 4096 };
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct map_order order;
		unsigned in_place = 0, neighbours = 0;
		map_order_init(&order, N, seed);
		for (uint64_t i = 0; i < N; i++) {
			uint64_t page = map_order_at(&order, i);
			in_place += page == i;
			if (i > 0) {
				uint64_t before = map_order_at(&order, i - 1);
				neighbours += page == before + 1 || page + 1 == before;
			}
		}
		assert_in_range(in_place, 0, N / 50);
		assert_in_range(neighbours, 0, N / 50);
	}
}

static void test_another_seed_is_another_order(void **state) {
	(void)state;
	struct map_order a, b, again;
	unsigned same = 0;
	map_order_init(&a, 1000, 1);
	map_order_init(&b, 1000, 2);
	map_order_init(&again, 1000, 1);
	for (uint64_t i = 0; i < 1000; i++) {
		same += map_order_at(&a, i) == map_order_at(&b, i);
		assert_int_equal(map_order_at(&a, i), map_order_at(&again, i));
	}
	assert_in_range(same, 0, 50);
}

/* Within the page, and spread over it: each of 16 parts of it is met about 64 times of 1024. */
static void test_offsets(void **state) {
	(void)state;
	struct map_order order;
	unsigned met[16] = {0};
	map_order_init(&order, 1024, 7);
	for (uint64_t i = 0; i < 1024; i++) {
		uint64_t offset = map_order_offset(&order, i, 4096);
		assert_in_range(offset, 0, 4095);
		met[offset / 256]++;
	}
	for (size_t i = 0; i < 16; i++)
		assert_in_range(met[i], 30, 110);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_each_page_once),
	        cmocka_unit_test(test_not_in_order),
	        cmocka_unit_test(test_another_seed_is_another_order),
	        cmocka_unit_test(test_offsets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
