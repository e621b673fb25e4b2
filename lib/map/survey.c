/* What a map really got: for each page whether it is there, its size and its node. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "map/mapping.h"
#include "map/page_walk.h"
#include "map/smaps_range.h"
#include "sys/policy.h"
#include "sys/thp.h"
#include "sys/topology.h"

/* Looked at in one go: bounds the memory that takes; a larger page is looked at as a whole. */
#define WINDOW ((uint64_t)64 << 20)
/* Times, a millisecond apart: moving a page takes less, also in an emulated machine. */
#define ASK_AGAIN_MAX 100

struct survey {
	const struct hc_root *root;
	struct hc_map *map;
	int only_node;     /* all memory is on it; -1: on several, or which isn't known */
	bool ask_nodes;    /* by move_pages(2); a container's seccomp profile may forbid it */
	bool in_vain;      /* it was asked so often for one page that it won't say */
	uint64_t thp_size; /* PMD's; 0: no THP here */
	bool any_thp_size; /* multi-size THP may be in it */
	size_t stride;     /* base pages in a unit */
	/* For one window of base pages. */
	unsigned char *there;
	uint64_t *sizes; /* 0: unknown */
	int *nodes;
	void **addresses;
};

static int add_part(struct hc_map *map, enum hc_page_kind kind, uint64_t page_size, int node, uint64_t bytes) {
	for (unsigned i = 0; i < map->nr_parts; i++) {
		struct hc_map_part *part = &map->parts[i];
		if (part->kind == kind && part->page_size == page_size && part->node == node) {
			part->bytes += bytes;
			return 0;
		}
	}
	struct hc_map_part *grown = realloc(map->parts, (map->nr_parts + 1) * sizeof(*grown));
	if (!grown)
		return hc_fail_memory("no memory for the parts of a map");
	map->parts = grown;
	map->parts[map->nr_parts++] = (struct hc_map_part){
	        .kind = kind, .page_size = page_size, .node = node, .bytes = bytes};
	return 0;
}

/* By page size, largest first, the unknown one last; then by node. */
static int compare_parts(const void *a, const void *b) {
	const struct hc_map_part *left = a, *right = b;
	uint64_t left_size = left->page_size + 1, right_size = right->page_size + 1; /* HC_UNKNOWN is 0 then */
	if (left_size != right_size)
		return left_size < right_size ? 1 : -1;
	return (left->node > right->node) - (left->node < right->node);
}

/* ---- One window ----------------------------------------------------------------- */

/*
 * The node of a page that is there, and of which move_pages(2) said that it isn't: the kernel is just moving it, or making a
 * huge page of it or small ones. It is there again at once.
 */
static int ask_again(struct survey *survey, void *page, int node) {
	for (unsigned tries = 0; !survey->in_vain && (node == -ENOENT || node == -EBUSY); tries++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		/* Then it is for another reason, and will be for the next page too. */
		survey->in_vain = tries == ASK_AGAIN_MAX || hc_policy_page_nodes(&page, 1, &node) < 0;
	}
	return node;
}

/* Fills in nodes[i] for each i that is a multiple of stride, and is there. */
static int read_nodes(struct survey *survey, char *p, size_t pages) {
	const size_t stride = survey->stride;
	size_t count = 0;
	for (size_t i = 0; i < pages; i += stride)
		survey->addresses[count++] = p + i * survey->map->base_page;
	int r = survey->ask_nodes ? hc_policy_page_nodes(survey->addresses, count, survey->nodes) : -ENOSYS;
	if (r == -EPERM || r == -ENOSYS || r == -EACCES)
		survey->ask_nodes = false;
	else if (r < 0)
		return r;
	for (size_t i = count; i-- > 0;) {
		int node = r == 0 ? survey->nodes[i] : survey->only_node;
		if (r == 0 && node < 0 && survey->there[i * stride])
			node = ask_again(survey, survey->addresses[i], node);
		survey->nodes[i * stride] = node < 0 ? survey->only_node : node;
	}
	return 0;
}

