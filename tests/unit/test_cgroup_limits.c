/* What control groups still allow: the tightest of all levels and kinds, and the oddities of their counters. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "sys/cgroup_limits.h"
#include "sys/warnings.h"

static void read_limit(
        const char *tree, uint64_t page_size, struct hc_warnings *warnings, struct hc_cgroup_limit *ret_limit) {
	struct hc_root root;
	assert_ok(hc_root_open(tree, &root));
	if (page_size)
		assert_ok(hc_hugetlb_limit_read(&root, page_size, warnings, ret_limit));
	else
		assert_ok(hc_memory_limit_read(&root, warnings, ret_limit));
	hc_root_close(&root);
}

static void expected_row(void *user, char **fields, unsigned nr_fields) {
	(void)user;
	assert_true(nr_fields >= 3);
	char name[256];
	snprintf(name, sizeof(name), "cgroup/%s.tree", fields[0]);
	char *tree = tree_unpack(name);
	uint64_t page_size;
	assert_ok(hc_size_parse(fields[1], &page_size));
	struct hc_cgroup_limit limit;
	read_limit(tree, page_size, NULL, &limit);
	uint64_t expected = strncmp(fields[2], "unlimited", 9) == 0 ? HC_UNKNOWN : strtoull(fields[2], NULL, 10);
	if (limit.bytes_left != expected)
		fail_msg("%s %s: %llu, not %s", fields[0], fields[1], (unsigned long long)limit.bytes_left, fields[2]);
	assert_int_equal(limit.file == NULL, expected == HC_UNKNOWN);
	free(limit.file);
	temp_folder_remove(tree);
}

static void test_PL_07_DS_11_expected_values(void **state) {
	(void)state;
	assert_int_equal(fixture_rows("cgroup/expected.tsv", expected_row, NULL), 15);
}

static void expect_file(const char *fixture, const char *file, bool is_reservation) {
	char *tree = tree_unpack(fixture), whole[4096];
	struct hc_cgroup_limit limit;
	read_limit(tree, 2 << 20, NULL, &limit);
	snprintf(whole, sizeof(whole), "%s/%s", tree, file);
	assert_non_null(limit.file);
	assert_string_equal(limit.file, whole);
	assert_int_equal(limit.is_reservation, is_reservation);
	free(limit.file);
	temp_folder_remove(tree);
}

static void test_PL_07_names_the_limit_that_binds(void **state) {
	(void)state;
	expect_file("cgroup/v2-nested.tree", "sys/fs/cgroup/parent/hugetlb.2MB.max", false);
	expect_file("cgroup/v2-rsvd-zero.tree", "sys/fs/cgroup/svc/hugetlb.2MB.rsvd.max", true);
	expect_file("cgroup/v1-fault-and-rsvd.tree", "sys/fs/cgroup/hugetlb/job/hugetlb.2MB.rsvd.limit_in_bytes", true);
	expect_file("cgroup/v1-old-no-rsvd.tree", "sys/fs/cgroup/hugetlb/ctr/hugetlb.2MB.limit_in_bytes", false);
}

static void test_PL_07_wrapped_counter_is_reported(void **state) {
	(void)state;
	struct hc_warnings warnings = {0};
	char *tree = tree_unpack("cgroup/v1-rsvd-usage-wrapped.tree");
	struct hc_cgroup_limit limit;
	read_limit(tree, 2 << 20, &warnings, &limit);
	assert_contains(hc_warnings_get(&warnings, 0), "hugetlb.2MB.rsvd.usage_in_bytes");
	assert_contains(hc_warnings_get(&warnings, 0), "18446744073487253504");
	hc_warnings_clear(&warnings);

	/* the same counter under a real limit leaves all of it, not a wrapped difference */
	tree_write(tree, "sys/fs/cgroup/hugetlb/t/hugetlb.2MB.rsvd.limit_in_bytes", "4194304\n");
	read_limit(tree, 2 << 20, &warnings, &limit);
	assert_int_equal(limit.bytes_left, 4194304);
	free(limit.file);

	/* 374 MiB "reserved" with nothing in use is as plausible as any number: no warning */
	temp_folder_remove(tree);
	hc_warnings_clear(&warnings);
	tree = tree_unpack("cgroup/v1-rsvd-usage-stuck.tree");
	read_limit(tree, 2 << 20, &warnings, &limit);
	assert_null(hc_warnings_get(&warnings, 0));
	temp_folder_remove(tree);
}

#define V2_MOUNT "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"

static char *tree_of_group(const char *group) {
	char *tree = temp_folder(), line[256];
	snprintf(line, sizeof(line), "0::%s\n", group);
	tree_write(tree, "proc/self/cgroup", line);
	tree_write(tree, "proc/self/mountinfo", V2_MOUNT);
	return tree;
}

/* The largest count the kernel can write, in whole base pages of 4 and 64 KiB and whole huge pages of up to 16 GiB. */
static void test_PL_07_largest_count_is_no_limit(void **state) {
	(void)state;
	static const char *const limits[] = {"max", "9223372036854771712", "9223372036854710272", "9223372036852678656",
	        "9223372035781033984", "9223372019674906624", "9223372036854775807"};
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char *tree = tree_of_group("/a");
		tree_write(tree, "cg/a/hugetlb.2MB.max", limits[i]);
		struct hc_cgroup_limit limit;
		read_limit(tree, 2 << 20, NULL, &limit);
		assert_true(limit.bytes_left == HC_UNKNOWN);
		assert_null(limit.file);
		temp_folder_remove(tree);
	}
}

