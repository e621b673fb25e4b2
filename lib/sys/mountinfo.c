#include "sys/mountinfo.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"

/* Deeper nesting of mounts than this is taken for a circle in a broken table. */
#define NESTING_MAX 256

static bool is_octal(char c) {
	return c >= '0' && c <= '7';
}

void hc_mount_unescape(char *text) {
	char *to = text;
	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && is_octal(from[2]) && is_octal(from[3])) {
			char c = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			/* The kernel never writes \000; as a NUL it would cut the path short. */
			if (c != '\0') {
				*to++ = c;
				from += 4;
				continue;
			}
		}
		*to++ = *from++;
	}
	*to = '\0';
}

char *hc_mount_field(char **rest, char separator) {
	char *field = *rest;
	char *end = strchrnul(field, separator);
	*rest = *end ? end + 1 : end;
	*end = '\0';
	return field;
}

bool hc_mount_has_option(const char *options, const char *word) {
	size_t len = strlen(word);
	for (const char *p = options; *p;) {
		const char *end = strchrnul(p, ',');
		if ((size_t)(end - p) == len && strncmp(p, word, len) == 0)
			return true;
		p = *end ? end + 1 : end;
	}
	return false;
}

bool hc_mount_path_within(const char *path, const char *top, const char **ret_rest) {
	size_t len = strlen(top);
	while (len > 0 && top[len - 1] == '/')
		len--;
	if (path[0] != '/' || strncmp(path, top, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return false;
	*ret_rest = strcmp(path + len, "/") == 0 ? "" : path + len;
	return true;
}

static bool read_id(const char *field, unsigned long *ret_id) {
	uint64_t id;
	if (hc_decimal_parse(field, &id) < 0 || id > ULONG_MAX)
		return false;
	*ret_id = (unsigned long)id;
	return true;
}

/* "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:1 master:2 - tmpfs tmpfs rw,mode=755" */
static bool read_line(char *line, struct hc_mount *ret_mount) {
	const char *id = hc_mount_field(&line, ' ');
	const char *parent = hc_mount_field(&line, ' ');
	hc_mount_field(&line, ' '); /* the device */
	char *root = hc_mount_field(&line, ' ');
	char *point = hc_mount_field(&line, ' ');
	hc_mount_field(&line, ' '); /* this mount's own options */
	while (*line && strcmp(hc_mount_field(&line, ' '), "-") != 0)
		;
	ret_mount->type = hc_mount_field(&line, ' ');
	hc_mount_field(&line, ' '); /* the source */
	ret_mount->options = hc_mount_field(&line, ' ');

	if (!read_id(id, &ret_mount->id) || !read_id(parent, &ret_mount->parent) || *root != '/' || *point != '/' ||
	        *ret_mount->type == '\0')
		return false;
	hc_mount_unescape(root);
	hc_mount_unescape(point);
	ret_mount->root = root;
	ret_mount->point = point;
	return true;
}

int hc_mountinfo_read(const struct hc_root *root, struct hc_mountinfo *ret_mountinfo) {
	char *text = NULL;
	size_t len;
	int r = hc_root_read_all(root, "proc/self/mountinfo", &text, &len);
	if (r < 0)
		return r;

	size_t nr_lines = 1;
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		nr_lines++;
	struct hc_mount *mounts = calloc(nr_lines, sizeof(*mounts));
	if (!mounts) {
		free(text);
		return hc_fail_memory("no memory for %zu lines of proc/self/mountinfo", nr_lines);
	}

	size_t nr = 0;
	for (char *rest = text; *rest;)
		if (read_line(hc_mount_field(&rest, '\n'), &mounts[nr]))
			nr++;
	*ret_mountinfo = (struct hc_mountinfo){.text = text, .mounts = mounts, .nr_mounts = nr};
	return 0;
}

void hc_mountinfo_free(struct hc_mountinfo *mountinfo) {
	free(mountinfo->mounts);
	free(mountinfo->text);
	*mountinfo = (struct hc_mountinfo){0};
}

static const struct hc_mount *find_id(const struct hc_mountinfo *mountinfo, unsigned long id) {
	for (size_t i = 0; i < mountinfo->nr_mounts; i++)
		if (mountinfo->mounts[i].id == id)
			return &mountinfo->mounts[i];
	return NULL;
}

static bool is_mounted_on(const struct hc_mountinfo *mountinfo, const struct hc_mount *mount, unsigned long lower) {
	for (unsigned depth = 0; mount && depth < NESTING_MAX; depth++) {
		if (mount->parent == lower)
			return true;
		mount = mount->parent == mount->id ? NULL : find_id(mountinfo, mount->parent);
	}
	return false;
}

/*
 * A mount that stands later in the table over the same folder or one above it
 * hides this one, unless this one is mounted on it: /proc can stand before the
 * root file system that was put under it later by pivot_root(2).
 */
bool hc_mountinfo_is_hidden(const struct hc_mountinfo *mountinfo, size_t i) {
	const struct hc_mount *mount = &mountinfo->mounts[i];
	const char *rest;
	for (size_t j = i + 1; j < mountinfo->nr_mounts; j++) {
		const struct hc_mount *later = &mountinfo->mounts[j];
		if (hc_mount_path_within(mount->point, later->point, &rest) &&
		        !is_mounted_on(mountinfo, mount, later->id))
			return true;
	}
	return false;
}
