/* What /proc/self/smaps says about a range of addresses. */
#ifndef HC_BENCH_SMAPS_H
#define HC_BENCH_SMAPS_H

#include <stdint.h>

struct smaps_range {
	uint64_t rss;             /* bytes that are there */
	uint64_t anon_huge_pages; /* of them in transparent huge pages; the huge zero page doesn't count */
	int thp_eligible;         /* 1: a mapping in the range may get huge pages; 0: none may; -1: not said */
};

/*
 * Sums the mappings of the text that lie wholly in [begin, end). The kernel may
 * have split or joined mappings, so there can be several; one that reaches
 * beyond the range can't be told apart and is left out. -EBADMSG for a text that isn't smaps.
 */
int smaps_parse(const char *text, uint64_t begin, uint64_t end, struct smaps_range *ret_range);

/* The same of this process. -errno with the path. */
int smaps_read(uint64_t begin, uint64_t end, struct smaps_range *ret_range);

#endif
