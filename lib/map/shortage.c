#include "map/shortage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/size.h"
#include "sys/cgroup_limits.h"
#include "sys/meminfo.h"
#include "sys/page_sizes.h"

/* "3 pages of 2 MiB" */
struct wanted_text {
	char s[96];
};

static struct wanted_text wanted(const struct hc_want *want) {
	struct wanted_text text;
	uint64_t pages = want->bytes / want->page_size;
	snprintf(text.s, sizeof(text.s), "%s of %s wanted", hc_counted(pages, "page").s,
	        hc_size_exact(want->page_size).s);
	return text;
}

/* ---- Limits of the process ------------------------------------------------ */

/* Bytes of address space, and of private writable memory, as the kernel counts them for the limits: proc_pid_statm(5). */
static bool read_own_size(uint64_t *ret_total, uint64_t *ret_data) {
	struct hc_root live;
	char text[256];
	if (hc_root_open(NULL, &live) < 0)
		return false;
	int r = hc_root_read(&live, "proc/self/statm", text, sizeof(text));
	hc_root_close(&live);
	uint64_t fields[6], page = (uint64_t)sysconf(_SC_PAGESIZE);
	const char *p = text;
	for (unsigned i = 0; i < 6; i++, p += *p == ' ')
		if (r < 0 || hc_decimal_take(&p, &fields[i]) < 0)
			return false;
	return hc_mul_ok(fields[0], page, ret_total) && hc_mul_ok(fields[5], page, ret_data);
}

static bool limit_exceeded(int resource, uint64_t used, uint64_t bytes, uint64_t *ret_limit) {
	struct rlimit limit;
	uint64_t sum;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*ret_limit = limit.rlim_cur;
	return !hc_add_ok(used, bytes, &sum) || sum > limit.rlim_cur;
}

/* 0 where the limits of the process aren't the reason. */
static int process_limit(uint64_t bytes, bool is_private) {
	uint64_t total, data, limit;
	if (!read_own_size(&total, &data))
		return 0;
	if (limit_exceeded(RLIMIT_AS, total, bytes, &limit))
		return hc_fail(ENOMEM,
		        "%s wanted, but the address space limit is %s and %s of it are taken: raise RLIMIT_AS "
		        "(ulimit -v)",
		        hc_size_exact(bytes).s, hc_size_exact(limit).s, hc_size_rounded(total).s);
	if (is_private && limit_exceeded(RLIMIT_DATA, data, bytes, &limit))
		return hc_fail(ENOMEM,
		        "%s wanted, but the limit of private memory is %s and %s of it are taken: raise RLIMIT_DATA "
		        "(ulimit -d)",
		        hc_size_exact(bytes).s, hc_size_exact(limit).s, hc_size_rounded(data).s);
	return 0;
}

int hc_shortage_of_locked_memory(uint64_t bytes) {
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return hc_fail(EAGAIN,
	        "%s wanted, but the locked memory limit is %s (RLIMIT_MEMLOCK, ulimit -l), and the process locks all "
	        "that "
	        "it maps (mlockall(2) with MCL_FUTURE)",
	        hc_size_exact(bytes).s, hc_size_exact(limit.rlim_cur).s);
}

int hc_shortage_of_address_space(uint64_t bytes, bool is_private) {
	int r = process_limit(bytes, is_private);
	if (r < 0)
		return r;
	return hc_fail(ENOMEM,
	        "%s wanted, the kernel has no memory or address space for a mapping of that length "
	        "(/proc/sys/vm/overcommit_memory, /proc/sys/vm/max_map_count)",
	        hc_size_exact(bytes).s);
}

/* ---- Limits of control groups --------------------------------------------- */

/* need: bytes that have to be left. 0 where no limit is the reason. reservations_only: of reservations. */
static int cgroup_limit(const struct hc_root *root, const struct hc_want *want, uint64_t need, bool reservations_only,
        const char *came) {
	struct hc_cgroup_limit limit;
	int r = hc_hugetlb_limit_read(root, want->page_size, NULL, &limit);
	if (r < 0)
		return r;
	if (limit.bytes_left < need && (limit.is_reservation || !reservations_only))
		r = hc_fail(ENOMEM,
		        "%s%s, but the cgroup %s limit %s leaves %s: raise it, or run outside of that cgroup (more "
		        "pages "
		        "in the pool don't help)",
		        wanted(want).s, came, limit.is_reservation ? "reservation" : "fault", limit.file,
		        hc_size_exact(limit.bytes_left).s);
	free(limit.file);
	return r;
}

