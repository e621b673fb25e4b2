/* What is a number, and what isn't. */
#include "support/support.h"

#include <errno.h>
#include <locale.h>

#include "base/counted.h"
#include "base/decimal.h"

static const struct {
	const char *text;
	int r;
	uint64_t number;
} rows[] = {
        {"0", 0, 0},
        {"7", 0, 7},
        {"1024", 0, 1024},
        {"0010", 0, 10}, /* not octal */
        {"00000000000000000000000000000000000000000000000000000000000000000000001", 0, 1},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"18446744073709551620", -ERANGE, 0},
        {"99999999999999999999", -ERANGE, 0},
        {"100000000000000000000000000000000000000000", -ERANGE, 0},
        /* Wraps to a small number where only the product or only the sum is checked. */
        {"184467440737095516160", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"-0", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"\t1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1\n", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"1,000", -EINVAL, 0},
        {"1'000", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"a", -EINVAL, 0},
        {"1a", -EINVAL, 0},
        {"99999999999999999999a", -EINVAL, 0},
        {"\xd9\xa1", -EINVAL, 0}, /* the digit one of Arabic */
        {"\xef\xbc\x91", -EINVAL, 0},
        {"\xb2", -EINVAL, 0}, /* a raised two of Latin-1 */
        {"/", -EINVAL, 0},    /* the bytes before '0' and behind '9' */
        {":", -EINVAL, 0},
};
#define NR_ROWS (sizeof(rows) / sizeof(*rows))

static void expect_rows(void) {
	for (size_t i = 0; i < NR_ROWS; i++) {
		uint64_t number = 4711;
		assert_return(hc_decimal_parse(rows[i].text, &number), rows[i].r, rows[i].text);
		assert_int_equal(number, rows[i].r == 0 ? rows[i].number : 4711);
	}
}

static void test_SZ_02_SZ_03_what_is_a_number(void **state) {
	(void)state;
	expect_rows();
}

static void test_the_language_changes_nothing(void **state) {
	(void)state;
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "hi_IN.UTF-8", "ar_EG.UTF-8", "C.UTF-8"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		setlocale(LC_ALL, names[i]);
		expect_rows();
	}
	setlocale(LC_ALL, "C");
}

static void test_takes_all_digits_and_no_more(void **state) {
	(void)state;
	const char *text = "12 34kB99999999999999999999-", *p = text;
	uint64_t number = 1;
	assert_int_equal(hc_decimal_take(&p, &number), 0);
	assert_int_equal(number, 12);
	assert_ptr_equal(p, text + 2);
	assert_int_equal(hc_decimal_take(&p, &number), -EINVAL);
	assert_ptr_equal(p, text + 2);
	p++;
	assert_int_equal(hc_decimal_take(&p, &number), 0);
	assert_int_equal(number, 34);
	p += 2;
	assert_int_equal(hc_decimal_take(&p, &number), -ERANGE);
	assert_int_equal(number, 34);
	assert_string_equal(p, "-");
}

static void test_reads_no_byte_behind_the_end(void **state) {
	(void)state;
	const char text[] = {'1', '2', '3', '4'}, *p = text;
	uint64_t number;
	assert_int_equal(hc_decimal_take_before(&p, text + 2, &number), 0);
	assert_int_equal(number, 12);
	assert_ptr_equal(p, text + 2);
	assert_int_equal(hc_decimal_take_before(&p, text + 2, &number), -EINVAL);
	assert_int_equal(hc_decimal_take_before(&p, text + 4, &number), 0);
	assert_int_equal(number, 34);
}

static void test_one_is_singular(void **state) {
	(void)state;
	assert_string_equal(hc_counted(0, "page").s, "0 pages");
	assert_string_equal(hc_counted(1, "page").s, "1 page");
	assert_string_equal(hc_counted(2, "CPU").s, "2 CPUs");
	assert_string_equal(hc_counted(UINT64_MAX, "thread").s, "18446744073709551615 threads");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_SZ_02_SZ_03_what_is_a_number),
	        cmocka_unit_test(test_the_language_changes_nothing),
	        cmocka_unit_test(test_takes_all_digits_and_no_more),
	        cmocka_unit_test(test_reads_no_byte_behind_the_end),
	        cmocka_unit_test(test_one_is_singular),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
