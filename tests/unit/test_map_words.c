/* What maps are refused for, by captured trees of other machines: limits, nodes, THP settings, smaps. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "map/shortage.h"
#include "map/smaps_range.h"
#include "map/thp_rules.h"
#include "sys/root.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define POOL "sys/kernel/mm/hugepages/hugepages-2048kB/"

static char *tree;
static struct hc_root root;

static void open_tree(const char *name) {
	tree = tree_unpack(name);
	assert_ok(hc_root_open(tree, &root));
}

static void close_tree(void) {
	hc_root_close(&root);
	temp_folder_remove(tree);
}

/* 1024 pages are free, all on node 0: the machine's count alone would say yes. */
static void test_NM_11_the_bound_node_says_no(void **state) {
	(void)state;
	open_tree("numa/one-node-empty-pool-on-node1.tree");
	struct hc_idset *node0, *node1;
	assert_ok(hc_idset_parse("0", &node0));
	assert_ok(hc_idset_parse("1", &node1));
	struct hc_want want = {.page_size = MIB(2), .bytes = MIB(8), .nodes = node1};
	assert_error(hc_shortage_foreseen(&root, &want), ENOMEM);
	assert_detail_has("4 pages of 2 MiB wanted on node 1");
	assert_detail_has("has 0 free (node 0 has 1024)");
	assert_detail_has("`hugeclear reserve 2M@1=+4`");
	assert_error(hc_shortage_of_pages(&root, &want, MIB(2)), ENOMEM);
	assert_detail_has("1 came");
	assert_detail_has("`hugeclear reserve 2M@1=+3`");
	want.nodes = node0;
	assert_ok(hc_shortage_foreseen(&root, &want));
	want.nodes = NULL;
	assert_ok(hc_shortage_foreseen(&root, &want));
	hc_idset_free(node0);
	hc_idset_free(node1);
	close_tree();
}