/* ---- Pools ----------------------------------------------------------------- */

/* Reserved pages that aren't this mapping's own, of which need haven't come. */
static uint64_t reserved_by_others(const struct hc_pool *pool, const struct hc_want *want, uint64_t need) {
	uint64_t own = want->is_reserved ? need : 0;
	return pool->reserved == HC_UNKNOWN || pool->reserved < own ? 0 : pool->reserved - own;
}

/* Pages that the mapping can have, with the surplus ones that the kernel would add; false where unknown. */
static bool pool_room(const struct hc_pool *pool, uint64_t by_others, uint64_t *ret_pages) {
	if (pool->free == HC_UNKNOWN || pool->reserved == HC_UNKNOWN)
		return false;
	uint64_t more = pool->overcommit != HC_UNKNOWN && pool->surplus != HC_UNKNOWN &&
	                                pool->overcommit > pool->surplus
	                        ? pool->overcommit - pool->surplus
	                        : 0;
	return hc_add_ok(pool->free > by_others ? pool->free - by_others : 0, more, ret_pages);
}

static int pool_short(const struct hc_root *root, const struct hc_want *want, uint64_t need, const char *came) {
	struct hc_pool pool;
	uint64_t room;
	int r = hc_pool_read(root, want->page_size, NULL, &pool);
	if (r == -ENOMEM)
		return r;
	uint64_t by_others = r < 0 ? 0 : reserved_by_others(&pool, want, need);
	if (r < 0 || !pool_room(&pool, by_others, &room) || room >= need)
		return 0;
	struct hc_meminfo meminfo;
	hc_meminfo_read(root, NULL, &meminfo);
	if (meminfo.total != HC_UNKNOWN && want->bytes > meminfo.total)
		return hc_fail(ENOMEM, "%s%s, %" PRIu64 " available, and this machine has %s of memory", wanted(want).s,
		        came, room, hc_size_rounded(meminfo.total).s);
	return hc_fail(ENOMEM,
	        "%s%s, %" PRIu64 " available (%" PRIu64 " free, %" PRIu64
	        " of them reserved by others): `hugeclear reserve "
	        "%s=+%" PRIu64 "`",
	        wanted(want).s, came, room, pool.free, by_others, hc_size_arg(want->page_size).s, need - room);
}

/* ---- Nodes ----------------------------------------------------------------- */

struct node_room {
	uint64_t free;    /* on the nodes wanted */
	char beside[320]; /* "node 0 has 1024", in the order of nodes */
	bool known;
	unsigned emptiest; /* of the nodes wanted */
};

static void read_node_room(const struct hc_root *root, const struct hc_want *want, struct node_room *room) {
	uint64_t least = UINT64_MAX;
	size_t used = 0;
	*room = (struct node_room){.known = true};
	for (unsigned node = 0; node < 1024; node++) {
		struct hc_node_pool pool;
		bool wanted_here = hc_idset_has(want->nodes, node);
		if (hc_node_pool_read(root, want->page_size, node, NULL, &pool) < 0 || pool.free == HC_UNKNOWN) {
			room->known = room->known && !wanted_here;
			continue;
		}
		if (wanted_here) {
			room->free += pool.free;
			if (pool.free < least) {
				least = pool.free;
				room->emptiest = node;
			}
		} else if (pool.free > 0 && used + 48 < sizeof(room->beside)) {
			used += (size_t)snprintf(room->beside + used, sizeof(room->beside) - used,
			        ", node %u has %" PRIu64, node, pool.free);
		}
	}
}

