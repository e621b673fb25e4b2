/* Nodes of odd machines, from captured trees. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/topology.h"

#define MIB (UINT64_C(1) << 20)

struct machine {
	char *folder;
	struct hc_root root;
	struct hc_warnings sink;
	struct hc_topology *topology;
};

static struct machine read_folder(char *folder) {
	struct machine machine = {.folder = folder};
	assert_ok(hc_root_open(folder, &machine.root));
	assert_ok(hc_topology_read(&machine.root, &machine.sink, &machine.topology));
	return machine;
}

static struct machine read_tree(const char *name) {
	return read_folder(tree_unpack(name));
}

static void machine_free(struct machine *machine) {
	hc_topology_free(machine->topology);
	hc_warnings_clear(&machine->sink);
	hc_root_close(&machine->root);
	temp_folder_remove(machine->folder);
}

static const struct hc_node *node(const struct machine *machine, unsigned id) {
	const struct hc_node *n = hc_topology_node_by_id(machine->topology, id);
	assert_non_null(n);
	return n;
}

static void test_NM_01_sparse_numbers(void **state) {
	(void)state;
	struct machine power9 = read_tree("numa/power9-sparse.tree");
	static const unsigned ids[] = {0, 8, 252, 253, 254, 255};
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(hc_topology_node(power9.topology, i)->id, ids[i]);
	assert_null(hc_topology_node(power9.topology, 6));
	assert_string_equal(hc_idset_text(node(&power9, 0)->cpus), "0-79");
	assert_string_equal(hc_idset_text(node(&power9, 8)->cpus), "80-159");
	for (unsigned id = 252; id < 256; id++) {
		assert_int_equal(hc_idset_count(node(&power9, id)->cpus), 0);
		assert_int_equal(node(&power9, id)->nearest_memory, id);
		assert_int_equal(node(&power9, id)->nearest_cpus, 0); /* as far as node 8: the lower one */
		assert_true(node(&power9, id)->mem_total == UINT64_C(16515072) * 1024);
	}
	assert_string_equal(hc_idset_text(hc_topology_cpus_online(power9.topology)), "0-159");
	assert_int_equal(hc_topology_distance(power9.topology, 8, 0), 40);
	assert_int_equal(hc_topology_distance(power9.topology, 255, 255), 10);

	assert_null(hc_topology_node_by_id(power9.topology, 1));
	assert_detail_has("node 1 is not online");
	assert_detail_has("0,8,252-255");
	assert_int_equal(power9.sink.nr, 0);
	machine_free(&power9);
}

static void distance_row(void *user, char **fields, unsigned nr_fields) {
	const struct machine *machine = user;
	assert_true(nr_fields == 3);
	int r = hc_topology_distance(machine->topology, (unsigned)atoi(fields[0]), (unsigned)atoi(fields[1]));
	if (fields[2][0] >= '0' && fields[2][0] <= '9') {
		assert_int_equal(r, atoi(fields[2]));
	} else {
		assert_int_equal(r, -ENOENT);
		assert_detail_has(fields[2]);
	}
}

static void test_NM_02_column_is_the_kth_online_node(void **state) {
	(void)state;
	struct machine gaps = read_tree("numa/gaps-33.tree");
	assert_int_equal(fixture_rows("numa/gaps-33.expected.tsv", distance_row, &gaps), 9);
	assert_int_equal(gaps.sink.nr, 0);
	machine_free(&gaps);
}

