/*
 * The control groups that this process is in, as folders.
 *
 * A limit binds a process when its own group or any group above sets it, so a
 * reader has to look at all of them: cgroups(7), and the kernel's
 * Documentation/admin-guide/cgroup-v2.rst under "Top-down Constraint".
 */
#ifndef HC_SYS_CGROUP_H
#define HC_SYS_CGROUP_H

#include "sys/root.h"

/*
 * Calls each(user, folder, version) for the process's group of this controller
 * ("hugetlb", "memory", "cpu"), then for every group above it up to the root of
 * the mount, until one returns non-zero, which is passed on. folder is relative
 * to root, for hc_root_read(): "sys/fs/cgroup/unified/a/b"; valid during the call.
 * version is 1 where the controller is in a hierarchy of version 1, else 2; in
 * version 2 a group that the controller isn't enabled for lacks its files, and
 * nothing but that tells.
 *
 * In a cgroup namespace whose mount was made outside of it the names of the groups
 * between the mount's root and the process aren't known: then only the mount's
 * root, which is an ancestor, is given.
 *
 * Returns 0; -ENOENT where no hierarchy that could hold the controller is
 * mounted, or the group isn't below what is mounted; -ENAMETOOLONG, -ENOMEM;
 * errors of reading proc/self/cgroup and proc/self/mountinfo.
 */
int hc_cgroup_folders(const struct hc_root *root, const char *controller,
        int (*each)(void *user, const char *folder, int version), void *user);

#endif
