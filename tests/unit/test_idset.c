/* Sets of numbers: the kernel's list notation row by row, and the masks of system calls. */
#include "support/support.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/idset.h"

#define WORD_BITS (sizeof(unsigned long) * CHAR_BIT)

static struct hc_idset *parsed(const char *text) {
	struct hc_idset *set = NULL;
	assert_return(hc_idset_parse(text, &set), 0, text);
	return set;
}

/* "0 1 5 6 10": every number in its place and no other. */
static void expect_numbers(const struct hc_idset *set, const char *numbers) {
	int i = -1;
	unsigned count = 0;
	const char *p = numbers;
	for (char *end; *p >= '0' && *p <= '9'; p = end + (*end == ' ')) {
		i = hc_idset_next(set, i + 1);
		assert_int_equal(i, strtol(p, &end, 10));
		assert_true(hc_idset_has(set, (unsigned)i));
		count++;
	}
	assert_int_equal(hc_idset_next(set, i + 1), -1);
	assert_int_equal(hc_idset_count(set), count);
}

static void list_row(void *user, char **fields, unsigned nr_fields) {
	unsigned *rows = user;
	assert_true(nr_fields == 2);
	(*rows)++;
	const char *expected = fields[1];
	struct hc_idset *set = NULL;
	if (strncmp(expected, "ERR", 3) == 0) {
		int r = hc_idset_parse(fields[0], &set);
		if (r != -EINVAL && r != -ERANGE)
			fail_msg("'%s' gave %d", fields[0], r);
		assert_null(set);
		assert_string_not_equal(hc_error_detail(), "");
		return;
	}
	set = parsed(fields[0]);
	if (strncmp(expected, "EMPTY", 5) == 0) {
		expect_numbers(set, "");
		assert_string_equal(hc_idset_text(set), "");
	} else if (strncmp(expected, "62 of 64", 8) == 0) {
		/* the table's count is off by one: 0..61 and 63 are 63 numbers */
		assert_int_equal(hc_idset_count(set), 63);
		assert_true(hc_idset_has(set, 61) && !hc_idset_has(set, 62) && hc_idset_has(set, 63));
		assert_string_equal(hc_idset_text(set), "0-61,63");
	} else {
		expect_numbers(set, expected);
	}
	hc_idset_free(set);
}

static void test_NM_09_list_syntax(void **state) {
	(void)state;
	unsigned rows = 0;
	fixture_rows("numa/cpulist.tsv", list_row, &rows);
	assert_int_equal(rows, 22);
}

static void test_NM_09_more_of_the_kind(void **state) {
	(void)state;
	static const char *const bad[] = {"-", ",", "0,", ",0", "0-1-2", "0:1/2", "0-9:0/2", "0-9:3/2", "0-9:1/0",
	        "0-9:1", "0-9:/2", " 0", "0 ", "0\n\n", "\n\n", "+1", "1e3", "0-0x10", "65536", "99999999999999999999",
	        "all"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hc_idset *set = NULL;
		int r = hc_idset_parse(bad[i], &set);
		if (r != -EINVAL && r != -ERANGE)
			fail_msg("'%s' gave %d", bad[i], r);
		assert_null(set);
	}

	struct hc_idset *set = parsed("65535,0-3,2,0008\n");
	assert_string_equal(hc_idset_text(set), "0-3,8,65535");
	hc_idset_free(set);

	/* the whole range, more often than any real list repeats it */
	char text[9 * 1024 + 1] = "";
	for (int i = 0; i < 1024; i++)
		strcpy(text + strlen(text), i ? ",0-65535" : "0-65535");
	assert_error(hc_idset_parse(text, &set), EINVAL);
}

static void test_text_reads_back(void **state) {
	(void)state;
	static const char *const texts[] = {"", "0", "0-1", "0,2", "63-64", "0-3,8,16-31,1023-1025"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct hc_idset *set = parsed(texts[i]);
		assert_string_equal(hc_idset_text(set), texts[i]);
		hc_idset_free(set);
	}
}

