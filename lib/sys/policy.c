#include "sys/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#define MASK_BITS_FIRST 1024ul /* the kernel's MAX_NUMNODES as built today */
#define MASK_BITS_LAST ((unsigned long)HC_IDSET_MAX + 1)

/* Where the calls aren't there for this process, as against called wrongly. */
static int fail_call(int err, const char *call, const char *not_done) {
	if (err == EPERM)
		return hc_fail(err,
		        "%s: %s is forbidden here (a container's seccomp profile does that): allow it, or "
		        "give the process CAP_SYS_NICE",
		        not_done, call);
	if (err == ENOSYS)
		return hc_fail(err, "%s: %s isn't there (a kernel without NUMA, or a seccomp profile)", not_done, call);
	return hc_fail_call(err, "%s: %s", not_done, call);
}

static int fail_apply(int err, const char *call, const struct hc_idset *nodes) {
	if (err == EINVAL)
		return hc_fail(err,
		        "the memory policy was not applied: %s takes none of the nodes '%s' (they lack memory, or the "
		        "cpuset doesn't allow them), or the range isn't page-aligned",
		        call, hc_idset_text(nodes));
	return fail_call(err, call, "the memory policy was not applied");
}

/* MPOL_DEFAULT and MPOL_LOCAL take no nodes: no mask then, whose maxnode is 0. */
static int mask_of(const struct hc_idset *nodes, unsigned long **ret_mask, unsigned long *ret_maxnode) {
	*ret_mask = NULL;
	*ret_maxnode = 0;
	return nodes ? hc_idset_mask(nodes, ret_mask, ret_maxnode) : 0;
}

int hc_policy_bind(void *p, size_t len, int mode, const struct hc_idset *nodes, unsigned flags) {
	unsigned long *mask, maxnode;
	int r = mask_of(nodes, &mask, &maxnode);
	if (r < 0)
		return r;
	if (syscall(SYS_mbind, p, len, mode, mask, maxnode, flags) < 0)
		r = fail_apply(errno, "mbind", nodes);
	free(mask);
	return r;
}

/*
 * The kernel refuses a mask that is shorter than its own with EINVAL, and writes
 * no more than its own: the mask grows until it is long enough.
 */
int hc_policy_allowed(struct hc_idset **ret_nodes) {
	unsigned long *mask = NULL;
	int err = EINVAL;
	unsigned long bits = MASK_BITS_FIRST;
	for (; err == EINVAL && bits <= MASK_BITS_LAST; bits *= 2) {
		free(mask);
		mask = calloc(bits / CHAR_BIT, 1);
		if (!mask)
			return hc_fail_memory("no memory for a mask of %lu nodes", bits);
		/* One more, as the kernel looks at maxnode - 1 bits. */
		err = syscall(SYS_get_mempolicy, NULL, mask, bits + 1, NULL, MPOL_F_MEMS_ALLOWED) < 0 ? errno : 0;
		if (err == 0)
			break;
	}
	int r = err != 0 ? fail_call(err, "get_mempolicy", "the nodes of the cpuset can't be read")
	                 : hc_idset_from_mask(mask, bits, ret_nodes);
	free(mask);
	return r;
}

int hc_policy_check(const struct hc_idset *wanted, const struct hc_idset *allowed) {
	if (hc_idset_is_subset(wanted, allowed))
		return 0;
	struct hc_idset *missing = NULL;
	int r = hc_idset_copy(wanted, &missing);
	if (r < 0)
		return r;
	hc_idset_subtract(missing, allowed);
	bool several = hc_idset_count(missing) > 1;
	r = hc_fail(EINVAL, "memory on node%s %s is wanted, but this process's cpuset doesn't allow %s, only %s",
	        several ? "s" : "", hc_idset_text(missing), several ? "them" : "it", hc_idset_text(allowed));
	hc_idset_free(missing);
	return r;
}

int hc_policy_page_nodes(void *const *pages, size_t count, int *ret_nodes) {
	if (syscall(SYS_move_pages, 0, count, pages, NULL, ret_nodes, 0) < 0)
		return fail_call(errno, "move_pages", "which node pages are on can't be told");
	return 0;
}
