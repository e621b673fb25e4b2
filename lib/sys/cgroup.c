#include "sys/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sys/mountinfo.h"

/* Which hierarchy holds the controller, and the path of the process's group in it. */
struct membership {
	int version; /* 0: in none */
	const char *path;
};

static bool has_dot_dot(const char *path) {
	for (const char *p = path; (p = strstr(p, "/..")) != NULL; p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return true;
	return false;
}

/*
 * Lines are "7:cpu,cpuacct:/path" for version 1 and "0::/path" for version 2. A
 * path may hold colons. A controller is in one hierarchy only, so one that no
 * line of version 1 names can only be in version 2.
 */
static struct membership find_membership(char *text, const char *controller) {
	struct membership found = {0};
	for (char *rest = text; *rest;) {
		char *path = hc_mount_field(&rest, '\n');
		const char *id = hc_mount_field(&path, ':');
		const char *controllers = hc_mount_field(&path, ':');
		if (*path != '/')
			continue;
		if (hc_mount_has_option(controllers, controller))
			return (struct membership){.version = 1, .path = path};
		if (strcmp(id, "0") == 0 && *controllers == '\0')
			found = (struct membership){.version = 2, .path = path};
	}
	return found;
}

/* "/..", "/../..": the root of a mount that was made outside of this cgroup namespace, so many levels above its root. */
static bool is_above_namespace(const char *mount_root) {
	const char *p = mount_root;
	while (strncmp(p, "/..", 3) == 0 && (p[3] == '/' || p[3] == '\0'))
		p += 3;
	return p != mount_root && *p == '\0';
}

/*
 * The mount through which the group is best seen: one that shows the most groups
 * above it, the latest of several. *ret_rest is the group's path below the
 * mount's root.
 */
static const struct hc_mount *find_mount(
        const struct hc_mountinfo *mountinfo, const char *controller, struct membership group, const char **ret_rest) {
	const struct hc_mount *best = NULL, *above = NULL;
	for (size_t i = 0; i < mountinfo->nr_mounts; i++) {
		const struct hc_mount *mount = &mountinfo->mounts[i];
		bool fits = group.version == 1 ? strcmp(mount->type, "cgroup") == 0 &&
		                                         hc_mount_has_option(mount->options, controller)
		                               : strcmp(mount->type, "cgroup2") == 0;
		if (!fits || has_dot_dot(mount->point) || hc_mountinfo_is_hidden(mountinfo, i))
			continue;
		const char *rest;
		if (hc_mount_path_within(group.path, mount->root, &rest) && !has_dot_dot(rest)) {
			if (!best || strlen(mount->root) <= strlen(best->root)) {
				best = mount;
				*ret_rest = rest;
			}
		} else if (is_above_namespace(mount->root) && !has_dot_dot(group.path)) {
			above = mount;
		}
	}
	if (!best && above) {
		best = above;
		*ret_rest = "";
	}
	return best;
}

static int walk_up(const char *point, const char *rest, int version,
        int (*each)(void *user, const char *folder, int version), void *user) {
	char folder[PATH_MAX];
	while (*point == '/')
		point++;
	int len = snprintf(folder, sizeof(folder), "%s%s", point, *point ? rest : rest + (*rest == '/'));
	if (len < 0 || (size_t)len >= sizeof(folder))
		return hc_fail(ENAMETOOLONG, "the path of this process's cgroup is longer than %d bytes", PATH_MAX - 1);

	size_t top = strlen(point);
	for (;;) {
		int r = each(user, *folder ? folder : ".", version);
		if (r != 0)
			return r;
		if (strlen(folder) <= top)
			return 0;
		char *slash = strrchr(folder, '/');
		*(slash && (size_t)(slash - folder) > top ? slash : folder + top) = '\0';
	}
}

int hc_cgroup_folders(const struct hc_root *root, const char *controller,
        int (*each)(void *user, const char *folder, int version), void *user) {
	char *text = NULL;
	size_t len;
	struct hc_mountinfo mountinfo = {0};
	int r = hc_root_read_all(root, "proc/self/cgroup", &text, &len);
	if (r < 0)
		return r;

	struct membership group = find_membership(text, controller);
	if (group.version == 0) {
		r = hc_fail(
		        ENOENT, "this process is in no cgroup hierarchy that could have the %s controller", controller);
		goto out;
	}
	r = hc_mountinfo_read(root, &mountinfo);
	if (r < 0)
		goto out;

	const char *rest = "";
	const struct hc_mount *mount = find_mount(&mountinfo, controller, group, &rest);
	if (!mount)
		r = hc_fail(ENOENT, "no cgroup hierarchy that shows '%.200s' with the %s controller is mounted",
		        group.path, controller);
	else
		r = walk_up(mount->point, rest, group.version, each, user);
out:
	hc_mountinfo_free(&mountinfo);
	free(text);
	return r;
}
