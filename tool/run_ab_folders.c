#include "run_ab_folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hints.h"
#include "results/compare.h"

const char *const run_ab_side_names[COMPARE_SIDES] = {"base", "patched"};

static char *folder_of(const struct run_ab_folders *folders, int side) {
	char *path;
	return asprintf(&path, "%s/%s", folders->path, run_ab_side_names[side]) < 0 ? NULL : path;
}

char *run_ab_folders_file(const struct run_ab_folders *folders, int side, uint64_t number) {
	char *path;
	return asprintf(&path, "%s/%s/%03llu.json", folders->path, run_ab_side_names[side],
	               (unsigned long long)number) < 0
	               ? NULL
	               : path;
}

static int make_top(struct run_ab_folders *folders) {
	if (folders->wanted) {
		folders->path = strdup(folders->wanted);
		if (folders->path && mkdir(folders->path, 0777) < 0 && errno != EEXIST)
			return hc_fail_errno(errno, "the folder '%s' can't be made", folders->path);
	} else {
		const char *temporary = getenv("TMPDIR");
		if (asprintf(&folders->path, "%s/hugeclear-run-ab.XXXXXX",
		            temporary && *temporary ? temporary : "/tmp") < 0)
			folders->path = NULL;
		if (folders->path && !mkdtemp(folders->path))
			return hc_fail_errno(errno, "no temporary folder '%s' can be made", folders->path);
		folders->temporary = folders->path != NULL;
	}
	return folders->path ? 0 : hc_fail_memory("no memory for a path");
}

int run_ab_folders_make(struct run_ab_folders *folders) {
	int r = make_top(folders);
	for (int side = 0; side < COMPARE_SIDES && r == 0; side++) {
		char *path = folder_of(folders, side);
		if (!path)
			return hc_fail_memory("no memory for a path");
		/* Results of another time among these would be compared with them. */
		if (mkdir(path, 0777) < 0)
			r = hc_fail_errno(errno, "the folder '%s' can't be made%s", path,
			        errno == EEXIST ? "; results of an earlier time are kept" : "");
		free(path);
	}
	return r;
}

void run_ab_folders_remove_file(const struct run_ab_folders *folders, int side, uint64_t number) {
	char *path = run_ab_folders_file(folders, side, number);
	if (path)
		unlink(path);
	free(path);
}

void run_ab_folders_end(struct run_ab_folders *folders, uint64_t last) {
	for (int side = 0; side < COMPARE_SIDES && folders->temporary; side++) {
		for (uint64_t number = 0; number <= last; number++)
			run_ab_folders_remove_file(folders, side, number);
		char *path = folder_of(folders, side);
		if (path)
			rmdir(path);
		free(path);
	}
	if (folders->temporary)
		rmdir(folders->path);
	free(folders->path);
	folders->path = NULL;
}
