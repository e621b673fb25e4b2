/* Any counters of listed pools, and any name of a folder that claims to be one. */
#include "fuzz/files.h"

#include "sys/meminfo.h"
#include "sys/page_sizes.h"
#include "sys/warnings.h"

/* The last section is the name. */
static const char *const paths[] = {"proc/meminfo", "*/nr_hugepages", "*/free_hugepages", "*/resv_hugepages",
        "*/surplus_hugepages", "*/nr_overcommit_hugepages", "name", NULL};
static const char *const folders[] = {"sys/kernel/mm/hugepages/hugepages-1048576kB",
        "sys/kernel/mm/hugepages/hugepages-2048kB", "sys/kernel/mm/hugepages/hugepages-64kB",
        "sys/kernel/mm/hugepages/hugepages-", "sys/devices/system/node/node0/hugepages/hugepages-2048kB", NULL};

static void check_name(const struct hc_root *root) {
	char name[256], folder[HC_POOL_FOLDER_MAX];
	uint64_t bytes;
	if (hc_root_read(root, "name", name, sizeof(name)) < 0 || !hc_page_size_of_folder(name, &bytes))
		return;
	FUZZ_ASSERT(bytes >= 1024 && (bytes & (bytes - 1)) == 0);
	hc_pool_folder(bytes, HC_POOL_MACHINE, folder, sizeof(folder));
	FUZZ_ASSERT(strcmp(strrchr(folder, '/') + 1, name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_files files;
	struct hc_root root = fuzz_root(paths, folders, bytes, len, &files);
	check_name(&root);

	struct hc_warnings warnings = {0};
	struct hc_meminfo meminfo;
	struct hc_pools pools;
	hc_meminfo_read(&root, &warnings, &meminfo);
	if (hc_pools_read(&root, &meminfo, &warnings, &pools) == 0) {
		FUZZ_ASSERT(pools.nr_pools == 3 && pools.has_hugetlb == 1);
		for (unsigned i = 0; i < 3; i++) {
			const struct hc_pool *pool = &pools.pools[i];
			FUZZ_ASSERT(i == 0 || pool[-1].page_size < pool->page_size);
			FUZZ_ASSERT(pool->listed && pool->is_default == (pool->page_size == pools.default_page_size));
			FUZZ_ASSERT(pool->available == HC_UNKNOWN || pool->available <= pool->free);
			FUZZ_ASSERT(pool->persistent == HC_UNKNOWN || pool->persistent <= pool->total);
		}
		hc_pools_free(&pools);
	}

	struct hc_node_pool *node_pools;
	unsigned nr;
	if (hc_node_pools_read(&root, 0, &warnings, &node_pools, &nr) == 0) {
		FUZZ_ASSERT(nr == 1 && node_pools[0].page_size == UINT64_C(2) << 20);
		free(node_pools);
	}
	hc_warnings_clear(&warnings);
	return 0;
}
