#include "sys/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"
#include "sys/meminfo.h"

#define NODE_FOLDER "sys/devices/system/node"
#define CPUS_ONLINE "sys/devices/system/cpu/online"

/* The kernel keeps a distance in a byte: a larger number is something else. */
#define DISTANCE_MAX 999999

struct hc_topology {
	struct hc_idset *cpus_online, *online, *with_memory;
	unsigned nr_nodes;      /* == hc_idset_count(online), and of all arrays below */
	struct hc_node *nodes;  /* in the order of their numbers */
	struct hc_idset **cpus; /* what nodes[i].cpus points to */
	int *distances;         /* from nodes[i] to nodes[j] at i * nr_nodes + j; -1 unknown */
};

struct hc_topology *hc_topology_free(struct hc_topology *topology) {
	if (!topology)
		return NULL;
	for (unsigned i = 0; topology->cpus && i < topology->nr_nodes; i++)
		hc_idset_free(topology->cpus[i]);
	free(topology->cpus);
	free(topology->nodes);
	free(topology->distances);
	hc_idset_free(topology->with_memory);
	hc_idset_free(topology->online);
	hc_idset_free(topology->cpus_online);
	free(topology);
	return NULL;
}

/*
 * Reads a list. 1 and a set; 0 where there is no such file or it makes no sense
 * (a warning then); -ENOMEM.
 */
static int read_list(
        const struct hc_root *root, const char *path, struct hc_warnings *sink, struct hc_idset **ret_set) {
	char *text = NULL;
	size_t len;
	int r = hc_root_read_all(root, path, &text, &len);
	if (r == -ENOENT)
		return 0;
	if (r == 0) {
		r = hc_idset_parse(text, ret_set);
		if (r < 0) {
			char name[PATH_MAX];
			hc_fail_prefix(r, "%s", hc_root_name(root, path, name, sizeof(name)));
		}
	}
	free(text);
	if (r == 0)
		return 1;
	if (r == -ENOMEM)
		return r;
	hc_warn(sink, "%s", hc_error_detail());
	return 0;
}

/* As read_list(), but an empty set where there is nothing to read. Returns 0 or -ENOMEM. */
static int read_list_or_empty(
        const struct hc_root *root, const char *path, struct hc_warnings *sink, struct hc_idset **ret_set) {
	int r = read_list(root, path, sink, ret_set);
	if (r != 0)
		return r < 0 ? r : 0;
	*ret_set = hc_idset_new();
	return *ret_set ? 0 : hc_fail_memory("no memory for a set of numbers");
}

bool hc_node_of_folder(const char *name, unsigned *ret_id) {
	uint64_t id;
	if (strncmp(name, "node", 4) != 0 || hc_decimal_parse(name + 4, &id) < 0 || id > HC_IDSET_MAX)
		return false;
	*ret_id = (unsigned)id;
	return true;
}

/* Adds the number of an entry "node8" to the set. */
static int add_node_folder(void *user, const char *name) {
	unsigned id;
	return hc_node_of_folder(name, &id) ? hc_idset_add(user, id) : 0;
}

/*
 * The online nodes: what the kernel lists, else the folders that are there, else
 * node 0, which then stands for a machine without NUMA. *ret_numa says which.
 */
static int read_online(
        const struct hc_root *root, struct hc_warnings *sink, struct hc_idset **ret_online, bool *ret_numa) {
	*ret_numa = true;
	struct hc_idset *online = NULL;
	int r = read_list(root, NODE_FOLDER "/online", sink, &online);
	if (r < 0)
		return r;
	unsigned count = hc_idset_count(online);
	if (count > 0 && count <= HC_NODES_MAX) {
		*ret_online = online;
		return 0;
	}
	if (r == 1)
		hc_warn(sink, "%s: lists %s", NODE_FOLDER "/online", hc_counted(count, "node").s);
	hc_idset_free(online);

	online = hc_idset_new();
	if (!online)
		return hc_fail_memory("no memory for a set of nodes");
	r = hc_root_list(root, NODE_FOLDER, add_node_folder, online);
	count = hc_idset_count(online);
	if (r == -ENOMEM || count == 0 || count > HC_NODES_MAX) {
		online = hc_idset_free(online);
		if (r == -ENOMEM)
			return r;
		*ret_numa = false;
		return hc_idset_parse("0", ret_online);
	}
	*ret_online = online;
	return 0;
}

