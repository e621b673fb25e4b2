/* Sizes in words: the grammar of DESIGN.md, row by row, and the words for people. */
#include "support/support.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "base/size.h"

static void expect(const char *text, const char *expected) {
	uint64_t bytes = 12345;
	int r = hc_size_parse(text, &bytes);
	if (strcmp(expected, "EINVAL") == 0) {
		assert_return(r, -EINVAL, text);
	} else if (strcmp(expected, "ERANGE") == 0) {
		assert_return(r, -ERANGE, text);
	} else {
		assert_return(r, 0, text);
		char decimal[32];
		snprintf(decimal, sizeof(decimal), "%llu", (unsigned long long)bytes);
		assert_string_equal(decimal, expected);
		return;
	}
	assert_int_equal(bytes, 12345); /* not written on failure */
	assert_string_not_equal(hc_error_detail(), "");
}

/*
 * The two rows of kind "page" with EINVAL are rules about what a page size may be, which the options that take one
 * apply; a bare B and a 0 have one answer here: EINVAL, and 0.
 */
static void size_row(void *user, char **fields, unsigned nr_fields) {
	unsigned *seen = user;
	assert_true(nr_fields >= 3);
	const char *expected = fields[2];
	if (strcmp(expected, "EINVAL or 2097152") == 0)
		expected = "EINVAL";
	else if (strcmp(expected, "0 or EINVAL") == 0)
		expected = "0";
	else if (strcmp(fields[1], "page") == 0 && strcmp(expected, "EINVAL") == 0 && fields[0][1] != '.')
		return;
	expect(fields[0], expected);
	(*seen)++;
}

static void test_SZ_01_02_03_04_05_grammar(void **state) {
	(void)state;
	unsigned seen = 0;
	fixture_rows("sizes/sizes.tsv", size_row, &seen);
	assert_int_equal(seen, 60); /* all 62 rows but the page sizes 0 and 3M, which the options refuse */
}

/* strtoull and friends follow the locale and accept what looks like a number there. */
static void test_SZ_05_every_locale(void **state) {
	(void)state;
	const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"};
	for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++) {
		setlocale(LC_ALL, locales[i]);
		expect("2M", "2097152");
		expect("2,5G", "EINVAL");
		expect("10\xe2\x82\xac", "EINVAL");
		assert_string_equal(hc_size_rounded(UINT64_C(3) << 29).s, "1.5 GiB");
	}
	setlocale(LC_ALL, "C");
}

static void test_SZ_05_four_kib_of_digits(void **state) {
	(void)state;
	char digits[4097];
	memset(digits, '9', sizeof(digits) - 1);
	digits[sizeof(digits) - 1] = '\0';
	expect(digits, "ERANGE");
	assert_true(strlen(hc_error_detail()) < 200); /* the message doesn't repeat all of it */
	memset(digits, '0', sizeof(digits) - 2);
	digits[sizeof(digits) - 2] = '7';
	expect(digits, "7");
}

static void test_SZ_04_fraction_gets_a_hint(void **state) {
	(void)state;
	expect("1.5G", "EINVAL");
	assert_detail_has("use 1536M");
	expect("0.25TiB", "EINVAL");
	assert_detail_has("use 256G");
	expect("0.1K", "EINVAL"); /* 102.4 bytes: nothing to offer */
	expect("1.5", "EINVAL");
	expect("99999999999999999999.5G", "EINVAL");
}

static void test_null(void **state) {
	(void)state;
	uint64_t bytes;
	assert_error(hc_size_parse(NULL, &bytes), EINVAL);
	assert_error(hc_size_parse("1", NULL), EINVAL);
}

static void test_words_for_people(void **state) {
	(void)state;
	assert_string_equal(hc_size_exact(0).s, "0 B");
	assert_string_equal(hc_size_exact(4097).s, "4097 B");
	assert_string_equal(hc_size_exact(2 << 20).s, "2 MiB");
	assert_string_equal(hc_size_exact(UINT64_C(1536) << 20).s, "1536 MiB");
	assert_string_equal(hc_size_exact(UINT64_MAX).s, "18446744073709551615 B");
	assert_string_equal(hc_size_exact(UINT64_C(16383) << 50).s, "16383 PiB");
	assert_string_equal(hc_size_arg(UINT64_C(1536) << 20).s, "1536M");
	assert_string_equal(hc_size_arg(4097).s, "4097");
	/* 24684084 kB / 1048576 = 23.5406 */
	assert_string_equal(hc_size_rounded(UINT64_C(24684084) << 10).s, "23.54 GiB");
	assert_string_equal(hc_size_rounded(1023).s, "1023 B");
	assert_string_equal(hc_size_rounded(1024 * 1024 - 1).s, "1024 KiB"); /* 1023.999 */
	/* 16383 PiB + 1023.99 TiB: rounds up to the next PiB */
	assert_string_equal(hc_size_rounded(UINT64_MAX).s, "16384 PiB");
	assert_string_equal(hc_size_rounded((UINT64_C(1) << 20) + (UINT64_C(51) << 10)).s, "1.05 MiB");
}

static void test_format_into_a_buffer(void **state) {
	(void)state;
	char text[HC_SIZE_TEXT_MAX];
	assert_ok(hc_size_format(UINT64_MAX, text, sizeof(text)));
	assert_string_equal(text, "18446744073709551615 B");
	strcpy(text, "kept");
	assert_error(hc_size_format(2 << 20, text, 5), ENOSPC);
	assert_string_equal(text, "kept");
	assert_ok(hc_size_format(2 << 20, text, 6));
	assert_error(hc_size_format(1, text, 0), EINVAL);
	assert_error(hc_size_format(1, NULL, 8), EINVAL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_SZ_01_02_03_04_05_grammar),
	        cmocka_unit_test(test_SZ_05_every_locale),
	        cmocka_unit_test(test_SZ_05_four_kib_of_digits),
	        cmocka_unit_test(test_SZ_04_fraction_gets_a_hint),
	        cmocka_unit_test(test_null),
	        cmocka_unit_test(test_words_for_people),
	        cmocka_unit_test(test_format_into_a_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
