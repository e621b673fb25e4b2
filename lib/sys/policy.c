#include "sys/policy.h"

#include <errno.h>
#include <limits.h>
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
	return hc_fail_errno(err, "%s: %s", not_done, call);
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

int hc_policy_set_thread(int mode, const struct hc_idset *nodes) {
	unsigned long *mask, maxnode;
	int r = mask_of(nodes, &mask, &maxnode);
	if (r < 0)
		return r;
	if (syscall(SYS_set_mempolicy, mode, mask, maxnode) < 0)
		r = fail_apply(errno, "set_mempolicy", nodes);
	free(mask);
	return r;
}

/*
 * The kernel refuses a mask that is shorter than its own with EINVAL, and writes
 * no more than its own: the mask grows until it is long enough.
 */
static int get_policy(const void *p, unsigned long flags, int *ret_mode, struct hc_idset **ret_nodes) {
	unsigned long *mask = NULL;
	int err = EINVAL, mode = 0;
	unsigned long bits = MASK_BITS_FIRST;
	for (; err == EINVAL && bits <= MASK_BITS_LAST; bits *= 2) {
		free(mask);
		mask = calloc(bits / CHAR_BIT, 1);
		if (!mask)
			return hc_fail(ENOMEM, "no memory for a mask of %lu nodes", bits);
		/* One more, as the kernel looks at maxnode - 1 bits. */
		err = syscall(SYS_get_mempolicy, &mode, mask, bits + 1, p, flags) < 0 ? errno : 0;
		if (err == 0)
			break;
	}
	struct hc_idset *nodes = NULL;
	int r = err != 0 ? fail_call(err, "get_mempolicy", "the memory policy can't be read")
	                 : hc_idset_from_mask(mask, bits, &nodes);
	free(mask);
	if (r < 0)
		return r;
	if (ret_mode)
		*ret_mode = mode;
	*ret_nodes = nodes;
	return 0;
}

int hc_policy_get_thread(int *ret_mode, struct hc_idset **ret_nodes) {
	return get_policy(NULL, 0, ret_mode, ret_nodes);
}

int hc_policy_get_at(const void *p, int *ret_mode, struct hc_idset **ret_nodes) {
	return get_policy(p, MPOL_F_ADDR, ret_mode, ret_nodes);
}

int hc_policy_allowed(struct hc_idset **ret_nodes) {
	return get_policy(NULL, MPOL_F_MEMS_ALLOWED, NULL, ret_nodes);
}

int hc_policy_page_nodes(void *const *pages, size_t count, int *ret_nodes) {
	if (syscall(SYS_move_pages, 0, count, pages, NULL, ret_nodes, 0) < 0)
		return fail_call(errno, "move_pages", "which node pages are on can't be told");
	return 0;
}
