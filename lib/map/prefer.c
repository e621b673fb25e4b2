#include "map/prefer.h"

#include <errno.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "sys/meminfo.h"
#include "sys/page_sizes.h"
#include "sys/thp.h"

/* Without a page size asked for, rounding up may waste this part of the length. */
#define WASTE_PART 8

static void add(struct hc_candidates *candidates, struct hc_candidate candidate) {
	if (candidates->nr < HC_CANDIDATES_MAX)
		candidates->list[candidates->nr++] = candidate;
}

/* Where memfd_create isn't there a shared mapping without a descriptor is the next best. */
static void add_preferred(struct hc_candidates *candidates, struct hc_candidate candidate, bool memfd) {
	candidate.memfd = candidate.shared = memfd;
	add(candidates, candidate);
	candidate.memfd = false;
	if (memfd)
		add(candidates, candidate);
}

static bool wastes_little(size_t len, uint64_t page_size) {
	uint64_t rounded;
	return hc_align_up_ok(len, page_size, &rounded) && rounded - len <= len / WASTE_PART;
}

static int read_pools(const struct hc_root *root, struct hc_pools *ret_pools) {
	struct hc_meminfo meminfo;
	hc_meminfo_read(root, NULL, &meminfo);
	return hc_pools_read(root, &meminfo, NULL, ret_pools);
}

static int list_hugetlb(
        const struct hc_root *root, size_t len, const struct hc_map_opts *opts, struct hc_candidates *candidates) {
	struct hc_pools pools;
	int r = read_pools(root, &pools);
	if (r < 0)
		return r;
	for (unsigned i = pools.nr_pools; i-- > 0;) {
		uint64_t size = pools.pools[i].page_size;
		if (opts->page_size ? size <= opts->page_size : wastes_little(len, size))
			add_preferred(candidates, (struct hc_candidate){.kind = HC_PAGES_HUGETLB, .page_size = size},
			        opts->flags & HC_MAP_MEMFD);
	}
	hc_pools_free(&pools);
	return 0;
}

/* The PMD's size where it isn't above the one asked for, else that one itself, if the kernel has THP of it. */
static int list_thp(const struct hc_root *root, size_t len, uint64_t page_size, struct hc_candidates *candidates) {
	struct hc_thp_settings settings;
	int r = hc_thp_read(root, NULL, &settings);
	if (r < 0)
		return r;
	uint64_t size = settings.thp.present == 0 || settings.thp.pmd_size == HC_UNKNOWN ? 0 : settings.thp.pmd_size;
	if (page_size != 0 && page_size < size) {
		size = 0;
		for (unsigned i = 0; i < settings.nr_mthp; i++)
			if (settings.mthp[i].page_size == page_size)
				size = page_size;
	}
	hc_thp_free(&settings);
	if (size != 0 && size <= len)
		add(candidates, (struct hc_candidate){.kind = HC_PAGES_THP, .page_size = size});
	return 0;
}

static int default_size(const struct hc_root *root, uint64_t *ret_size) {
	struct hc_pools pools;
	int r = read_pools(root, &pools);
	if (r < 0)
		return r;
	*ret_size = pools.default_page_size;
	hc_pools_free(&pools);
	if (*ret_size == HC_UNKNOWN)
		return hc_fail(
		        EOPNOTSUPP, "this kernel has no hugetlb pages, or doesn't say of which size (/proc/meminfo)");
	return 0;
}

int hc_candidates_list(
        const struct hc_root *root, size_t len, const struct hc_map_opts *opts, struct hc_candidates *ret_candidates) {
	struct hc_candidates *candidates = ret_candidates;
	*candidates = (struct hc_candidates){0};
	bool memfd = opts->flags & HC_MAP_MEMFD;
	struct hc_candidate base = {
	        .kind = HC_PAGES_BASE, .page_size = (uint64_t)sysconf(_SC_PAGESIZE), .memfd = memfd};
	if (opts->backing == HC_BACKING_BASE) {
		add(candidates, base);
		return 0;
	}
	if (opts->backing == HC_BACKING_EXACT) {
		struct hc_candidate exact = {.kind = opts->kind, .page_size = opts->page_size, .memfd = memfd};
		int r = 0;
		if (exact.kind == HC_PAGES_BASE)
			exact = base;
		else if (exact.kind == HC_PAGES_HUGETLB && exact.page_size == 0)
			r = default_size(root, &exact.page_size);
		add(candidates, exact);
		return r;
	}
	int r = list_hugetlb(root, len, opts, candidates);
	if (r == 0 && !memfd)
		r = list_thp(root, len, opts->page_size, candidates);
	add_preferred(candidates, base, memfd);
	return r;
}
