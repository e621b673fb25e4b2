/* What a pool counts now, on one node or in the whole machine, for somebody who is about to change it. */
#ifndef HC_SYS_POOL_COUNTS_H
#define HC_SYS_POOL_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/root.h"

#define HC_NODES_FOLDER "sys/devices/system/node"

struct hc_pool_counts {
	uint64_t persistent, surplus;
	/* Persistent pages that can go: neither in use nor reserved. HC_UNKNOWN where a counter is. */
	uint64_t removable;
};

/*
 * Reads them, for a node or HC_POOL_MACHINE; on a root of plain files, where another may be in
 * the middle of writing, several times if need be. Returns 0; -EOPNOTSUPP where the kernel has no huge
 * pages, -ENODEV without such a pool or node, with a detail that lists what there is; -EBADMSG and
 * other errors of reading; -EAGAIN where the counters change faster than they can be read.
 */
int hc_pool_counts_read(const struct hc_root *root, uint64_t page_size, int node, struct hc_pool_counts *ret_counts);

/* Only whether there is such a pool: 0, or the first two of these errors. */
int hc_pool_check(const struct hc_root *root, uint64_t page_size, int node);

/* The file that holds the count, relative to the root. pre: file has room for HC_POOL_FILE_MAX bytes */
#define HC_POOL_FILE_MAX 160
void hc_pool_file(uint64_t page_size, int node, char file[HC_POOL_FILE_MAX]);

#endif