/* DESIGN's: 512 wanted there, 37 free, 30 reserved by others: 505 more are enough for all. */
static void test_NM_11_pages_that_others_reserved_may_be_there(void **state) {
	(void)state;
	open_tree("numa/one-node-empty-pool-on-node1.tree");
	tree_write(tree, POOL "resv_hugepages", "30\n");
	tree_write(tree, "sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "37\n");
	struct hc_idset *node1;
	assert_ok(hc_idset_parse("1", &node1));
	struct hc_want want = {.page_size = MIB(2), .bytes = MIB(1024), .nodes = node1};
	assert_error(hc_shortage_of_mapping(&root, &want, false), ENOMEM);
	assert_detail_has("512 pages of 2 MiB wanted on node 1, which has 37 free (30 reserved by others machine-wide");
	assert_detail_has(", node 0 has 1024): `hugeclear reserve 2M@1=+505`");
	/* Its own reservation of all 512, and nobody else's. */
	tree_write(tree, POOL "resv_hugepages", "512\n");
	want.is_reserved = true;
	assert_error(hc_shortage_foreseen(&root, &want), ENOMEM);
	assert_detail_has("which has 37 free (node 0 has 1024): `hugeclear reserve 2M@1=+475`");
	/* 37 came, 475 of the reserved ones are its own. */
	tree_write(tree, POOL "resv_hugepages", "485\n");
	tree_write(tree, "sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "0\n");
	assert_error(hc_shortage_of_pages(&root, &want, MIB(74)), ENOMEM);
	assert_detail_has("37 came, which has 0 free (10 reserved by others machine-wide");
	assert_detail_has("`hugeclear reserve 2M@1=+485`");
	hc_idset_free(node1);
	close_tree();
}

static void write_pool(const char *nr, const char *nr_free, const char *reserved) {
	tree_write(tree, POOL "nr_hugepages", nr);
	tree_write(tree, POOL "free_hugepages", nr_free);
	tree_write(tree, POOL "resv_hugepages", reserved);
	tree_write(tree, POOL "surplus_hugepages", "0\n");
	tree_write(tree, POOL "nr_overcommit_hugepages", "0\n");
}

/* Pages that are reserved and didn't come, where the pool isn't what says no: it isn't named. */
static void test_PL_02_own_reservations_are_not_others(void **state) {
	(void)state;
	tree = temp_folder();
	write_pool("8\n", "8\n", "8\n");
	assert_ok(hc_root_open(tree, &root));
	struct hc_want want = {.page_size = MIB(2), .bytes = MIB(16), .is_reserved = true};
	assert_error(hc_shortage_of_pages(&root, &want, 0), ENOMEM);
	assert_detail_has("0 came, and then the kernel had none");
	want.is_reserved = false;
	assert_error(hc_shortage_of_pages(&root, &want, 0), ENOMEM);
	assert_detail_has("0 available (8 free, 8 of them reserved by others)");
	close_tree();
}

/* PL-02: Total 3072, Free 2181, Rsvd 2181: there is nothing to be had. */
static void test_PL_01_PL_02_free_is_not_available(void **state) {
	(void)state;
	tree = temp_folder();
	write_pool("3072\n", "2181\n", "2181\n");
	assert_ok(hc_root_open(tree, &root));
	struct hc_want want = {.page_size = MIB(2), .bytes = MIB(4)};
	assert_error(hc_shortage_of_mapping(&root, &want, true), ENOMEM);
	assert_detail_has("2 pages of 2 MiB wanted, 0 available (2181 free, 2181 of them reserved by others)");
	assert_detail_has("`hugeclear reserve 2M=+2`");
	/* More than the machine has memory isn't to be had by reserving. */
	tree_write(tree, "proc/meminfo", "MemTotal:       16000000 kB\nHugepagesize:       2048 kB\n");
	want.bytes = MIB(1 << 20);
	assert_error(hc_shortage_of_mapping(&root, &want, true), ENOMEM);
	assert_detail_has("this machine has");
	assert_null(strstr(hc_error_detail(), "hugeclear reserve"));
	close_tree();
}

static void test_page_sizes_are_listed(void **state) {
	(void)state;
	tree = temp_folder();
	assert_ok(hc_root_open(tree, &root));
	assert_error(hc_shortage_of_size(&root, MIB(4), "mmap", ENOSYS), EOPNOTSUPP);
	assert_detail_has("no hugetlb");
	write_pool("1\n", "1\n", "0\n");
	assert_error(hc_shortage_of_size(&root, MIB(4), "mmap", EINVAL), ENODEV);
	assert_detail_has("4 MiB");
	assert_detail_has("only of 2 MiB");
	assert_error(hc_shortage_of_size(&root, MIB(2), "memfd_create", EINVAL), EOPNOTSUPP);
	assert_detail_has("memfd_create");
	close_tree();
}

/* ---- THP -------------------------------------------------------------------------- */

#define THP "sys/kernel/mm/transparent_hugepage/"

static int thp_check(uint64_t page_size, uint64_t *ret_size) {
	struct hc_thp_settings settings;
	assert_ok(hc_thp_read(&root, NULL, &settings));
	*ret_size = page_size;
	int r = hc_thp_check(&settings, ret_size);
	hc_thp_free(&settings);
	return r;
}

static void test_TH_02_TH_03_settings_of_the_machine(void **state) {
	(void)state;
	uint64_t size;
	tree = temp_folder();
	assert_ok(hc_root_open(tree, &root));
	tree_write(tree, "sys/kernel/mm/ksm/run", "0\n");
	assert_error(thp_check(0, &size), EOPNOTSUPP); /* TH-03: the folder isn't there */
	assert_detail_has("no THP");
	tree_write(tree, THP "hpage_pmd_size", "2097152\n");
	tree_write(tree, THP "enabled", "always madvise [never]\n");
	assert_error(thp_check(0, &size), EOPNOTSUPP);
	assert_detail_has("/sys/kernel/mm/transparent_hugepage/enabled is 'never'");
	tree_write(tree, THP "enabled", "always [madvise] never\n");
	assert_ok(thp_check(0, &size));
	assert_int_equal(size, MIB(2));
	assert_error(thp_check(MIB(4), &size), EOPNOTSUPP);
	assert_error(thp_check(65536, &size), EOPNOTSUPP);
	assert_detail_has("no THP of 64 KiB");

	tree_write(tree, THP "hugepages-64kB/enabled", "always inherit madvise [never]\n");
	tree_write(tree, THP "hugepages-2048kB/enabled", "always [inherit] madvise never\n");
	assert_error(thp_check(65536, &size), EOPNOTSUPP);
	assert_detail_has("2 MiB are on");
	tree_write(tree, THP "hugepages-2048kB/enabled", "always inherit madvise [never]\n");
	assert_error(thp_check(65536, &size), EOPNOTSUPP);
	assert_detail_has("hugepages-64kB/enabled is 'never'");
	assert_error(thp_check(0, &size), EOPNOTSUPP);
	assert_detail_has("hugepages-2048kB/enabled is 'never'");
	tree_write(tree, THP "hugepages-64kB/enabled", "always inherit [madvise] never\n");
	assert_ok(thp_check(65536, &size));
	close_tree();
}

/* ---- smaps ------------------------------------------------------------------------- */

static struct hc_smaps parse(const char *fixture, uint64_t begin, uint64_t end) {
	char *text = fixture_read(fixture);
	struct hc_smaps smaps;
	hc_smaps_parse(text, begin, end, &smaps);
	free(text);
	return smaps;
}

static void test_smaps(void **state) {
	(void)state;
	struct hc_smaps smaps = parse("smaps/hugetlb-private.txt", 0x55fd4d600000, 0x55fd4d800000);
	assert_int_equal(smaps.kernel_page_size, MIB(2));
	assert_int_equal(smaps.anon_huge, 0);
	smaps = parse("smaps/hugetlb-private.txt", 0x1000, 0x2000);
	assert_int_equal(smaps.kernel_page_size, HC_UNKNOWN);
	smaps = parse("smaps/thp-misaligned.txt", 0, UINT64_MAX);
	assert_int_equal(smaps.kernel_page_size, 4096);
	assert_int_equal(smaps.anon_huge, 0);

	hc_smaps_parse(
	        "1000-3000 rw-p 0\nKernelPageSize: 4 kB\nAnonHugePages: 2048 kB\n3000-4000 rw-p 0\n"
	        "AnonHugePages: 7 kB\n5000-6000 rw-p 0\nAnonHugePages: x kB\nAnonHugePages: 99999999999999999999 kB\n"
	        "AnonHugePages: 1 MB\nKernelPageSize: 64 kB",
	        0x1000, 0x6000, &smaps);
	assert_int_equal(smaps.kernel_page_size, 4096);
	assert_int_equal(smaps.anon_huge, (2048 + 7) << 10);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_NM_11_the_bound_node_says_no),
	        cmocka_unit_test(test_NM_11_pages_that_others_reserved_may_be_there),
	        cmocka_unit_test(test_PL_02_own_reservations_are_not_others),
	        cmocka_unit_test(test_PL_01_PL_02_free_is_not_available),
	        cmocka_unit_test(test_page_sizes_are_listed),
	        cmocka_unit_test(test_TH_02_TH_03_settings_of_the_machine),
	        cmocka_unit_test(test_smaps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
