/* Sizes of huge pages, their pools by machine and node, and what meminfo says about them. */
#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/sys.h>

#include "sys/meminfo.h"
#include "sys/page_sizes.h"
#include "sys/warnings.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

struct reading {
	char *tree;
	struct hc_root root;
	struct hc_warnings warnings;
	struct hc_meminfo meminfo;
	struct hc_pools pools;
};

static void read_tree(char *tree, struct reading *ret_reading) {
	*ret_reading = (struct reading){.tree = tree};
	assert_ok(hc_root_open(tree, &ret_reading->root));
	hc_meminfo_read(&ret_reading->root, &ret_reading->warnings, &ret_reading->meminfo);
	assert_ok(
	        hc_pools_read(&ret_reading->root, &ret_reading->meminfo, &ret_reading->warnings, &ret_reading->pools));
}

static void read_meminfo(const char *name, struct reading *ret_reading) {
	char *text = fixture_read(name), *tree = temp_folder();
	tree_write(tree, "proc/meminfo", text);
	free(text);
	read_tree(tree, ret_reading);
}

static void done(struct reading *reading) {
	hc_pools_free(&reading->pools);
	hc_warnings_clear(&reading->warnings);
	hc_root_close(&reading->root);
	if (reading->tree)
		temp_folder_remove(reading->tree);
}

static bool warned(const struct reading *reading, const char *part) {
	const char *text;
	for (unsigned i = 0; (text = hc_warnings_get(&reading->warnings, i)) != NULL; i++)
		if (strstr(text, part))
			return true;
	return false;
}

#define assert_u64(a, b)                                                                                               \
	do {                                                                                                           \
		uint64_t a_ = (a), b_ = (b);                                                                           \
		if (a_ != b_)                                                                                          \
			fail_msg("%s: %llu, not %llu", #a, (unsigned long long)a_, (unsigned long long)b_);            \
	} while (0)

static void test_DS_01_no_folder(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("sysfs/no-hugepages-dir.tree"), &reading);
	/* meminfo names a default size: there is hugetlb, and that pool is all that is known of it */
	assert_int_equal(reading.pools.has_hugetlb, 1);
	assert_int_equal(reading.pools.nr_pools, 1);
	assert_u64(reading.pools.pools[0].page_size, 2 * MIB);
	assert_int_equal(reading.pools.pools[0].listed, 0);
	assert_int_equal(reading.pools.pools[0].is_default, 1);
	assert_u64(reading.pools.pools[0].total, 0);
	assert_u64(reading.pools.pools[0].overcommit, HC_UNKNOWN);
	done(&reading);
}

static void test_DS_01_empty_folder(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("sysfs/empty-hugepages-dir.tree"), &reading);
	assert_int_equal(reading.pools.has_hugetlb, -1);
	assert_int_equal(reading.pools.nr_pools, 0);
	assert_u64(reading.pools.default_page_size, HC_UNKNOWN);
	done(&reading);
}

/* Returns 0 when an ordinary user gets what the case expects. */
static int read_as_nobody(const char *tree) {
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 1;
	struct hc_root root;
	if (hc_root_open(tree, &root) < 0)
		return 2;
	struct hc_warnings warnings = {0};
	struct hc_meminfo meminfo;
	struct hc_pools pools;
	hc_meminfo_read(&root, &warnings, &meminfo);
	if (hc_pools_read(&root, &meminfo, &warnings, &pools) < 0)
		return 3;
	if (pools.nr_pools != 0 || pools.has_hugetlb != -1)
		return 4;
	if (!hc_warnings_get(&warnings, 0) || !strstr(hc_warnings_get(&warnings, 0), "/sys/kernel/mm/hugepages"))
		return 5;
	hc_pools_free(&pools);
	hc_warnings_clear(&warnings);
	hc_root_close(&root);
	return 0;
}

