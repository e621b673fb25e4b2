#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hugeclear/map.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/opts.h"
#include "base/size.h"
#include "map/mapping.h"
#include "map/prefer.h"
#include "sys/policy.h"
#include "sys/topology.h"

#define FLAGS_KNOWN (HC_MAP_MEMFD | HC_MAP_POPULATE | HC_MAP_DONTFORK | HC_MAP_DONTDUMP | HC_MAP_NORESERVE)

/* Newer than the headers of Debian 12: madvise(2). */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* ---- Settings -------------------------------------------------------------- */

static int check_page_size(const struct hc_map_opts *opts) {
	uint64_t base = (uint64_t)sysconf(_SC_PAGESIZE);
	if (opts->page_size == 0)
		return 0;
	if (!hc_is_power_of_two(opts->page_size) || opts->page_size < base)
		return hc_fail(EINVAL, "%s is no page size: not a power of two, or below the base page of %s",
		        hc_size_exact(opts->page_size).s, hc_size_exact(base).s);
	bool base_wanted = opts->backing == HC_BACKING_BASE || opts->kind == HC_PAGES_BASE;
	if (base_wanted && opts->page_size != base)
		return hc_fail(EINVAL, "base pages are of %s here, not of %s", hc_size_exact(base).s,
		        hc_size_exact(opts->page_size).s);
	if (opts->backing == HC_BACKING_EXACT && opts->kind != HC_PAGES_BASE && opts->page_size == base)
		return hc_fail(EINVAL, "pages of %s are base pages: ask for that kind", hc_size_exact(base).s);
	return 0;
}

static int check_populating(const struct hc_map_opts *opts) {
	if (!(opts->flags & HC_MAP_POPULATE))
		return opts->populate_by == HC_POPULATE_CHOSEN
		               ? 0
		               : hc_fail(EINVAL, "a way to populate without HC_MAP_POPULATE");
	if ((unsigned)opts->populate_by > HC_POPULATE_BY_MAP)
		return hc_fail(EINVAL, "%u is no way to populate", (unsigned)opts->populate_by);
	if (opts->populate_by == HC_POPULATE_BY_FALLOCATE && !(opts->flags & HC_MAP_MEMFD))
		return hc_fail(EINVAL, "fallocate populates memfds: HC_MAP_MEMFD");
	if (opts->populate_by < HC_POPULATE_BY_FALLOCATE)
		return 0;
	if (opts->placement != HC_PLACE_DEFAULT)
		return hc_fail(EINVAL, "MAP_POPULATE and fallocate don't follow the placement of a map");
	if (opts->populate_by == HC_POPULATE_BY_MAP &&
	        (opts->backing == HC_BACKING_PREFER || opts->kind == HC_PAGES_THP || opts->cpus || opts->threads > 1))
		return hc_fail(EINVAL, "MAP_POPULATE is for hugetlb or base pages, and done by one thread");
	return 0;
}

static int check_opts(size_t len, const struct hc_map_opts *opts) {
	if (len == 0)
		return hc_fail(EINVAL, "a map of 0 bytes");
	if ((unsigned)opts->backing > HC_BACKING_BASE || (unsigned)opts->kind > HC_PAGES_BASE ||
	        (unsigned)opts->placement > HC_PLACE_INTERLEAVE)
		return hc_fail(EINVAL, "unknown backing %u, kind %u or placement %u", (unsigned)opts->backing,
		        (unsigned)opts->kind, (unsigned)opts->placement);
	if (opts->flags & ~FLAGS_KNOWN)
		return hc_fail(EINVAL, "unknown flags 0x%x", opts->flags & ~FLAGS_KNOWN);
	if (opts->backing != HC_BACKING_EXACT && opts->kind != 0)
		return hc_fail(EINVAL, "a kind of pages is for HC_BACKING_EXACT");
	if (opts->kind == HC_PAGES_THP && opts->flags & HC_MAP_MEMFD)
		return hc_fail(EINVAL, "THP are private here, a memfd is shared: hugetlb or base pages");
	if (!opts->nodes != (opts->placement == HC_PLACE_DEFAULT))
		return hc_fail(EINVAL, opts->nodes ? "nodes without a placement" : "a placement without nodes");
	int r = check_page_size(opts);
	return r < 0 ? r : check_populating(opts);
}

