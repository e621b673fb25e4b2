/* Which kernel this is, in its own words, and what it can do, by trying. */
#ifndef HC_SYS_KERNEL_H
#define HC_SYS_KERNEL_H

#include <hugeclear/sys.h>

#include "sys/root.h"

struct hc_warnings;

/* The strings are owned by the struct. warnings may be NULL. Returns 0 or -ENOMEM. Undone by hc_kernel_free(). */
int hc_kernel_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_kernel *ret_kernel);

/* pre: read, or all zero */
void hc_kernel_free(struct hc_kernel *kernel);

/* Names and reasons are owned by it. */
struct hc_kernel_features {
	struct hc_kernel_feature *features;
	unsigned nr_features;
};

/*
 * Tries each feature; for each of the page sizes whether a memfd of it can be made.
 * Never decides by a version, and leaves nothing behind: no descriptor, no
 * mapping, no page of a pool. What failed for lack of descriptors or memory is
 * unknown (-1), not unavailable. With a replaced root, or where try is 0, all are.
 * Returns 0 or -ENOMEM. Undone by hc_kernel_features_free().
 */
int hc_kernel_features_read(const struct hc_root *root, int try, const uint64_t *page_sizes, unsigned nr_page_sizes,
        struct hc_kernel_features *ret_features);

/* pre: read, or all zero */
void hc_kernel_features_free(struct hc_kernel_features *features);

#endif
