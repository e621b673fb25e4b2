/* Of what size each page of a range really is, as /proc tells: pagemap of the kernel's Documentation/admin-guide/mm. */
#ifndef HC_MAP_PAGE_WALK_H
#define HC_MAP_PAGE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "sys/root.h"

struct hc_page_range {
	char *p;      /* aligned to the largest page that can be in it */
	size_t pages; /* base pages */
	uint64_t base_page;
};

/*
 * sizes[i] is huge for each base page that is part of a THP of the PMD's size, else base_page: by the
 * PAGEMAP_SCAN ioctl, Linux 6.7. -EOPNOTSUPP without it; -ENOENT etc. without /proc.
 */
int hc_page_walk_pmd(const struct hc_root *root, const struct hc_page_range *range, uint64_t huge, uint64_t *sizes);

/*
 * The same for all sizes: pages that the kernel keeps as one (a folio) of which all is mapped in
 * order. Needs /proc/kpageflags and frame numbers: -EPERM without privilege or without these files. -ENOMEM.
 */
int hc_page_walk_any(const struct hc_root *root, const struct hc_page_range *range, uint64_t *sizes);

#endif