/* Where that can't be asked, mbind() is as forbidden, and says so. */
static int check_cpuset(const struct hc_idset *nodes) {
	struct hc_idset *allowed;
	int r = hc_policy_allowed(&allowed);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = hc_policy_check(nodes, allowed);
	hc_idset_free(allowed);
	return r;
}

static int read_nodes(const struct hc_root *root, const struct hc_map_opts *opts, struct hc_idset **ret_nodes) {
	*ret_nodes = NULL;
	if (!opts->nodes)
		return 0;
	struct hc_idset *nodes;
	struct hc_topology *topology = NULL;
	int r = hc_idset_parse(opts->nodes, &nodes);
	if (r < 0)
		return r == -ERANGE ? -EINVAL : r; /* no such node, then; the detail is right */
	r = hc_topology_read(root, NULL, &topology);
	if (r == 0)
		r = hc_topology_check_memory(topology, nodes);
	if (r == 0)
		r = check_cpuset(nodes);
	if (r == 0 && opts->placement == HC_PLACE_PREFERRED && hc_idset_count(nodes) > 1)
		r = hc_fail(EINVAL, "one node can be preferred, not '%s'", hc_idset_text(nodes));
	hc_topology_free(topology);
	if (r < 0)
		hc_idset_free(nodes);
	else
		*ret_nodes = nodes;
	return r;
}

/* ---- The object -------------------------------------------------------------- */

int hc_map_check_owner(const struct hc_map *map) {
	if (!map)
		return hc_fail(EINVAL, "no map");
	if (map->pid != getpid())
		return hc_fail(ECHILD, "the map belongs to process %d that opened it, not to its child", (int)map->pid);
	return 0;
}

int hc_map_hold(struct hc_map *map) {
	int r = hc_map_check_owner(map);
	if (r == 0)
		atomic_fetch_add_explicit(&map->holders, 1, memory_order_relaxed);
	return r;
}

void hc_map_let_go(struct hc_map *map) {
	atomic_fetch_sub_explicit(&map->holders, 1, memory_order_relaxed);
}

int hc_map_check_free(const struct hc_map *map, const char *wanted) {
	int r = hc_map_check_owner(map);
	if (r == 0 && atomic_load_explicit(&map->holders, memory_order_relaxed) > 0)
		return hc_fail(
		        EBUSY, "the map can't be %s while an arena is made of it, or I/O attached to it", wanted);
	return r;
}

struct hc_map *hc_map_close(struct hc_map *map) {
	if (!map || map->pid != getpid())
		return NULL;
	if (hc_map_check_free(map, "closed") < 0)
		return map;
	if (map->address)
		munmap(map->address, map->length);
	if (map->fd >= 0)
		close(map->fd);
	hc_idset_free(map->nodes);
	free(map->shortfall);
	free(map->threads_shortfall);
	free(map->parts);
	free(map);
	return NULL;
}

void *hc_map_address(const struct hc_map *map) {
	return map ? map->address : NULL;
}

size_t hc_map_length(const struct hc_map *map) {
	return map ? map->length : 0;
}

int hc_map_fd(const struct hc_map *map) {
	return map ? map->fd : -1;
}

const struct hc_map_state *hc_map_state(const struct hc_map *map) {
	return map ? &map->state : NULL;
}

const struct hc_map_part *hc_map_part(const struct hc_map *map, unsigned i) {
	return map && i < map->nr_parts ? &map->parts[i] : NULL;
}

uint64_t hc_map_unit(const struct hc_map *map) {
	return map->state.kind == HC_PAGES_BASE ? map->base_page : map->state.page_size;
}

int hc_map_residency(const struct hc_map *map, size_t offset, size_t len, unsigned char *vec) {
	int r;
	while ((r = mincore(map->address + offset, len, vec)) < 0 && errno == EAGAIN)
		continue;
	if (r < 0)
		return hc_fail_call(errno, "mincore");
	for (size_t i = 0; i < len / map->base_page; i++)
		vec[i] &= 1; /* the other bits are reserved */
	return 0;
}

/* ---- The machine --------------------------------------------------------------- */

