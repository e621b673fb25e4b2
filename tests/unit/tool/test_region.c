/* The memory of a benchmark: all there, of the size it claims to be, and nothing left after an error. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "bench/region.h"

static struct hc_machine *machine;

static int read_machine(void **state) {
	(void)state;
	return hc_machine_read(NULL, &machine);
}

static int free_machine(void **state) {
	(void)state;
	machine = hc_machine_free(machine);
	return 0;
}

static uint64_t base_page(void) {
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static unsigned count_mappings(void) {
#ifdef __SANITIZE_THREAD__
	return 0; /* gcc's ThreadSanitizer maps memory of its own as it goes */
#endif
	FILE *f = fopen("/proc/self/maps", "re");
	assert_non_null(f);
	unsigned n = 0;
	for (int c; (c = getc(f)) != EOF;)
		n += c == '\n';
	fclose(f);
	return n;
}

#define ROUNDS 64

/* Many times over, as the runtime of a sanitizer may map something meanwhile: nothing stays behind. */
static void expect_failure_leaves_nothing(const struct region_request *request, int err) {
	struct region *region;
	unsigned before = count_mappings();
	for (int i = 0; i < ROUNDS; i++)
		assert_error(region_map(machine, request, &region), err);
	assert_true(count_mappings() < before + ROUNDS / 2);
}

static void expect_resident(const struct region *region) {
	uint64_t pages = region->bytes / base_page();
	unsigned char *there = calloc(pages, 1);
	assert_non_null(there);
	assert_int_equal(mincore(region->p, region->bytes, there), 0);
	for (uint64_t i = 0; i < pages; i++)
		assert_int_equal(there[i] & 1, 1);
	free(there);
}

static void test_BN_13_base_pages_are_resident(void **state) {
	(void)state;
	struct region *region;
	struct region_request request = {.bytes = 5 * base_page() + 1, .backing = REGION_BASE, .node = -1};
	assert_ok(region_map(machine, &request, &region));
	assert_int_equal(region->bytes, 6 * base_page());
	assert_int_equal(region->page_size, base_page());
	assert_int_equal(region->backing, REGION_BASE);
	assert_int_equal(region->node, -1);
	expect_resident(region);
	memset(region->p, 1, region->bytes);
	assert_null(region_unmap(region));
	assert_null(region_unmap(NULL));
}

static void test_SZ_04_one_byte_is_a_page_and_unmaps_whole(void **state) {
	(void)state;
	unsigned before = count_mappings();
	struct region_request request = {.bytes = 1, .backing = REGION_BASE, .node = -1};
	for (int i = 0; i < ROUNDS; i++) {
		struct region *region;
		assert_ok(region_map(machine, &request, &region));
		assert_int_equal(region->bytes, base_page());
		region_unmap(region);
	}
	assert_true(count_mappings() < before + ROUNDS / 2);
}

static void test_TH_01_thp_is_aligned_and_checked(void **state) {
	(void)state;
	const struct hc_thp *thp = hc_machine_thp(machine);
	if (thp->present != 1 || strcmp(thp->enabled, "never") == 0 || thp->process_disabled == 1) {
		print_message("THP is off here\n");
		skip();
	}
	struct region *region;
	struct region_request request = {.bytes = thp->pmd_size + 1, .backing = REGION_THP, .node = -1};
	assert_ok(region_map(machine, &request, &region));
	assert_int_equal((uintptr_t)region->p % thp->pmd_size, 0);
	assert_int_equal(region->bytes, 2 * thp->pmd_size);
	expect_resident(region);
	/* What came is said: huge pages or, where memory is fragmented, fewer or none. */
	assert_true(region->huge_bytes <= region->bytes);
	assert_int_equal(region->backing, region->huge_bytes ? REGION_THP : REGION_BASE);
	assert_int_equal(region->page_size, region->huge_bytes ? thp->pmd_size : base_page());
	assert_true((region->why_not_huge == NULL) == (region->huge_bytes == region->bytes));
	region_unmap(region);
}