static void test_DS_01_unreadable_folder(void **state) {
	(void)state;
	if (geteuid() != 0) {
		print_message("needs root to become another user\n");
		skip();
	}
	char *tree = tree_unpack("sysfs/empty-hugepages-dir.tree");
	char folder[4096];
	snprintf(folder, sizeof(folder), "%s/sys/kernel/mm/hugepages", tree);
	assert_int_equal(chmod(tree, 0755), 0);
	assert_int_equal(chmod(folder, 0), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(read_as_nobody(tree));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	chmod(folder, 0755);
	temp_folder_remove(tree);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_DS_02_kernel_without_hugetlb(void **state) {
	(void)state;
	static const char *const names[] = {"meminfo/no-hugetlb-in-kernel.txt", "meminfo/gvisor-like-minimal.txt"};
	static const uint64_t totals[] = {2048000, 2097152};
	for (size_t i = 0; i < 2; i++) {
		struct reading reading;
		read_meminfo(names[i], &reading);
		assert_int_equal(reading.pools.has_hugetlb, 0);
		assert_int_equal(reading.pools.nr_pools, 0);
		assert_u64(reading.pools.default_page_size, HC_UNKNOWN);
		assert_u64(reading.meminfo.pages_total, HC_UNKNOWN);
		assert_u64(reading.meminfo.hugetlb, HC_UNKNOWN);
		assert_u64(reading.meminfo.total, totals[i] * KIB);
		done(&reading);
	}
}

static void test_DS_02_garbage(void **state) {
	(void)state;
	struct reading reading;
	read_meminfo("meminfo/garbage-hugepagesize.txt", &reading);
	assert_int_equal(reading.pools.has_hugetlb, 1);
	assert_u64(reading.pools.default_page_size, HC_UNKNOWN);
	assert_int_equal(reading.pools.nr_pools, 0);
	assert_u64(reading.meminfo.pages_total, 4);
	assert_true(warned(&reading, "Hugepagesize"));
	done(&reading);
}

static void test_DS_02_odd_numbers(void **state) {
	(void)state;
	struct reading reading;
	char *tree = temp_folder();
	tree_write(tree, "proc/meminfo",
	        "MemTotal:\nMemFree: -1 kB\nMemAvailable: 18446744073709551615 kB\nSwapTotal: 12 MB\n"
	        "no colon\nSwapFree:\t7 kB\nHugePages_Total: 1 kB\nHugePages_Free: 99999999999999999999\n"
	        "Hugepagesize: 0 kB\nHugetlb: 5");
	read_tree(tree, &reading);
	assert_u64(reading.meminfo.total, HC_UNKNOWN);
	assert_u64(reading.meminfo.free, HC_UNKNOWN);
	assert_u64(reading.meminfo.available, HC_UNKNOWN);
	assert_u64(reading.meminfo.swap_total, HC_UNKNOWN);
	assert_u64(reading.meminfo.swap_free, 7 * KIB);
	assert_u64(reading.meminfo.pages_total, HC_UNKNOWN);
	assert_u64(reading.meminfo.pages_free, HC_UNKNOWN);
	assert_u64(reading.meminfo.hugetlb, HC_UNKNOWN);
	assert_u64(reading.pools.default_page_size, HC_UNKNOWN); /* nobody divides by 0 */
	assert_int_equal(reading.pools.nr_pools, 0);
	assert_true(warned(&reading, "MemAvailable"));
	assert_true(warned(&reading, "Hugepagesize"));
	done(&reading);
}

static void test_DS_02_page_size_not_a_power_of_two(void **state) {
	(void)state;
	struct reading reading;
	char *tree = temp_folder();
	tree_write(tree, "proc/meminfo", "HugePages_Total: 1\nHugepagesize: 3072 kB\n");
	read_tree(tree, &reading);
	assert_u64(reading.pools.default_page_size, HC_UNKNOWN);
	assert_true(warned(&reading, "power of two"));
	done(&reading);
}

static void test_no_meminfo(void **state) {
	(void)state;
	struct reading reading;
	read_tree(temp_folder(), &reading);
	assert_false(reading.meminfo.readable);
	assert_u64(reading.meminfo.total, HC_UNKNOWN);
	assert_int_equal(reading.pools.has_hugetlb, -1);
	assert_true(warned(&reading, "/proc/meminfo"));
	done(&reading);
}

static void test_DS_04_other_architectures(void **state) {
	(void)state;
	struct reading reading;
	read_meminfo("meminfo/ppc64-default-16m.txt", &reading);
	assert_u64(reading.pools.default_page_size, 16 * MIB);
	assert_u64(reading.pools.pools[0].total, 0);
	done(&reading);
	read_meminfo("meminfo/loong64-default-32m.txt", &reading);
	assert_u64(reading.pools.default_page_size, 32 * MIB);
	assert_u64(reading.pools.pools[0].total, 4);
	assert_u64(reading.pools.hugetlb_elsewhere, 0);
	done(&reading);
}

static void test_DS_04_sorted_as_numbers(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("sysfs/arm64-4k.tree"), &reading);
	static const uint64_t sizes[] = {64 * KIB, 2 * MIB, 32 * MIB, GIB};
	assert_int_equal(reading.pools.nr_pools, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_u64(reading.pools.pools[i].page_size, sizes[i]);
		assert_int_equal(reading.pools.pools[i].is_default, i == 1);
		assert_int_equal(reading.pools.pools[i].listed, 1);
	}
	assert_null(hc_warnings_get(&reading.warnings, 0));
	done(&reading);
}

static void test_DS_04_odd_entries(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("sysfs/odd-entries.tree"), &reading);
	assert_int_equal(reading.pools.nr_pools, 2);
	assert_u64(reading.pools.pools[0].page_size, 2 * MIB);
	assert_u64(reading.pools.pools[0].total, 8);
	assert_u64(reading.pools.pools[1].page_size, GIB);
	assert_u64(reading.pools.pools[1].total, HC_UNKNOWN); /* an empty file */
	assert_u64(reading.pools.pools[1].free, HC_UNKNOWN);  /* no file */
	assert_u64(reading.pools.pools[1].available, HC_UNKNOWN);
	assert_u64(reading.pools.pools[1].persistent, HC_UNKNOWN);
	assert_true(warned(&reading, "'README'"));
	assert_true(warned(&reading, "'hugepages-'"));
	assert_true(warned(&reading, "'hugepages-kB'"));
	assert_true(warned(&reading, "'hugepages-99999999999999999999kB'"));
	assert_true(warned(&reading, "hugepages-1048576kB/nr_hugepages"));
	done(&reading);
}

