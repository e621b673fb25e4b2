/* What compare() is made of: matching runs of the two sides, and telling their hosts apart. */
#ifndef HC_RESULTS_COMPARE_PARTS_H
#define HC_RESULTS_COMPARE_PARTS_H

#include "results/compare.h"

/* A run of a file of a side. */
struct compare_entry {
	const char *key; /* of the work: of the run, or own where parameters are left out */
	char *own;
	int side;
	size_t order;
	const struct results_document *document;
	const struct results_measured *run;
};

/* Entries of the same work, base's first, each in the order of its files. */
struct compare_group {
	const struct compare_entry *entries;
	size_t nr[COMPARE_SIDES];
	size_t order; /* of the first */
};

struct compare_matching {
	struct compare_entry *entries;
	size_t nr_entries;
	struct compare_group *groups;
	size_t nr_groups;
	char **across;
};

/* 0; -EINVAL where a file has the same work twice; -ENOMEM. What was made is in the matching, also after an error. */
int compare_match(const struct compare_side sides[COMPARE_SIDES], const struct compare_opts *opts,
        struct compare_matching *ret_matching);
void compare_matching_end(struct compare_matching *matching);

/* "map throughput page_size=2M function=demand". Freed by the caller; NULL: no memory. */
char *compare_label(const struct results_measured *run);

/* Says what only one side has, and by which parameters it differs from the nearest of the other. -ENOMEM */
int compare_unmatched(const struct compare_matching *matching, struct comparison *comparison);

/* Names each setting in which the hosts of the two sides differ, a line each. -ENOMEM */
int compare_hosts(const struct compare_side sides[COMPARE_SIDES], struct comparison *comparison);

#endif
