#include "sys/page_sizes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/size.h"
#include "sys/meminfo.h"
#include "sys/warnings.h"

#define MACHINE_POOLS "sys/kernel/mm/hugepages"

/* Page sizes are powers of two with a folder each: there can't be more. */
#define SIZES_MAX 64

struct sizes {
	const struct hc_root *root;
	const char *folder;
	struct hc_warnings *warnings;
	uint64_t bytes[SIZES_MAX];
	unsigned nr;
};

bool hc_page_size_of_folder(const char *name, uint64_t *ret_bytes) {
	static const char prefix[] = "hugepages-";
	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return false;
	const char *p = name + sizeof(prefix) - 1;
	if (*p == '0')
		return false;
	uint64_t kib;
	return hc_decimal_take(&p, &kib) == 0 && strcmp(p, "kB") == 0 && hc_is_power_of_two(kib) &&
	       hc_mul_ok(kib, 1024, ret_bytes);
}

static int take_folder(void *user, const char *name) {
	struct sizes *sizes = user;
	uint64_t bytes;
	if (sizes->nr < SIZES_MAX && hc_page_size_of_folder(name, &bytes)) {
		sizes->bytes[sizes->nr++] = bytes;
	} else {
		char path[512];
		hc_warn(sizes->warnings, "%s: skipped %s: not a page size",
		        hc_root_name(sizes->root, sizes->folder, path, sizeof(path)), hc_quote(name).s);
	}
	return 0;
}

