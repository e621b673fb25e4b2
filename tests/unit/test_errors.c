/* The conventions of the API: details by thread, option structs that grow. */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/opts.h"

static void test_fail_returns_minus_err_and_leaves_errno(void **state) {
	(void)state;
	errno = ERANGE;
	assert_int_equal(hc_fail(EINVAL, "wanted %d, have %d", 3, 2), -EINVAL);
	assert_int_equal(errno, ERANGE);
	assert_string_equal(hc_error_detail(), "wanted 3, have 2");
	assert_int_equal(hc_fail_errno(ENOENT, "/proc/%s", "x"), -ENOENT);
	assert_string_equal(hc_error_detail(), "/proc/x: No such file or directory");
	assert_int_equal(hc_fail_prefix(-ENOENT, "node %d", 1), -ENOENT);
	assert_string_equal(hc_error_detail(), "node 1: /proc/x: No such file or directory");
}

static void test_detail_may_be_its_own_argument(void **state) {
	(void)state;
	hc_fail(EIO, "inner");
	hc_fail(EIO, "outer (%s)", hc_error_detail());
	assert_string_equal(hc_error_detail(), "outer (inner)");
}

static void test_long_details_are_cut(void **state) {
	(void)state;
	char *text = malloc(5000);
	assert_non_null(text);
	memset(text, 'x', 4999);
	text[4999] = '\0';
	hc_fail(EIO, "%s", text);
	assert_int_equal(strlen(hc_error_detail()), HC_ERROR_DETAIL_MAX - 1);
	assert_string_equal(hc_error_detail() + HC_ERROR_DETAIL_MAX - 4, "...");
	hc_fail_errno(EIO, "%s", text);
	assert_string_equal(hc_error_detail() + HC_ERROR_DETAIL_MAX - 4, "...");
	free(text);
}

/* A path with an escape sequence in it reached the terminal as it was, and cut the one line in two. */
static void test_a_detail_is_one_line_of_text(void **state) {
	(void)state;
	hc_fail(ENOENT, "/tmp/%s/x", "a\n\x1b[31mb\x7f");
	assert_string_equal(hc_error_detail(), "/tmp/a??[31mb?/x");
}

static void *fail_elsewhere(void *arg) {
	hc_error_save(hc_fail(ENOMEM, "from the worker"), arg);
	return NULL;
}

static void test_detail_belongs_to_its_thread(void **state) {
	(void)state;
	struct hc_error error;
	pthread_t thread;
	hc_fail(EIO, "mine");
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &error), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(hc_error_detail(), "mine");
	assert_int_equal(hc_error_restore(&error), -ENOMEM);
	assert_string_equal(hc_error_detail(), "from the worker");
}

struct new_opts {
	size_t size;
	int a, b;
	long later;
};

struct old_opts {
	size_t size;
	int a;
};

static void test_option_structs_grow(void **state) {
	(void)state;
	struct new_opts got;

	assert_ok(hc_opts_check(NULL, sizeof(got), &got));
	assert_int_equal(got.size, sizeof(got));
	assert_int_equal(got.a, 0);

	struct old_opts old = {.size = offsetof(struct old_opts, a) + sizeof(int), .a = 7};
	assert_ok(hc_opts_check(&old, sizeof(got), &got));
	assert_int_equal(got.a, 7);
	assert_int_equal(got.b, 0);
	assert_int_equal(got.later, 0);

	struct new_opts new_caller = {.size = sizeof(new_caller), .a = 1};
	struct old_opts seen;
	assert_ok(hc_opts_check(&new_caller, sizeof(seen), &seen));
	new_caller.later = 1;
	assert_error(hc_opts_check(&new_caller, sizeof(seen), &seen), E2BIG);

	new_caller.size = 0;
	assert_error(hc_opts_check(&new_caller, sizeof(got), &got), EINVAL);
	new_caller.size = SIZE_MAX;
	assert_error(hc_opts_check(&new_caller, sizeof(got), &got), EINVAL);
}

static void test_report_structs_grow(void **state) {
	(void)state;
	const struct new_opts from = {.a = 1, .b = 2, .later = 3};
	struct new_opts report;

	/* As this library knows it, as an older one did, and as a newer one will. */
	memset(&report, 0x55, sizeof(report));
	report.size = sizeof(report);
	assert_ok(hc_report_check(&report));
	hc_report_write(&from, sizeof(from), &report);
	assert_true(report.size == sizeof(report) && report.a == 1 && report.b == 2 && report.later == 3);

	memset(&report, 0x55, sizeof(report));
	report.size = offsetof(struct new_opts, b);
	hc_report_write(&from, sizeof(from), &report);
	assert_int_equal(report.size, offsetof(struct new_opts, b));
	assert_true(report.a == 1 && report.b == 0x55555555);

	memset(&report, 0x55, sizeof(report));
	report.size = sizeof(report);
	hc_report_write(&from, offsetof(struct new_opts, b), &report);
	assert_true(report.size == sizeof(report) && report.a == 1 && report.b == 0 && report.later == 0);

	report.size = sizeof(size_t) - 1;
	assert_error(hc_report_check(&report), EINVAL);
	report.size = 4097; /* uninitialised, surely */
	assert_error(hc_report_check(&report), EINVAL);
	assert_ok(hc_report_check(NULL));
	hc_report_write(&from, sizeof(from), NULL);
}

static void test_CE_04_checked_arithmetic(void **state) {
	(void)state;
	uint64_t n = 1;
	assert_false(hc_add_ok(UINT64_MAX, 1, &n));
	assert_false(hc_mul_ok(UINT64_C(1) << 32, UINT64_C(1) << 32, &n));
	assert_false(hc_align_up_ok(UINT64_MAX, 2 << 20, &n)); /* SZ-03: must not become 0 */
	assert_int_equal(n, 1);
	assert_true(hc_align_up_ok(1, 2 << 20, &n));
	assert_int_equal(n, 2 << 20);
	assert_true(hc_align_up_ok(0, 4096, &n));
	assert_int_equal(n, 0);
	assert_int_equal(hc_div_up(UINT64_MAX, 2), UINT64_C(1) << 63);
	assert_false(hc_range_ok((void *)UINTPTR_MAX, 2));
	assert_true(hc_range_ok((void *)4096, 4096));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fail_returns_minus_err_and_leaves_errno),
	        cmocka_unit_test(test_detail_may_be_its_own_argument),
	        cmocka_unit_test(test_long_details_are_cut),
	        cmocka_unit_test(test_a_detail_is_one_line_of_text),
	        cmocka_unit_test(test_detail_belongs_to_its_thread),
	        cmocka_unit_test(test_option_structs_grow),
	        cmocka_unit_test(test_report_structs_grow),
	        cmocka_unit_test(test_CE_04_checked_arithmetic),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
