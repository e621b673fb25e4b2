/*
 * The input of a fuzzer as several files below a root: sections between bytes
 * 0x1e are the contents of the paths in their order; a path without a section
 * isn't there. Folders, which the double doesn't serve, are those of a temporary root.
 */
#ifndef HC_FUZZ_FILES_H
#define HC_FUZZ_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "sys/root.h"

#define FUZZ_FILES_MAX 16
#define FUZZ_SEPARATOR 0x1e

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define FUZZ_ASSERT(condition)                                                                                         \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct fuzz_files {
	/* A path, or the end of one after "*": "*.max". NULL behind the last. */
	const char *const *paths;
	struct {
		const uint8_t *bytes;
		size_t len;
	} sections[FUZZ_FILES_MAX];
	unsigned nr_sections;
};

static inline bool fuzz_path_matches(const char *pattern, const char *path) {
	if (*pattern != '*')
		return strcmp(pattern, path) == 0;
	size_t len = strlen(path), tail = strlen(pattern + 1);
	return len >= tail && strcmp(path + len - tail, pattern + 1) == 0;
}

/* As hc_root_read(). */
static inline int fuzz_read(void *user, const char *path, char *buf, size_t buf_size) {
	const struct fuzz_files *files = user;
	for (unsigned i = 0; files->paths[i] && i < files->nr_sections; i++) {
		if (!fuzz_path_matches(files->paths[i], path))
			continue;
		size_t len = files->sections[i].len;
		if (len >= buf_size)
			return hc_fail(EFBIG, "/%s: longer than %zu bytes", path, buf_size - 1);
		if (len > 0 && memchr(files->sections[i].bytes, '\0', len))
			return hc_fail(EBADMSG, "/%s: holds a NUL byte", path);
		if (len > 0)
			memcpy(buf, files->sections[i].bytes, len);
		buf[len] = '\0';
		return (int)len;
	}
	return hc_fail(ENOENT, "/%s: no such file", path);
}

static char fuzz_folder[] = "/tmp/hugeclear-fuzz-XXXXXX";

static inline void fuzz_remove_folder(void) {
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", fuzz_folder);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", fuzz_folder);
}

/* The root that serves the sections of this input. folders: relative paths made once, NULL behind the last. */
static inline struct hc_root fuzz_root(const char *const *paths, const char *const *folders, const uint8_t *bytes,
        size_t len, struct fuzz_files *ret_files) {
	static int fd = -1;
	if (fd < 0) {
		FUZZ_ASSERT(mkdtemp(fuzz_folder));
		atexit(fuzz_remove_folder);
		fd = open(fuzz_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (unsigned i = 0; folders && folders[i]; i++) {
			char path[512];
			snprintf(path, sizeof(path), "%s/%s/", fuzz_folder, folders[i]);
			for (char *slash = path + sizeof(fuzz_folder); (slash = strchr(slash, '/')) != NULL; slash++) {
				*slash = '\0';
				FUZZ_ASSERT(mkdir(path, 0755) == 0 || errno == EEXIST);
				*slash = '/';
			}
		}
	}

	*ret_files = (struct fuzz_files){.paths = paths};
	for (size_t begin = 0; begin <= len && ret_files->nr_sections < FUZZ_FILES_MAX;) {
		const uint8_t *end = begin < len ? memchr(bytes + begin, FUZZ_SEPARATOR, len - begin) : NULL;
		size_t section = end ? (size_t)(end - bytes) - begin : len - begin;
		ret_files->sections[ret_files->nr_sections].bytes = section > 0 ? bytes + begin : NULL;
		ret_files->sections[ret_files->nr_sections++].len = section;
		begin += section + 1;
	}
	return (struct hc_root){.fd = fd, .path = fuzz_folder, .read = fuzz_read, .user = ret_files};
}

#endif
