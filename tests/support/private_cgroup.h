/*
 * A cgroup of version 2 with the hugetlb controller, for one test: a pool that is
 * dry for the test alone. One test of all that run at once has it at a time; what
 * was switched on for it is switched off again.
 */
#ifndef HC_TEST_PRIVATE_CGROUP_H
#define HC_TEST_PRIVATE_CGROUP_H

#include <stdbool.h>

struct private_cgroup {
	char top[4096];  /* where version 2 is mounted: "/sys/fs/cgroup/unified" */
	char path[4200]; /* the group: top and "/hugeclear-test-PID" */
	bool switched_on;
	int lock_fd;
};

/* Returns NULL, or why there can't be one (no root, no such controller, a container). */
const char *private_cgroup_open(struct private_cgroup *ret_group);

/* Writes a file of the group: "hugetlb.2MB.max". False with errno where it can't. */
bool private_cgroup_write(const struct private_cgroup *group, const char *file, const char *text);

/* Moves the calling process, a child of the test, into the group. */
bool private_cgroup_enter(const struct private_cgroup *group);

/* pre: all that entered are gone. False where something is left. */
bool private_cgroup_close(struct private_cgroup *group);

#endif
