#include "sys/cgroup_limits.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/error.h"
#include "sys/cgroup.h"
#include "sys/warnings.h"

/*
 * "No limit" of version 1 is LONG_MAX in whole pages, rounded down to whole huge
 * pages: 0x7ffffffffffff000, 0x7fffffffe00000, ... A limit of 2^62 bytes limits nothing.
 */
#define NO_LIMIT_FROM (UINT64_C(1) << 62)

/* A counter is a signed long in the kernel; printed as unsigned, one that went below zero is here or above. */
#define BELOW_ZERO_FROM (UINT64_C(1) << 63)

const char *hc_cgroup_size_name(uint64_t page_size, char *name, size_t name_size) {
	/* mem_fmt() of the kernel's mm/hugetlb_cgroup.c, which knows no T. */
	unsigned shift = page_size >> 30 ? 30 : page_size >> 20 ? 20 : 10;
	snprintf(name, name_size, "%llu%cB", (unsigned long long)(page_size >> shift),
	        shift == 30   ? 'G'
	        : shift == 20 ? 'M'
	                      : 'K');
	return name;
}

struct search {
	const struct hc_root *root;
	struct hc_warnings *warnings;
	const char *controller; /* "hugetlb" */
	const char *prefix;     /* of its files: "hugetlb.2MB", "memory" */
	bool has_reservations;  /* there are files with ".rsvd" behind the prefix too */
	struct hc_cgroup_limit best;
};

/* HC_UNKNOWN where there is no such file or it holds no number ("max"). */
static uint64_t read_bytes(const struct search *search, const char *path) {
	char text[64];
	int r = hc_root_read(search->root, path, text, sizeof(text));
	if (r >= 0 && (strcmp(text, "max\n") == 0 || strcmp(text, "max") == 0))
		return HC_UNKNOWN;
	uint64_t bytes;
	if (r >= 0)
		r = hc_root_read_u64(search->root, path, &bytes);
	if (r >= 0)
		return bytes;
	if (r != -ENOENT && r != -ENOTDIR)
		hc_warn(search->warnings, "%s", hc_error_detail());
	return HC_UNKNOWN;
}

static uint64_t read_usage(const struct search *search, const char *path) {
	uint64_t usage = read_bytes(search, path);
	if (usage != HC_UNKNOWN && usage < BELOW_ZERO_FROM)
		return usage;
	if (usage != HC_UNKNOWN) {
		char name[PATH_MAX];
		hc_warn(search->warnings, "%s: %llu: the kernel's counter went below zero; taken for 0",
		        hc_root_name(search->root, path, name, sizeof(name)), (unsigned long long)usage);
	}
	return 0;
}

static int consider_limit(struct search *search, const char *folder, int version, bool is_reservation) {
	struct hc_cgroup_limit *best = &search->best;
	const char *rsvd = is_reservation ? ".rsvd" : "";
	char limit_path[PATH_MAX], usage_path[PATH_MAX];
	int n = snprintf(limit_path, sizeof(limit_path), "%s/%s%s.%s", folder, search->prefix, rsvd,
	        version == 1 ? "limit_in_bytes" : "max");
	int m = snprintf(usage_path, sizeof(usage_path), "%s/%s%s.%s", folder, search->prefix, rsvd,
	        version == 1 ? "usage_in_bytes" : "current");
	if ((size_t)n >= sizeof(limit_path) || (size_t)m >= sizeof(usage_path))
		return 0; /* a path that can't be opened anyway */

	uint64_t limit = read_bytes(search, limit_path);
	uint64_t usage = read_usage(search, usage_path); /* also without a limit: for the warning */
	if (limit >= NO_LIMIT_FROM)
		return 0;
	uint64_t left = limit > usage ? limit - usage : 0;
	bool tighter = left < best->bytes_left || (left == best->bytes_left && is_reservation && !best->is_reservation);
	if (!tighter)
		return 0;

	char name[PATH_MAX * 2];
	char *file = strdup(hc_root_name(search->root, limit_path, name, sizeof(name)));
	if (!file)
		return hc_fail_memory("no memory for the name of a cgroup limit");
	free(best->file);
	*best = (struct hc_cgroup_limit){.bytes_left = left, .file = file, .is_reservation = is_reservation};
	return 0;
}

static int consider_group(void *user, const char *folder, int version) {
	struct search *search = user;
	int r = search->has_reservations ? consider_limit(search, folder, version, true) : 0;
	return r < 0 ? r : consider_limit(search, folder, version, false);
}

static int search_groups(struct search *search, struct hc_cgroup_limit *ret_limit) {
	search->best = (struct hc_cgroup_limit){.bytes_left = HC_UNKNOWN};
	int r = hc_cgroup_folders(search->root, search->controller, consider_group, search);
	if (r == -ENOMEM) {
		free(search->best.file);
		return r;
	}
	if (r < 0 && r != -ENOENT)
		hc_warn(search->warnings, "limits of the %s controller: %s", search->controller, hc_error_detail());
	*ret_limit = search->best;
	return 0;
}

int hc_hugetlb_limit_read(const struct hc_root *root, uint64_t page_size, struct hc_warnings *warnings,
        struct hc_cgroup_limit *ret_limit) {
	char size_name[HC_CGROUP_SIZE_NAME_MAX], prefix[HC_CGROUP_SIZE_NAME_MAX + 16];
	hc_cgroup_size_name(page_size, size_name, sizeof(size_name));
	snprintf(prefix, sizeof(prefix), "hugetlb.%s", size_name);
	struct search search = {.root = root,
	        .warnings = warnings,
	        .controller = "hugetlb",
	        .prefix = prefix,
	        .has_reservations = true};
	return search_groups(&search, ret_limit);
}

int hc_memory_limit_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_cgroup_limit *ret_limit) {
	struct search search = {.root = root, .warnings = warnings, .controller = "memory", .prefix = "memory"};
	return search_groups(&search, ret_limit);
}
