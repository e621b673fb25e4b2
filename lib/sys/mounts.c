#include "sys/mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/quote.h"
#include "sys/mountinfo.h"
#include "sys/warnings.h"

/* "hugetlbfs /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0" */
struct line {
	char *path, *type, *options;
};

void hc_hugetlbfs_free(struct hc_hugetlbfs_list *list) {
	for (unsigned i = 0; i < list->nr_mounts; i++)
		free((void *)(uintptr_t)list->mounts[i].path);
	free(list->mounts);
	*list = (struct hc_hugetlbfs_list){0};
}

static size_t split_lines(char *text, struct line *lines) {
	size_t nr = 0;
	for (char *rest = text; *rest;) {
		char *fields = hc_mount_field(&rest, '\n');
		hc_mount_field(&fields, ' '); /* the source: any word, "none" and "nodev" too */
		struct line line = {.path = hc_mount_field(&fields, ' ')};
		line.type = hc_mount_field(&fields, ' ');
		line.options = hc_mount_field(&fields, ' ');
		if (*line.path != '/' || *line.type == '\0')
			continue;
		hc_mount_unescape(line.path);
		lines[nr++] = line;
	}
	return nr;
}

/* The value of "name=value" in a mount option, or NULL where it is another option. */
static const char *option_value(const char *option, const char *name) {
	size_t len = strlen(name);
	return strncmp(option, name, len) == 0 && option[len] == '=' ? option + len + 1 : NULL;
}

static uint64_t read_size(const char *path, const char *name, const char *value, struct hc_warnings *warnings) {
	uint64_t bytes;
	if (hc_size_parse(value, &bytes) == 0)
		return bytes;
	hc_warn(warnings, "proc/self/mounts: hugetlbfs on %s: %s isn't a size: %s", hc_quote(path).s, name,
	        hc_quote(value).s);
	return HC_UNKNOWN;
}

/* The kernel writes pagesize in K or M ("1024M"), size and min_size in bytes; others write what was typed. */
static void read_options(char *options, struct hc_warnings *warnings, struct hc_hugetlbfs *mount) {
	for (char *rest = options; *rest;) {
		const char *option = hc_mount_field(&rest, ','), *value;
		if ((value = option_value(option, "pagesize")) != NULL) {
			mount->page_size = read_size(mount->path, "pagesize", value, warnings);
			if (mount->page_size != HC_UNKNOWN && !hc_is_power_of_two(mount->page_size)) {
				hc_warn(warnings,
				        "proc/self/mounts: hugetlbfs on %s: pagesize isn't a power of two: %s",
				        hc_quote(mount->path).s, hc_quote(value).s);
				mount->page_size = HC_UNKNOWN;
			}
		} else if ((value = option_value(option, "size")) != NULL) {
			mount->size_limit = read_size(mount->path, "size", value, warnings);
		} else if ((value = option_value(option, "min_size")) != NULL) {
			uint64_t min_size = read_size(mount->path, "min_size", value, warnings);
			mount->min_size = min_size == HC_UNKNOWN ? 0 : min_size;
		}
	}
}

static bool is_covered(const struct line *lines, size_t nr_lines, size_t i) {
	for (size_t j = i + 1; j < nr_lines; j++)
		if (strcmp(lines[j].path, lines[i].path) == 0)
			return true;
	return false;
}

static int take_mounts(const struct line *lines, size_t nr_lines, uint64_t default_page_size,
        struct hc_warnings *warnings, struct hc_hugetlbfs_list *list) {
	for (size_t i = 0; i < nr_lines; i++) {
		if (strcmp(lines[i].type, "hugetlbfs") != 0 || is_covered(lines, nr_lines, i))
			continue;
		struct hc_hugetlbfs *grown = realloc(list->mounts, (list->nr_mounts + 1) * sizeof(*grown));
		if (!grown)
			return hc_fail_memory("no memory for %u mounts of hugetlbfs", list->nr_mounts + 1);
		list->mounts = grown;
		char *path = strdup(lines[i].path);
		if (!path)
			return hc_fail_memory("no memory for the path of a mount");
		struct hc_hugetlbfs *mount = &list->mounts[list->nr_mounts++];
		*mount = (struct hc_hugetlbfs){.path = path, .page_size = default_page_size, .size_limit = HC_UNKNOWN};
		read_options(lines[i].options, warnings, mount);
	}
	return 0;
}

int hc_hugetlbfs_read(const struct hc_root *root, uint64_t default_page_size, struct hc_warnings *warnings,
        struct hc_hugetlbfs_list *ret_list) {
	struct hc_hugetlbfs_list list = {0};
	char *text = NULL;
	size_t len;
	int r = hc_root_read_all(root, "proc/self/mounts", &text, &len);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (r != -ENOENT)
			hc_warn(warnings, "%s", hc_error_detail());
		*ret_list = list;
		return 0;
	}

	size_t nr_lines = 1;
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		nr_lines++;
	struct line *lines = calloc(nr_lines, sizeof(*lines));
	r = lines ? take_mounts(lines, split_lines(text, lines), default_page_size, warnings, &list)
	          : hc_fail_memory("no memory for %zu lines of proc/self/mounts", nr_lines);
	free(lines);
	free(text);
	if (r < 0)
		hc_hugetlbfs_free(&list);
	else
		*ret_list = list;
	return r;
}
