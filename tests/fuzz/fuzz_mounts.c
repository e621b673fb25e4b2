/* Any table of mounts gives whole paths and page sizes that are powers of two or unknown. */
#include "fuzz/files.h"

#include "sys/mounts.h"
#include "sys/warnings.h"

static const char *const paths[] = {"proc/self/mounts", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_files files;
	struct hc_root root = fuzz_root(paths, NULL, bytes, len, &files);
	struct hc_warnings warnings = {0};
	struct hc_hugetlbfs_list list;
	if (hc_hugetlbfs_read(&root, HC_UNKNOWN, &warnings, &list) == 0) {
		for (unsigned i = 0; i < list.nr_mounts; i++) {
			const struct hc_hugetlbfs *mount = &list.mounts[i];
			FUZZ_ASSERT(mount->path[0] == '/');
			FUZZ_ASSERT(mount->page_size == HC_UNKNOWN ||
			            (mount->page_size && !(mount->page_size & (mount->page_size - 1))));
			for (unsigned k = i + 1; k < list.nr_mounts; k++)
				FUZZ_ASSERT(strcmp(mount->path, list.mounts[k].path) != 0);
		}
		hc_hugetlbfs_free(&list);
	}
	hc_warnings_clear(&warnings);
	return 0;
}