static void test_DS_04_names_that_are_no_sizes(void **state) {
	(void)state;
	static const char *const names[] = {"hugepages-0kB", "hugepages-02048kB", "hugepages-2048KB", "hugepages-2048",
	        "hugepages-3000kB", "hugepages--4kB", "hugepages-2048kBx", "hugepages-18014398509481984kB",
	        "hugepages"};
	char *tree = temp_folder();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[256];
		snprintf(path, sizeof(path), "sys/kernel/mm/hugepages/%s/nr_hugepages", names[i]);
		tree_write(tree, path, "1\n");
	}
	tree_write(tree, "sys/kernel/mm/hugepages/hugepages-9007199254740992kB/nr_hugepages", "1\n"); /* 2^63 */
	struct reading reading;
	read_tree(tree, &reading);
	assert_int_equal(reading.pools.nr_pools, 1);
	assert_u64(reading.pools.pools[0].page_size, UINT64_C(1) << 63);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(warned(&reading, names[i]));
	done(&reading);
}

static void test_DS_05_other_sizes_in_meminfo(void **state) {
	(void)state;
	struct reading reading;
	read_meminfo("meminfo/default-1g-plus-2m-pool.txt", &reading);
	assert_u64(reading.pools.default_page_size, GIB);
	assert_u64(reading.pools.pools[0].total, 15);
	assert_u64(reading.pools.hugetlb_elsewhere, 2097152 * KIB); /* 17825792 - 15 x 1048576 */
	done(&reading);
	read_meminfo("meminfo/this-vm-two-pools.txt", &reading);
	assert_u64(reading.pools.hugetlb_elsewhere, 2097152 * KIB);
	done(&reading);
}

