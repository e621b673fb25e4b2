/* Any tables of groups and mounts give folders inside of a mount, and limits that are never more than their file says. */
#include "fuzz/files.h"

#include <hugeclear/hugeclear.h>

#include "sys/cgroup.h"
#include "sys/cgroup_limits.h"
#include "sys/warnings.h"

static const char *const paths[] = {
        "proc/self/cgroup", "proc/self/mountinfo", "*max", "*current", "*limit_in_bytes", "*usage_in_bytes", NULL};

static int look_at(void *user, const char *folder, int version) {
	size_t *last = user, len = strlen(folder);
	FUZZ_ASSERT(version == 1 || version == 2);
	FUZZ_ASSERT(*folder != '/' && *folder != '\0');
	FUZZ_ASSERT(len < *last || strcmp(folder, ".") == 0);
	*last = len;
	for (const char *p = folder; (p = strstr(p, "..")) != NULL; p++)
		FUZZ_ASSERT((p != folder && p[-1] != '/') || (p[2] != '/' && p[2] != '\0'));
	return 0;
}

static void check(const struct hc_cgroup_limit *limit) {
	FUZZ_ASSERT((limit->file == NULL) == (limit->bytes_left == HC_UNKNOWN));
	FUZZ_ASSERT(limit->bytes_left == HC_UNKNOWN || limit->bytes_left < UINT64_C(1) << 62);
	FUZZ_ASSERT(!limit->is_reservation || strstr(limit->file, ".rsvd."));
	free(limit->file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_files files;
	struct hc_root root = fuzz_root(paths, NULL, bytes, len, &files);
	static const char *const controllers[] = {"hugetlb", "memory", "cpu"};
	for (unsigned i = 0; i < 3; i++) {
		size_t last = SIZE_MAX;
		int r = hc_cgroup_folders(&root, controllers[i], look_at, &last);
		FUZZ_ASSERT(r == 0 || hc_error_detail()[0] != '\0');
	}
	struct hc_warnings warnings = {0};
	struct hc_cgroup_limit limit;
	if (hc_hugetlb_limit_read(&root, UINT64_C(2) << 20, &warnings, &limit) == 0)
		check(&limit);
	if (hc_memory_limit_read(&root, &warnings, &limit) == 0)
		check(&limit);
	hc_warnings_clear(&warnings);
	return 0;
}
