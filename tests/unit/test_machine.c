/* The snapshot as programs see it: this machine beside other programs' word, and captured trees of others. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <hwloc.h>

#include <hugeclear/sys.h>

static struct hc_machine *read_root(const char *root) {
	struct hc_machine_opts opts = {.size = sizeof(opts), .root = root};
	struct hc_machine *machine;
	assert_ok(hc_machine_read(&opts, &machine));
	return machine;
}

static struct hc_machine *read_tree(char *tree) {
	struct hc_machine *machine = read_root(tree);
	temp_folder_remove(tree); /* nothing is read later */
	return machine;
}

static bool warned(const struct hc_machine *machine, const char *part) {
	const char *text;
	for (unsigned i = 0; (text = hc_machine_warning(machine, i)) != NULL; i++)
		if (strstr(text, part))
			return true;
	return false;
}

static void test_live_beside_getconf_and_hwloc(void **state) {
	(void)state;
	struct hc_machine *machine;
	assert_ok(hc_machine_read(NULL, &machine));
	assert_int_equal(hc_machine_memory(machine)->base_page_size, sysconf(_SC_PAGESIZE));
	assert_true(hc_machine_memory(machine)->total ==
	            (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	struct utsname uts;
	assert_int_equal(uname(&uts), 0);
	assert_string_equal(hc_machine_processor(machine)->architecture, uts.machine);
	assert_string_equal(hc_machine_kernel(machine)->release, uts.release);
	assert_true(hc_machine_processor(machine)->cached_up_to > 0);
	assert_true(hc_machine_cpus(machine)->default_threads >= 1);
	assert_int_equal(hc_idset_count(hc_machine_cpus(machine)->online), sysconf(_SC_NPROCESSORS_ONLN));

	hwloc_topology_t topology;
	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	int nr_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
	assert_true(nr_nodes > 0);
	for (int i = 0; i < nr_nodes; i++) {
		hwloc_obj_t obj = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)i);
		const struct hc_node *node = hc_machine_node_by_id(machine, obj->os_index);
		assert_non_null(node);
		assert_true(node->mem_total == HC_UNKNOWN || obj->attr->numanode.local_memory <= node->mem_total);
		/* hwloc lists the base page size first, then each hugetlb size with its total */
		for (unsigned k = 1; k < obj->attr->numanode.page_types_len; k++) {
			uint64_t size = obj->attr->numanode.page_types[k].size;
			if (hc_machine_pool_by_size(machine, size) == NULL)
				fail_msg("hwloc knows pages of %llu bytes", (unsigned long long)size);
		}
	}
	hwloc_topology_destroy(topology);
	assert_null(hc_machine_free(machine));
}

static void test_live_processor_beside_cpuinfo(void **state) {
	(void)state;
	struct hc_machine *machine = read_root("");
	static const struct {
		const char *key;
		size_t offset;
	} rows[] = {{"vendor_id", offsetof(struct hc_processor, vendor)},
	        {"model name", offsetof(struct hc_processor, model_name)}};
	unsigned compared = 0;
	for (size_t i = 0; i < 2; i++) {
		char command[128], line[256] = "";
		snprintf(command, sizeof(command), "sed -n 's/^%s[[:space:]]*: //p' /proc/cpuinfo | head -n 1",
		        rows[i].key);
		FILE *shell = popen(command, "re");
		assert_non_null(shell);
		if (fgets(line, sizeof(line), shell)) {
			line[strcspn(line, "\n")] = '\0';
			assert_string_equal(
			        *(const char *const *)(const void *)((const char *)hc_machine_processor(machine) +
			                                             rows[i].offset),
			        line);
			compared++;
		}
		pclose(shell);
	}
	hc_machine_free(machine);
	if (compared == 0) {
		print_message("/proc/cpuinfo names no vendor and model here\n");
		skip();
	}
}