/* The kernel reads maxnode - 1 bits: maxnode has to be the highest number + 2 at least. */
static void test_NM_05_mask_has_a_bit_more(void **state) {
	(void)state;
	static const unsigned ids[] = {0, 1, 62, 63, 64, 1023, 1024, HC_IDSET_MAX};
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct hc_idset *set = hc_idset_new(), *again = NULL;
		assert_ok(hc_idset_add(set, ids[i]));
		unsigned long *mask = NULL, bits = 0;
		assert_ok(hc_idset_mask(set, &mask, &bits));
		assert_true(bits >= ids[i] + 2 && bits % WORD_BITS == 0);
		for (unsigned long b = 0; b < bits; b++)
			assert_int_equal(mask[b / WORD_BITS] >> (b % WORD_BITS) & 1, b == ids[i]);
		assert_ok(hc_idset_from_mask(mask, bits, &again));
		assert_string_equal(hc_idset_text(again), hc_idset_text(set));
		free(mask);
		hc_idset_free(again);
		hc_idset_free(set);
	}

	unsigned long *mask = NULL, bits = 0;
	assert_ok(hc_idset_mask(NULL, &mask, &bits));
	assert_true(bits > 0 && mask[0] == 0);
	free(mask);
	unsigned long too_high[(HC_IDSET_MAX + 1) / WORD_BITS + 1] = {0};
	too_high[(HC_IDSET_MAX + 1) / WORD_BITS] = 1;
	struct hc_idset *set = NULL;
	assert_error(hc_idset_from_mask(too_high, sizeof(too_high) * CHAR_BIT, &set), ERANGE);
}

static void test_algebra(void **state) {
	(void)state;
	struct hc_idset *a = parsed("0-3,100"), *b = parsed("2-5,64"), *copy = NULL, *none = hc_idset_new();
	assert_ok(hc_idset_copy(a, &copy));
	hc_idset_intersect(copy, b);
	assert_string_equal(hc_idset_text(copy), "2-3");
	assert_true(hc_idset_is_subset(copy, a) && hc_idset_is_subset(copy, b) && !hc_idset_is_subset(a, b));
	assert_true(hc_idset_is_subset(none, none) && hc_idset_is_subset(NULL, none) && !hc_idset_is_subset(a, NULL));
	hc_idset_free(copy);

	assert_ok(hc_idset_copy(a, &copy));
	hc_idset_subtract(copy, b);
	assert_string_equal(hc_idset_text(copy), "0-1,100");
	assert_ok(hc_idset_unite(copy, b));
	assert_string_equal(hc_idset_text(copy), "0-5,64,100");
	hc_idset_subtract(copy, b);
	assert_string_equal(hc_idset_text(copy), "0-1,100"); /* the kept text was dropped */
	hc_idset_intersect(copy, NULL);
	assert_string_equal(hc_idset_text(copy), "");
	assert_error(hc_idset_add(copy, HC_IDSET_MAX + 1), ERANGE);

	assert_int_equal(hc_idset_count(NULL), 0);
	assert_int_equal(hc_idset_has(NULL, 0), 0);
	assert_int_equal(hc_idset_next(NULL, 0), -1);
	assert_string_equal(hc_idset_text(NULL), "");
	assert_int_equal(hc_idset_next(a, -5), 0);
	assert_int_equal(hc_idset_next(a, INT_MAX), -1);
	assert_null(hc_idset_free(NULL));
	hc_idset_free(copy);
	hc_idset_free(none);
	hc_idset_free(b);
	hc_idset_free(a);
}

static void *ask_text(void *set) {
	return strdup(hc_idset_text(set));
}

/* Under TSan: the text is made by whoever asks first, and two may. */
static void test_text_from_two_threads(void **state) {
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct hc_idset *set = parsed("0-3,8");
		pthread_t threads[2];
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, ask_text, set), 0);
		for (int i = 0; i < 2; i++) {
			void *text = NULL;
			pthread_join(threads[i], &text);
			assert_string_equal(text, "0-3,8");
			free(text);
		}
		hc_idset_free(set);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_NM_09_list_syntax),
	        cmocka_unit_test(test_NM_09_more_of_the_kind),
	        cmocka_unit_test(test_text_reads_back),
	        cmocka_unit_test(test_NM_05_mask_has_a_bit_more),
	        cmocka_unit_test(test_algebra),
	        cmocka_unit_test(test_text_from_two_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
