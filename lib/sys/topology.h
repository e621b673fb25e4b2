/*
 * Nodes: their CPUs, memory and distances, from sys/devices/system/node. Node
 * numbers may have gaps (0, 8, 252-255), a node may lack CPUs or memory.
 * Format: the kernel's Documentation/ABI/stable/sysfs-devices-node.
 */
#ifndef HC_SYS_TOPOLOGY_H
#define HC_SYS_TOPOLOGY_H

#include <stdbool.h>

#include <hugeclear/sys.h>

#include "sys/idset.h"
#include "sys/root.h"
#include "sys/warnings.h"

/* The kernel's MAX_NUMNODES is 1024 at most: a list of more is no list of nodes. */
#define HC_NODES_MAX 1024

struct hc_topology;

/*
 * Reads the nodes. What is missing or odd is unknown, with a warning where it is
 * odd; a kernel without NUMA has one node 0 with all CPUs and all memory. Fails
 * with -ENOMEM only. Freed by hc_topology_free().
 */
int hc_topology_read(const struct hc_root *root, struct hc_warnings *sink, struct hc_topology **ret_topology);

/* Takes and returns NULL. */
struct hc_topology *hc_topology_free(struct hc_topology *topology);

/* Sets owned by the topology, never NULL. */
const struct hc_idset *hc_topology_cpus_online(const struct hc_topology *topology);
const struct hc_idset *hc_topology_nodes_with_memory(const struct hc_topology *topology);

/* As the functions of hc_machine with these names: see <hugeclear/sys.h>. */
const struct hc_node *hc_topology_node(const struct hc_topology *topology, unsigned i);
const struct hc_node *hc_topology_node_by_id(const struct hc_topology *topology, unsigned id);
int hc_topology_distance(const struct hc_topology *topology, unsigned from, unsigned to);

/*
 * 0 where memory can come from every one of these nodes; -EINVAL with the nodes
 * there are where one isn't online or has no memory, or for an empty set. The
 * kernel doesn't check: of a mask it takes what it can use, without a word.
 */
int hc_topology_check_memory(const struct hc_topology *topology, const struct hc_idset *nodes);

/* The number of a folder "node8"; false for any other name. */
bool hc_node_of_folder(const char *name, unsigned *ret_id);

#endif
