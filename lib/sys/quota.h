/* How many CPUs' time this process may use, whatever its affinity says: the quotas of its cgroups. */
#ifndef HC_SYS_QUOTA_H
#define HC_SYS_QUOTA_H

#include <stdint.h>

#include "sys/root.h"
#include "sys/warnings.h"

struct hc_quota {
	uint64_t quota_us, period_us; /* the tightest; HC_UNKNOWN: none */
	char file[512];               /* that says so, for messages; cut where it doesn't fit; "" where none */
};

/*
 * The tightest quota of the process's group and all groups above it: cpu.max in
 * version 2, cpu.cfs_quota_us and cpu.cfs_period_us in version 1. A file that
 * makes no sense is no quota, with a warning. See the kernel's
 * Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
 */
void hc_quota_read(const struct hc_root *root, struct hc_warnings *sink, struct hc_quota *ret_quota);

/* Threads to use where the caller names no number. */
struct hc_default_threads {
	unsigned threads; /* at least 1 */
	char why[640];    /* "affinity (2 CPUs)", "cgroup quota 1.5 CPUs (/sys/fs/cgroup/a/cpu.max)" */
};

/*
 * min(CPUs, quota rounded up to whole CPUs): cpus of them there are, by what
 * ("affinity", "online").
 */
void hc_default_threads(
        unsigned cpus, const char *by, const struct hc_quota *quota, struct hc_default_threads *ret_default);

/* The calling thread's, on this machine. Errors of reading the affinity. */
int hc_default_threads_here(struct hc_default_threads *ret_default);

#endif
