/* The hugetlbfs file systems that are mounted, from proc/self/mounts: proc_pid_mounts(5), fstab(5). */
#ifndef HC_SYS_MOUNTS_H
#define HC_SYS_MOUNTS_H

#include <hugeclear/sys.h>

#include "sys/root.h"

struct hc_warnings;

/* In the order of mounting. The paths are owned by it. */
struct hc_hugetlbfs_list {
	struct hc_hugetlbfs *mounts;
	unsigned nr_mounts;
};

/*
 * Reads the mounts whose type is hugetlbfs, whatever they are called; one that
 * another mount at the same place covers is left out. default_page_size is that
 * of a mount that doesn't name one; HC_UNKNOWN where it is unknown.
 * warnings may be NULL. Returns 0 or -ENOMEM. Undone by hc_hugetlbfs_free().
 */
int hc_hugetlbfs_read(const struct hc_root *root, uint64_t default_page_size, struct hc_warnings *warnings,
        struct hc_hugetlbfs_list *ret_list);

/* pre: read, or all zero */
void hc_hugetlbfs_free(struct hc_hugetlbfs_list *list);

#endif
