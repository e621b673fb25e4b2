/*
 * The memory of a benchmark: of one page size, all of it there before anything
 * is timed, and nothing touched that isn't known to be there, so that a lack of
 * pages or a limit is an error and never a SIGBUS.
 */
#ifndef HC_BENCH_REGION_H
#define HC_BENCH_REGION_H

#include <stdint.h>

#include <hugeclear/sys.h>

enum region_backing { REGION_HUGETLB, REGION_THP, REGION_BASE };

/* "hugetlb", "thp", "base" */
const char *region_backing_name(enum region_backing backing);

struct region_request {
	uint64_t bytes; /* not 0; rounded up to whole pages */
	enum region_backing backing;
	uint64_t page_size; /* of hugetlb pages; else ignored */
	int node;           /* bound to it, or -1: wherever the kernel puts it */
	hc_stop_fn stop;    /* asked between steps of populating; may be NULL */
	hc_progress_fn progress;
	void *user;
};

struct region {
	char *p;
	uint64_t bytes; /* whole pages */
	/* What it really is: REGION_BASE where THP was asked for and no huge page came. */
	enum region_backing backing;
	uint64_t page_size;
	int node;                 /* that it is bound to, checked; -1 */
	uint64_t huge_bytes;      /* in huge pages; less than bytes where THP came for a part */
	const char *why_not_huge; /* in words where THP was asked for and not all is huge, else NULL; static */
	/* What was mapped: p and bytes lie within. */
	void *mapping;
	size_t mapping_len;
};

/*
 * Maps, binds and populates by writing, then checks that every page is there, on its node,
 * and of its size.
 *
 * Returns 0 and an object for region_unmap(). On an error nothing stays mapped or reserved:
 * -ENOMEM where there are too few pages (or a cgroup's limit leaves too few), with
 * wanted, there and what to do in the detail; -ENODEV where the machine lacks the
 * page size or the node, or the node has no memory; -EOPNOTSUPP where the memory
 * can't be bound (seccomp); -ECANCELED after stop.
 */
int region_map(const struct hc_machine *machine, const struct region_request *request, struct region **ret_region);

/* Takes and returns NULL. */
struct region *region_unmap(struct region *region);

/*
 * How much a new region of this backing can have: what is available in the pool,
 * below the limits of cgroups, or, for THP and base pages, three quarters of the memory that is
 * available. 0 where there is nothing.
 */
uint64_t region_room(const struct hc_machine *machine, enum region_backing backing, uint64_t page_size, int node);

#endif
