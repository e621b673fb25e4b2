#include "support/private_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = write(fd, text, strlen(text));
	int saved = errno;
	close(fd);
	errno = saved;
	return n == (ssize_t)strlen(text);
}

/* 1 or 0: the file has this word. -1: it can't be read. */
static int file_has(const char *folder, const char *file, const char *word) {
	char path[4400], text[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	FILE *f = fopen(path, "re");
	if (!f)
		return -1;
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	for (char *save = NULL, *found = strtok_r(text, " \n", &save); found; found = strtok_r(NULL, " \n", &save))
		if (strcmp(found, word) == 0)
			return 1;
	return 0;
}

/* Not by the reader under test. The paths of real machines have no spaces here. */
static bool find_version_2(char *top, size_t top_size) {
	char line[8192], point[4096];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	if (!f)
		return false;
	bool found = false;
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s / %4095s", point) == 1;
	fclose(f);
	if (found)
		snprintf(top, top_size, "%s", point);
	return found;
}

static const char *refuse(struct private_cgroup *group, const char *reason) {
	private_cgroup_close(group);
	return reason;
}

const char *private_cgroup_open(struct private_cgroup *ret_group) {
	struct private_cgroup *group = ret_group;
	*group = (struct private_cgroup){.lock_fd = -1};
	if (geteuid() != 0)
		return "a cgroup of its own needs root";
	if (!find_version_2(group->top, sizeof(group->top)))
		return "cgroup version 2 isn't mounted";
	if (file_has(group->top, "cgroup.controllers", "hugetlb") != 1)
		return "the hugetlb controller isn't in cgroup version 2";
	group->lock_fd = open("/run/hugeclear-test-cgroup.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (group->lock_fd < 0 || flock(group->lock_fd, LOCK_EX) < 0)
		return refuse(group, "/run/hugeclear-test-cgroup.lock can't be locked");

	char control[4200];
	snprintf(control, sizeof(control), "%s/cgroup.subtree_control", group->top);
	if (file_has(group->top, "cgroup.subtree_control", "hugetlb") != 1) {
		if (!write_file(control, "+hugetlb"))
			return refuse(group, "the hugetlb controller can't be switched on here");
		group->switched_on = true;
	}
	snprintf(group->path, sizeof(group->path), "%.4000s/hugeclear-test-%d", group->top, getpid());
	if (mkdir(group->path, 0755) < 0) {
		group->path[0] = '\0';
		return refuse(group, "a cgroup can't be made here");
	}
	return NULL;
}

bool private_cgroup_write(const struct private_cgroup *group, const char *file, const char *text) {
	char path[4400];
	snprintf(path, sizeof(path), "%s/%s", group->path, file);
	return write_file(path, text);
}

bool private_cgroup_enter(const struct private_cgroup *group) {
	return private_cgroup_write(group, "cgroup.procs", "0");
}

bool private_cgroup_close(struct private_cgroup *group) {
	bool clean = true;
	/* A process that was waited for leaves its group a moment later. */
	for (unsigned tries = 0; group->path[0] && rmdir(group->path) < 0; tries++) {
		if (errno != EBUSY || tries == 200) {
			clean = false;
			break;
		}
		usleep(10000);
	}
	if (group->switched_on) {
		char control[4200];
		snprintf(control, sizeof(control), "%s/cgroup.subtree_control", group->top);
		clean = write_file(control, "-hugetlb") && clean;
	}
	if (group->lock_fd >= 0)
		close(group->lock_fd);
	*group = (struct private_cgroup){.lock_fd = -1};
	return clean;
}