static int read_sizes(struct survey *survey, const struct hc_page_range *range) {
	const struct hc_map *map = survey->map;
	uint64_t fixed = map->state.kind == HC_PAGES_HUGETLB ? map->state.page_size : map->base_page;
	int r = -EOPNOTSUPP;
	if (map->state.kind == HC_PAGES_HUGETLB || survey->thp_size == 0) {
		for (size_t i = 0; i < range->pages; i++)
			survey->sizes[i] = fixed;
		return 0;
	}
	if (survey->any_thp_size)
		r = hc_page_walk_any(survey->root, range, survey->sizes);
	if (r == 0 || r == -ENOMEM)
		return r;
	r = hc_page_walk_pmd(survey->root, range, survey->thp_size, survey->sizes);
	for (size_t i = 0; i < range->pages; i++)
		if (r < 0 || (survey->any_thp_size && survey->sizes[i] == map->base_page))
			survey->sizes[i] = 0;
	return 0;
}

static int look_at(struct survey *survey, size_t offset, size_t len) {
	struct hc_map *map = survey->map;
	const struct hc_page_range range = {
	        .p = map->address + offset, .pages = len / map->base_page, .base_page = map->base_page};
	int r = hc_map_residency(map, offset, len, survey->there);
	if (r == 0)
		r = read_nodes(survey, range.p, range.pages);
	if (r == 0)
		r = read_sizes(survey, &range);
	for (size_t i = 0; r == 0 && i < range.pages; i += survey->stride) {
		if (!survey->there[i])
			continue;
		uint64_t size = survey->sizes[i] ? survey->sizes[i] : HC_UNKNOWN;
		enum hc_page_kind kind = map->state.kind == HC_PAGES_HUGETLB ? HC_PAGES_HUGETLB
		                         : size == map->base_page            ? HC_PAGES_BASE
		                                                             : HC_PAGES_THP;
		r = add_part(map, kind, size, survey->nodes[i], survey->stride * map->base_page);
	}
	return r;
}

/* ---- All windows ------------------------------------------------------------------ */

/* Kernels that don't tell which pages are huge (before 6.7) tell how many bytes of a mapping are. */
static int sizes_from_smaps(struct survey *survey) {
	struct hc_map *map = survey->map;
	uint64_t resident = hc_survey_resident(map), unknown = 0;
	for (unsigned i = 0; i < map->nr_parts; i++)
		if (map->parts[i].page_size == HC_UNKNOWN)
			unknown += map->parts[i].bytes;
	if (unknown == 0 || survey->any_thp_size)
		return 0;
	char *text;
	size_t len;
	if (hc_root_read_all(survey->root, "proc/self/smaps", &text, &len) < 0)
		return 0;
	struct hc_smaps smaps;
	hc_smaps_parse(text, (uintptr_t)map->address, (uintptr_t)map->address + map->length, &smaps);
	free(text);
	if (smaps.kernel_page_size == HC_UNKNOWN || smaps.anon_huge > unknown || unknown != resident)
		return 0;
	/* All or none: then each part's is known. Else which node has how many of them isn't. */
	bool all = smaps.anon_huge == resident;
	if (all || smaps.anon_huge == 0) {
		for (unsigned i = 0; i < map->nr_parts; i++) {
			map->parts[i].kind = all ? HC_PAGES_THP : HC_PAGES_BASE;
			map->parts[i].page_size = all ? survey->thp_size : map->base_page;
		}
		return 0;
	}
	int node = map->nr_parts == 1 ? map->parts[0].node : -1;
	map->nr_parts = 0;
	int r = add_part(map, HC_PAGES_THP, survey->thp_size, node, smaps.anon_huge);
	return r < 0 ? r : add_part(map, HC_PAGES_BASE, map->base_page, node, resident - smaps.anon_huge);
}

static int prepare(struct survey *survey) {
	struct hc_map *map = survey->map;
	struct hc_topology *topology;
	int r = hc_topology_read(survey->root, NULL, &topology);
	if (r < 0)
		return r;
	const struct hc_idset *nodes = hc_topology_nodes_with_memory(topology);
	survey->only_node = hc_idset_count(nodes) == 1 ? hc_idset_next(nodes, 0) : -1;
	hc_topology_free(topology);
	/* A huge page costs nothing to ask for; base pages are many, and where there is one node all are on it. */
	survey->ask_nodes = survey->only_node < 0 || map->state.kind == HC_PAGES_HUGETLB ||
	                    map->placement != HC_PLACE_DEFAULT;
	survey->stride = map->state.kind == HC_PAGES_HUGETLB ? (size_t)(map->state.page_size / map->base_page) : 1;

	struct hc_thp_settings settings;
	r = hc_thp_read(survey->root, NULL, &settings);
	if (r < 0)
		return r;
	/* Shared memory isn't made of THP here unless the machine makes all of it so. */
	if (settings.thp.present != 0 && settings.thp.pmd_size != HC_UNKNOWN)
		survey->thp_size = settings.thp.pmd_size;
	survey->any_thp_size = map->state.kind == HC_PAGES_THP && map->state.page_size < survey->thp_size;
	hc_thp_free(&settings);
	return 0;
}

