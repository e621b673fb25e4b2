#include "bench/room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/harness.h"
#include "cli.h"

/*
 * A size above all of the memory is run in rounds over a part of it: over this
 * much at least, where a page size has that much free, so that no cache holds it.
 */
#define PART_LEAST (UINT64_C(1) << 30)

/* How many times the machine's memory a size may be: one sample of more would take minutes. */
#define ROUNDS_MAX 64

const char *room_kind_name(enum hc_page_kind kind) {
	static const char *const names[] = {
	        [HC_PAGES_HUGETLB] = "hugetlb", [HC_PAGES_THP] = "thp", [HC_PAGES_BASE] = "base"};
	return names[kind];
}

/* ---- Options --------------------------------------------------------------- */

int room_read_page(const char *verb, const char *text, struct room_page *ret_page) {
	struct room_page page = {.given = true, .kind = HC_PAGES_HUGETLB};
	int code = 0;
	if (strcmp(text, "thp") == 0)
		page.kind = HC_PAGES_THP;
	else if (strcmp(text, "base") == 0)
		page.kind = HC_PAGES_BASE;
	else
		code = cli_size(verb, "--page", text, &page.page_size);
	/* Pages of the base size are no huge pages. */
	if (page.page_size == (uint64_t)sysconf(_SC_PAGESIZE))
		page.kind = HC_PAGES_BASE;
	if (code == 0)
		*ret_page = page;
	return code;
}

int room_read_node(const struct bench_run *run, const char *text, int *ret_node) {
	/* Digits only: a list or a range would bind to more than one. */
	uint64_t id;
	bool is_number = hc_decimal_parse(text, &id) == 0 && id <= 65535;
	const struct hc_node *node = is_number ? hc_machine_node_by_id(run->machine, (unsigned)id) : NULL;
	if (node && node->has_memory) {
		*ret_node = (int)id;
		return 0;
	}
	if (is_number) {
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

/* ---- Room -------------------------------------------------------------------- */

static uint64_t known_or(uint64_t value, uint64_t otherwise) {
	return value == HC_UNKNOWN ? otherwise : value;
}

static uint64_t room_in_pool(const struct hc_machine *machine, uint64_t page_size, int node) {
	const struct hc_pool *pool = hc_machine_pool_by_size(machine, page_size);
	if (!pool)
		return 0;
	uint64_t pages = known_or(pool->available, 0), bytes;
	const struct hc_node_pool *on = node >= 0 ? hc_machine_node_pool(machine, (unsigned)node, page_size) : NULL;
	if (on)
		pages = hc_min(pages, known_or(on->free, pages));
	if (!hc_mul_ok(pages, page_size, &bytes))
		bytes = UINT64_MAX;
	return hc_min(bytes, pool->cgroup_bytes_left);
}

uint64_t room_of(const struct hc_machine *machine, const struct room_page *page, int node) {
	if (page->kind == HC_PAGES_HUGETLB)
		return room_in_pool(machine, page->page_size, node);
	const struct hc_memory *memory = hc_machine_memory(machine);
	uint64_t room = known_or(memory->available, known_or(memory->free, 0));
	const struct hc_node *on = node >= 0 ? hc_machine_node_by_id(machine, (unsigned)node) : NULL;
	if (on)
		room = hc_min(room, known_or(on->mem_free, room));
	room = hc_min(room, hc_machine_limits(machine)->memory_cgroup_left);
	return room / 4 * 3;
}

bool room_has_thp(const struct hc_machine *machine) {
	const struct hc_thp *thp = hc_machine_thp(machine);
	return thp->present == 1 && thp->process_disabled != 1 && thp->enabled[0] != 'n';
}

/* The largest huge pages of which enough are there; else THP, else base pages. */
static void choose_page(struct bench_run *run, uint64_t least, int node, struct room_page *ret_page) {
	const struct hc_pool *pool;
	uint64_t most_free = 0, most_page = 0, page_size = 0;
	for (unsigned i = 0; (pool = hc_machine_pool(run->machine, i)); i++) {
		uint64_t room = room_in_pool(run->machine, pool->page_size, node);
		if (room >= least) {
			page_size = pool->page_size;
		} else if (room > most_free) {
			most_free = room;
			most_page = pool->page_size;
		}
	}
	if (page_size) {
		*ret_page = (struct room_page){.kind = HC_PAGES_HUGETLB, .page_size = page_size};
		bench_note(run, "pages of %s: the largest with %s available (%s -p takes others)",
		        hc_size_exact(page_size).s, hc_size_rounded(least).s, run->verb);
		return;
	}

	bool has_thp = room_has_thp(run->machine);
	*ret_page = (struct room_page){.kind = has_thp ? HC_PAGES_THP : HC_PAGES_BASE};
	char most[96] = "there are none";
	if (most_page)
		snprintf(most, sizeof(most), "at most %s available, in pages of %s", hc_size_rounded(most_free).s,
		        hc_size_exact(most_page).s);
	bench_note(run, "%s: too few hugetlb pages for %s (%s)%s", has_thp ? "transparent huge pages" : "base pages",
	        hc_size_rounded(least).s, most, has_thp ? "" : ", and THP is off");
}

int room_check_rounds(const struct bench_run *run, const char *done, uint64_t size) {
	uint64_t total = hc_machine_memory(run->machine)->total;
	if (total == HC_UNKNOWN || size / ROUNDS_MAX <= total)
		return 0;
	cli_error(run->verb, "--size: %s wanted; this machine has %s, and at most %d times that can be %s in rounds",
	        hc_size_exact(size).s, hc_size_rounded(total).s, ROUNDS_MAX, done);
	return HC_EXIT_LESS;
}

int room_plan(
        struct bench_run *run, const char *done, uint64_t size, int node, struct room_page *page, uint64_t *ret_bytes) {
	uint64_t total = hc_machine_memory(run->machine)->total;
	int code = room_check_rounds(run, done, size);
	if (code)
		return code;
	bool too_large = total != HC_UNKNOWN && size > total;
	if (!page->given)
		choose_page(run, too_large ? PART_LEAST : size, node, page);
	if (page->kind == HC_PAGES_HUGETLB && !hc_machine_pool_by_size(run->machine, page->page_size))
		return cli_fail(run->verb, hc_fail(ENODEV, "--page: %s", hc_error_detail()));

	/* Rounds only where the size could never fit; what a pool lacks can be reserved, and is an error. */
	uint64_t room = room_of(run->machine, page, node);
	bool rounds = room > 0 && room < size && (too_large || page->kind != HC_PAGES_HUGETLB);
	*ret_bytes = rounds ? room : size;
	return 0;
}

void room_note_rounds(struct bench_run *run, const char *done, uint64_t size, uint64_t bytes) {
	if (bytes < size)
		bench_note(run, "%s is more than fits: each sample goes over the same %s until %s are %s",
		        hc_size_rounded(size).s, hc_size_rounded(bytes).s, hc_size_rounded(size).s, done);
}
