/* Any meminfo gives numbers or unknown ones; where no pools are listed, at most one pool that holds together. */
#include "fuzz/files.h"

#include "sys/meminfo.h"
#include "sys/page_sizes.h"
#include "sys/warnings.h"

static const char *const paths[] = {"proc/meminfo", "proc/sys/vm/nr_overcommit_hugepages", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_files files;
	struct hc_root root = fuzz_root(paths, NULL, bytes, len, &files);
	struct hc_warnings warnings = {0};
	struct hc_meminfo meminfo;
	hc_meminfo_read(&root, &warnings, &meminfo);
	uint64_t size = meminfo.default_huge_page_size;
	FUZZ_ASSERT(size == HC_UNKNOWN || (size != 0 && (size & (size - 1)) == 0));

	struct hc_pools pools;
	if (hc_pools_read(&root, &meminfo, &warnings, &pools) == 0) {
		FUZZ_ASSERT(pools.nr_pools == (size != HC_UNKNOWN));
		FUZZ_ASSERT(pools.nr_pools == 0 || pools.has_hugetlb == 1);
		FUZZ_ASSERT(pools.hugetlb_elsewhere == HC_UNKNOWN || pools.hugetlb_elsewhere <= meminfo.hugetlb);
		if (pools.nr_pools == 1) {
			const struct hc_pool *pool = &pools.pools[0];
			FUZZ_ASSERT(pool->page_size == size && pool->is_default && !pool->listed);
			FUZZ_ASSERT(pool->available == HC_UNKNOWN || pool->available <= pool->free);
			FUZZ_ASSERT(pool->persistent == HC_UNKNOWN || pool->persistent <= pool->total);
		}
		hc_pools_free(&pools);
	}
	hc_warnings_clear(&warnings);
	return 0;
}
