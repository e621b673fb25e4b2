/* The models of the kernel: in which order pages are cleared, worked out by hand, and that the string clear clears. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "bench/kernel_clear.h"

#define PAGE 64 /* small pages: the models take any power of two */

static char memory[64 * PAGE];
static char order[1024]; /* "7 6 5 ...", with "first-last" for more than a page at once */

static void note_order(void *p, size_t len) {
	size_t at = strlen(order), first = (size_t)((char *)p - memory) / PAGE, nr = (len + PAGE - 1) / PAGE;
	assert_int_equal((size_t)((char *)p - memory) % PAGE, 0);
	assert_true(nr > 0);
	if (nr == 1)
		snprintf(order + at, sizeof(order) - at, "%s%zu", at ? " " : "", first);
	else
		snprintf(order + at, sizeof(order) - at, "%s%zu-%zu", at ? " " : "", first, first + nr - 1);
	memset(p, 0, len);
}

static const struct kernel_clear model = {
        .clear = note_order, .name = "noted", .base_page = PAGE, .gigantic_above = 16 * PAGE, .batch = 32 * PAGE};

static void expect_base(size_t len, size_t touched, const char *expected) {
	order[0] = '\0';
	kernel_clear_base(&model, memory, len, touched);
	assert_string_equal(order, expected);
}

static void expect_patched(size_t len, size_t touched, uint64_t batch, const char *expected) {
	order[0] = '\0';
	kernel_clear_patched(&model, memory, len, touched, batch, NULL);
	assert_string_equal(order, expected);
}

static void test_base_goes_towards_the_touched_page(void **state) {
	(void)state;
	expect_base(8 * PAGE, 0, "7 6 5 4 3 2 1 0");
	expect_base(8 * PAGE, 2 * PAGE + 1, "7 6 5 4 0 3 1 2");
	expect_base(8 * PAGE, 4 * PAGE, "0 7 1 6 2 5 3 4");
	expect_base(8 * PAGE, 6 * PAGE, "0 1 2 3 4 7 5 6");
	expect_base(8 * PAGE, 8 * PAGE - 1, "0 1 2 3 4 5 6 7");
	expect_base(1, 0, "0");
	expect_base(PAGE, 0, "0");
	expect_base(2 * PAGE + 1, 0, "2 1 0");
}

static void test_base_goes_straight_through_gigantic_ones(void **state) {
	(void)state;
	expect_base(16 * PAGE, 0, "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0");
	expect_base(17 * PAGE, 0, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16");
}

static void test_patched_clears_the_neighbourhood_last(void **state) {
	(void)state;
	expect_patched(16 * PAGE, 0, 0, "3-15 0-2");
	expect_patched(16 * PAGE, 8 * PAGE, 0, "11-15 0-5 6-10");
	expect_patched(16 * PAGE, 15 * PAGE, 0, "0-12 13-15");
	expect_patched(16 * PAGE, PAGE, 0, "4-15 0-3");
	expect_patched(3 * PAGE, 0, 0, "0-2");
	expect_patched(1, 0, 0, "0");
}

static void test_patched_goes_in_batches(void **state) {
	(void)state;
	expect_patched(64 * PAGE, 0, 0, "3-34 35-63 0-2");
	expect_patched(16 * PAGE, 0, 4 * PAGE, "3-6 7-10 11-14 15 0-2");
	/* Whole pages, at least one. */
	expect_patched(8 * PAGE, 0, PAGE + 1, "3 4 5 6 7 0 1 2");
	expect_patched(8 * PAGE, 0, 1, "3 4 5 6 7 0 1 2");

	uint64_t longest = 0;
	kernel_clear_patched(&model, memory, sizeof(memory), 0, PAGE, &longest);
	assert_true(longest > 0);
}

/* Every length, through the real string clear, between bytes that must stay. */
static void test_exactly_the_range_is_cleared(void **state) {
	(void)state;
	struct kernel_clear kernel;
	kernel_clear_init((uint64_t)sysconf(_SC_PAGESIZE), &kernel);
	assert_non_null(kernel.clear);
	assert_true(strlen(kernel.name) > 0);
	size_t page = kernel.base_page, size = 9 * page;
	char *buf = aligned_alloc(page, size);
	assert_non_null(buf);
	size_t lengths[] = {1, 7, 8, 63, 64, 65, page - 1, page, page + 1, 3 * page, 4 * page + 9, 7 * page};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		for (int patched = 0; patched < 2; patched++) {
			size_t len = lengths[i];
			memset(buf, 0xa5, size);
			if (patched)
				kernel_clear_patched(&kernel, buf + page, len, len / 2, 2 * page, NULL);
			else
				kernel_clear_base(&kernel, buf + page, len, len / 2);
			for (size_t k = 0; k < size; k++) {
				char expected = k >= page && k < page + len ? 0 : (char)0xa5;
				if (buf[k] != expected)
					fail_msg("length %zu: byte %zd is %d", len, (ssize_t)(k - page), buf[k]);
			}
		}
	}
	free(buf);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_base_goes_towards_the_touched_page),
	        cmocka_unit_test(test_base_goes_straight_through_gigantic_ones),
	        cmocka_unit_test(test_patched_clears_the_neighbourhood_last),
	        cmocka_unit_test(test_patched_goes_in_batches),
	        cmocka_unit_test(test_exactly_the_range_is_cleared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