static void test_DS_05_nothing_elsewhere_when_listed(void **state) {
	(void)state;
	struct reading reading;
	char *text = fixture_read("meminfo/default-1g-plus-2m-pool.txt"), *tree = temp_folder();
	tree_write(tree, "proc/meminfo", text);
	tree_write(tree, "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "15\n");
	tree_write(tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1000\n"); /* 24 came in between */
	free(text);
	read_tree(tree, &reading);
	assert_int_equal(reading.pools.nr_pools, 2);
	assert_int_equal(reading.pools.pools[0].is_default, 0);
	assert_int_equal(reading.pools.pools[1].is_default, 1);
	assert_u64(reading.pools.pools[0].total, 1000);
	assert_u64(reading.pools.hugetlb_elsewhere, 0);
	done(&reading);
}

static void test_DS_05_sum_below_the_default_pool(void **state) {
	(void)state;
	struct reading reading;
	char *tree = temp_folder();
	tree_write(tree, "proc/meminfo", "HugePages_Total: 9\nHugepagesize: 2048 kB\nHugetlb: 2048 kB\n");
	tree_write(tree, "proc/sys/vm/nr_overcommit_hugepages", "3\n");
	read_tree(tree, &reading);
	assert_u64(reading.pools.hugetlb_elsewhere, HC_UNKNOWN);
	assert_true(warned(&reading, "Hugetlb"));
	assert_u64(reading.pools.pools[0].overcommit, 3);
	done(&reading);
}

static void test_PL_02_available_is_free_less_reserved(void **state) {
	(void)state;
	struct reading reading;
	read_meminfo("meminfo/resv-exhausted.txt", &reading);
	assert_u64(reading.pools.pools[0].free, 2181);
	assert_u64(reading.pools.pools[0].reserved, 2181);
	assert_u64(reading.pools.pools[0].available, 0);
	done(&reading);
}

/* The counters are read one after the other: reserved may have grown behind free. */
static void test_PL_02_never_below_zero(void **state) {
	(void)state;
	struct reading reading;
	char *tree = temp_folder();
	tree_write(tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4\n");
	tree_write(tree, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n");
	tree_write(tree, "sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "5\n");
	tree_write(tree, "sys/kernel/mm/hugepages/hugepages-2048kB/surplus_hugepages", "6\n");
	read_tree(tree, &reading);
	assert_u64(reading.pools.pools[0].available, 0);
	assert_u64(reading.pools.pools[0].persistent, 0);
	done(&reading);
}

static void test_PL_09_surplus_is_not_persistent(void **state) {
	(void)state;
	struct reading reading;
	read_meminfo("meminfo/surplus-all-used.txt", &reading);
	assert_u64(reading.pools.pools[0].persistent, 2048); /* 2560 - 512 */
	done(&reading);

	read_tree(tree_unpack("numa/surplus-imbalance.tree"), &reading);
	assert_u64(reading.pools.pools[0].persistent, 100);
	struct hc_node_pool node;
	assert_ok(hc_node_pool_read(&reading.root, 2 * MIB, 0, NULL, &node));
	assert_u64(node.total, 200);
	assert_u64(node.surplus, 200);
	assert_u64(node.persistent, 0);
	assert_ok(hc_node_pool_read(&reading.root, 2 * MIB, 1, NULL, &node));
	assert_u64(node.persistent, 100);
	assert_u64(node.free, 100);
	done(&reading);
}

static void test_NM_03_node_without_memory_has_an_empty_pool(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("numa/threadripper-nps4-memoryless.tree"), &reading);
	static const uint64_t free_pages[] = {0, 512, 512, 0};
	for (unsigned node = 0; node < 4; node++) {
		struct hc_node_pool *pools;
		unsigned nr;
		assert_ok(hc_node_pools_read(&reading.root, node, NULL, &pools, &nr));
		assert_int_equal(nr, 1);
		assert_u64(pools[0].free, free_pages[node]);
		free(pools);
	}
	done(&reading);
}

static void test_NM_11_pages_are_on_the_other_node(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("numa/one-node-empty-pool-on-node1.tree"), &reading);
	struct hc_pool machine;
	struct hc_node_pool node0, node1;
	assert_ok(hc_pool_read(&reading.root, 2 * MIB, NULL, &machine));
	assert_ok(hc_node_pool_read(&reading.root, 2 * MIB, 0, NULL, &node0));
	assert_ok(hc_node_pool_read(&reading.root, 2 * MIB, 1, NULL, &node1));
	assert_u64(machine.available, 1024);
	assert_u64(node0.free, 1024);
	assert_u64(node1.free, 0);
	done(&reading);
}

static void test_NM_01_pools_of_sparse_nodes(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("numa/power9-sparse.tree"), &reading);
	struct hc_node_pool pool;
	assert_ok(hc_node_pool_read(&reading.root, 16 * MIB, 8, NULL, &pool));
	assert_u64(pool.free, 64);
	assert_ok(hc_node_pool_read(&reading.root, 16 * MIB, 255, NULL, &pool));
	assert_u64(pool.free, 0);
	assert_error(hc_node_pool_read(&reading.root, 16 * MIB, 1, NULL, &pool), ENOENT);
	assert_error(hc_node_pool_read(&reading.root, 16 * MIB, UINT32_MAX, NULL, &pool), ENOENT);
	done(&reading);
}

static void test_a_size_that_is_not_there(void **state) {
	(void)state;
	struct reading reading;
	read_tree(tree_unpack("sysfs/arm64-4k.tree"), &reading);
	struct hc_pool pool;
	assert_error(hc_pool_read(&reading.root, 16 * MIB, NULL, &pool), ENOENT);
	assert_detail_has("16 MiB");
	assert_detail_has("64 KiB, 2 MiB, 32 MiB, 1 GiB");
	static const uint64_t no_sizes[] = {0, 1, 1023, 3 * MIB, UINT64_MAX};
	for (size_t i = 0; i < 5; i++)
		assert_error(hc_pool_read(&reading.root, no_sizes[i], NULL, &pool), ENOENT);
	done(&reading);
}

static void test_folders(void **state) {
	(void)state;
	char folder[HC_POOL_FOLDER_MAX];
	assert_string_equal(hc_pool_folder(2 * MIB, HC_POOL_MACHINE, folder, sizeof(folder)),
	        "sys/kernel/mm/hugepages/hugepages-2048kB");
	assert_string_equal(hc_pool_folder(GIB, 12, folder, sizeof(folder)),
	        "sys/devices/system/node/node12/hugepages/hugepages-1048576kB");
}

/* The oracle is the shell's view of the same folder. Counters move; the sizes and the default don't. */
static void test_live_sizes(void **state) {
	(void)state;
	struct reading reading;
	reading = (struct reading){0};
	assert_ok(hc_root_open(NULL, &reading.root));
	hc_meminfo_read(&reading.root, &reading.warnings, &reading.meminfo);
	assert_ok(hc_pools_read(&reading.root, &reading.meminfo, &reading.warnings, &reading.pools));
	assert_u64(reading.meminfo.total,
	        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE)); /* sysinfo(2) */

	FILE *shell = popen("ls /sys/kernel/mm/hugepages 2>/dev/null | tr -dc '0-9\\n' | sort -n", "re");
	assert_non_null(shell);
	char line[64];
	unsigned i = 0;
	for (; fgets(line, sizeof(line), shell); i++) {
		assert_true(i < reading.pools.nr_pools);
		assert_u64(reading.pools.pools[i].page_size, strtoull(line, NULL, 10) * 1024);
	}
	pclose(shell);
	if (i > 0)
		assert_int_equal(i, reading.pools.nr_pools);

	shell = popen("awk '/^Hugepagesize:/ {print $2}' /proc/meminfo", "re");
	assert_non_null(shell);
	if (fgets(line, sizeof(line), shell))
		assert_u64(reading.pools.default_page_size, strtoull(line, NULL, 10) * 1024);
	else
		assert_u64(reading.pools.default_page_size, HC_UNKNOWN);
	pclose(shell);
	done(&reading);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_DS_01_no_folder),
	        cmocka_unit_test(test_DS_01_empty_folder),
	        cmocka_unit_test(test_DS_01_unreadable_folder),
	        cmocka_unit_test(test_DS_02_kernel_without_hugetlb),
	        cmocka_unit_test(test_DS_02_garbage),
	        cmocka_unit_test(test_DS_02_odd_numbers),
	        cmocka_unit_test(test_DS_02_page_size_not_a_power_of_two),
	        cmocka_unit_test(test_no_meminfo),
	        cmocka_unit_test(test_DS_04_other_architectures),
	        cmocka_unit_test(test_DS_04_sorted_as_numbers),
	        cmocka_unit_test(test_DS_04_odd_entries),
	        cmocka_unit_test(test_DS_04_names_that_are_no_sizes),
	        cmocka_unit_test(test_DS_05_other_sizes_in_meminfo),
	        cmocka_unit_test(test_DS_05_nothing_elsewhere_when_listed),
	        cmocka_unit_test(test_DS_05_sum_below_the_default_pool),
	        cmocka_unit_test(test_PL_02_available_is_free_less_reserved),
	        cmocka_unit_test(test_PL_02_never_below_zero),
	        cmocka_unit_test(test_PL_09_surplus_is_not_persistent),
	        cmocka_unit_test(test_NM_03_node_without_memory_has_an_empty_pool),
	        cmocka_unit_test(test_NM_11_pages_are_on_the_other_node),
	        cmocka_unit_test(test_NM_01_pools_of_sparse_nodes),
	        cmocka_unit_test(test_a_size_that_is_not_there),
	        cmocka_unit_test(test_folders),
	        cmocka_unit_test(test_live_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
