/* What can be asked of `hugeclear reserve`, and what is said to the rest. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>

#include <hugeclear/hugeclear.h>

#include "reserve_args.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const struct {
	const char *text;
	struct reserve_request request;
} good[] = {
        {"2M=512", {2 * MIB, -1, false, 512}},
        {"2M=0", {2 * MIB, -1, false, 0}},
        {"2MiB=+0", {2 * MIB, -1, true, 0}},
        {"2048kB=512", {2 * MIB, -1, false, 512}},
        {"2097152=512", {2 * MIB, -1, false, 512}},
        {"1G@1=+4", {GIB, 1, true, 4}},
        {"2M@0=-10", {2 * MIB, 0, true, -10}},
        {"2M=1GiB", {2 * MIB, -1, false, 512}},
        {"2M=+4m", {2 * MIB, -1, true, 2}},
        {"1G@65535=-2G", {GIB, 65535, true, -2}},
        {"64K=64K", {64 << 10, -1, false, 1}},
        {"16G=32G", {16 * GIB, -1, false, 2}},
        {"2M@007=007", {2 * MIB, 7, false, 7}},
        {"2M=9223372036854775807", {2 * MIB, -1, false, INT64_MAX}},
        {"2M=-9223372036854775807", {2 * MIB, -1, true, -INT64_MAX}},
};

static void test_good_requests(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct reserve_request request;
		assert_return(reserve_args_parse(good[i].text, &request), 0, good[i].text);
		assert_int_equal(request.page_size, good[i].request.page_size);
		assert_int_equal(request.node, good[i].request.node);
		assert_int_equal(request.relative, good[i].request.relative);
		assert_int_equal(request.pages, good[i].request.pages);
	}
}

static const struct {
	const char *text;
	int err;
	const char *says;
} bad[] = {
        {"", EINVAL, "SIZE=PAGES"},
        {"2M", EINVAL, "SIZE=PAGES"},
        {"512", EINVAL, "SIZE=PAGES"},
        {"=512", EINVAL, "page size"},
        {"@0=512", EINVAL, "page size"},
        {"2M=", EINVAL, "the pages are missing, as in 2M=512"},
        {"2M=+", EINVAL, "the pages are missing"},
        {"2M=--4", EINVAL, ""},
        {"2M=+-4", EINVAL, ""},
        {"2M= 4", EINVAL, ""},
        {"2M=4 ", EINVAL, ""},
        {" 2M=4", EINVAL, "page size"},
        {"2M=0x10", EINVAL, ""},
        {"2M=4=5", EINVAL, ""},
        {"2M=five", EINVAL, ""},
        {"2M=1.5G", EINVAL, "1536M"},
        {"2M=4B", EINVAL, ""},
        {"2M=3M", EINVAL, "3 MiB is no multiple of the page size 2 MiB: the nearest are 2M and 4M"},
        {"1G=+1536M", EINVAL, "the nearest are 1G and 2G"},
        {"1G=1M", EINVAL, "1 MiB is less than a page of 1 GiB: the nearest is 1G"},
        {"3M=4", EINVAL, "3M is no page size"},
        {"0=4", EINVAL, "0 is no page size"},
        {"2X=4", EINVAL, "page size"},
        {"-2M=4", EINVAL, "page size"},
        {"2M@=4", EINVAL, "a node's number is wanted"},
        {"2M@x=4", EINVAL, "a node's number is wanted"},
        {"2M@-1=4", EINVAL, "a node's number is wanted"},
        {"2M@+1=4", EINVAL, "a node's number is wanted"},
        {"2M@0-1=4", EINVAL, "a node's number is wanted"},
        {"2M@1K=4", EINVAL, "a node's number is wanted"},
        {"2M@0@1=4", EINVAL, "a node's number is wanted"},
        {"2M@65536=4", ERANGE, "at most 65535"},
        {"2M@99999999999999999999=4", ERANGE, "at most 65535"},
        {"2M=9223372036854775808", ERANGE, "more pages than can be counted"},
        {"2M=99999999999999999999", ERANGE, ""},
        {"2M=99999999T", ERANGE, ""},
        {"2M=00000000000000000000000000000000000000000000000000000000000000000000001", ERANGE, "too long"},
};

static void test_bad_requests_say_what_to_write(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct reserve_request request = {.node = 77};
		assert_return(reserve_args_parse(bad[i].text, &request), -bad[i].err, bad[i].text);
		assert_detail_has(bad[i].says);
		assert_string_not_equal(hc_error_detail(), "");
		assert_int_equal(request.node, 77); /* not written on failure */
	}
}

static void test_pools_in_words(void **state) {
	(void)state;
	assert_string_equal(reserve_pool_text(2 * MIB, -1).s, "2 MiB");
	assert_string_equal(reserve_pool_text(GIB, 0).s, "1 GiB on node 0");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_good_requests),
	        cmocka_unit_test(test_bad_requests_say_what_to_write),
	        cmocka_unit_test(test_pools_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
