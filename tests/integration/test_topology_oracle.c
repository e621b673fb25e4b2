/* This machine as hwloc sees it: the same nodes, CPUs, memory, caches and distances. */
#include "support/support.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/sys.h>

#include "sys/affinity.h"
#include "sys/processor.h"
#include "sys/topology.h"

struct both {
	hwloc_topology_t hwloc;
	struct hc_root root;
	struct hc_topology *topology;
	struct hc_warnings sink;
};

static int set_up(void **state) {
	static struct both both;
	if (hwloc_topology_init(&both.hwloc) < 0)
		return -1;
	hwloc_topology_set_flags(both.hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (hwloc_topology_load(both.hwloc) < 0 || hc_root_open(NULL, &both.root) < 0 ||
	        hc_topology_read(&both.root, &both.sink, &both.topology) < 0)
		return -1;
	*state = &both;
	return 0;
}

static int tear_down(void **state) {
	struct both *both = *state;
	hc_topology_free(both->topology);
	hc_warnings_clear(&both->sink);
	hc_root_close(&both->root);
	hwloc_topology_destroy(both->hwloc);
	return 0;
}

static void expect_same(hwloc_const_bitmap_t theirs, const struct hc_idset *ours) {
	char *text = NULL;
	assert_true(hwloc_bitmap_list_asprintf(&text, theirs) >= 0);
	assert_string_equal(hc_idset_text(ours), text);
	free(text);
}

static void test_nodes(void **state) {
	const struct both *both = *state;
	assert_null(hc_warnings_get(&both->sink, 0));
	int count = hwloc_get_nbobjs_by_type(both->hwloc, HWLOC_OBJ_NUMANODE);
	assert_null(hc_topology_node(both->topology, (unsigned)count));
	for (int i = 0; i < count; i++) {
		hwloc_obj_t theirs = hwloc_get_obj_by_type(both->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)i);
		const struct hc_node *ours = hc_topology_node_by_id(both->topology, theirs->os_index);
		assert_non_null(ours);
		/* hwloc gives a node without CPUs those of the nodes near it */
		if (hc_idset_count(ours->cpus) > 0)
			expect_same(theirs->cpuset, ours->cpus);
		assert_true(ours->mem_total == theirs->attr->numanode.local_memory);
		assert_int_equal(ours->has_memory, theirs->attr->numanode.local_memory > 0);
		assert_true(ours->mem_free <= ours->mem_total);
	}
}

static void test_cpus(void **state) {
	const struct both *both = *state;
	expect_same(hwloc_topology_get_topology_cpuset(both->hwloc), hc_topology_cpus_online(both->topology));

	hwloc_bitmap_t bound = hwloc_bitmap_alloc();
	struct hc_idset *allowed = NULL;
	assert_int_equal(hwloc_get_cpubind(both->hwloc, bound, HWLOC_CPUBIND_THREAD), 0);
	assert_ok(hc_affinity_get(&allowed));
	expect_same(bound, allowed);
	hc_idset_free(allowed);
	hwloc_bitmap_free(bound);
}

static void test_distances(void **state) {
	const struct both *both = *state;
	unsigned nr = 1;
	struct hwloc_distances_s *latency = NULL;
	if (hwloc_distances_get_by_name(both->hwloc, "NUMALatency", &nr, &latency, 0) < 0 || nr == 0) {
		/* one node has no distances to speak of, but to itself */
		const struct hc_node *only = hc_topology_node(both->topology, 0);
		assert_int_equal(hc_topology_distance(both->topology, only->id, only->id), 10);
		return;
	}
	for (unsigned i = 0; i < latency->nbobjs; i++)
		for (unsigned j = 0; j < latency->nbobjs; j++)
			assert_int_equal(hc_topology_distance(both->topology, latency->objs[i]->os_index,
			                         latency->objs[j]->os_index),
			        latency->values[i * latency->nbobjs + j]);
	hwloc_distances_release(both->hwloc, latency);
}

static uint64_t their_cache(const struct both *both, hwloc_obj_type_t type) {
	int first = hc_idset_next(hc_topology_cpus_online(both->topology), 0);
	hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(both->hwloc, (unsigned)first);
	hwloc_obj_t cache = pu ? hwloc_get_ancestor_obj_by_type(both->hwloc, type, pu) : NULL;
	return cache ? cache->attr->cache.size : 0;
}

static void test_caches(void **state) {
	const struct both *both = *state;
	uint64_t l1d = their_cache(both, HWLOC_OBJ_L1CACHE), l2 = their_cache(both, HWLOC_OBJ_L2CACHE),
	         l3 = their_cache(both, HWLOC_OBJ_L3CACHE);
	struct hc_caches ours;
	hc_caches_read(&both->root, &ours);
	assert_true(ours.l1d == l1d && ours.l2 == l2 && ours.l3 == l3);

	/* and what the processor says itself, where it says anything */
	hc_caches_ask(NULL, &ours);
	assert_true(ours.l1d == 0 || l1d == 0 || ours.l1d == l1d);
	assert_true(ours.l2 == 0 || l2 == 0 || ours.l2 == l2);
	assert_true(ours.l3 == 0 || l3 == 0 || ours.l3 == l3);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_nodes),
	        cmocka_unit_test(test_cpus),
	        cmocka_unit_test(test_distances),
	        cmocka_unit_test(test_caches),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
