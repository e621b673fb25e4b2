/* Values of options, slips of names, exit codes. What is said on standard error is read back. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/error.h"
#include "cli.h"

static int real_stderr, caught;

static int catch_stderr(void **state) {
	(void)state;
	char name[] = "/tmp/test_cli-XXXXXX";
	caught = mkstemp(name);
	if (caught < 0)
		return -1;
	unlink(name);
	real_stderr = dup(STDERR_FILENO);
	return dup2(caught, STDERR_FILENO) < 0 ? -1 : 0;
}

static int release_stderr(void **state) {
	(void)state;
	fflush(stderr);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(caught);
	return 0;
}

/* What was said since the last call. */
static const char *said(void) {
	static char text[4096];
	fflush(stderr);
	ssize_t n = pread(caught, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	assert_int_equal(ftruncate(caught, 0), 0);
	assert_int_equal(lseek(caught, 0, SEEK_SET), 0);
	return text;
}

static void test_SZ_02_counts(void **state) {
	(void)state;
	static const char *const wrong[] = {"", "-1", "-0", "+2", " 2", "2 ", "2\n", "nan", "inf", "1e3", "0x10", "1.5",
	        "2M", "two", "18446744073709551616", "99999999999999999999999999"};
	uint64_t count = 7;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(cli_count("verb", "--loops", wrong[i], 0, UINT64_MAX, &count), HC_EXIT_USAGE);
		char quoted[64];
		snprintf(quoted, sizeof(quoted), "--loops: '%s'", wrong[i]);
		char *newline = strchr(quoted, '\n');
		if (newline)
			*newline = '?'; /* no terminal is given what it would obey */
		assert_contains(said(), quoted);
	}
	assert_int_equal(count, 7);

	assert_int_equal(cli_count("verb", "--loops", "0", 1, 9, &count), HC_EXIT_USAGE);
	assert_contains(said(), "from 1 to 9");
	assert_int_equal(cli_count("verb", "--loops", "10", 1, 9, &count), HC_EXIT_USAGE);
	assert_contains(said(), "from 1 to 9");
	assert_int_equal(cli_count("verb", "--loops", "9", 1, 9, &count), 0);
	assert_int_equal(count, 9);
	assert_int_equal(cli_count("verb", "--loops", "010", 1, 10, &count), 0);
	assert_int_equal(count, 10); /* decimal */
	assert_int_equal(cli_count("verb", "--loops", "18446744073709551615", 1, UINT64_MAX, &count), 0);
	assert_true(count == UINT64_MAX);
	assert_string_equal(said(), "");
}

static void check_size_row(void *user, char **fields, unsigned nr_fields) {
	unsigned *rows = user;
	assert_true(nr_fields >= 3);
	if (strcmp(fields[1], "len") != 0 || strncmp(fields[2], "0 or", 4) == 0)
		return;
	uint64_t bytes = 7;
	int r = cli_size("verb", "--size", fields[0], &bytes);
	if (fields[2][0] == 'E') {
		assert_int_equal(r, HC_EXIT_USAGE);
		assert_int_equal(bytes, 7);
		assert_contains(said(), "hugeclear verb: --size: ");
	} else {
		assert_int_equal(r, 0);
		assert_true(bytes == strtoull(fields[2], NULL, 10));
	}
	++*rows;
}

static void test_SZ_01_SZ_02_SZ_03_sizes(void **state) {
	(void)state;
	unsigned rows = 0;
	fixture_rows("sizes/sizes.tsv", check_size_row, &rows);
	assert_true(rows > 40);

	uint64_t bytes = 7;
	assert_int_equal(cli_size("verb", "--size", "0", &bytes), HC_EXIT_USAGE);
	assert_int_equal(cli_size("verb", "--size", "0G", &bytes), HC_EXIT_USAGE);
	assert_int_equal(bytes, 7);
	assert_contains(said(), "at least 1 byte");
}

static int collect(void *user, const char *item) {
	strcat(strcat(user, "<"), item);
	return strcmp(item, "stop") == 0 ? 9 : 0;
}