/*
 * The bytes that a line "MemTotal:  16384 kB" gives, with "Node 3 " before it or
 * not; HC_UNKNOWN where there is no such line or it makes no sense.
 */
static uint64_t find_memory(const char *text, const char *key) {
	size_t key_len = strlen(key);
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *p = line;
		if (strncmp(p, "Node ", 5) == 0) {
			p += 5;
			p += strspn(p, "0123456789");
			p += *p == ' ';
		}
		if (strncmp(p, key, key_len) != 0)
			continue;
		p += key_len;
		uint64_t bytes;
		return hc_meminfo_bytes(p, &bytes) ? bytes : HC_UNKNOWN;
	}
	return HC_UNKNOWN;
}

/* Fills in mem_total and mem_free. Returns 0 or -ENOMEM. */
static int read_memory(
        const struct hc_root *root, const char *path, struct hc_warnings *sink, struct hc_node *ret_node) {
	char *text = NULL;
	size_t len;
	int r = hc_root_read_all(root, path, &text, &len);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		hc_warn(sink, "%s", hc_error_detail());
		return 0;
	}
	ret_node->mem_total = find_memory(text, "MemTotal:");
	ret_node->mem_free = find_memory(text, "MemFree:");
	free(text);
	if (ret_node->mem_total == HC_UNKNOWN) {
		char name[PATH_MAX];
		hc_warn(sink, "%s: has no MemTotal that makes sense", hc_root_name(root, path, name, sizeof(name)));
	}
	return 0;
}

/*
 * One row of distances. Its k-th number belongs to the k-th online node, whatever
 * that one's number is: with another count of numbers none can be told.
 */
static int read_distances(const struct hc_root *root, const struct hc_topology *topology, unsigned id,
        struct hc_warnings *sink, int *row) {
	char path[128], name[PATH_MAX];
	snprintf(path, sizeof(path), NODE_FOLDER "/node%u/distance", id);
	hc_root_name(root, path, name, sizeof(name));
	char *text = NULL;
	size_t len;
	int r = hc_root_read_all(root, path, &text, &len);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		hc_warn(sink, "%s", hc_error_detail());
		return 0;
	}

	unsigned count = 0;
	bool ok = true;
	for (const char *p = text + strspn(text, " \n"); *p && ok; p += strspn(p, " \n")) {
		uint64_t distance;
		ok = hc_decimal_take(&p, &distance) == 0 && distance <= DISTANCE_MAX && count < topology->nr_nodes;
		if (ok)
			row[count++] = (int)distance;
	}
	if (!ok || count != topology->nr_nodes) {
		hc_warn(sink, "%s: not one distance for each of the %u online nodes: %s", name, topology->nr_nodes,
		        hc_quote(text).s);
		for (unsigned i = 0; i < topology->nr_nodes; i++)
			row[i] = -1;
	}
	free(text);
	return 0;
}

static int read_node(const struct hc_root *root, struct hc_topology *topology, unsigned i, struct hc_warnings *sink) {
	struct hc_node *node = &topology->nodes[i];
	char path[128];
	snprintf(path, sizeof(path), NODE_FOLDER "/node%u/cpulist", node->id);
	int r = read_list_or_empty(root, path, sink, &topology->cpus[i]);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), NODE_FOLDER "/node%u/meminfo", node->id);
	r = read_memory(root, path, sink, node);
	if (r < 0)
		return r;
	return read_distances(root, topology, node->id, sink, topology->distances + (size_t)i * topology->nr_nodes);
}

/* A kernel without NUMA: all there is, in node 0. */
static int read_only_node(const struct hc_root *root, struct hc_topology *topology, struct hc_warnings *sink) {
	topology->distances[0] = 10; /* to itself, by definition of ACPI's SLIT */
	int r = hc_idset_copy(topology->cpus_online, &topology->cpus[0]);
	return r < 0 ? r : read_memory(root, "proc/meminfo", sink, &topology->nodes[0]);
}

