#include "compare_args.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

struct reading {
	struct compare_side side;
	/* Which files were read: the same twice would pass for two runs. */
	struct {
		dev_t dev;
		ino_t ino;
	} * seen;
};

void compare_side_free(struct compare_side *side) {
	for (size_t i = 0; i < side->nr_documents; i++)
		results_document_free(side->documents[i]);
	free(side->documents);
	*side = (struct compare_side){0};
}

static int check_unseen(struct reading *reading, const char *path) {
	struct stat st;
	size_t n = reading->side.nr_documents;
	/* Standard input, or it goes wrong when it's opened. */
	if (strcmp(path, "-") == 0 ? fstat(0, &st) < 0 : stat(path, &st) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (reading->seen[i].dev == st.st_dev && reading->seen[i].ino == st.st_ino)
			return hc_fail(EEXIST, "%s: given twice on a side, and would pass for two runs", path);
	reading->seen[n].dev = st.st_dev;
	reading->seen[n].ino = st.st_ino;
	return 0;
}

static int read_file(struct reading *reading, const char *path) {
	size_t n = reading->side.nr_documents;
	if (n == COMPARE_FILES_MAX)
		return hc_fail(E2BIG, "more than %d files on a side", COMPARE_FILES_MAX);
	struct results_document **documents = realloc(
	        reading->side.documents, (n + 1) * sizeof(struct results_document *));
	if (!documents)
		return hc_fail_memory("no memory for %zu files", n + 1);
	reading->side.documents = documents;
	void *seen = realloc(reading->seen, (n + 1) * sizeof(*reading->seen));
	if (!seen)
		return hc_fail_memory("no memory for %zu files", n + 1);
	reading->seen = seen;
	int r = check_unseen(reading, path);
	if (r == 0)
		r = results_read(path, &documents[n]);
	if (r == 0)
		reading->side.nr_documents++;
	return r;
}

static int is_json(const struct dirent *entry) {
	size_t len = strlen(entry->d_name);
	return len > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static int read_folder(struct reading *reading, const char *path) {
	struct dirent **names;
	int n = scandir(path, &names, is_json, alphasort);
	if (n < 0)
		return hc_fail_errno(errno, "%s", path);
	int r = n == 0 ? hc_fail(ENOENT, "%s: no *.json in this folder", path) : 0;
	for (int i = 0; i < n; i++) {
		char *file = NULL;
		if (r == 0 && asprintf(&file, "%s/%s", path, names[i]->d_name) < 0)
			r = hc_fail_memory("no memory for a path");
		else if (r == 0)
			r = read_file(reading, file);
		free(file);
		free(names[i]);
	}
	free(names);
	return r;
}

static int read_path(struct reading *reading, const char *path) {
	struct stat st;
	if (*path == '\0')
		return hc_fail(EINVAL, "an empty name among the files");
	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_folder(reading, path);
	return read_file(reading, path);
}

int compare_side_read(const char *argument, struct compare_side *ret_side) {
	struct reading reading = {0};
	struct stat st;
	char *list = strdup(argument);
	int r = list ? 0 : hc_fail_memory("no memory for the files");
	if (r == 0 && stat(argument, &st) == 0) {
		r = read_path(&reading, argument);
	} else {
		for (char *rest = list, *path; r == 0 && (path = strsep(&rest, ","));)
			r = read_path(&reading, path);
	}
	free(list);
	free(reading.seen);
	if (r < 0) {
		compare_side_free(&reading.side);
		return r;
	}
	*ret_side = reading.side;
	return 0;
}