static void test_PL_07_grandparent_and_ties(void **state) {
	(void)state;
	char *tree = tree_of_group("/a/b/c");
	tree_write(tree, "cg/a/hugetlb.2MB.max", "4194304\n");
	tree_write(tree, "cg/a/hugetlb.2MB.current", "2097152\n");
	tree_write(tree, "cg/a/b/hugetlb.2MB.max", "4194304\n");
	tree_write(tree, "cg/a/b/c/hugetlb.2MB.max", "max\n");
	tree_write(tree, "cg/hugetlb.2MB.rsvd.max", "2097152\n");
	struct hc_cgroup_limit limit;
	read_limit(tree, 2 << 20, NULL, &limit);
	assert_int_equal(limit.bytes_left, 2097152);
	assert_contains(limit.file, "/cg/hugetlb.2MB.rsvd.max"); /* asked first, at mmap */
	assert_true(limit.is_reservation);
	free(limit.file);
	temp_folder_remove(tree);
}

static void test_PL_07_garbage_is_no_limit_but_said(void **state) {
	(void)state;
	struct hc_warnings warnings = {0};
	char *tree = tree_of_group("/a");
	tree_write(tree, "cg/a/hugetlb.2MB.max", "many\n");
	tree_write(tree, "cg/a/hugetlb.2MB.rsvd.max", "");
	struct hc_cgroup_limit limit;
	read_limit(tree, 2 << 20, &warnings, &limit);
	assert_true(limit.bytes_left == HC_UNKNOWN);
	assert_contains(hc_warnings_get(&warnings, 0), "hugetlb.2MB");
	assert_non_null(hc_warnings_get(&warnings, 1));
	hc_warnings_clear(&warnings);
	temp_folder_remove(tree);
}

static void test_no_cgroups_at_all(void **state) {
	(void)state;
	struct hc_warnings warnings = {0};
	char *tree = temp_folder();
	struct hc_cgroup_limit limit;
	read_limit(tree, 2 << 20, &warnings, &limit);
	assert_true(limit.bytes_left == HC_UNKNOWN);
	read_limit(tree, 0, &warnings, &limit);
	assert_true(limit.bytes_left == HC_UNKNOWN);
	assert_null(hc_warnings_get(&warnings, 0));
	temp_folder_remove(tree);
}

static void test_memory_limit(void **state) {
	(void)state;
	struct hc_cgroup_limit limit;
	char *tree = tree_of_group("/a/b");
	tree_write(tree, "cg/a/memory.max", "1073741824\n");
	tree_write(tree, "cg/a/memory.current", "73741824\n");
	tree_write(tree, "cg/a/b/memory.max", "max\n");
	tree_write(tree, "cg/a/b/memory.current", "1\n");
	read_limit(tree, 0, NULL, &limit);
	assert_int_equal(limit.bytes_left, 1000000000);
	assert_contains(limit.file, "/cg/a/memory.max");
	free(limit.file);
	temp_folder_remove(tree);

	tree = temp_folder();
	tree_write(tree, "proc/self/cgroup", "4:memory:/x\n0::/\n");
	tree_write(tree, "proc/self/mountinfo", V2_MOUNT "35 30 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
	tree_write(tree, "cg/memory/x/memory.limit_in_bytes", "4096\n");
	tree_write(tree, "cg/memory/x/memory.usage_in_bytes", "8192\n");
	tree_write(tree, "cg/memory.max", "0\n"); /* of the hierarchy that doesn't have the controller */
	read_limit(tree, 0, NULL, &limit);
	assert_int_equal(limit.bytes_left, 0);
	assert_contains(limit.file, "/cg/memory/x/memory.limit_in_bytes");
	free(limit.file);
	temp_folder_remove(tree);
}

static void test_DS_11_size_names(void **state) {
	(void)state;
	static const struct {
		uint64_t bytes;
		const char *name;
	} rows[] = {{UINT64_C(64) << 10, "64KB"}, {UINT64_C(1) << 20, "1MB"}, {UINT64_C(2) << 20, "2MB"},
	        {UINT64_C(32) << 20, "32MB"}, {UINT64_C(512) << 20, "512MB"}, {UINT64_C(1) << 30, "1GB"},
	        {UINT64_C(16) << 30, "16GB"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[HC_CGROUP_SIZE_NAME_MAX];
		assert_string_equal(hc_cgroup_size_name(rows[i].bytes, name, sizeof(name)), rows[i].name);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_PL_07_DS_11_expected_values),
	        cmocka_unit_test(test_PL_07_names_the_limit_that_binds),
	        cmocka_unit_test(test_PL_07_wrapped_counter_is_reported),
	        cmocka_unit_test(test_PL_07_largest_count_is_no_limit),
	        cmocka_unit_test(test_PL_07_grandparent_and_ties),
	        cmocka_unit_test(test_PL_07_garbage_is_no_limit_but_said),
	        cmocka_unit_test(test_no_cgroups_at_all),
	        cmocka_unit_test(test_memory_limit),
	        cmocka_unit_test(test_DS_11_size_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