static void test_NM_03_node_without_memory(void **state) {
	(void)state;
	struct machine nps4 = read_tree("numa/threadripper-nps4-memoryless.tree");
	assert_int_equal(node(&nps4, 0)->has_memory, 0);
	assert_int_equal(node(&nps4, 1)->has_memory, 1);
	/* its CPUs may be used all the same, and what is local to them is the nearest node with memory */
	assert_string_equal(hc_idset_text(node(&nps4, 0)->cpus), "0-5,24-29");
	assert_int_equal(node(&nps4, 0)->nearest_cpus, 0);
	assert_int_equal(node(&nps4, 0)->nearest_memory, 1);
	assert_int_equal(node(&nps4, 3)->nearest_memory, 1);
	assert_int_equal(node(&nps4, 2)->nearest_memory, 2);

	struct hc_idset *nodes = NULL;
	assert_ok(hc_idset_parse("0", &nodes));
	assert_error(hc_topology_check_memory(nps4.topology, nodes), EINVAL);
	assert_string_equal(hc_error_detail(), "node 0 has no memory; nodes with memory: 1-2");
	hc_idset_free(nodes);
	assert_ok(hc_idset_parse("0-3", &nodes));
	assert_error(hc_topology_check_memory(nps4.topology, nodes), EINVAL);
	assert_string_equal(hc_error_detail(), "nodes 0,3 have no memory; nodes with memory: 1-2");
	hc_idset_free(nodes);
	assert_ok(hc_idset_parse("1-2", &nodes));
	assert_ok(hc_topology_check_memory(nps4.topology, nodes));
	hc_idset_free(nodes);
	machine_free(&nps4);
}

static void test_NM_04_node_without_cpus(void **state) {
	(void)state;
	struct machine cxl = read_tree("numa/cxl-cpuless.tree");
	assert_int_equal(hc_idset_count(node(&cxl, 1)->cpus), 0);
	assert_true(node(&cxl, 1)->mem_total == 3072 * MIB);
	assert_int_equal(node(&cxl, 1)->has_memory, 1);
	assert_int_equal(node(&cxl, 1)->nearest_cpus, 0);
	assert_int_equal(node(&cxl, 1)->nearest_memory, 1);
	assert_int_equal(cxl.sink.nr, 0);
	machine_free(&cxl);
}