static void test_TH_02_thp_disabled_is_labelled_base_pages(void **state) {
	(void)state;
	if (hc_machine_thp(machine)->present != 1 || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0) {
		print_message("no THP here, or it can't be disabled for a process\n");
		skip();
	}
	struct hc_machine *now;
	assert_ok(hc_machine_read(NULL, &now));
	struct region *region;
	struct region_request request = {.bytes = 1 << 22, .backing = REGION_THP, .node = -1};
	int r = region_map(now, &request, &region);
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	assert_return(r, 0, "region_map");
	assert_int_equal(region->backing, REGION_BASE);
	assert_int_equal(region->page_size, base_page());
	assert_int_equal(region->huge_bytes, 0);
	assert_contains(region->why_not_huge, "PR_SET_THP_DISABLE");
	region_unmap(region);
	hc_machine_free(now);
}

static void test_NM_06_a_node_that_is_not_there(void **state) {
	(void)state;
	struct region_request request = {.bytes = 1, .backing = REGION_BASE, .node = 4711};
	expect_failure_leaves_nothing(&request, ENODEV);
	assert_detail_has("node 4711 is not online");
}

static void test_sizes_beyond_all_memory(void **state) {
	(void)state;
	const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 4 * base_page(), UINT64_C(1) << 60};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct region_request request = {.bytes = sizes[i], .backing = REGION_BASE, .node = -1};
		expect_failure_leaves_nothing(&request, ENOMEM);
		request.backing = REGION_THP;
		expect_failure_leaves_nothing(&request, ENOMEM);
	}
}

static void test_page_sizes_that_are_not_there(void **state) {
	(void)state;
	struct region *region;
	struct region_request request = {.bytes = 1, .backing = REGION_HUGETLB, .page_size = 3 << 20, .node = -1};
	assert_error(region_map(machine, &request, &region), ENODEV);
	assert_detail_has("3 MiB");
	assert_int_equal(region_room(machine, REGION_HUGETLB, 3 << 20, -1), 0);
}

static void test_PL_01_more_pages_than_there_are(void **state) {
	(void)state;
	const struct hc_pool *pool = hc_machine_pool(machine, 0);
	if (!pool || pool->available == HC_UNKNOWN || pool->overcommit) {
		print_message("no pool of huge pages without overcommit here\n");
		skip();
	}
	/* So many more that no other process can make them there meanwhile. */
	uint64_t wanted_pages = pool->total + (1 << 20);
	struct region_request request = {.bytes = wanted_pages * pool->page_size,
	        .backing = REGION_HUGETLB,
	        .page_size = pool->page_size,
	        .node = -1};
	expect_failure_leaves_nothing(&request, ENOMEM);
	char wanted[64];
	snprintf(wanted, sizeof(wanted), "%llu page", (unsigned long long)wanted_pages);
	assert_detail_has(wanted);
	if (pool->cgroup_bytes_left == HC_UNKNOWN) {
		assert_detail_has("available (");
		assert_detail_has("`hugeclear reserve ");
	}
}

static int stop_at_once(void *user) {
	++*(unsigned *)user;
	return 1;
}

static void test_a_stop_leaves_nothing(void **state) {
	(void)state;
	unsigned asked = 0;
	struct region_request request = {
	        .bytes = 1 << 20, .backing = REGION_BASE, .node = -1, .stop = stop_at_once, .user = &asked};
	expect_failure_leaves_nothing(&request, ECANCELED);
	assert_int_equal(asked, ROUNDS);
}

static void test_room_of_base_pages_is_below_the_memory(void **state) {
	(void)state;
	uint64_t room = region_room(machine, REGION_BASE, 0, -1);
	assert_true(room > 0);
	assert_true(room < hc_machine_memory(machine)->total);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_BN_13_base_pages_are_resident),
	        cmocka_unit_test(test_SZ_04_one_byte_is_a_page_and_unmaps_whole),
	        cmocka_unit_test(test_TH_01_thp_is_aligned_and_checked),
	        cmocka_unit_test(test_TH_02_thp_disabled_is_labelled_base_pages),
	        cmocka_unit_test(test_NM_06_a_node_that_is_not_there),
	        cmocka_unit_test(test_sizes_beyond_all_memory),
	        cmocka_unit_test(test_page_sizes_that_are_not_there),
	        cmocka_unit_test(test_PL_01_more_pages_than_there_are),
	        cmocka_unit_test(test_a_stop_leaves_nothing),
	        cmocka_unit_test(test_room_of_base_pages_is_below_the_memory),
	};
	return cmocka_run_group_tests(tests, read_machine, free_machine);
}
