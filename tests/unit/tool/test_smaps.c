/* What smaps says about a range, from listings of real mappings. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "bench/smaps.h"

static void test_TH_01_misaligned_mapping_has_no_huge_pages(void **state) {
	(void)state;
	char *text = fixture_read("smaps/thp-misaligned.txt");
	struct smaps_range range;
	assert_ok(smaps_parse(text, 0x7f7057c01000, 0x7f7057e01000, &range));
	assert_int_equal(range.rss, 8192);
	assert_int_equal(range.anon_huge_pages, 0);
	assert_int_equal(range.thp_eligible, 0);
	/* A range that the mapping reaches beyond, and one that is elsewhere. */
	assert_ok(smaps_parse(text, 0x7f7057c01000, 0x7f7057e00000, &range));
	assert_int_equal(range.rss, 0);
	assert_int_equal(range.thp_eligible, -1);
	free(text);
}

static void test_BN_12_read_only_touched_memory_is_not_there(void **state) {
	(void)state;
	char *text = fixture_read("smaps/thp-read-only-touched.txt");
	struct smaps_range range;
	assert_ok(smaps_parse(text, 0x7f7058200000, 0x7f7058800000, &range));
	assert_int_equal(range.rss, 0);
	assert_int_equal(range.anon_huge_pages, 0);
	assert_int_equal(range.thp_eligible, 1);
	free(text);
}

static void test_several_mappings_are_added(void **state) {
	(void)state;
	static const char text[] =
	        "00001000-00002000 rw-p 00000000 00:00 0 \n"
	        "Rss:                   4 kB\nAnonHugePages:         0 kB\nTHPeligible:           1\n"
	        "00002000-00402000 rw-p 00000000 00:00 0                  [anon: a name: 1 kB]\n"
	        "Rss:                4096 kB\nAnonHugePages:      2048 kB\nTHPeligible:           0\n"
	        "ffff0000-ffff1000 rw-p 00000000 00:00 0\nRss:   4 kB";
	struct smaps_range range;
	assert_ok(smaps_parse(text, 0x1000, 0x402000, &range));
	assert_int_equal(range.rss, 4100 * 1024);
	assert_int_equal(range.anon_huge_pages, 2048 * 1024);
	assert_int_equal(range.thp_eligible, 1);
}

static void test_broken_texts(void **state) {
	(void)state;
	static const char *const broken[] = {
	        "Rss: 4 kB\n",
	        "1000-2000 rw-p\nRss: four kB\n",
	        "1000-2000 rw-p\nRss: 4 MB\n",
	        "1000-2000 rw-p\nRss: -4 kB\n",
	        "1000-2000 rw-p\nRss:",
	        "1000-2000 rw-p\nRss: 99999999999999999999 kB\n",
	        "1000-2000 rw-p\nRss: 18446744073709551615 kB\n",
	        "1000-2000 rw-p\nRss: 18014398509481983 kB\nRss: 18014398509481983 kB\n",
	        "99999999999999999-2000 rw-p\n",
	};
	struct smaps_range range;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
		if (smaps_parse(broken[i], 0, UINT64_MAX, &range) != -EBADMSG)
			fail_msg("'%s' was taken", broken[i]);
	assert_ok(smaps_parse("", 0, UINT64_MAX, &range));
}

static void test_this_process(void **state) {
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* Between inaccessible margins, so that it isn't joined with a neighbour. */
	char *p = mmap(NULL, 6 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + page, 4 * page, PROT_READ | PROT_WRITE), 0);
	p[page] = 1;
	p[3 * page] = 1;
	struct smaps_range range;
	assert_ok(smaps_read((uintptr_t)p + page, (uintptr_t)p + 5 * page, &range));
	assert_int_equal(range.rss, 2 * page);
	munmap(p, 6 * page);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_TH_01_misaligned_mapping_has_no_huge_pages),
	        cmocka_unit_test(test_BN_12_read_only_touched_memory_is_not_there),
	        cmocka_unit_test(test_several_mappings_are_added),
	        cmocka_unit_test(test_broken_texts),
	        cmocka_unit_test(test_this_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