static int alloc_nodes(struct hc_topology *topology) {
	unsigned count = hc_idset_count(topology->online);
	topology->nr_nodes = count;
	topology->nodes = calloc(count, sizeof(*topology->nodes));
	topology->cpus = calloc(count, sizeof(*topology->cpus));
	topology->distances = calloc((size_t)count * count, sizeof(*topology->distances));
	if (!topology->nodes || !topology->cpus || !topology->distances)
		return hc_fail_memory("no memory for %s", hc_counted(count, "node").s);

	unsigned i = 0;
	for (int id = -1; (id = hc_idset_next(topology->online, id + 1)) >= 0; i++)
		topology->nodes[i] = (struct hc_node){
		        .id = (unsigned)id, .mem_total = HC_UNKNOWN, .mem_free = HC_UNKNOWN};
	for (size_t j = 0; j < (size_t)count * count; j++)
		topology->distances[j] = -1;
	return 0;
}

/*
 * Which nodes have memory: the kernel's list, which counts memory that is online,
 * else those that don't say they have none.
 */
static int find_with_memory(const struct hc_root *root, struct hc_topology *topology, struct hc_warnings *sink) {
	int r = read_list(root, NODE_FOLDER "/has_memory", sink, &topology->with_memory);
	if (r < 0)
		return r;
	if (r == 0) {
		topology->with_memory = hc_idset_new();
		if (!topology->with_memory)
			return hc_fail_memory("no memory for a set of nodes");
		for (unsigned i = 0; i < topology->nr_nodes; i++) {
			r = topology->nodes[i].mem_total > 0
			            ? hc_idset_add(topology->with_memory, topology->nodes[i].id)
			            : 0;
			if (r < 0)
				return r;
		}
	}
	hc_idset_intersect(topology->with_memory, topology->online);
	return 0;
}

/*
 * Of the nodes that want() accepts the nearest to nodes[from], of equally near
 * ones the lowest; one whose distance isn't known only where no other is there.
 */
static int nearest(const struct hc_topology *topology, unsigned from, bool (*want)(const struct hc_node *node)) {
	if (want(&topology->nodes[from]))
		return (int)topology->nodes[from].id;
	int best = -1, best_distance = INT_MAX;
	for (unsigned i = 0; i < topology->nr_nodes; i++) {
		if (!want(&topology->nodes[i]))
			continue;
		int distance = topology->distances[(size_t)from * topology->nr_nodes + i];
		if (distance < 0)
			distance = INT_MAX;
		if (best < 0 || distance < best_distance) {
			best = (int)topology->nodes[i].id;
			best_distance = distance;
		}
	}
	return best;
}

static bool wants_memory(const struct hc_node *node) {
	return node->has_memory != 0;
}

static bool wants_cpus(const struct hc_node *node) {
	return hc_idset_count(node->cpus) > 0;
}

static int fill(const struct hc_root *root, struct hc_topology *topology, struct hc_warnings *sink) {
	bool numa = true;
	int r = read_list_or_empty(root, CPUS_ONLINE, sink, &topology->cpus_online);
	if (r == 0)
		r = read_online(root, sink, &topology->online, &numa);
	if (r == 0)
		r = alloc_nodes(topology);
	if (r < 0)
		return r;

	if (!numa)
		r = read_only_node(root, topology, sink);
	for (unsigned i = 0; numa && r == 0 && i < topology->nr_nodes; i++)
		r = read_node(root, topology, i, sink);
	if (r == 0)
		r = find_with_memory(root, topology, sink);
	if (r < 0)
		return r;

	for (unsigned i = 0; i < topology->nr_nodes; i++) {
		topology->nodes[i].cpus = topology->cpus[i];
		topology->nodes[i].has_memory = hc_idset_has(topology->with_memory, topology->nodes[i].id);
	}
	/* A captured tree may lack the list of CPUs, but not their nodes. */
	bool listed = hc_idset_count(topology->cpus_online) > 0;
	for (unsigned i = 0; !listed && i < topology->nr_nodes; i++) {
		r = hc_idset_unite(topology->cpus_online, topology->cpus[i]);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < topology->nr_nodes; i++) {
		topology->nodes[i].nearest_memory = nearest(topology, i, wants_memory);
		topology->nodes[i].nearest_cpus = nearest(topology, i, wants_cpus);
	}
	return 0;
}

