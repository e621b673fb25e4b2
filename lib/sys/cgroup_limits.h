/*
 * What the control groups of this process still allow: huge pages and memory.
 *
 * Documentation/admin-guide/cgroup-v1/hugetlb.rst and cgroup-v2.rst of the kernel:
 * each page size has a limit on faults (a process over it dies of SIGBUS) and, since
 * 5.7, one on reservations (mmap fails with ENOMEM).
 */
#ifndef HC_SYS_CGROUP_LIMITS_H
#define HC_SYS_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/root.h"

struct hc_warnings;

struct hc_cgroup_limit {
	uint64_t bytes_left; /* HC_UNKNOWN: no limit */
	char *file; /* the whole path of the limit that leaves the least; NULL where no limit. Freed by the caller */
	bool is_reservation; /* it limits reservations */
};

/* Holds every text of hc_cgroup_size_name(). */
#define HC_CGROUP_SIZE_NAME_MAX 24

/* The page size as the kernel has it in file names: "64KB", "2MB", "1GB", "16GB". Returns name. */
const char *hc_cgroup_size_name(uint64_t page_size, char *name, size_t name_size);

/*
 * The least that the limits on this page size leave, over the process's group and
 * all above it, faults and reservations. Where both leave the same the reservation
 * is named, which is asked first.
 *
 * Limits that aren't there are no limit, and so is the largest count that the
 * kernel writes for "max". Usage above a limit leaves 0. A counter that went below
 * zero (kernels before 5.14 had such bugs) counts as 0 and is warned of.
 *
 * warnings may be NULL. Returns 0, also without cgroups; -ENOMEM.
 */
int hc_hugetlb_limit_read(const struct hc_root *root, uint64_t page_size, struct hc_warnings *warnings,
        struct hc_cgroup_limit *ret_limit);

/* The same for the memory controller (memory.max, memory.limit_in_bytes); what can be reclaimed counts as used. */
int hc_memory_limit_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_cgroup_limit *ret_limit);

#endif
