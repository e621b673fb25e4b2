#include "sys/limits.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The inode number of the first user namespace: PROC_USER_INIT_INO of the kernel's proc_ns.h, part of its ABI. */
#define FIRST_USER_NAMESPACE 0xEFFFFFFDU

static uint64_t bytes_of(rlim_t limit) {
	return limit == RLIM_INFINITY ? HC_UNKNOWN : (uint64_t)limit;
}

/*
 * 0 where CAP_IPC_LOCK lifts the limit. The kernel asks for the capability in the
 * first user namespace: root of a container with its own doesn't have it,
 * whatever capget(2) says there. -1: can't be told.
 */
static int locked_limit_applies(const struct hc_root *root) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};
	if (syscall(SYS_capget, &header, caps) < 0)
		return -1;
	if (!(caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)))
		return 1;
	struct stat st;
	if (fstatat(root->fd, "proc/self/ns/user", &st, 0) < 0)
		return hc_root_exists(root, "proc/self/ns") ? 0 : -1; /* a kernel without user namespaces */
	return st.st_ino == FIRST_USER_NAMESPACE ? 0 : 1;
}

void hc_limits_read(const struct hc_root *root, struct hc_limits *ret_limits) {
	*ret_limits = (struct hc_limits){
	        .locked_memory_soft = HC_UNKNOWN,
	        .locked_memory_hard = HC_UNKNOWN,
	        .address_space = HC_UNKNOWN,
	        .locked_memory_applies = -1,
	        .memory_cgroup_left = HC_UNKNOWN,
	};
	if (!root->live)
		return;

	struct rlimit limit;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
		ret_limits->locked_memory_soft = bytes_of(limit.rlim_cur);
		ret_limits->locked_memory_hard = bytes_of(limit.rlim_max);
	}
	if (getrlimit(RLIMIT_AS, &limit) == 0)
		ret_limits->address_space = bytes_of(limit.rlim_cur);
	ret_limits->locked_memory_applies = locked_limit_applies(root);
}
