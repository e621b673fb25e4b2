/* The CPUs that the calling thread may run on. */
#ifndef HC_SYS_AFFINITY_H
#define HC_SYS_AFFINITY_H

#include <stddef.h>

#include "sys/idset.h"

/*
 * A list of CPUs that an option gives, "0-3,8"; NULL for text NULL. -EINVAL where it can't be read, is
 * empty, or has a number that no CPU has. Freed by the caller.
 */
int hc_affinity_parse(const char *text, struct hc_idset **ret_cpus);

/*
 * The affinity of the calling thread, never empty; freed by the caller. The mask
 * grows until the kernel's fits: 1024 CPUs aren't the end.
 */
int hc_affinity_get(struct hc_idset **ret_allowed);

/*
 * The same with another system call, for tests: fills mask, which has size
 * bytes, and returns the bytes written or a negative errno, as sched_getaffinity(2).
 */
int hc_affinity_get_from(long (*getaffinity)(size_t size, unsigned long *mask), struct hc_idset **ret_allowed);

/*
 * 0 where every wanted CPU is allowed, else -EINVAL with both sets in the detail.
 * Has to be asked before every pinning: sched_setaffinity(2) drops CPUs that
 * aren't there without a word as long as one is left. An empty set is -EINVAL.
 */
int hc_affinity_check(const struct hc_idset *wanted, const struct hc_idset *allowed);

/* Pins the calling thread to these CPUs, after checking them. -EINVAL with the affinity in the detail. */
int hc_affinity_pin(const struct hc_idset *cpus);

/* The same without the check: puts back what hc_affinity_get() gave. */
int hc_affinity_set(const struct hc_idset *cpus);

#endif