static void test_another_root_is_never_mixed_with_this_machine(void **state) {
	(void)state;
	struct hc_machine *machine = read_tree(temp_folder());
	const struct hc_processor *processor = hc_machine_processor(machine);
	assert_string_equal(processor->architecture, "");
	assert_string_equal(processor->vendor, "");
	assert_string_equal(processor->model_name, "");
	assert_string_equal(processor->features, "");
	assert_string_equal(processor->features_masked, "");
	assert_int_equal(processor->virtualised, -1);
	assert_int_equal(processor->l2, 0);
	assert_true(processor->cached_up_to > 0);
	assert_null(hc_machine_cpus(machine)->allowed);
	assert_true(hc_machine_cpus(machine)->default_threads >= 1);
	assert_true(hc_machine_memory(machine)->total == HC_UNKNOWN);
	assert_true(hc_machine_memory(machine)->default_huge_page_size == HC_UNKNOWN);
	assert_int_equal(hc_machine_memory(machine)->has_hugetlb, -1);
	assert_int_equal(hc_machine_memory(machine)->base_page_size, 4096);
	assert_null(hc_machine_pool(machine, 0));
	assert_int_equal(hc_machine_thp(machine)->present, -1);
	assert_int_equal(hc_machine_thp(machine)->process_disabled, -1);
	assert_null(hc_machine_mthp(machine, 0));
	assert_null(hc_machine_hugetlbfs(machine, 0));
	assert_true(hc_machine_limits(machine)->locked_memory_soft == HC_UNKNOWN);
	assert_int_equal(hc_machine_limits(machine)->locked_memory_applies, -1);
	assert_true(hc_machine_limits(machine)->memory_cgroup_left == HC_UNKNOWN);
	assert_string_equal(hc_machine_kernel(machine)->release, "");
	assert_string_equal(hc_machine_kernel(machine)->boot_id, "");
	const struct hc_kernel_feature *feature;
	for (unsigned i = 0; (feature = hc_machine_kernel_feature(machine, i)) != NULL; i++)
		assert_int_equal(feature->available, -1);
	assert_true(warned(machine, "/proc/meminfo"));
	hc_machine_free(machine);
}

static void test_processor_of_another_root(void **state) {
	(void)state;
	char *tree = temp_folder();
	tree_write(tree, "proc/sys/kernel/arch", "x86_64\n");
	tree_write(tree, "proc/cpuinfo",
	        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
	        "model name\t: Intel(R) Xeon(R) Platinum 8480+: x\nstepping\t: 8\nflags\t\t: fpu avx2 hypervisor\n\n"
	        "processor\t: 1\nvendor_id\t: Other\nmodel name\t: other\n\n");
	struct hc_machine *machine = read_tree(tree);
	const struct hc_processor *processor = hc_machine_processor(machine);
	assert_string_equal(processor->architecture, "x86_64");
	assert_string_equal(processor->vendor, "GenuineIntel");
	assert_string_equal(processor->model_name, "Intel(R) Xeon(R) Platinum 8480+: x");
	assert_int_equal(processor->family, 6);
	assert_int_equal(processor->model, 143);
	assert_int_equal(processor->stepping, 8);
	assert_int_equal(processor->virtualised, 1);
	assert_string_equal(processor->features, "");
	hc_machine_free(machine);

	machine = read_tree(tree_unpack("sysfs/arm64-4k.tree"));
	assert_string_equal(hc_machine_processor(machine)->vendor, "");
	assert_int_equal(hc_machine_processor(machine)->virtualised, -1);
	assert_int_equal(hc_machine_memory(machine)->base_page_size, 4096);
	hc_machine_free(machine);
}

static void test_base_page_size_of_another_root(void **state) {
	(void)state;
	char *tree = temp_folder();
	tree_write(tree, "page_size", "65536\n");
	struct hc_machine *machine = read_tree(tree);
	assert_int_equal(hc_machine_memory(machine)->base_page_size, 65536);
	assert_false(warned(machine, "page_size"));
	hc_machine_free(machine);

	tree = temp_folder();
	tree_write(tree, "page_size", "0\n");
	machine = read_tree(tree);
	assert_int_equal(hc_machine_memory(machine)->base_page_size, 4096);
	assert_true(warned(machine, "page_size"));
	hc_machine_free(machine);
}

static void test_PL_07_pools_know_their_cgroup_limits(void **state) {
	(void)state;
	struct hc_machine *machine = read_tree(tree_unpack("cgroup/v2-only-2mb-on-arm.tree"));
	static const uint64_t left[] = {HC_UNKNOWN, 2097152, HC_UNKNOWN, 0};
	for (unsigned i = 0; i < 4; i++) {
		const struct hc_pool *pool = hc_machine_pool(machine, i);
		assert_non_null(pool);
		assert_true(pool->cgroup_bytes_left == left[i]);
		assert_int_equal(pool->cgroup_limit_file == NULL, left[i] == HC_UNKNOWN);
		assert_int_equal(pool->cgroup_limit_is_reservation, 0);
	}
	assert_null(hc_machine_pool(machine, 4));
	assert_contains(hc_machine_pool(machine, 3)->cgroup_limit_file, "svc/hugetlb.1GB.max");
	hc_machine_free(machine);

	machine = read_tree(tree_unpack("cgroup/v2-rsvd-zero.tree"));
	assert_int_equal(hc_machine_pool(machine, 0)->cgroup_limit_is_reservation, 1);
	assert_int_equal(hc_machine_pool(machine, 0)->cgroup_bytes_left, 0);
	hc_machine_free(machine);

	machine = read_tree(tree_unpack("cgroup/v1-rsvd-usage-wrapped.tree"));
	assert_true(warned(machine, "below zero"));
	hc_machine_free(machine);
}

