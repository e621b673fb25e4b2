/* Whatever the files of the nodes hold, there is at least one node, and all that is said of nodes holds together. */
#include <errno.h>
#include <stdlib.h>

#include <hugeclear/sys.h>

#include "fuzz/fuzz_root.h"
#include "sys/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_node(const struct hc_topology *topology, const struct hc_node *node) {
	const struct hc_node *memory = NULL;
	if (!node->cpus || hc_topology_node_by_id(topology, node->id) != node)
		abort();
	if (node->nearest_memory >= 0) {
		memory = hc_topology_node_by_id(topology, (unsigned)node->nearest_memory);
		if (!memory || !memory->has_memory)
			abort();
	}
	if (node->has_memory && node->nearest_memory != (int)node->id)
		abort();
	if (hc_idset_count(node->cpus) > 0 && node->nearest_cpus != (int)node->id)
		abort();
	int distance = hc_topology_distance(topology, node->id, node->id);
	if (distance < 0 && distance != -ENODATA)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_root fuzz = {
	        .bytes = bytes,
	        .len = len,
	        .names = {"node/online", "cpulist", "distance", "meminfo", "has_memory", "cpu/online"},
	};
	struct hc_root root = fuzz_root(&fuzz);
	struct hc_warnings sink = {0};
	struct hc_topology *topology = NULL;
	if (hc_topology_read(&root, &sink, &topology) != 0)
		abort();
	unsigned nr_nodes = 0;
	for (const struct hc_node *node; (node = hc_topology_node(topology, nr_nodes)) != NULL; nr_nodes++)
		check_node(topology, node);
	if (nr_nodes == 0)
		abort();
	hc_topology_free(topology);
	hc_warnings_clear(&sink);
	return 0;
}
