/*
 * Memory policy: thin wrappers over mbind(2), get_mempolicy(2) and
 * move_pages(2).
 *
 * They return 0 or a negative errno with a detail that says what was not done.
 * -EPERM and -ENOSYS come from seccomp profiles (containers' default ones refuse
 * these calls without CAP_SYS_NICE) and from kernels without NUMA: nothing was
 * applied then, and nobody may claim it was. Whether the nodes are there has to
 * be asked before (hc_topology_check_memory(), hc_policy_check()): the kernel uses what it can of a
 * mask, and says -EINVAL only when nothing is left of it.
 */
#ifndef HC_SYS_POLICY_H
#define HC_SYS_POLICY_H

#include <linux/mempolicy.h>
#include <stddef.h>

#include "sys/idset.h"

/*
 * Sets the policy of the pages in [p, p + len); p is a multiple of the page size
 * of what is mapped there. mode is MPOL_BIND, MPOL_PREFERRED, MPOL_INTERLEAVE or
 * MPOL_DEFAULT (nodes NULL then); flags are MPOL_MF_... or 0. -EIO with
 * MPOL_MF_STRICT where pages are elsewhere.
 */
int hc_policy_bind(void *p, size_t len, int mode, const struct hc_idset *nodes, unsigned flags);

/* The nodes that the calling thread may take memory from, by its cpuset; freed by the caller. */
int hc_policy_allowed(struct hc_idset **ret_nodes);

/* -EINVAL with both where a wanted node isn't among those. */
int hc_policy_check(const struct hc_idset *wanted, const struct hc_idset *allowed);

/*
 * The node of each of count pages, by an address within it; -ENOENT and other
 * negative errnos for pages that aren't resident (see move_pages(2)). Moves nothing.
 */
int hc_policy_page_nodes(void *const *pages, size_t count, int *ret_nodes);

#endif
