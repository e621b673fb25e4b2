/* The memory of a measurement: all there, of the size it claims to be, and nothing left after an error. */
#include "support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>
#include <hugeclear/sys.h>

#include "bench/resident.h"

#define REQUEST(...) (&(struct resident_request){__VA_ARGS__})

static size_t base_page(void) {
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void expect_resident(const struct resident *memory) {
	size_t pages = memory->bytes / base_page();
	unsigned char *there = calloc(pages, 1);
	assert_non_null(there);
	assert_int_equal(mincore(memory->p, memory->bytes, there), 0);
	for (size_t i = 0; i < pages; i++)
		assert_int_equal(there[i] & 1, 1);
	free(there);
}

static void test_BN_13_SZ_04_base_pages_are_resident_and_whole(void **state) {
	(void)state;
	struct resident *memory;
	assert_ok(resident_get(REQUEST(.node = -1, .bytes = 5 * base_page() + 1, .kind = HC_PAGES_BASE), &memory));
	assert_int_equal(memory->bytes, 6 * base_page());
	assert_int_equal(memory->page_size, base_page());
	assert_int_equal(memory->kind, HC_PAGES_BASE);
	assert_int_equal(memory->huge_bytes, 0);
	assert_int_equal(memory->node, -1);
	assert_string_equal(memory->why_not_huge, "");
	expect_resident(memory);
	assert_null(resident_free(memory));
	assert_null(resident_free(NULL));
}

static void test_TH_01_thp_are_aligned_and_what_came_is_said(void **state) {
	(void)state;
	struct hc_machine *machine;
	assert_ok(hc_machine_read(NULL, &machine));
	struct hc_thp thp = *hc_machine_thp(machine);
	bool on = thp.present == 1 && strcmp(thp.enabled, "never") != 0 && thp.process_disabled != 1;
	hc_machine_free(machine);
	if (!on) {
		print_message("THP is off here\n");
		skip();
	}
	struct resident *memory;
	assert_ok(resident_get(REQUEST(.node = -1, .bytes = thp.pmd_size + 1, .kind = HC_PAGES_THP), &memory));
	assert_int_equal((uintptr_t)memory->p % thp.pmd_size, 0);
	assert_int_equal(memory->bytes, 2 * thp.pmd_size);
	expect_resident(memory);
	/* Huge pages or, where memory is fragmented, fewer or none. */
	assert_int_equal(memory->kind, memory->huge_bytes ? HC_PAGES_THP : HC_PAGES_BASE);
	assert_int_equal(memory->page_size, memory->huge_bytes ? thp.pmd_size : base_page());
	assert_true((*memory->why_not_huge == '\0') == (memory->huge_bytes == memory->bytes));
	resident_free(memory);
}

static void test_TH_02_thp_disabled_is_labelled_base_pages(void **state) {
	(void)state;
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0 || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0) {
		print_message("no THP here, or it can't be disabled for a process\n");
		skip();
	}
	struct resident *memory;
	int r = resident_get(REQUEST(.node = -1, .bytes = 1 << 22, .kind = HC_PAGES_THP), &memory);
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	assert_return(r, 0, "resident_get");
	assert_int_equal(memory->kind, HC_PAGES_BASE);
	assert_int_equal(memory->page_size, base_page());
	assert_int_equal(memory->huge_bytes, 0);
	assert_contains(memory->why_not_huge, "PR_SET_THP_DISABLE");
	expect_resident(memory);
	resident_free(memory);
}

static void test_NM_06_a_node_that_is_not_there(void **state) {
	(void)state;
	struct resident *memory;
	assert_true(resident_get(REQUEST(.node = 4711, .bytes = 1, .kind = HC_PAGES_BASE), &memory) < 0);
	assert_detail_has("4711");
}

static void test_page_sizes_that_are_not_there(void **state) {
	(void)state;
	struct resident *memory;
	int r = resident_get(
	        REQUEST(.node = -1, .bytes = 1, .kind = HC_PAGES_HUGETLB, .page_size = UINT64_C(1) << 50), &memory);
	assert_true(r == -ENODEV || r == -EOPNOTSUPP);
}

static int stop_at_once(void *user) {
	++*(unsigned *)user;
	return 1;
}

static void test_a_stop_is_no_failure(void **state) {
	(void)state;
	static const enum hc_page_kind kinds[] = {HC_PAGES_BASE, HC_PAGES_THP};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		unsigned asked = 0;
		struct resident *memory;
		assert_error(resident_get(REQUEST(.node = -1, .bytes = 1 << 20, .kind = kinds[i], .stop = stop_at_once,
		                                  .user = &asked),
		                     &memory),
		        ECANCELED);
		assert_int_equal(asked, 1);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_BN_13_SZ_04_base_pages_are_resident_and_whole),
	        cmocka_unit_test(test_TH_01_thp_are_aligned_and_what_came_is_said),
	        cmocka_unit_test(test_TH_02_thp_disabled_is_labelled_base_pages),
	        cmocka_unit_test(test_NM_06_a_node_that_is_not_there),
	        cmocka_unit_test(test_page_sizes_that_are_not_there),
	        cmocka_unit_test(test_a_stop_is_no_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