/* pre: want->nodes */
static int nodes_short(const struct hc_root *root, const struct hc_want *want, uint64_t need, const char *came) {
	struct node_room room;
	read_node_room(root, want, &room);
	if (!room.known || room.free >= need)
		return 0;
	/* Surplus pages may still come: only where there may be none is it the pool that says no. */
	struct hc_pool pool;
	bool pool_known = hc_pool_read(root, want->page_size, NULL, &pool) == 0;
	if (pool_known && pool.overcommit != HC_UNKNOWN && pool.surplus != HC_UNKNOWN &&
	        pool.overcommit > pool.surplus && came[0] == '\0')
		return 0;
	/* Pages that others reserved may have to come from there: with so many more there is enough for all. */
	uint64_t by_others = pool_known ? reserved_by_others(&pool, want, need) : 0;
	char reserved[128] = "";
	if (by_others)
		snprintf(reserved, sizeof(reserved),
		        ", %" PRIu64 " reserved by others machine-wide, and the kernel doesn't say on which node",
		        by_others);
	/* Without the comma in front of the first. */
	char beside[sizeof(reserved) + sizeof(room.beside)] = "", *text = beside + strlen(", ");
	snprintf(beside, sizeof(beside), "%s%s", reserved, room.beside);
	bool several = hc_idset_count(want->nodes) > 1, any = *beside != '\0';
	return hc_fail(ENOMEM,
	        "%s on node%s %s%s, which %s %" PRIu64 " free%s%s%s: `hugeclear reserve %s@%u=+%" PRIu64 "`",
	        wanted(want).s, several ? "s" : "", hc_idset_text(want->nodes), came, several ? "have" : "has",
	        room.free, any ? " (" : "", any ? text : "", any ? ")" : "", hc_size_arg(want->page_size).s,
	        room.emptiest, need - room.free + by_others);
}

/* ---- What the callers ask ---------------------------------------------------- */

int hc_shortage_of_mapping(const struct hc_root *root, const struct hc_want *want, bool is_private) {
	uint64_t pages = want->bytes / want->page_size;
	int r = process_limit(want->bytes, is_private);
	/* A reservation limit is asked for before the pool: more pages would not help. */
	if (r == 0)
		r = cgroup_limit(root, want, want->bytes, true, "");
	if (r == 0 && want->nodes)
		r = nodes_short(root, want, pages, "");
	if (r == 0)
		r = pool_short(root, want, pages, "");
	if (r == 0)
		r = cgroup_limit(root, want, want->bytes, false, "");
	if (r == 0)
		r = hc_fail(ENOMEM,
		        "%s, the kernel could not map them (somebody may have taken them and given them back, or "
		        "/proc/sys/vm/max_map_count is reached)",
		        wanted(want).s);
	return r;
}

int hc_shortage_of_pages(const struct hc_root *root, const struct hc_want *want, uint64_t came) {
	char text[64];
	uint64_t pages = want->bytes / want->page_size, there = hc_min(came / want->page_size, pages);
	snprintf(text, sizeof(text), ", %" PRIu64 " came", there);
	int r = cgroup_limit(root, want, want->page_size, false, text);
	if (r == 0 && want->nodes)
		r = nodes_short(root, want, hc_max(pages - there, 1), text);
	if (r == 0)
		r = pool_short(root, want, hc_max(pages - there, 1), text);
	if (r == 0)
		r = hc_fail(ENOMEM,
		        "%s%s, and then the kernel had none (somebody may have taken the last ones and given them back "
		        "since)",
		        wanted(want).s, text);
	return r;
}

int hc_shortage_foreseen(const struct hc_root *root, const struct hc_want *want) {
	int r = cgroup_limit(root, want, want->bytes, false, "");
	if (r == 0 && want->nodes)
		r = nodes_short(root, want, want->bytes / want->page_size, "");
	return r;
}

int hc_shortage_of_size(const struct hc_root *root, uint64_t page_size, const char *call, int err) {
	struct hc_pool pool;
	struct hc_meminfo meminfo;
	struct hc_pools pools;
	if (hc_pool_read(root, page_size, NULL, &pool) == 0)
		return hc_fail(EOPNOTSUPP, "%s refuses huge pages of %s, though there is a pool of them: %s", call,
		        hc_size_exact(page_size).s, strerror(err));
	hc_meminfo_read(root, NULL, &meminfo);
	int r = hc_pools_read(root, &meminfo, NULL, &pools);
	if (r < 0)
		return r;
	char sizes[256] = "";
	for (unsigned i = 0, used = 0; i < pools.nr_pools && used + HC_CGROUP_SIZE_NAME_MAX + 8 < sizeof(sizes); i++)
		used += (unsigned)snprintf(sizes + used, sizeof(sizes) - used, "%s%s", i ? ", " : "",
		        hc_size_exact(pools.pools[i].page_size).s);
	bool some = pools.nr_pools > 0;
	hc_pools_free(&pools);
	if (some)
		return hc_fail(
		        ENODEV, "there are no huge pages of %s here, only of %s", hc_size_exact(page_size).s, sizes);
	return hc_fail(EOPNOTSUPP, "this kernel has no hugetlb pages (%s: %s)", call, strerror(err));
}
