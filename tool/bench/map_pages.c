/* The pages that `bench map` measures: which they are, how much of them fits, and whether they can be had. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/bench_map.h"
#include "bench/resident.h"
#include "bench/room.h"
#include "cli.h"

/* What rounds go over, where pages are to be reserved for them. */
#define PART_USUAL (UINT64_C(1) << 30)

/* ---- Pages --------------------------------------------------------------- */

struct page_list {
	struct map_bench *bench;
	const struct bench_run *run;
};

static int add_page(const struct page_list *list, enum hc_page_kind kind, uint64_t page_size) {
	struct map_bench *bench = list->bench;
	for (size_t i = 0; i < bench->nr_pages; i++)
		if (bench->pages[i].kind == kind && bench->pages[i].page_size == page_size)
			return 0;
	if (bench->nr_pages == MAP_LIST_MAX)
		return cli_usage(list->run->verb, "--page: more than %d values", MAP_LIST_MAX);
	bench->pages[bench->nr_pages++] = (struct map_page){.kind = kind, .page_size = page_size};
	return 0;
}

static uint64_t pmd_size(const struct bench_run *run) {
	uint64_t size = hc_machine_thp(run->machine)->pmd_size;
	return size == HC_UNKNOWN ? hc_machine_memory(run->machine)->base_page_size : size;
}

static int add_page_named(void *user, const char *item) {
	const struct page_list *list = user;
	const struct bench_run *run = list->run;
	uint64_t base = hc_machine_memory(run->machine)->base_page_size, size;
	if (strcmp(item, "thp") == 0 && list->bench->memfd)
		return cli_usage(run->verb, "--memfd: not with transparent huge pages");
	if (strcmp(item, "thp") == 0)
		return add_page(list, HC_PAGES_THP, pmd_size(run));
	int code = 0;
	size = base;
	if (strcmp(item, "base") != 0)
		code = cli_size(run->verb, "--page", item, &size);
	if (code)
		return code;
	if (size == base && list->bench->thp)
		return cli_usage(run->verb, "--page: base pages are no transparent huge pages: without --thp");
	if (size == base)
		return add_page(list, HC_PAGES_BASE, base);
	if (list->bench->thp)
		return add_page(list, HC_PAGES_THP, size);
	if (!hc_machine_pool_by_size(run->machine, size))
		return cli_fail(run->verb, hc_fail(ENODEV, "--page: %s", hc_error_detail()));
	return add_page(list, HC_PAGES_HUGETLB, size);
}

/*
 * What a pool lacks can be reserved, and is an error but for sizes that could never fit; of
 * other memory there is what there is.
 */
static bool in_rounds(const struct map_bench *bench, const struct map_page *page) {
	uint64_t total = hc_machine_memory(bench->run->machine)->total;
	return page->kind != HC_PAGES_HUGETLB || (total != HC_UNKNOWN && bench->size > total);
}

static uint64_t room_for(const struct map_bench *bench, const struct bench_run *run, const struct map_page *page) {
	const struct room_page wanted = {.given = true, .kind = page->kind, .page_size = page->page_size};
	return room_of(run->machine, &wanted, *bench->node ? atoi(bench->node) : -1);
}

