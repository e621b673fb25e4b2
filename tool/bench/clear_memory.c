/* Which memory `bench clear` measures on, and getting it. */
#include <errno.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/bench_clear.h"
#include "cli.h"

/*
 * A size above all of the memory is run in rounds over a part of it: over this
 * much at least, where a page size has that much free, so that no cache holds it.
 */
#define PART_LEAST (UINT64_C(1) << 30)

/* How many times the machine's memory a size may be: one sample of more would take minutes. */
#define ROUNDS_MAX 64

static int read_node(struct clear_bench *bench, struct bench_run *run) {
	/* Digits only: a list or a range would bind to more than one. */
	const char *text = bench->node_text;
	uint64_t id = 0;
	bool is_number = *text != '\0';
	for (const char *c = text; *c; c++)
		is_number = is_number && *c >= '0' && *c <= '9' && hc_mul_ok(id, 10, &id) &&
		            hc_add_ok(id, (uint64_t)(*c - '0'), &id) && id <= 65535;

	const struct hc_node *node = is_number ? hc_machine_node_by_id(run->machine, (unsigned)id) : NULL;
	if (node && node->has_memory) {
		bench->node = (int)id;
		return 0;
	}
	if (is_number && id <= 65535) {
		if (!node)
			return cli_fail(run->verb, hc_fail(ENODEV, "--node: %s", hc_error_detail()));
		return cli_fail(run->verb,
		        hc_fail(ENODEV, "--node: node %llu has no memory; the nearest with memory is node %d",
		                (unsigned long long)id, node->nearest_memory));
	}
	char online[256] = "";
	size_t len = 0;
	for (unsigned i = 0; (node = hc_machine_node(run->machine, i)) && len < sizeof(online) - 16; i++)
		len += (size_t)snprintf(online + len, sizeof(online) - len, "%s%u", i ? ", " : "", node->id);
	return cli_usage(run->verb, "--node: '%.60s' is not the number of a node; online: %s", text, online);
}

/* The largest huge pages of which enough are there; else THP, else base pages. */
static void choose_page(struct clear_bench *bench, struct bench_run *run, uint64_t least) {
	const struct hc_pool *pool;
	uint64_t most_free = 0, most_page = 0;
	for (unsigned i = 0; (pool = hc_machine_pool(run->machine, i)); i++) {
		uint64_t room = region_room(run->machine, REGION_HUGETLB, pool->page_size, bench->node);
		if (room >= least) {
			bench->page = (struct clear_page){.backing = REGION_HUGETLB, .page_size = pool->page_size};
		} else if (room > most_free) {
			most_free = room;
			most_page = pool->page_size;
		}
	}
	if (bench->page.backing == REGION_HUGETLB && bench->page.page_size) {
		bench_note(run, "pages of %s: the largest with %s available (bench clear -p takes others)",
		        hc_size_exact(bench->page.page_size).s, hc_size_rounded(least).s);
		return;
	}

	const struct hc_thp *thp = hc_machine_thp(run->machine);
	bool has_thp = thp->present == 1 && thp->process_disabled != 1 && thp->enabled[0] != 'n';
	bench->page.backing = has_thp ? REGION_THP : REGION_BASE;
	char most[96] = "there are none";
	if (most_page)
		snprintf(most, sizeof(most), "at most %s available, in pages of %s", hc_size_rounded(most_free).s,
		        hc_size_exact(most_page).s);
	bench_note(run, "%s: too few hugetlb pages for %s (%s)%s", has_thp ? "transparent huge pages" : "base pages",
	        hc_size_rounded(least).s, most, has_thp ? "" : ", and THP is off");
}

static void note_region(const struct clear_bench *bench, struct bench_run *run) {
	const struct region *region = bench->region;
	uint64_t l3 = hc_machine_processor(run->machine)->l3;
	if (region->bytes < bench->size)
		bench_note(run, "%s is more than fits: each sample goes over the same %s until %s are cleared",
		        hc_size_rounded(bench->size).s, hc_size_rounded(region->bytes).s,
		        hc_size_rounded(bench->size).s);
	if (region->why_not_huge && region->huge_bytes == 0)
		bench_note(run, "base pages: no transparent huge page came (%s)", region->why_not_huge);
	else if (region->why_not_huge)
		bench_note(run, "only %s of %s are in huge pages (%s)", hc_size_rounded(region->huge_bytes).s,
		        hc_size_rounded(region->bytes).s, region->why_not_huge);
	if (l3 && hc_min(region->bytes, bench->size) < 2 * l3)
		bench_note(run, "%s may stay in the caches (L3 is %s): these are speeds of caches, not of memory",
		        hc_size_rounded(hc_min(region->bytes, bench->size)).s, hc_size_rounded(l3).s);
}

int clear_memory_get(struct clear_bench *bench, struct bench_run *run) {
	uint64_t total = hc_machine_memory(run->machine)->total, wanted = bench->size;
	if (bench->node_text) {
		int code = read_node(bench, run);
		if (code)
			return code;
	}
	if (total != HC_UNKNOWN && wanted / ROUNDS_MAX > total) {
		cli_error(run->verb,
		        "--size: %s wanted; this machine has %s, and at most %d times that can be cleared in rounds",
		        hc_size_exact(wanted).s, hc_size_rounded(total).s, ROUNDS_MAX);
		return HC_EXIT_LESS;
	}

	bool too_large = total != HC_UNKNOWN && wanted > total;
	if (!bench->page.given)
		choose_page(bench, run, too_large ? PART_LEAST : wanted);
	if (bench->page.backing == REGION_HUGETLB && !hc_machine_pool_by_size(run->machine, bench->page.page_size))
		return cli_fail(run->verb, hc_fail(ENODEV, "--page: %s", hc_error_detail()));

	/* Rounds only where the size could never fit; what a pool lacks can be reserved, and is an error. */
	uint64_t room = region_room(run->machine, bench->page.backing, bench->page.page_size, bench->node);
	if (room > 0 && room < wanted && (too_large || bench->page.backing != REGION_HUGETLB))
		wanted = room;

	struct region_request request = {
	        .bytes = wanted,
	        .backing = bench->page.backing,
	        .page_size = bench->page.page_size,
	        .node = bench->node,
	        .stop = cli_interrupted,
	        .progress = bench_progress,
	        .user = run,
	};
	int r = region_map(run->machine, &request, &bench->region);
	if (r < 0) {
		int code = cli_fail(run->verb, r);
		return r == -ENOMEM ? HC_EXIT_LESS : code;
	}
	note_region(bench, run);
	return 0;
}