/* At a time: the memfd, a folder of /sys, the files of a path on the way to one, another root for a limit's text. */
#define SPARE_DESCRIPTORS 4

/*
 * The readers of /sys and /proc take what they can't read for unknown, and what is unknown is taken for
 * absent here: for want of descriptors that would be a wrong answer, smaller pages at worst.
 */
static int check_descriptors(const struct hc_root *root) {
	int fds[SPARE_DESCRIPTORS], nr = 0, err = 0;
	while (nr < SPARE_DESCRIPTORS && err == 0) {
		fds[nr] = fcntl(root->fd, F_DUPFD_CLOEXEC, 0);
		err = fds[nr] < 0 ? errno : 0;
		nr += err == 0;
	}
	while (nr > 0)
		close(fds[--nr]);
	return err ? -err : 0;
}

int hc_map_open_root(struct hc_root *ret_root) {
	struct hc_root root;
	int r = hc_root_open(NULL, &root);
	if (r == 0) {
		r = check_descriptors(&root);
		if (r < 0)
			hc_root_close(&root);
		else
			*ret_root = root;
	}
	if (r == -EMFILE || r == -ENFILE)
		return hc_fail_errno(-r, "%d descriptors are needed for a moment", SPARE_DESCRIPTORS + 1);
	return r;
}

/* ---- Opening ------------------------------------------------------------------- */

static int not_all_there(const struct hc_map *map, int err) {
	uint64_t resident = hc_survey_resident(map);
	return hc_fail(err, "%s of %s are there", hc_size_rounded(resident).s, hc_size_exact(map->length).s);
}

static int populate_and_verify(
        const struct hc_root *root, struct hc_map *map, const struct hc_map_work *work, uint64_t *done) {
	int r = hc_populate_all(root, map, work, done);
	if (r == 0)
		r = hc_survey(root, map);
	if (r < 0)
		return r;
	/* The kernel's word for pages of pools is checked; others may be swapped out again at any time. */
	if (map->state.kind == HC_PAGES_HUGETLB && hc_survey_resident(map) != map->length)
		return not_all_there(map, ENOMEM);
	r = hc_survey_check(map);
	if (r != -EIO || map->state.kind != HC_PAGES_THP || map->backing != HC_BACKING_EXACT)
		return r;
	/* Once more for the huge pages that weren't found at the first go; Linux 6.1. */
	uint64_t start = hc_clock_ns();
	(void)madvise(map->address, map->length, MADV_COLLAPSE);
	map->state.populate_ns += hc_clock_ns() - start;
	r = hc_survey(root, map);
	if (r == 0)
		r = hc_survey_check(map);
	return r;
}

static int populated_by_map(const struct hc_root *root, struct hc_map *map) {
	map->state.populated_by = HC_POPULATE_BY_MAP;
	map->state.threads = 1;
	int r = hc_survey(root, map);
	if (r < 0)
		return r;
	return hc_survey_resident(map) == map->length ? 0 : not_all_there(map, ENOMEM);
}

static int open_as(const struct hc_root *root, size_t len, const struct hc_map_opts *opts, const struct hc_idset *nodes,
        const struct hc_candidate *candidate, struct hc_map **ret_map) {
	struct hc_map *map = malloc(sizeof(*map));
	if (!map)
		return hc_fail_memory("no memory for a map");
	*map = (struct hc_map){
	        .pid = getpid(),
	        .fd = -1,
	        .base_page = (uint64_t)sysconf(_SC_PAGESIZE),
	        .backing = opts->backing,
	        .flags = opts->flags,
	        .placement = opts->placement,
	};
	bool by_map = opts->populate_by == HC_POPULATE_BY_MAP;
	int r = nodes ? hc_idset_copy(nodes, &map->nodes) : 0;
	if (r == 0)
		r = hc_backing_make(root, map, candidate, len, opts->hint, by_map);
	if (r == 0 && by_map)
		r = populated_by_map(root, map);
	else if (r == 0 && opts->flags & HC_MAP_POPULATE)
		r = populate_and_verify(root, map,
		        &(struct hc_map_work){
		                .threads = opts->threads,
		                .cpus = opts->cpus,
		                .step = opts->step,
		                .by = opts->populate_by,
		                .stop = opts->stop,
		                .progress = opts->progress,
		                .step_done = opts->step_done,
		                .user = opts->user,
		        },
		        &(uint64_t){0});
	else if (r == 0)
		r = hc_backing_check_demand(root, map);
	if (r < 0) {
		hc_map_close(map);
		return r;
	}
	*ret_map = map;
	return 0;
}