/* All sizes that the size is a multiple of, and that have room for it or, where nothing has, for a part. */
static int choose_pages(const struct page_list *list) {
	const struct map_bench *bench = list->bench;
	const struct bench_run *run = list->run;
	const struct hc_pool *pool;
	int code = 0;
	for (unsigned i = 0; code == 0 && (pool = hc_machine_pool(run->machine, i)); i++) {
		const struct map_page page = {.kind = HC_PAGES_HUGETLB, .page_size = pool->page_size};
		uint64_t least = in_rounds(bench, &page) ? pool->page_size : bench->size;
		uint64_t room = room_for(bench, run, &page);
		if (bench->thp)
			continue;
		if (bench->size % pool->page_size == 0 && room >= least)
			code = add_page(list, HC_PAGES_HUGETLB, pool->page_size);
		else if (pool->total != HC_UNKNOWN && pool->total > 0)
			bench_note(bench->run,
			        "pages of %s aren't measured: %s of %s can be had in them (-p %s says why)",
			        hc_size_exact(pool->page_size).s, hc_size_rounded(room).s,
			        hc_size_rounded(bench->size).s, hc_size_arg(pool->page_size).s);
	}
	/* Of a memfd they are a matter of mounts and settings of their own. */
	bool whole_thp = bench->size % pmd_size(run) == 0 && !bench->memfd;
	if (code == 0 && (bench->thp || (room_has_thp(run->machine) && whole_thp)))
		code = add_page(list, HC_PAGES_THP, pmd_size(run));
	else if (code == 0 && hc_machine_thp(run->machine)->present == 1 && whole_thp)
		bench_note(bench->run, "transparent huge pages aren't measured: they are off (-p thp says why)");
	if (code == 0 && !bench->thp)
		code = add_page(list, HC_PAGES_BASE, hc_machine_memory(run->machine)->base_page_size);
	return code;
}

static int refuse_odd_size(const struct bench_run *run, uint64_t size, uint64_t page_size) {
	uint64_t below = size / page_size * page_size, above;
	if (below > 0 && hc_add_ok(below, page_size, &above))
		return cli_usage(run->verb, "--size: %s is no multiple of the page size, %s: the nearest are %s and %s",
		        hc_size_exact(size).s, hc_size_exact(page_size).s, hc_size_exact(below).s,
		        hc_size_exact(above).s);
	return cli_usage(run->verb, "--size: %s is no multiple of the page size, %s: the nearest is %s",
	        hc_size_exact(size).s, hc_size_exact(page_size).s, hc_size_exact(below > 0 ? below : page_size).s);
}

/* ---- How much ------------------------------------------------------------ */

static void note_rounds(const struct map_bench *bench, const struct map_page *page) {
	const struct hc_limits *limits = hc_machine_limits(bench->run->machine);
	const char *file = NULL;
	if (page->kind != HC_PAGES_HUGETLB &&
	        limits->memory_cgroup_left < hc_machine_memory(bench->run->machine)->available)
		file = limits->memory_cgroup_file;
	bench_note(bench->run,
	        "%s is more than fits%s%s: %s in pages of %s%s are mapped again and again until it is %s",
	        hc_size_rounded(bench->size).s, file ? " below " : "", file ? file : "", hc_size_rounded(page->bytes).s,
	        hc_size_exact(page->page_size).s, page->kind == HC_PAGES_THP ? " (THP)" : "",
	        hc_size_rounded(bench->size).s);
}

static int plan(const struct map_bench *bench, struct map_page *page) {
	const struct bench_run *run = bench->run;
	if (bench->size % page->page_size != 0)
		return refuse_odd_size(run, bench->size, page->page_size);
	page->bytes = bench->size;
	if (!in_rounds(bench, page))
		return 0;
	uint64_t room = room_for(bench, run, page) / page->page_size * page->page_size;
	if (room == 0 && page->kind == HC_PAGES_HUGETLB) {
		cli_error(run->verb,
		        "--size: %s is more than this machine's memory, and goes in rounds over what there is; but no "
		        "page of %s is available: `hugeclear reserve %s=+%llu`",
		        hc_size_exact(bench->size).s, hc_size_exact(page->page_size).s, hc_size_arg(page->page_size).s,
		        (unsigned long long)hc_div_up(PART_USUAL, page->page_size));
		return HC_EXIT_LESS;
	}
	page->bytes = hc_min(bench->size, hc_max(room, page->page_size));
	if (page->bytes < bench->size)
		note_rounds(bench, page);
	return 0;
}

