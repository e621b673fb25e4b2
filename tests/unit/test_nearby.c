/* From where memory of a node is brought in: worked out by hand from the trees' CPUs and distances. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/affinity.h"
#include "sys/nearby.h"

static struct hc_idset *set_of(const char *text) {
	struct hc_idset *set;
	assert_ok(hc_idset_parse(text, &set));
	return set;
}

static void expect_cpus(const char *folder, const char *nodes, const char *allowed, const char *cpus) {
	struct hc_root root;
	struct hc_topology *topology;
	struct hc_idset *near_cpus, *on = set_of(nodes), *may = set_of(allowed);
	assert_ok(hc_root_open(folder, &root));
	assert_ok(hc_topology_read(&root, NULL, &topology));
	assert_ok(hc_nearby_cpus(topology, on, may, &near_cpus));
	if (strcmp(hc_idset_text(near_cpus), cpus) != 0)
		fail_msg("nodes %s, allowed %s: '%s', not '%s'", nodes, allowed, hc_idset_text(near_cpus), cpus);
	hc_idset_free(near_cpus);
	hc_idset_free(may);
	hc_idset_free(on);
	hc_topology_free(topology);
	hc_root_close(&root);
}

static void test_NM_04_a_node_without_cpus(void **state) {
	(void)state;
	char *folder = tree_unpack("numa/cxl-cpuless.tree");
	expect_cpus(folder, "0", "0-31", "0-31");
	expect_cpus(folder, "1", "0-31", "0-31");
	expect_cpus(folder, "0-1", "4,9", "4,9");
	temp_folder_remove(folder);

	/* Node 8's CPUs are as far as node 0's from node 254: the lower ones, where they are allowed. */
	folder = tree_unpack("numa/power9-sparse.tree");
	expect_cpus(folder, "8", "0-159", "80-159");
	expect_cpus(folder, "254", "0-159", "0-79");
	expect_cpus(folder, "254", "100-110", "100-110");
	expect_cpus(folder, "8,255", "3,81", "3,81");
	/* There is no node 9. */
	expect_cpus(folder, "9", "0-159", "");
	expect_cpus(folder, "", "0-159", "");
	temp_folder_remove(folder);
}

static void test_a_node_with_cpus_that_are_not_allowed(void **state) {
	(void)state;
	char *folder = tree_unpack("numa/threadripper-nps4-memoryless.tree");
	expect_cpus(folder, "1", "0-47", "6-11,30-35");
	expect_cpus(folder, "1-2", "0-47", "6-17,30-41");
	/* All others are at 12: the lowest node that has an allowed one. */
	expect_cpus(folder, "1", "18,40", "40");
	expect_cpus(folder, "1", "50", "");
	temp_folder_remove(folder);
}

static void node(const char *folder, unsigned id, const char *cpus, const char *distance) {
	char path[128];
	snprintf(path, sizeof(path), "sys/devices/system/node/node%u/cpulist", id);
	tree_write(folder, path, cpus);
	snprintf(path, sizeof(path), "sys/devices/system/node/node%u/distance", id);
	if (distance)
		tree_write(folder, path, distance);
}

static void test_NM_04_distances_decide_not_numbers(void **state) {
	(void)state;
	char *folder = temp_folder();
	tree_write(folder, "sys/devices/system/node/online", "0-2\n");
	tree_write(folder, "sys/devices/system/node/has_memory", "0-2\n");
	node(folder, 0, "0\n", "10 20 30\n");
	node(folder, 1, "1\n", "20 10 15\n");
	node(folder, 2, "\n", "30 15 10\n");
	expect_cpus(folder, "2", "0-1", "1");
	expect_cpus(folder, "2", "0", "0");
	expect_cpus(folder, "0,2", "0-1", "0-1");
	/* Without distances there is still some CPU. */
	node(folder, 2, "\n", "nonsense\n");
	expect_cpus(folder, "2", "0-1", "0");
	temp_folder_remove(folder);
}

/* Of a machine with one node every CPU is near: nobody is moved. */
static void test_here_nobody_is_moved_without_need(void **state) {
	(void)state;
	char *folder = temp_folder();
	struct hc_idset *allowed, *cpus, *nodes = set_of("0");
	struct hc_root root;
	assert_ok(hc_affinity_get(&allowed));
	tree_write(folder, "sys/devices/system/node/online", "0-1\n");
	node(folder, 0, hc_idset_text(allowed), "10 20\n");
	node(folder, 1, "\n", "20 10\n");
	assert_ok(hc_root_open(folder, &root));
	assert_ok(hc_nearby_cpus_here(&root, nodes, &cpus));
	assert_null(cpus);

	/* And where some are elsewhere, to those of the node. */
	if (hc_idset_count(allowed) > 1) {
		char first[16];
		snprintf(first, sizeof(first), "%d", hc_idset_next(allowed, 0));
		node(folder, 0, first, NULL);
		assert_ok(hc_nearby_cpus_here(&root, nodes, &cpus));
		assert_non_null(cpus);
		assert_string_equal(hc_idset_text(cpus), first);
		hc_idset_free(cpus);
	}
	hc_root_close(&root);
	hc_idset_free(nodes);
	hc_idset_free(allowed);
	temp_folder_remove(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_NM_04_a_node_without_cpus),
	        cmocka_unit_test(test_a_node_with_cpus_that_are_not_allowed),
	        cmocka_unit_test(test_NM_04_distances_decide_not_numbers),
	        cmocka_unit_test(test_here_nobody_is_moved_without_need),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
