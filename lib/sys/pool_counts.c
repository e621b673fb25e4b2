#include "sys/pool_counts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <hugeclear/sys.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/size.h"
#include "sys/page_sizes.h"

#define POOLS_FOLDER "sys/kernel/mm/hugepages"

struct pool {
	const struct hc_root *root;
	uint64_t page_size;
	int node;
};

/* What the kernel itself would take from the whole machine's pool: set_max_huge_pages() stops at pages used + reserved. */
static uint64_t removable_of_machine(const struct hc_pool *pool) {
	if (pool->total == HC_UNKNOWN || pool->free == HC_UNKNOWN || pool->reserved == HC_UNKNOWN ||
	        pool->surplus == HC_UNKNOWN)
		return HC_UNKNOWN;
	return hc_minus(hc_minus(pool->total, pool->surplus), hc_minus(pool->total, pool->free) + pool->reserved);
}

static uint64_t removable_of_node(const struct hc_node_pool *node, const struct hc_pool *machine) {
	uint64_t removable = removable_of_machine(machine);
	if (removable == HC_UNKNOWN || node->free == HC_UNKNOWN)
		return HC_UNKNOWN;
	return hc_min(removable, hc_minus(node->free, machine->reserved));
}

static bool node_exists(const struct hc_root *root, unsigned node) {
	char folder[64];
	snprintf(folder, sizeof(folder), HC_NODES_FOLDER "/node%u", node);
	return hc_root_exists(root, folder);
}

static int no_such_pool(const struct pool *pool, int r) {
	if (r != -ENOENT)
		return r;
	if (!hc_root_exists(pool->root, POOLS_FOLDER)) {
		char name[300];
		return hc_fail(EOPNOTSUPP, "%s isn't there: this kernel has no huge pages (hugetlb)",
		        hc_root_name(pool->root, POOLS_FOLDER, name, sizeof(name)));
	}
	return hc_fail(ENODEV, "%s", hc_error_detail());
}

static int no_such_node(const struct pool *pool, int r) {
	if (r != -ENOENT)
		return r;
	unsigned node = (unsigned)pool->node;
	if (node_exists(pool->root, node))
		return hc_fail(ENODEV, "node %u has no pool of pages of %s: it has no memory, or the kernel shows none",
		        node, hc_size_exact(pool->page_size).s);
	char online[128] = "";
	if (hc_root_read(pool->root, HC_NODES_FOLDER "/online", online, sizeof(online)) < 0)
		return hc_fail(ENODEV, "there is no node %u", node);
	online[strcspn(online, "\n")] = '\0';
	return hc_fail(ENODEV, "there is no node %u; online: %s", node, online);
}

static int read_pools(const struct pool *pool, struct hc_pool *ret_machine, struct hc_node_pool *ret_node) {
	int r = hc_pool_read(pool->root, pool->page_size, NULL, ret_machine);
	if (r < 0)
		return no_such_pool(pool, r);
	*ret_node = (struct hc_node_pool){.total = ret_machine->total,
	        .free = ret_machine->free,
	        .surplus = ret_machine->surplus,
	        .persistent = ret_machine->persistent};
	if (pool->node < 0)
		return 0;
	r = hc_node_pool_read(pool->root, pool->page_size, (unsigned)pool->node, NULL, ret_node);
	return r < 0 ? no_such_node(pool, r) : 0;
}

/*
 * The counters are in files of their own: they are read until two readings agree, as far as
 * that happens within a few, so that total and surplus belong together.
 */
static int read_counts(const struct pool *pool, struct hc_pool_counts *ret_counts) {
	struct hc_pool machine;
	struct hc_node_pool node = {0}, again = {0};
	int r = read_pools(pool, &machine, &node);
	for (int i = 0; r == 0 && i < 8; i++) {
		r = read_pools(pool, &machine, &again);
		if (r == 0 && again.total == node.total && again.surplus == node.surplus && again.free == node.free)
			break;
		node = again;
	}
	if (r < 0)
		return r;

	if (node.total == HC_UNKNOWN || node.surplus == HC_UNKNOWN) {
		/* Reads the file in question once more, for its error. */
		char file[HC_POOL_FILE_MAX], name[300];
		uint64_t value;
		hc_pool_file(pool->page_size, pool->node, file);
		hc_root_name(pool->root, file, name, sizeof(name));
		r = hc_root_read_u64(pool->root, file, &value);
		if (r == 0) {
			size_t len = strlen(file) - strlen("nr_hugepages");
			snprintf(file + len, sizeof(file) - len, "surplus_hugepages");
			r = hc_root_read_u64(pool->root, file, &value);
		}
		return r < 0 ? r : hc_fail(EAGAIN, "%s: changes faster than it can be read", name);
	}
	*ret_counts = (struct hc_pool_counts){
	        .persistent = hc_minus(node.total, node.surplus),
	        .surplus = node.surplus,
	        .removable = pool->node < 0 ? removable_of_machine(&machine) : removable_of_node(&node, &machine),
	};
	return 0;
}

/* ---- For others ------------------------------------------------------------- */

void hc_pool_file(uint64_t page_size, int node, char file[HC_POOL_FILE_MAX]) {
	char folder[HC_POOL_FOLDER_MAX];
	snprintf(file, HC_POOL_FILE_MAX, "%s/nr_hugepages", hc_pool_folder(page_size, node, folder, sizeof(folder)));
}

int hc_pool_check(const struct hc_root *root, uint64_t page_size, int node) {
	const struct pool pool = {.root = root, .page_size = page_size, .node = node};
	struct hc_pool machine;
	struct hc_node_pool on_node;
	return read_pools(&pool, &machine, &on_node);
}

int hc_pool_counts_read(const struct hc_root *root, uint64_t page_size, int node, struct hc_pool_counts *ret_counts) {
	const struct pool pool = {.root = root, .page_size = page_size, .node = node};
	int r = read_counts(&pool, ret_counts);
	/* An empty file gets a second look, also one that was empty a moment ago (-EAGAIN): a dry run takes no lock. */
	for (int i = 0; (r == -EBADMSG || r == -EAGAIN) && !root->live && i < 10; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 2L * 1000 * 1000}, NULL);
		r = read_counts(&pool, ret_counts);
	}
	return r;
}
