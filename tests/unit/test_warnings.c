/* What was odd: bounded in number and length; foreign text in messages can't do harm. */
#include "support/support.h"

#include <stdio.h>

#include "base/quote.h"
#include "sys/warnings.h"

static void test_bounds(void **state) {
	(void)state;
	struct hc_warnings sink = {0};
	assert_null(hc_warnings_get(&sink, 0));
	assert_null(hc_warnings_get(NULL, 0));
	hc_warn(NULL, "nobody wants to know");

	hc_warn(&sink, "%s: odd", "a");
	hc_warn(&sink, "%s: odd", "a"); /* said once */
	assert_string_equal(hc_warnings_get(&sink, 0), "a: odd");
	assert_null(hc_warnings_get(&sink, 1));

	for (int i = 0; i < 1000; i++)
		hc_warn(&sink, "number %d", i);
	assert_non_null(hc_warnings_get(&sink, HC_WARNINGS_MAX - 1));
	assert_contains(hc_warnings_get(&sink, HC_WARNINGS_MAX - 1), "more was odd");
	assert_null(hc_warnings_get(&sink, HC_WARNINGS_MAX));
	hc_warnings_clear(&sink);
	assert_null(hc_warnings_get(&sink, 0));

	char text[2000];
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	hc_warn(&sink, "%s", text);
	assert_true(strlen(hc_warnings_get(&sink, 0)) < 600);
	assert_contains(hc_warnings_get(&sink, 0), "x...");
	hc_warnings_clear(&sink);
}

static void test_quoting(void **state) {
	(void)state;
	assert_string_equal(hc_quote("").s, "''");
	assert_string_equal(hc_quote("5\n").s, "'5'");
	assert_string_equal(hc_quote("5\n6\n").s, "'5?6'");
	assert_string_equal(hc_quote("\x1b[2J\x7f").s, "'?[2J?'");
	assert_string_equal(
	        hc_quote("1234567890123456789012345678901234567890").s, "'1234567890123456789012345678901234567890'");
	assert_string_equal(
	        hc_quote("1234567890123456789012345678901234567890\n").s, "'1234567890123456789012345678901234567890'");
	assert_string_equal(hc_quote("12345678901234567890123456789012345678901").s,
	        "'1234567890123456789012345678901234567890...'");
	assert_string_equal(hc_quote("10\xe2\x82\xac").s, "'10\xe2\x82\xac'");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_bounds),
	        cmocka_unit_test(test_quoting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