static int compare_sizes(const void *a, const void *b) {
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static int list_sizes(
        const struct hc_root *root, const char *folder, struct hc_warnings *warnings, struct sizes *ret_sizes) {
	*ret_sizes = (struct sizes){.root = root, .folder = folder, .warnings = warnings};
	int r = hc_root_list(root, folder, take_folder, ret_sizes);
	if (r < 0)
		return r;
	qsort(ret_sizes->bytes, ret_sizes->nr, sizeof(ret_sizes->bytes[0]), compare_sizes);
	return 0;
}

static const char *pools_folder(int node, char *folder, size_t folder_size) {
	if (node == HC_POOL_MACHINE)
		snprintf(folder, folder_size, "%s", MACHINE_POOLS);
	else
		snprintf(folder, folder_size, "sys/devices/system/node/node%d/hugepages", node);
	return folder;
}

const char *hc_pool_folder(uint64_t page_size, int node, char *folder, size_t folder_size) {
	char pools[HC_POOL_FOLDER_MAX - 40];
	snprintf(folder, folder_size, "%s/hugepages-%llukB", pools_folder(node, pools, sizeof(pools)),
	        (unsigned long long)page_size / 1024);
	return folder;
}

static uint64_t read_counter(
        const struct hc_root *root, const char *folder, const char *name, struct hc_warnings *warnings) {
	char path[HC_POOL_FOLDER_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	uint64_t pages;
	int r = hc_root_read_u64(root, path, &pages);
	if (r < 0) {
		if (r != -ENOENT)
			hc_warn(warnings, "%s", hc_error_detail());
		return HC_UNKNOWN;
	}
	return pages;
}

/* a - b of counters that were read one after the other: 0 where that is below it. */
static uint64_t difference(uint64_t a, uint64_t b) {
	if (a == HC_UNKNOWN || b == HC_UNKNOWN)
		return HC_UNKNOWN;
	return a > b ? a - b : 0;
}

static void derive(struct hc_pool *pool) {
	pool->persistent = difference(pool->total, pool->surplus);
	pool->available = difference(pool->free, pool->reserved);
}

/* Says which sizes there are in place of one that isn't. */
static int fail_no_pool(const struct hc_root *root, uint64_t page_size, int node) {
	char folder[HC_POOL_FOLDER_MAX], where[32] = "";
	struct sizes sizes;
	int r = list_sizes(root, pools_folder(node, folder, sizeof(folder)), NULL, &sizes);
	if (r < 0 && r != -ENOENT)
		return r;

	char list[512] = "";
	for (unsigned i = 0; i < sizes.nr; i++) {
		size_t len = strlen(list);
		snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", hc_size_exact(sizes.bytes[i]).s);
	}
	if (node != HC_POOL_MACHINE)
		snprintf(where, sizeof(where), " on node %d", node);
	return hc_fail(ENOENT, "no pool of %s pages%s; page sizes there: %s", hc_size_exact(page_size).s, where,
	        sizes.nr ? list : "none");
}

static bool has_pool(const struct hc_root *root, uint64_t page_size, int node, char *folder, size_t folder_size) {
	return page_size >= 1024 && hc_is_power_of_two(page_size) &&
	       hc_root_exists(root, hc_pool_folder(page_size, node, folder, folder_size));
}

int hc_pool_read(
        const struct hc_root *root, uint64_t page_size, struct hc_warnings *warnings, struct hc_pool *ret_pool) {
	char folder[HC_POOL_FOLDER_MAX];
	if (!has_pool(root, page_size, HC_POOL_MACHINE, folder, sizeof(folder)))
		return fail_no_pool(root, page_size, HC_POOL_MACHINE);

	struct hc_pool pool = {.page_size = page_size, .listed = 1, .cgroup_bytes_left = HC_UNKNOWN};
	pool.total = read_counter(root, folder, "nr_hugepages", warnings);
	pool.free = read_counter(root, folder, "free_hugepages", warnings);
	pool.reserved = read_counter(root, folder, "resv_hugepages", warnings);
	pool.surplus = read_counter(root, folder, "surplus_hugepages", warnings);
	pool.overcommit = read_counter(root, folder, "nr_overcommit_hugepages", warnings);
	derive(&pool);
	*ret_pool = pool;
	return 0;
}

int hc_node_pool_read(const struct hc_root *root, uint64_t page_size, unsigned node, struct hc_warnings *warnings,
        struct hc_node_pool *ret_pool) {
	char folder[HC_POOL_FOLDER_MAX];
	if (node > INT32_MAX)
		return hc_fail(ENOENT, "there is no node %u", node);
	if (!has_pool(root, page_size, (int)node, folder, sizeof(folder)))
		return fail_no_pool(root, page_size, (int)node);

	struct hc_node_pool pool = {.page_size = page_size};
	pool.total = read_counter(root, folder, "nr_hugepages", warnings);
	pool.free = read_counter(root, folder, "free_hugepages", warnings);
	pool.surplus = read_counter(root, folder, "surplus_hugepages", warnings);
	pool.persistent = difference(pool.total, pool.surplus);
	*ret_pool = pool;
	return 0;
}

/*
 * Containers hide the folder; the default size's pool is in meminfo as well, and
 * how much the other sizes hold is what its Hugetlb line has beyond it.
 */
static struct hc_pool pool_of_meminfo(
        const struct hc_root *root, const struct hc_meminfo *meminfo, struct hc_warnings *warnings) {
	struct hc_pool pool = {
	        .page_size = meminfo->default_huge_page_size,
	        .total = meminfo->pages_total,
	        .free = meminfo->pages_free,
	        .reserved = meminfo->pages_reserved,
	        .surplus = meminfo->pages_surplus,
	        .overcommit = read_counter(root, "proc/sys/vm", "nr_overcommit_hugepages", warnings),
	        .cgroup_bytes_left = HC_UNKNOWN,
	};
	derive(&pool);
	return pool;
}

/* What the machine's sum has beyond the pools that are known. */
static uint64_t bytes_elsewhere(
        const struct hc_pools *pools, const struct hc_meminfo *meminfo, struct hc_warnings *warnings) {
	uint64_t known = 0, bytes;
	bool all_listed = true;
	for (unsigned i = 0; i < pools->nr_pools; i++) {
		const struct hc_pool *pool = &pools->pools[i];
		if (pool->total == HC_UNKNOWN || !hc_mul_ok(pool->total, pool->page_size, &bytes) ||
		        !hc_add_ok(known, bytes, &known))
			return HC_UNKNOWN;
		all_listed = all_listed && pool->listed;
	}
	if (pools->nr_pools == 0)
		return HC_UNKNOWN;
	if (all_listed)
		return 0;
	if (meminfo->hugetlb == HC_UNKNOWN)
		return HC_UNKNOWN;
	if (meminfo->hugetlb < known) {
		hc_warn(warnings, "proc/meminfo: Hugetlb is less than the default size's %s", hc_size_exact(known).s);
		return HC_UNKNOWN;
	}
	return meminfo->hugetlb - known;
}

int hc_pools_read(const struct hc_root *root, const struct hc_meminfo *meminfo, struct hc_warnings *warnings,
        struct hc_pools *ret_pools) {
	struct sizes sizes;
	int r = list_sizes(root, MACHINE_POOLS, warnings, &sizes);
	if (r < 0 && r != -ENOENT)
		hc_warn(warnings, "%s", hc_error_detail());
	bool no_folder = r == -ENOENT;

	struct hc_pools pools = {.default_page_size = meminfo->default_huge_page_size};
	pools.pools = calloc(sizes.nr + 1, sizeof(*pools.pools));
	if (!pools.pools)
		return hc_fail_memory("no memory for %u pools of huge pages", sizes.nr);
	for (unsigned i = 0; i < sizes.nr; i++)
		if (hc_pool_read(root, sizes.bytes[i], warnings, &pools.pools[pools.nr_pools]) == 0)
			pools.nr_pools++;
	if (pools.nr_pools == 0 && meminfo->default_huge_page_size != HC_UNKNOWN)
		pools.pools[pools.nr_pools++] = pool_of_meminfo(root, meminfo, warnings);
	for (unsigned i = 0; i < pools.nr_pools; i++)
		pools.pools[i].is_default = pools.pools[i].page_size == pools.default_page_size;

	if (sizes.nr > 0 || meminfo->has_huge_page_lines)
		pools.has_hugetlb = 1;
	else
		pools.has_hugetlb = no_folder && meminfo->readable ? 0 : -1;
	pools.hugetlb_elsewhere = pools.has_hugetlb == 0 ? 0 : bytes_elsewhere(&pools, meminfo, warnings);
	*ret_pools = pools;
	return 0;
}

void hc_pools_free(struct hc_pools *pools) {
	free(pools->pools);
	*pools = (struct hc_pools){0};
}

int hc_node_pools_read(const struct hc_root *root, unsigned node, struct hc_warnings *warnings,
        struct hc_node_pool **ret_pools, unsigned *ret_nr_pools) {
	char folder[HC_POOL_FOLDER_MAX];
	struct sizes sizes = {0};
	if (node <= INT32_MAX) {
		int r = list_sizes(root, pools_folder((int)node, folder, sizeof(folder)), warnings, &sizes);
		if (r < 0 && r != -ENOENT)
			hc_warn(warnings, "%s", hc_error_detail());
	}

	struct hc_node_pool *pools = calloc(sizes.nr + 1, sizeof(*pools));
	if (!pools)
		return hc_fail_memory("no memory for %u pools of node %u", sizes.nr, node);
	unsigned nr = 0;
	for (unsigned i = 0; i < sizes.nr; i++)
		if (hc_node_pool_read(root, sizes.bytes[i], node, warnings, &pools[nr]) == 0)
			nr++;
	*ret_pools = pools;
	*ret_nr_pools = nr;
	return 0;
}
