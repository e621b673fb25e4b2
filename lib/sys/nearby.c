#include "sys/nearby.h"

#include <errno.h>
#include <limits.h>

#include "base/error.h"
#include "sys/affinity.h"

static int add_allowed_cpus(const struct hc_node *node, const struct hc_idset *allowed, struct hc_idset *cpus) {
	int r = 0;
	for (int cpu = -1; r == 0 && (cpu = hc_idset_next(node->cpus, cpu + 1)) >= 0;)
		if (hc_idset_has(allowed, (unsigned)cpu))
			r = hc_idset_add(cpus, (unsigned)cpu);
	return r;
}

static bool has_allowed_cpu(const struct hc_node *node, const struct hc_idset *allowed) {
	for (int cpu = -1; (cpu = hc_idset_next(node->cpus, cpu + 1)) >= 0;)
		if (hc_idset_has(allowed, (unsigned)cpu))
			return true;
	return false;
}

/* NULL where no node has an allowed CPU. */
static const struct hc_node *nearest_with_cpus(
        const struct hc_topology *topology, unsigned from, const struct hc_idset *allowed) {
	const struct hc_node *best = NULL, *node;
	int best_distance = INT_MAX;
	for (unsigned i = 0; (node = hc_topology_node(topology, i)); i++) {
		if (!has_allowed_cpu(node, allowed))
			continue;
		int distance = hc_topology_distance(topology, from, node->id);
		if (distance < 0)
			distance = INT_MAX;
		if (!best || distance < best_distance) {
			best = node;
			best_distance = distance;
		}
	}
	return best;
}

int hc_nearby_cpus(const struct hc_topology *topology, const struct hc_idset *nodes, const struct hc_idset *allowed,
        struct hc_idset **ret_cpus) {
	struct hc_idset *cpus = hc_idset_new();
	int r = cpus ? 0 : hc_fail_memory("no memory for a set of CPUs");
	for (int id = -1; r == 0 && (id = hc_idset_next(nodes, id + 1)) >= 0;) {
		const struct hc_node *node = hc_topology_node_by_id(topology, (unsigned)id);
		if (node && !has_allowed_cpu(node, allowed))
			node = nearest_with_cpus(topology, (unsigned)id, allowed);
		if (node)
			r = add_allowed_cpus(node, allowed, cpus);
	}
	if (r < 0)
		hc_idset_free(cpus);
	else
		*ret_cpus = cpus;
	return r;
}

int hc_nearby_cpus_here(const struct hc_root *root, const struct hc_idset *nodes, struct hc_idset **ret_cpus) {
	struct hc_topology *topology = NULL;
	struct hc_idset *allowed = NULL, *cpus = NULL;
	*ret_cpus = NULL;
	int r = hc_topology_read(root, NULL, &topology);
	if (r == 0)
		r = hc_affinity_get(&allowed);
	if (r == 0)
		r = hc_nearby_cpus(topology, nodes, allowed, &cpus);
	else if (r != -ENOMEM)
		r = 0; /* a filter of system calls, say: it is slower, no more */
	if (r == 0 && hc_idset_count(cpus) > 0 && !hc_idset_is_subset(allowed, cpus)) {
		*ret_cpus = cpus;
		cpus = NULL;
	}
	hc_idset_free(cpus);
	hc_idset_free(allowed);
	hc_topology_free(topology);
	return r;
}