/* Errors that smaller pages may do without. */
static bool is_lack(int r) {
	return r == -ENOMEM || r == -ENODEV || r == -EOPNOTSUPP;
}

static int open_first(const struct hc_root *root, size_t len, const struct hc_map_opts *opts,
        const struct hc_idset *nodes, const struct hc_candidates *candidates, struct hc_map **ret_map) {
	struct hc_map *map = NULL;
	char *shortfall = NULL;
	int r = 0;
	for (unsigned i = 0; i < candidates->nr; i++) {
		const struct hc_candidate *candidate = &candidates->list[i];
		r = open_as(root, len, opts, nodes, candidate, &map);
		if (r == 0 || !is_lack(r) || i + 1 == candidates->nr)
			break;
		/* The first reason is the one that a person can do something about. */
		if (!shortfall)
			shortfall = strdup(hc_error_detail());
		/* Pages that were short are short without a descriptor too. */
		const struct hc_candidate *next = candidate + 1;
		if (r != -EOPNOTSUPP && candidate->memfd && next->shared && !next->memfd && i + 2 < candidates->nr)
			i++;
	}
	if (!map) {
		free(shortfall);
		return r;
	}
	map->shortfall = shortfall;
	map->state.shortfall = shortfall;
	*ret_map = map;
	return 0;
}

int hc_map_open(size_t len, const struct hc_map_opts *caller_opts, struct hc_map **ret_map) {
	struct hc_map_opts opts;
	int r = hc_opts_check(caller_opts, sizeof(opts), &opts);
	if (r == 0)
		r = check_opts(len, &opts);
	if (r == 0 && !ret_map)
		r = hc_fail(EINVAL, "nowhere to put the map");
	struct hc_root root;
	if (r == 0)
		r = hc_map_open_root(&root);
	if (r < 0)
		return r;
	struct hc_idset *nodes = NULL;
	struct hc_candidates candidates;
	r = read_nodes(&root, &opts, &nodes);
	if (r == 0)
		r = hc_candidates_list(&root, len, &opts, &candidates);
	if (r == 0)
		r = open_first(&root, len, &opts, nodes, &candidates, ret_map);
	hc_idset_free(nodes);
	hc_root_close(&root);
	return r;
}

/* ---- Later --------------------------------------------------------------------- */

int hc_map_populate(struct hc_map *map, const struct hc_map_work_opts *caller_opts, uint64_t *done) {
	struct hc_map_work_opts opts;
	uint64_t ignored;
	if (!done)
		done = &ignored;
	*done = 0;
	int r = hc_map_check_owner(map);
	if (r == 0)
		r = hc_opts_check(caller_opts, sizeof(opts), &opts);
	if (r == 0 && ((unsigned)opts.populate_by >= HC_POPULATE_BY_MAP))
		r = hc_fail(EINVAL, "%u is no way to populate a map that is open", (unsigned)opts.populate_by);
	struct hc_root root;
	if (r == 0)
		r = hc_map_open_root(&root);
	if (r < 0)
		return r;
	r = populate_and_verify(&root, map,
	        &(struct hc_map_work){
	                .threads = opts.threads,
	                .cpus = opts.cpus,
	                .step = opts.step,
	                .by = opts.populate_by,
	                .stop = opts.stop,
	                .progress = opts.progress,
	                .step_done = opts.step_done,
	                .user = opts.user,
	        },
	        done);
	hc_root_close(&root);
	return r;
}

int hc_map_verify(struct hc_map *map) {
	int r = hc_map_check_owner(map);
	struct hc_root root;
	if (r == 0)
		r = hc_map_open_root(&root);
	if (r < 0)
		return r;
	r = hc_survey(&root, map);
	hc_root_close(&root);
	if (r == 0 && hc_survey_resident(map) != map->length)
		r = not_all_there(map, ENODATA);
	return r < 0 ? r : hc_survey_check(map);
}
