#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

const char *fixture_path(const char *name) {
	static char path[4096];
	const char *folder = getenv("HC_TEST_FIXTURES");
	if (!folder)
		fail_msg("HC_TEST_FIXTURES isn't set: run the tests through meson test");
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

char *fixture_read(const char *name) {
	FILE *f = fopen(fixture_path(name), "re");
	if (!f)
		fail_msg("%s: %s", fixture_path(name), strerror(errno));
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	char buf[4096];
	size_t n;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		assert_int_equal(fwrite(buf, 1, n, out), n);
	fclose(out);
	fclose(f);
	return text;
}

static void unescape(char *text) {
	char *to = text;
	for (const char *from = text; *from; from++) {
		char c = *from;
		if (c == '\\' && from[1]) {
			from++;
			c = (char)(*from == 'n' ? '\n' : *from == 't' ? '\t' : *from == 'r' ? '\r' : *from);
		}
		*to++ = c;
	}
	*to = '\0';
}

unsigned fixture_rows(const char *name, void (*row)(void *user, char **fields, unsigned nr_fields), void *user) {
	char *text = fixture_read(name);
	unsigned rows = 0;
	for (char *line = text, *end; *line; line = end + 1) {
		end = strchrnul(line, '\n');
		bool last = *end == '\0';
		*end = '\0';
		if (*line != '#' && (*line != '\0' || !last)) {
			char *fields[16];
			unsigned nr = 0;
			for (char *field = line; field && nr < 16; nr++) {
				fields[nr] = field;
				char *tab = strchr(field, '\t');
				if (tab)
					*tab = '\0';
				field = tab ? tab + 1 : NULL;
			}
			for (unsigned i = 0; i < nr; i++)
				unescape(fields[i]);
			row(user, fields, nr);
			rows++;
		}
		if (last)
			break;
	}
	free(text);
	assert_true(rows > 0);
	return rows;
}

char *temp_folder(void) {
	const char *base = getenv("TMPDIR");
	char *path = NULL;
	assert_true(asprintf(&path, "%s/hugeclear-test-XXXXXX", base ? base : "/tmp") > 0);
	assert_non_null(mkdtemp(path));
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void temp_folder_remove(char *path) {
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(path);
}

static void make_folders(char *path) {
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0)
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
}

void tree_write(const char *root, const char *path, const char *text) {
	char full[4096];
	snprintf(full, sizeof(full), "%s/%s", root, path);
	make_folders(full);
	if (full[strlen(full) - 1] == '/')
		return;
	FILE *f = fopen(full, "we");
	if (!f)
		fail_msg("%s: %s", full, strerror(errno));
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void unpack_row(void *user, char **fields, unsigned nr_fields) {
	tree_write(user, fields[0], nr_fields > 1 ? fields[1] : "");
}

char *tree_unpack(const char *name) {
	char *root = temp_folder();
	fixture_rows(name, unpack_row, root);
	return root;
}

void assert_return(int r, int expected, const char *what) {
	if (r != expected)
		fail_msg("%s returned %d, not %d; detail: %s", what, r, expected, hc_error_detail());
}

void assert_contains(const char *text, const char *part) {
	if (!text || !strstr(text, part))
		fail_msg("'%s' isn't in '%s'", part, text ? text : "(null)");
}

__attribute__((weak)) void __asan_init(void);
__attribute__((weak)) void __tsan_init(void);

bool under_sanitizer(void) {
	return __asan_init || __tsan_init;
}

unsigned count_files(const char *folder) {
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	unsigned n = 0;
	for (const struct dirent *entry; (entry = readdir(dir));)
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n;
}
