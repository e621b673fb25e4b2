/*
 * The memory of a measurement: all of it there before anything is timed (hc_map(3)), and what it
 * really is made of.
 */
#ifndef HC_BENCH_RESIDENT_H
#define HC_BENCH_RESIDENT_H

#include <stdint.h>

#include <hugeclear/map.h>

struct resident_request {
	uint64_t bytes;         /* not 0; rounded up to whole pages */
	enum hc_page_kind kind; /* HC_PAGES_THP: as many as come, the rest in base pages */
	uint64_t page_size;     /* of hugetlb pages; else ignored */
	int node;               /* bound to it, or -1: wherever the kernel puts it */
	hc_stop_fn stop;        /* may be NULL, as progress */
	hc_progress_fn progress;
	void *user;
};

struct resident {
	struct hc_map *map;
	char *p;
	uint64_t bytes;
	/* What it really is: HC_PAGES_BASE where THP was asked for and no huge page came. */
	enum hc_page_kind kind;
	uint64_t page_size;
	int node;            /* that it is bound to, checked; -1 */
	uint64_t huge_bytes; /* in huge pages; HC_UNKNOWN where the kernel doesn't tell */
	/* In words where THP was asked for and not all is known to be huge, else "". */
	char why_not_huge[256];
};

/*
 * Returns 0 and an object for resident_free(). On an error nothing is left: those of hc_map_open(), but
 * -EOPNOTSUPP where memory can't be bound or its node can't be checked.
 */
int resident_get(const struct resident_request *request, struct resident **ret_resident);

/* Takes and returns NULL. */
struct resident *resident_free(struct resident *resident);

#endif
