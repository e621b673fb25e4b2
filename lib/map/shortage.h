/*
 * Why there are no pages, in words: which pool, node or limit said no, its file, and what to do.
 * The kernel says only ENOMEM or EFAULT, so the limits are read after the fact: the
 * one that leaves less than was wanted is named.
 */
#ifndef HC_MAP_SHORTAGE_H
#define HC_MAP_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/idset.h"
#include "sys/root.h"

struct hc_want {
	uint64_t page_size, bytes;    /* whole pages */
	const struct hc_idset *nodes; /* that the pages have to be on; NULL: any */
	bool is_reserved;             /* by a mapping that is there: what hasn't come is among the reserved ones */
};

/* After mmap failed with ENOMEM for want of pages of a pool: -ENOMEM. private: counted against RLIMIT_DATA. */
int hc_shortage_of_mapping(const struct hc_root *root, const struct hc_want *want, bool is_private);

/* The same for base pages and THP. */
int hc_shortage_of_address_space(uint64_t bytes, bool is_private);

/* After mmap failed with EAGAIN, as all new mappings are to be locked: -EAGAIN. */
int hc_shortage_of_locked_memory(uint64_t bytes);

/* After pages of a pool that were wanted could not be faulted in; came: bytes that could. -ENOMEM. */
int hc_shortage_of_pages(const struct hc_root *root, const struct hc_want *want, uint64_t came);

/*
 * Asked in advance for pages that are reserved: 0, or -ENOMEM where the fault limit of a
 * cgroup, or the nodes, don't leave enough now.
 */
int hc_shortage_foreseen(const struct hc_root *root, const struct hc_want *want);

/* After the kernel didn't know the page size: -ENODEV with the sizes there are, -EOPNOTSUPP without any. */
int hc_shortage_of_size(const struct hc_root *root, uint64_t page_size, const char *call, int err);

#endif