int hc_topology_read(const struct hc_root *root, struct hc_warnings *sink, struct hc_topology **ret_topology) {
	struct hc_topology *topology = calloc(1, sizeof(*topology));
	if (!topology)
		return hc_fail_memory("no memory for the nodes of the machine");
	int r = fill(root, topology, sink);
	if (r < 0) {
		hc_topology_free(topology);
		return r;
	}
	*ret_topology = topology;
	return 0;
}

const struct hc_idset *hc_topology_cpus_online(const struct hc_topology *topology) {
	return topology->cpus_online;
}

const struct hc_idset *hc_topology_nodes_with_memory(const struct hc_topology *topology) {
	return topology->with_memory;
}

const struct hc_node *hc_topology_node(const struct hc_topology *topology, unsigned i) {
	return i < topology->nr_nodes ? &topology->nodes[i] : NULL;
}

static int fail_not_online(const struct hc_topology *topology, const char *nodes, bool one) {
	return hc_fail(ENOENT, "node%s %s %s not online; online nodes: %s", one ? "" : "s", nodes, one ? "is" : "are",
	        hc_idset_text(topology->online));
}

const struct hc_node *hc_topology_node_by_id(const struct hc_topology *topology, unsigned id) {
	for (unsigned i = 0; i < topology->nr_nodes; i++)
		if (topology->nodes[i].id == id)
			return &topology->nodes[i];
	char number[16];
	snprintf(number, sizeof(number), "%u", id);
	fail_not_online(topology, number, true);
	return NULL;
}

int hc_topology_distance(const struct hc_topology *topology, unsigned from, unsigned to) {
	const struct hc_node *a = hc_topology_node_by_id(topology, from);
	const struct hc_node *b = a ? hc_topology_node_by_id(topology, to) : NULL;
	if (!b)
		return -ENOENT;
	int distance =
	        topology->distances[(size_t)(a - topology->nodes) * topology->nr_nodes + (size_t)(b - topology->nodes)];
	return distance >= 0 ? distance
	                     : hc_fail(ENODATA, "the distance from node %u to node %u isn't known", from, to);
}

/* The nodes that aren't among the others; NULL without memory for them. */
static struct hc_idset *nodes_beyond(const struct hc_idset *nodes, const struct hc_idset *others) {
	struct hc_idset *beyond = NULL;
	if (hc_idset_copy(nodes, &beyond) < 0)
		return NULL;
	hc_idset_subtract(beyond, others);
	return beyond;
}

int hc_topology_check_memory(const struct hc_topology *topology, const struct hc_idset *nodes) {
	const char *with_memory = hc_idset_text(topology->with_memory);
	if (hc_idset_count(nodes) == 0)
		return hc_fail(EINVAL, "an empty node list leaves nowhere to take memory from; nodes with memory: %s",
		        with_memory);

	struct hc_idset *offline = nodes_beyond(nodes, topology->online);
	struct hc_idset *bare = nodes_beyond(nodes, topology->with_memory);
	int r = 0;
	if (!offline || !bare) {
		r = -ENOMEM;
	} else if (hc_idset_count(offline) > 0) {
		fail_not_online(topology, hc_idset_text(offline), hc_idset_count(offline) == 1);
		r = -EINVAL;
	} else if (hc_idset_count(bare) == 1) {
		r = hc_fail(EINVAL, "node %s has no memory; nodes with memory: %s", hc_idset_text(bare), with_memory);
	} else if (hc_idset_count(bare) > 1) {
		r = hc_fail(EINVAL, "nodes %s have no memory; nodes with memory: %s", hc_idset_text(bare), with_memory);
	}
	hc_idset_free(bare);
	hc_idset_free(offline);
	return r;
}