static void test_NM_06_nodes_that_are_not_there(void **state) {
	(void)state;
	char *folder = temp_folder();
	tree_write(folder, "sys/devices/system/node/online", "0\n");
	tree_write(folder, "sys/devices/system/node/has_memory", "0\n");
	struct machine one = read_folder(folder);
	static const struct {
		const char *nodes, *detail;
	} rows[] = {
	        {"1", "node 1 is not online; online nodes: 0"},
	        {"0,1", "node 1 is not online; online nodes: 0"},
	        {"512", "node 512 is not online; online nodes: 0"},
	        {"0-1023", "nodes 1-1023 are not online; online nodes: 0"},
	        {"", "nodes with memory: 0"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hc_idset *nodes = NULL;
		assert_ok(hc_idset_parse(rows[i].nodes, &nodes));
		assert_error(hc_topology_check_memory(one.topology, nodes), EINVAL);
		assert_detail_has(rows[i].detail);
		hc_idset_free(nodes);
	}
	machine_free(&one);
}

static void test_kernel_without_numa(void **state) {
	(void)state;
	char *folder = temp_folder();
	tree_write(folder, "sys/devices/system/cpu/online", "0-3\n");
	tree_write(folder, "proc/meminfo", "MemTotal:        2048 kB\nMemFree:         1024 kB\n");
	struct machine flat = read_folder(folder);
	const struct hc_node *only = node(&flat, 0);
	assert_null(hc_topology_node(flat.topology, 1));
	assert_string_equal(hc_idset_text(only->cpus), "0-3");
	assert_true(only->mem_total == 2 * MIB && only->mem_free == 1 * MIB && only->has_memory == 1);
	assert_true(only->nearest_memory == 0 && only->nearest_cpus == 0);
	assert_int_equal(hc_topology_distance(flat.topology, 0, 0), 10);
	assert_int_equal(flat.sink.nr, 0);
	machine_free(&flat);
}

static void expect_warning(const struct machine *machine, const char *part) {
	const char *warning;
	for (unsigned i = 0; (warning = hc_warnings_get(&machine->sink, i)) != NULL; i++)
		if (strstr(warning, part))
			return;
	fail_msg("no warning with '%s'", part);
}

/* What is odd is unknown and said; the rest of the machine is read all the same. */
static void test_odd_files(void **state) {
	(void)state;
	char *folder = temp_folder();
	tree_write(folder, "sys/devices/system/node/online", "0,2-4\n");
	tree_write(folder, "sys/devices/system/node/node0/cpulist", "0-1\n");
	tree_write(folder, "sys/devices/system/node/node0/distance", "10 20\n"); /* of 4 nodes */
	tree_write(folder, "sys/devices/system/node/node0/meminfo",
	        "Node 0 MemTotal:  99999999999999999999 kB\nNode 0 MemFree: 5 kB\n");
	tree_write(folder, "sys/devices/system/node/node2/cpulist", "2-1\n");
	tree_write(folder, "sys/devices/system/node/node2/distance", "20 10 -1 0x14\n");
	tree_write(folder, "sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 18014398509481984 kB\n");
	tree_write(folder, "sys/devices/system/node/node3/distance", "20 20 10 30 40\n");
	tree_write(folder, "sys/devices/system/node/node3/meminfo", "");
	tree_write(folder, "sys/devices/system/node/node4/distance", "20 30 40 10");
	tree_write(folder, "sys/devices/system/node/node4/meminfo", "Node 4 MemTotal: 0 kB\nNode 4 MemFree: 0 kB\n");
	struct machine odd = read_folder(folder);
	assert_true(node(&odd, 0)->mem_total == HC_UNKNOWN && node(&odd, 0)->mem_free == 5 * 1024);
	assert_true(node(&odd, 2)->mem_total == HC_UNKNOWN); /* 2^54 kB are 2^64 bytes */
	assert_true(node(&odd, 4)->mem_total == 0);
	assert_int_equal(hc_topology_distance(odd.topology, 0, 0), -ENODATA);
	assert_int_equal(hc_topology_distance(odd.topology, 2, 3), -ENODATA);
	assert_int_equal(hc_topology_distance(odd.topology, 3, 4), -ENODATA);
	assert_int_equal(hc_topology_distance(odd.topology, 4, 3), 40);
	assert_int_equal(hc_idset_count(node(&odd, 2)->cpus), 0);
	assert_string_equal(hc_idset_text(hc_topology_cpus_online(odd.topology)), "0-1");
	/* without a list of the kernel: all but the one that says it has none */
	assert_string_equal(hc_idset_text(hc_topology_nodes_with_memory(odd.topology)), "0,2-3");
	assert_int_equal(node(&odd, 4)->nearest_memory, 0);
	assert_int_equal(node(&odd, 3)->nearest_cpus, 0);
	expect_warning(&odd, "node0/distance");
	expect_warning(&odd, "node0/meminfo");
	expect_warning(&odd, "node2/cpulist");
	expect_warning(&odd, "node3/meminfo");
	machine_free(&odd);
}

static void test_unreadable_list_of_nodes(void **state) {
	(void)state;
	static const char *const lists[] = {"0-65535\n", "0-1,x\n", "", NULL};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char *folder = temp_folder();
		if (lists[i])
			tree_write(folder, "sys/devices/system/node/online", lists[i]);
		tree_write(folder, "sys/devices/system/node/node1/cpulist", "4-5\n");
		tree_write(folder, "sys/devices/system/node/node9/cpulist", "6\n");
		tree_write(folder, "sys/devices/system/node/nodes/cpulist", "7\n");
		tree_write(folder, "sys/devices/system/node/node/cpulist", "8\n");
		tree_write(folder, "sys/devices/system/node/node4294967296/cpulist", "9\n");
		struct machine machine = read_folder(folder);
		assert_int_equal(hc_topology_node(machine.topology, 0)->id, 1);
		assert_int_equal(hc_topology_node(machine.topology, 1)->id, 9);
		assert_null(hc_topology_node(machine.topology, 2));
		assert_string_equal(hc_idset_text(hc_topology_cpus_online(machine.topology)), "4-6");
		machine_free(&machine);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_NM_01_sparse_numbers),
	        cmocka_unit_test(test_NM_02_column_is_the_kth_online_node),
	        cmocka_unit_test(test_NM_03_node_without_memory),
	        cmocka_unit_test(test_NM_04_node_without_cpus),
	        cmocka_unit_test(test_NM_06_nodes_that_are_not_there),
	        cmocka_unit_test(test_kernel_without_numa),
	        cmocka_unit_test(test_odd_files),
	        cmocka_unit_test(test_unreadable_list_of_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