/* Before cases get their names: THP that don't come are base pages. With --thp that is map_pages_try()'s error. */
static int try_thp(struct map_bench *bench, struct map_page *page) {
	struct resident_request request = {
	        .bytes = page->page_size, .kind = HC_PAGES_THP, .node = *bench->node ? atoi(bench->node) : -1};
	struct resident *got;
	int r = resident_get(&request, &got);
	if (r < 0) {
		int code = cli_fail(bench->run->verb, r);
		return r == -ENOMEM ? HC_EXIT_LESS : code;
	}
	if (got->kind == HC_PAGES_BASE) {
		*page = (struct map_page){.kind = HC_PAGES_BASE, .page_size = got->page_size};
		bench_note(bench->run, "base pages: no transparent huge page came (%s)", got->why_not_huge);
	}
	resident_free(got);
	return 0;
}

/* Base pages that THP turned out to be may be there already. */
static void drop_twice(struct map_bench *bench) {
	size_t n = 0;
	for (size_t i = 0; i < bench->nr_pages; i++) {
		bool twice = false;
		for (size_t k = 0; k < n; k++)
			twice = twice || (bench->pages[k].kind == bench->pages[i].kind &&
			                         bench->pages[k].page_size == bench->pages[i].page_size);
		if (!twice)
			bench->pages[n++] = bench->pages[i];
	}
	bench->nr_pages = n;
}

int map_pages_read(struct map_bench *bench) {
	const struct bench_run *run = bench->run;
	struct page_list list = {.bench = bench, .run = run};
	if (bench->memfd && bench->thp)
		return cli_usage(run->verb, "--memfd: not with transparent huge pages");
	int code = room_check_rounds(run, "mapped", bench->size);
	if (code)
		return code;
	code = bench->page_text ? cli_list(run->verb, "--page", bench->page_text, add_page_named, &list)
	                        : choose_pages(&list);
	for (size_t i = 0; code == 0 && i < bench->nr_pages; i++)
		if (bench->pages[i].kind == HC_PAGES_THP && !bench->thp)
			code = try_thp(bench, &bench->pages[i]);
	if (code == 0)
		drop_twice(bench);
	for (size_t i = 0; code == 0 && i < bench->nr_pages; i++)
		code = plan(bench, &bench->pages[i]);
	return code;
}

/* ---- Whether ------------------------------------------------------------- */

struct hc_map_opts map_opts(const struct map_bench *bench, const struct map_page *page, enum hc_populate_by by) {
	return (struct hc_map_opts){
	        .size = sizeof(struct hc_map_opts),
	        .kind = page->kind,
	        .page_size = page->page_size,
	        .flags = bench->memfd || by == HC_POPULATE_BY_FALLOCATE ? HC_MAP_MEMFD : 0,
	        .placement = *bench->node ? HC_PLACE_BIND : HC_PLACE_DEFAULT,
	        .nodes = *bench->node ? bench->node : NULL,
	};
}

static int try_page(const struct map_bench *bench, const struct map_page *page) {
	const char *verb = bench->run->verb;
	struct hc_map_opts opts = map_opts(bench, page, HC_POPULATE_CHOSEN);
	struct hc_map *map = NULL;
	int r = page->bytes > SIZE_MAX
	                ? hc_fail(ENOMEM, "%s wanted: more than an address space holds", hc_size_exact(page->bytes).s)
	                : hc_map_open((size_t)page->bytes, &opts, &map);
	hc_map_close(map);
	if (r == -EINVAL)
		return cli_usage(verb, "--page: %s", hc_error_detail());
	if (*bench->node && (r == -EPERM || r == -ENOSYS))
		r = hc_fail(EOPNOTSUPP, "--node %s: %s; or run without --node", bench->node, hc_error_detail());
	int code = r < 0 ? cli_fail(verb, r) : 0;
	return r == -ENOMEM ? HC_EXIT_LESS : code;
}

int map_pages_try(struct map_bench *bench) {
	int code = 0;
	for (size_t i = 0; code == 0 && i < bench->nr_pages; i++)
		code = try_page(bench, &bench->pages[i]);
	return code;
}
