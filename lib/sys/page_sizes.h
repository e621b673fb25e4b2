/*
 * The sizes of huge pages that this kernel knows and the pool of each, for the
 * machine and by node. Sizes are enumerated, never assumed. Interface:
 * Documentation/admin-guide/mm/hugetlbpage.rst of the kernel.
 *
 * A counter whose file is missing or holds no number is HC_UNKNOWN, never 0, and
 * so is all that is derived from it.
 */
#ifndef HC_SYS_PAGE_SIZES_H
#define HC_SYS_PAGE_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hugeclear/sys.h>

#include "sys/root.h"

struct hc_meminfo;
struct hc_warnings;

/*
 * The page size of a folder's name, "hugepages-2048kB", as the kernel writes it and
 * no other way, so that the number makes the name again. A power of two.
 */
bool hc_page_size_of_folder(const char *name, uint64_t *ret_bytes);

/* hc_pool_folder() with this as node: the pool of the whole machine. */
#define HC_POOL_MACHINE (-1)

/* Holds every text of hc_pool_folder(). */
#define HC_POOL_FOLDER_MAX 128

/*
 * The folder with the files of a pool, relative to root:
 * "sys/kernel/mm/hugepages/hugepages-2048kB", or for a node
 * "sys/devices/system/node/node1/hugepages/hugepages-2048kB". Returns folder.
 */
const char *hc_pool_folder(uint64_t page_size, int node, char *folder, size_t folder_size);

/*
 * Reads a pool's counters as they are now. Of *ret_pool the fields about counts
 * and page_size are filled in; cgroup_bytes_left is HC_UNKNOWN and is_default 0.
 * The counters are in files of their own, so they belong together only as far as
 * nobody changes them meanwhile; available and persistent are never below 0.
 *
 * warnings: told about counters that hold no number; may be NULL. Returns 0;
 * -ENOENT where the machine has no pool of this size, with the sizes there are;
 * another error of listing the folder.
 */
int hc_pool_read(
        const struct hc_root *root, uint64_t page_size, struct hc_warnings *warnings, struct hc_pool *ret_pool);

/* The same for a node. -ENOENT where the kernel shows no pool of this size for the node. */
int hc_node_pool_read(const struct hc_root *root, uint64_t page_size, unsigned node, struct hc_warnings *warnings,
        struct hc_node_pool *ret_pool);

/* All pools, smallest page size first. */
struct hc_pools {
	struct hc_pool *pools;
	unsigned nr_pools;
	/* As in struct hc_memory. */
	int has_hugetlb;
	uint64_t default_page_size;
	uint64_t hugetlb_elsewhere;
};

/*
 * Reads the pools of the machine. Where /sys doesn't list them, the default size
 * of meminfo is the only one, with the counters that meminfo has.
 * Returns 0 or -ENOMEM: what can't be read is unknown, and said in warnings.
 * Undone by hc_pools_free().
 */
int hc_pools_read(const struct hc_root *root, const struct hc_meminfo *meminfo, struct hc_warnings *warnings,
        struct hc_pools *ret_pools);

/* pre: read, or all zero */
void hc_pools_free(struct hc_pools *pools);

/* The pools of one node, smallest page size first; freed by the caller. 0 of them where /sys shows none. -ENOMEM. */
int hc_node_pools_read(const struct hc_root *root, unsigned node, struct hc_warnings *warnings,
        struct hc_node_pool **ret_pools, unsigned *ret_nr_pools);

#endif