static void test_lists(void **state) {
	(void)state;
	char items[64] = "";
	assert_int_equal(cli_list("verb", "--extent", "a,bb,c", collect, items), 0);
	assert_string_equal(items, "<a<bb<c");
	*items = '\0';
	assert_int_equal(cli_list("verb", "--extent", "one", collect, items), 0);
	assert_string_equal(items, "<one");
	*items = '\0';
	assert_int_equal(cli_list("verb", "--extent", "a,stop,c", collect, items), 9);
	assert_string_equal(items, "<a<stop");
	assert_string_equal(said(), "");
	static const char *const wrong[] = {"", ",", "a,", ",a", "a,,b"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		*items = '\0';
		assert_int_equal(cli_list("verb", "--extent", wrong[i], collect, items), HC_EXIT_USAGE);
		assert_contains(said(), "empty item");
	}
}

static void test_slips(void **state) {
	(void)state;
	static const char *const names[] = {"status", "reserve", "tune", "bench", NULL};
	assert_string_equal(cli_closest("stauts", names), "status"); /* swapped */
	assert_string_equal(cli_closest("statu", names), "status");
	assert_string_equal(cli_closest("resrve", names), "reserve");
	assert_string_equal(cli_closest("tunes", names), "tune");
	assert_string_equal(cli_closest("Bench", names), "bench");
	assert_null(cli_closest("frobnicate", names));
	assert_null(cli_closest("", names));
	assert_null(cli_closest("x", names));
	char longest[5000];
	memset(longest, 's', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(cli_closest(longest, names));
}

static void test_words(void **state) {
	(void)state;
	static const char *const names[] = {"none", "read", "write", NULL};
	assert_int_equal(cli_word("verb", "--then", "write", names), 2);
	assert_string_equal(said(), "");
	assert_int_equal(cli_word("verb", "--then", "wirte", names), -1);
	assert_string_equal(said(),
	        "hugeclear verb: --then: 'wirte' is none of none, read, write; did you mean 'write'?\n"
	        "try 'hugeclear verb --help'\n");
	assert_int_equal(cli_word("verb", "--then", "", names), -1);
	assert_int_equal(cli_word("verb", "--then", "READ", names), -1);
	said();
}

static void test_exit_codes_of_errors(void **state) {
	(void)state;
	assert_int_equal(cli_fail("verb", hc_fail(EOPNOTSUPP, "no clzero")), HC_EXIT_UNAVAILABLE);
	assert_string_equal(said(), "hugeclear verb: no clzero\n");
	assert_int_equal(cli_fail("verb", hc_fail(ENODEV, "x")), 4);
	assert_int_equal(cli_fail("verb", hc_fail(ENOSYS, "x")), 4);
	assert_int_equal(cli_fail("verb", hc_fail(ENOMEM, "x")), 1);
	assert_int_equal(cli_fail(NULL, hc_fail(EACCES, "%s", "100%d")), 1);
	assert_contains(said(), "hugeclear: 100%d\n");
	assert_int_equal(cli_fail("verb", hc_fail(ECANCELED, "x")), 130);
	assert_string_equal(said(), "");
}

/* A quoted argument of any length neither fills the message nor breaks it. */
static void test_long_arguments_are_cut(void **state) {
	(void)state;
	char longest[5000];
	memset(longest, '9', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	uint64_t value;
	assert_int_equal(cli_count("verb", "--loops", longest, 1, 9, &value), HC_EXIT_USAGE);
	assert_true(strlen(said()) < 300);
	assert_int_equal(cli_size("verb", "--size", longest, &value), HC_EXIT_USAGE);
	assert_true(strlen(said()) < 300);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_SZ_02_counts),
	        cmocka_unit_test(test_SZ_01_SZ_02_SZ_03_sizes),
	        cmocka_unit_test(test_lists),
	        cmocka_unit_test(test_slips),
	        cmocka_unit_test(test_words),
	        cmocka_unit_test(test_exit_codes_of_errors),
	        cmocka_unit_test(test_long_arguments_are_cut),
	};
	return cmocka_run_group_tests(tests, catch_stderr, release_stderr);
}
