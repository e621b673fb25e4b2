/* The page sizes that a map is tried with, the best first. */
#ifndef HC_MAP_PREFER_H
#define HC_MAP_PREFER_H

#include "map/mapping.h"

/* hugetlb sizes of a machine, each with and without a memfd, then THP and base pages. */
#define HC_CANDIDATES_MAX 64

struct hc_candidates {
	struct hc_candidate list[HC_CANDIDATES_MAX];
	unsigned nr;
};

/* For opts (checked) and len on the machine at root. Errors of reading it: -ENOMEM; -EOPNOTSUPP without hugetlb. */
int hc_candidates_list(
        const struct hc_root *root, size_t len, const struct hc_map_opts *opts, struct hc_candidates *ret_candidates);

#endif