int hc_survey(const struct hc_root *root, struct hc_map *map) {
	free(map->parts);
	map->parts = NULL;
	map->nr_parts = 0;
	struct survey survey = {.root = root, .map = map};
	int r = prepare(&survey);
	if (r < 0)
		return r;
	size_t window = (size_t)hc_min(hc_max(WINDOW, hc_max(map->state.page_size, survey.thp_size)), map->length);
	size_t pages = window / map->base_page;
	survey.there = malloc(pages);
	survey.sizes = malloc(pages * sizeof(*survey.sizes));
	survey.nodes = malloc(pages * sizeof(*survey.nodes));
	survey.addresses = malloc(pages * sizeof(*survey.addresses));
	if (!survey.there || !survey.sizes || !survey.nodes || !survey.addresses)
		r = hc_fail_memory("no memory to look at %s", hc_counted(pages, "page").s);
	for (size_t at = 0; r == 0 && at < map->length; at += window)
		r = look_at(&survey, at, (size_t)hc_min(window, map->length - at));
	free(survey.there);
	free(survey.sizes);
	free(survey.nodes);
	free(survey.addresses);
	if (r == 0)
		r = sizes_from_smaps(&survey);
	if (map->nr_parts > 1)
		qsort(map->parts, map->nr_parts, sizeof(*map->parts), compare_parts);
	return r;
}

uint64_t hc_survey_resident(const struct hc_map *map) {
	uint64_t bytes = 0;
	for (unsigned i = 0; i < map->nr_parts; i++)
		bytes += map->parts[i].bytes;
	return bytes;
}

/* ---- As asked for? ------------------------------------------------------------------ */

static int check_sizes(const struct hc_map *map) {
	if (map->backing != HC_BACKING_EXACT || map->state.kind != HC_PAGES_THP)
		return 0;
	uint64_t as_asked = 0, unknown = 0;
	for (unsigned i = 0; i < map->nr_parts; i++) {
		if (map->parts[i].page_size == map->state.page_size)
			as_asked += map->parts[i].bytes;
		else if (map->parts[i].page_size == HC_UNKNOWN)
			unknown += map->parts[i].bytes;
	}
	uint64_t resident = hc_survey_resident(map);
	if (as_asked == resident)
		return 0;
	if (unknown > 0)
		return hc_fail(EPERM,
		        "whether %s are THP of %s can't be told without reading /proc/kpageflags (root), or a kernel "
		        "that has PAGEMAP_SCAN",
		        hc_size_rounded(unknown).s, hc_size_exact(map->state.page_size).s);
	return hc_fail(EIO, "%s of %s are THP of %s: the rest is in other pages (memory may be in too small pieces)",
	        hc_size_rounded(as_asked).s, hc_size_rounded(resident).s, hc_size_exact(map->state.page_size).s);
}

static int check_nodes(const struct hc_map *map) {
	if (map->placement != HC_PLACE_BIND && map->placement != HC_PLACE_INTERLEAVE)
		return 0;
	for (unsigned i = 0; i < map->nr_parts; i++) {
		const struct hc_map_part *part = &map->parts[i];
		if (part->node < 0) {
			int node;
			void *page = map->address;
			int r = hc_policy_page_nodes(&page, 1, &node);
			return r < 0 ? r
			             : hc_fail(EIO, "the kernel doesn't tell which node %s are on",
			                       hc_size_rounded(part->bytes).s);
		}
		if (!hc_idset_has(map->nodes, (unsigned)part->node))
			return hc_fail(EIO, "%s are on node %d, wanted on nodes %s", hc_size_rounded(part->bytes).s,
			        part->node, hc_idset_text(map->nodes));
	}
	return 0;
}

int hc_survey_check(const struct hc_map *map) {
	int r = check_sizes(map);
	return r < 0 ? r : check_nodes(map);
}
