/* The snapshot of a machine, put together from the readers of lib/sys. */
#include <hugeclear/sys.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/opts.h"
#include "base/size.h"
#include "sys/affinity.h"
#include "sys/cgroup_limits.h"
#include "sys/idset.h"
#include "sys/kernel.h"
#include "sys/limits.h"
#include "sys/meminfo.h"
#include "sys/mounts.h"
#include "sys/page_sizes.h"
#include "sys/processor_words.h"
#include "sys/quota.h"
#include "sys/root.h"
#include "sys/thp.h"
#include "sys/topology.h"
#include "sys/warnings.h"

struct node_pools {
	unsigned id;
	struct hc_node_pool *pools;
	unsigned nr_pools;
};

struct hc_machine {
	struct hc_warnings warnings;
	struct hc_processor_words processor;
	struct hc_topology *topology;
	struct hc_idset *allowed; /* NULL for another root */
	struct hc_cpus cpus;
	struct hc_default_threads default_threads;
	struct hc_memory memory;
	struct hc_pools pools;
	struct node_pools *node_pools;
	unsigned nr_nodes;
	struct hc_thp_settings thp;
	struct hc_hugetlbfs_list hugetlbfs;
	struct hc_limits limits;
	struct hc_kernel kernel;
	struct hc_kernel_features features;
};

struct hc_machine *hc_machine_free(struct hc_machine *machine) {
	if (!machine)
		return NULL;
	hc_kernel_features_free(&machine->features);
	hc_kernel_free(&machine->kernel);
	free((void *)(uintptr_t)machine->limits.memory_cgroup_file);
	hc_hugetlbfs_free(&machine->hugetlbfs);
	hc_thp_free(&machine->thp);
	for (unsigned i = 0; i < machine->nr_nodes; i++)
		free(machine->node_pools[i].pools);
	free(machine->node_pools);
	for (unsigned i = 0; i < machine->pools.nr_pools; i++)
		free((void *)(uintptr_t)machine->pools.pools[i].cgroup_limit_file);
	hc_pools_free(&machine->pools);
	hc_idset_free(machine->allowed);
	hc_topology_free(machine->topology);
	hc_warnings_clear(&machine->warnings);
	free(machine);
	return NULL;
}

/*
 * Of another machine no file of /proc and /sys tells the base page size; a tree can
 * have it in a file of its own beside them.
 */