static void test_NM_11_NM_03_pools_of_nodes(void **state) {
	(void)state;
	struct hc_machine *machine = read_tree(tree_unpack("numa/one-node-empty-pool-on-node1.tree"));
	assert_int_equal(hc_machine_node_pool(machine, 0, 2 << 20)->free, 1024);
	assert_int_equal(hc_machine_node_pool(machine, 1, 2 << 20)->free, 0);
	assert_null(hc_machine_node_pool(machine, 2, 2 << 20));
	assert_null(hc_machine_node_pool(machine, 0, 1 << 30));
	hc_machine_free(machine);

	machine = read_tree(tree_unpack("numa/threadripper-nps4-memoryless.tree"));
	assert_int_equal(hc_machine_node_by_id(machine, 0)->has_memory, 0);
	assert_int_equal(hc_machine_node_pool(machine, 0, 2 << 20)->total, 0);
	assert_int_equal(hc_machine_node_pool(machine, 2, 2 << 20)->total, 512);
	hc_machine_free(machine);
}

static void test_NM_01_node_that_is_not_there(void **state) {
	(void)state;
	struct hc_machine *machine = read_tree(tree_unpack("numa/power9-sparse.tree"));
	static const unsigned ids[] = {0, 8, 252, 253, 254, 255};
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(hc_machine_node(machine, i)->id, ids[i]);
	assert_null(hc_machine_node(machine, 6));
	assert_null(hc_machine_node_by_id(machine, 1));
	assert_detail_has("0,8,252-255");
	assert_int_equal(hc_machine_node_distance(machine, 0, 8), 40);
	assert_int_equal(hc_machine_node_distance(machine, 0, 1), -ENOENT);
	assert_int_equal(hc_machine_node_pool(machine, 8, 16 << 20)->free, 64);
	assert_true(hc_machine_memory(machine)->default_huge_page_size == 16 << 20);
	hc_machine_free(machine);
}

static void test_page_size_that_is_not_there(void **state) {
	(void)state;
	struct hc_machine *machine = read_tree(tree_unpack("sysfs/arm64-4k.tree"));
	assert_non_null(hc_machine_pool_by_size(machine, 32 << 20));
	assert_null(hc_machine_pool_by_size(machine, 16 << 20));
	assert_detail_has("16 MiB");
	assert_detail_has("64 KiB, 2 MiB, 32 MiB, 1 GiB");
	hc_machine_free(machine);

	char *tree = temp_folder(), *text = fixture_read("meminfo/no-hugetlb-in-kernel.txt");
	tree_write(tree, "proc/meminfo", text);
	free(text);
	machine = read_tree(tree);
	assert_null(hc_machine_pool_by_size(machine, 2 << 20));
	assert_detail_has("no hugetlb support");
	hc_machine_free(machine);
}

static void test_no_probes(void **state) {
	(void)state;
	struct hc_machine_opts opts = {.size = sizeof(opts), .no_probes = 1};
	struct hc_machine *machine;
	assert_ok(hc_machine_read(&opts, &machine));
	assert_non_null(hc_machine_kernel_feature(machine, 0));
	assert_int_equal(hc_machine_kernel_feature(machine, 0)->available, -1);
	hc_machine_free(machine);
}

static void test_errors(void **state) {
	(void)state;
	struct hc_machine *machine = NULL;
	struct hc_machine_opts opts = {.size = sizeof(opts), .root = "/nowhere/at/all"};
	assert_error(hc_machine_read(&opts, &machine), ENOENT);
	opts.root = "/proc/self/status";
	assert_error(hc_machine_read(&opts, &machine), ENOTDIR);
	struct {
		struct hc_machine_opts opts;
		size_t newer;
	} larger = {.opts.size = sizeof(larger), .newer = 1};
	assert_error(hc_machine_read(&larger.opts, &machine), E2BIG);
	assert_null(machine);
	/* A flag is 0 or 1. */
	const struct hc_machine_opts two = {.size = sizeof(two), .no_probes = 2};
	assert_error(hc_machine_read(&two, &machine), EINVAL);
	assert_null(machine);
	assert_null(hc_machine_free(NULL));
}

static void test_nowhere_to_put_it(void **state) {
	(void)state;
	assert_error(hc_machine_read(NULL, NULL), EINVAL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_nowhere_to_put_it),
	        cmocka_unit_test(test_live_beside_getconf_and_hwloc),
	        cmocka_unit_test(test_live_processor_beside_cpuinfo),
	        cmocka_unit_test(test_another_root_is_never_mixed_with_this_machine),
	        cmocka_unit_test(test_processor_of_another_root),
	        cmocka_unit_test(test_base_page_size_of_another_root),
	        cmocka_unit_test(test_PL_07_pools_know_their_cgroup_limits),
	        cmocka_unit_test(test_NM_11_NM_03_pools_of_nodes),
	        cmocka_unit_test(test_NM_01_node_that_is_not_there),
	        cmocka_unit_test(test_page_size_that_is_not_there),
	        cmocka_unit_test(test_no_probes),
	        cmocka_unit_test(test_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
