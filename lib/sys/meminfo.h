/* What proc/meminfo says. Numbers that it lacks, or has in a form that makes no sense, are HC_UNKNOWN. */
#ifndef HC_SYS_MEMINFO_H
#define HC_SYS_MEMINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/root.h"

struct hc_warnings;

struct hc_meminfo {
	bool readable; /* there is such a file */
	/* Bytes. */
	uint64_t total, free, available, swap_total, swap_free, anon_huge_pages;
	/* Bytes in the pools of all sizes, used or not; kernels before 4.15 don't say. */
	uint64_t hugetlb;
	/* Bytes, a power of two. A kernel without hugetlb has neither this nor the next line. */
	uint64_t default_huge_page_size;
	/* Pages, of the default size only. */
	uint64_t pages_total, pages_free, pages_reserved, pages_surplus;
	bool has_huge_page_lines; /* one of the lines of hugetlb is there, in whatever form */
};

/*
 * What stands behind the colon of a line "MemTotal:  16384 kB", in bytes: of this and other files that the
 * kernel writes in that form. False where it is anything else.
 */
bool hc_meminfo_bytes(const char *text, uint64_t *ret_bytes);

/* warnings may be NULL. Can't fail: what can't be read is unknown, and said in warnings. */
void hc_meminfo_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_meminfo *ret_meminfo);

#endif