static uint64_t read_base_page_size(const struct hc_root *root, struct hc_warnings *warnings) {
	if (root->live)
		return (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes;
	int r = hc_root_read_u64(root, "page_size", &bytes);
	if (r == 0 && hc_is_power_of_two(bytes))
		return bytes;
	char name[512];
	hc_root_name(root, "page_size", name, sizeof(name));
	if (r != -ENOENT)
		hc_warn(warnings, "%s: not a page size; 4096 is assumed", name);
	return 4096;
}

static int read_memory(struct hc_machine *machine, const struct hc_root *root) {
	struct hc_meminfo meminfo;
	hc_meminfo_read(root, &machine->warnings, &meminfo);
	int r = hc_pools_read(root, &meminfo, &machine->warnings, &machine->pools);
	if (r < 0)
		return r;
	machine->memory = (struct hc_memory){
	        .total = meminfo.total,
	        .free = meminfo.free,
	        .available = meminfo.available,
	        .swap_total = meminfo.swap_total,
	        .swap_free = meminfo.swap_free,
	        .anon_huge_pages = meminfo.anon_huge_pages,
	        .hugetlb = meminfo.hugetlb,
	        .base_page_size = read_base_page_size(root, &machine->warnings),
	        .default_huge_page_size = machine->pools.default_page_size,
	        .hugetlb_elsewhere = machine->pools.hugetlb_elsewhere,
	        .has_hugetlb = machine->pools.has_hugetlb,
	};

	for (unsigned i = 0; i < machine->pools.nr_pools; i++) {
		struct hc_pool *pool = &machine->pools.pools[i];
		struct hc_cgroup_limit limit;
		r = hc_hugetlb_limit_read(root, pool->page_size, &machine->warnings, &limit);
		if (r < 0)
			return r;
		pool->cgroup_bytes_left = limit.bytes_left;
		pool->cgroup_limit_file = limit.file;
		pool->cgroup_limit_is_reservation = limit.is_reservation;
	}
	return hc_hugetlbfs_read(root, machine->memory.default_huge_page_size, &machine->warnings, &machine->hugetlbfs);
}

/* A set's text is made when it is first asked for: here, so that threads may read the snapshot at once. */
static const struct hc_idset *with_text(const struct hc_idset *set) {
	if (set)
		hc_idset_text(set);
	return set;
}

static int read_nodes(struct hc_machine *machine, const struct hc_root *root) {
	int r = hc_topology_read(root, &machine->warnings, &machine->topology);
	if (r < 0)
		return r;
	unsigned nr_nodes = 0;
	const struct hc_node *node;
	while (hc_topology_node(machine->topology, nr_nodes))
		nr_nodes++;
	machine->node_pools = calloc(nr_nodes + 1, sizeof(*machine->node_pools));
	if (!machine->node_pools)
		return hc_fail_memory("no memory for the pools of %u nodes", nr_nodes);
	for (; (node = hc_topology_node(machine->topology, machine->nr_nodes)) != NULL; machine->nr_nodes++) {
		struct node_pools *pools = &machine->node_pools[machine->nr_nodes];
		with_text(node->cpus);
		pools->id = node->id;
		r = hc_node_pools_read(root, node->id, &machine->warnings, &pools->pools, &pools->nr_pools);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_cpus(struct hc_machine *machine, const struct hc_root *root) {
	struct hc_cpus *cpus = &machine->cpus;
	if (root->live) {
		int r = hc_affinity_get(&machine->allowed);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			hc_warn(&machine->warnings, "%s", hc_error_detail());
	}
	cpus->online = with_text(hc_topology_cpus_online(machine->topology));
	cpus->allowed = with_text(machine->allowed);

	struct hc_quota quota;
	hc_quota_read(root, &machine->warnings, &quota);
	cpus->quota_us = quota.quota_us;
	cpus->period_us = quota.period_us;
	hc_default_threads(hc_idset_count(cpus->allowed ? cpus->allowed : cpus->online),
	        cpus->allowed ? "affinity" : "online", &quota, &machine->default_threads);
	cpus->default_threads = machine->default_threads.threads;
	cpus->default_threads_why = machine->default_threads.why;
	return 0;
}

static int read_limits(struct hc_machine *machine, const struct hc_root *root) {
	hc_limits_read(root, &machine->limits);
	struct hc_cgroup_limit limit;
	int r = hc_memory_limit_read(root, &machine->warnings, &limit);
	if (r < 0)
		return r;
	machine->limits.memory_cgroup_left = limit.bytes_left;
	machine->limits.memory_cgroup_file = limit.file;
	return 0;
}

static int read_kernel(struct hc_machine *machine, const struct hc_root *root, int no_probes) {
	int r = hc_kernel_read(root, &machine->warnings, &machine->kernel);
	if (r < 0)
		return r;
	uint64_t sizes[64];
	unsigned nr_sizes = 0;
	for (; nr_sizes < machine->pools.nr_pools && nr_sizes < 64; nr_sizes++)
		sizes[nr_sizes] = machine->pools.pools[nr_sizes].page_size;
	return hc_kernel_features_read(root, !no_probes, sizes, nr_sizes, &machine->features);
}

/* In this order: CPUs need the nodes, and the kernel's features the page sizes. */
static int read_all(struct hc_machine *machine, const struct hc_root *root, int no_probes) {
	hc_processor_words_read(root, &machine->warnings, &machine->processor);
	int r = read_nodes(machine, root);
	if (r == 0)
		r = read_cpus(machine, root);
	if (r == 0)
		r = read_memory(machine, root);
	if (r == 0)
		r = hc_thp_read(root, &machine->warnings, &machine->thp);
	if (r == 0)
		r = read_limits(machine, root);
	if (r == 0)
		r = read_kernel(machine, root, no_probes);
	return r;
}

int hc_machine_read(const struct hc_machine_opts *opts, struct hc_machine **ret_machine) {
	if (!ret_machine)
		return hc_fail(EINVAL, "nowhere to put the machine: ret_machine is NULL");
	struct hc_machine_opts o;
	int r = hc_opts_check(opts, sizeof(o), &o);
	if (r == 0)
		r = hc_opts_flag(o.no_probes, "no_probes");
	if (r < 0)
		return r;
	struct hc_root root;
	r = hc_root_open(o.root, &root);
	if (r < 0)
		return r;

	struct hc_machine *machine = calloc(1, sizeof(*machine));
	r = machine ? read_all(machine, &root, o.no_probes) : hc_fail_memory("no memory for what a machine has");
	hc_root_close(&root);
	if (r < 0) {
		hc_machine_free(machine);
		return r;
	}
	*ret_machine = machine;
	return 0;
}

/* ---- Accessors ----------------------------------------------------------- */

const char *hc_machine_warning(const struct hc_machine *machine, unsigned i) {
	return hc_warnings_get(&machine->warnings, i);
}

const struct hc_processor *hc_machine_processor(const struct hc_machine *machine) {
	return &machine->processor.processor;
}

const struct hc_cpus *hc_machine_cpus(const struct hc_machine *machine) {
	return &machine->cpus;
}

const struct hc_node *hc_machine_node(const struct hc_machine *machine, unsigned i) {
	return hc_topology_node(machine->topology, i);
}

const struct hc_node *hc_machine_node_by_id(const struct hc_machine *machine, unsigned id) {
	return hc_topology_node_by_id(machine->topology, id);
}

int hc_machine_node_distance(const struct hc_machine *machine, unsigned from, unsigned to) {
	return hc_topology_distance(machine->topology, from, to);
}

const struct hc_memory *hc_machine_memory(const struct hc_machine *machine) {
	return &machine->memory;
}

const struct hc_pool *hc_machine_pool(const struct hc_machine *machine, unsigned i) {
	return i < machine->pools.nr_pools ? &machine->pools.pools[i] : NULL;
}

const struct hc_pool *hc_machine_pool_by_size(const struct hc_machine *machine, uint64_t page_size) {
	char list[512] = "";
	for (unsigned i = 0; i < machine->pools.nr_pools; i++) {
		const struct hc_pool *pool = &machine->pools.pools[i];
		if (pool->page_size == page_size)
			return pool;
		size_t len = strlen(list);
		snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", hc_size_exact(pool->page_size).s);
	}
	if (machine->memory.has_hugetlb == 0)
		hc_fail(ENOENT, "no huge pages of %s: this kernel has no hugetlb support", hc_size_exact(page_size).s);
	else
		hc_fail(ENOENT, "no huge pages of %s on this machine; sizes there: %s", hc_size_exact(page_size).s,
		        machine->pools.nr_pools ? list : "none");
	return NULL;
}

const struct hc_node_pool *hc_machine_node_pool(const struct hc_machine *machine, unsigned id, uint64_t page_size) {
	for (unsigned i = 0; i < machine->nr_nodes; i++) {
		const struct node_pools *pools = &machine->node_pools[i];
		for (unsigned k = 0; pools->id == id && k < pools->nr_pools; k++)
			if (pools->pools[k].page_size == page_size)
				return &pools->pools[k];
	}
	return NULL;
}

const struct hc_thp *hc_machine_thp(const struct hc_machine *machine) {
	return &machine->thp.thp;
}

const struct hc_mthp *hc_machine_mthp(const struct hc_machine *machine, unsigned i) {
	return i < machine->thp.nr_mthp ? &machine->thp.mthp[i] : NULL;
}

const struct hc_hugetlbfs *hc_machine_hugetlbfs(const struct hc_machine *machine, unsigned i) {
	return i < machine->hugetlbfs.nr_mounts ? &machine->hugetlbfs.mounts[i] : NULL;
}

const struct hc_limits *hc_machine_limits(const struct hc_machine *machine) {
	return &machine->limits;
}

const struct hc_kernel *hc_machine_kernel(const struct hc_machine *machine) {
	return &machine->kernel;
}

const struct hc_kernel_feature *hc_machine_kernel_feature(const struct hc_machine *machine, unsigned i) {
	return i < machine->features.nr_features ? &machine->features.features[i] : NULL;
}
