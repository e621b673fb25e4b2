/* Zero again without new pages, and giving pages back. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <hugeclear/clear.h>
#include <hugeclear/map.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/opts.h"
#include "base/size.h"
#include "map/mapping.h"
#include "sys/nearby.h"

#define STEP_DEFAULT ((size_t)32 << 20)

/* Bytes that are asked about at once whether they are there. */
#define WINDOW ((size_t)256 << 20)

/* ---- Reset ---------------------------------------------------------------------- */

struct resetting {
	const struct hc_map *map;
	const struct hc_map_work_opts *opts;
	unsigned char *there; /* for one window */
	uint64_t before;      /* bytes in front of what is being cleared */
};

static void tell(void *user, uint64_t done, uint64_t total) {
	const struct resetting *resetting = user;
	(void)total;
	if (resetting->opts->progress)
		resetting->opts->progress(resetting->opts->user, resetting->before + done, resetting->map->length);
}

static int ask(void *user) {
	const struct resetting *resetting = user;
	return resetting->opts->stop ? resetting->opts->stop(resetting->opts->user) : 0;
}

/* How far from offset on all pages are there, or all are not. */
static int run_length(const struct resetting *resetting, size_t offset, size_t *ret_len, bool *ret_there) {
	const struct hc_map *map = resetting->map;
	size_t at = offset;
	while (at < map->length) {
		size_t len = (size_t)hc_min(WINDOW, map->length - at), pages = len / map->base_page, i = 0;
		int r = hc_map_residency(map, at, len, resetting->there);
		if (r < 0)
			return r;
		if (at == offset)
			*ret_there = resetting->there[0];
		while (i < pages && (bool)resetting->there[i] == *ret_there)
			i++;
		at += i * map->base_page;
		if (i < pages)
			break;
	}
	*ret_len = at - offset;
	return 0;
}

/*
 * Pages that aren't there are zero when they come, or swapped out: those are dropped. One of a pool
 * is never swapped, and is left alone, as dropping would cost its reservation.
 */
static int drop_absent(const struct hc_map *map, size_t offset, size_t len) {
	if (map->state.kind == HC_PAGES_HUGETLB)
		return 0;
	if (madvise(map->address + offset, len, map->shared ? MADV_REMOVE : MADV_DONTNEED) < 0)
		return hc_fail_errno(
		        errno, "madvise of %s that are swapped out, or never were there", hc_size_exact(len).s);
	return 0;
}

static int clear_run(struct resetting *resetting, size_t offset, size_t len, uint64_t *done) {
	const struct hc_map_work_opts *opts = resetting->opts;
	bool asks = opts->stop || opts->progress;
	struct hc_clear_opts clear = {
	        .size = sizeof(clear),
	        .intent = HC_INTENT_LATER,
	        .threads = opts->threads,
	        .cpus = opts->cpus,
	        .chunk = asks ? opts->step ? opts->step : STEP_DEFAULT : 0,
	        .stop = asks ? ask : NULL,
	        .progress = asks ? tell : NULL,
	        .user = resetting,
	};
	struct hc_clear_report report = {.size = sizeof(report)};
	resetting->before = *done;
	int r = hc_clear_with(resetting->map->address + offset, len, &clear, &report);
	*done += report.done;
	return r;
}

static int reset_runs(struct resetting *resetting, uint64_t *done) {
	const struct hc_map *map = resetting->map;
	for (size_t at = 0, len; at < map->length; at += len) {
		bool there = false;
		if (ask(resetting) != 0)
			return hc_fail(ECANCELED, "stopped after %s of %s", hc_size_rounded(*done).s,
			        hc_size_exact(map->length).s);
		int r = run_length(resetting, at, &len, &there);
		if (r == 0)
			r = there ? clear_run(resetting, at, len, done) : drop_absent(map, at, len);
		if (r < 0)
			return r;
		if (!there)
			*done += len;
		resetting->before = *done;
		tell(resetting, 0, 0);
	}
	return 0;
}

/* What was written through other mappings of a hugetlb memfd can only be told from what was never there by mapping it in. */
static int bring_in(struct hc_map *map, const struct hc_map_work_opts *opts) {
	struct hc_root root;
	uint64_t done;
	int r = hc_map_open_root(&root);
	if (r < 0)
		return r;
	r = hc_populate_all(&root, map,
	        &(struct hc_map_work){.threads = opts->threads,
	                .cpus = opts->cpus,
	                .step = opts->step,
	                .stop = opts->stop,
	                .user = opts->user},
	        &done);
	hc_root_close(&root);
	return r;
}

/* Where threads clear memory that is on certain nodes, unless they were told. NULL: anywhere. */
static int cpus_nearby(const struct hc_map *map, const struct hc_map_work_opts *opts, struct hc_idset **ret_cpus) {
	struct hc_root root;
	*ret_cpus = NULL;
	if (!map->nodes || opts->cpus || opts->threads < 2)
		return 0;
	int r = hc_map_open_root(&root);
	if (r < 0)
		return r;
	r = hc_nearby_cpus_here(&root, map->nodes, ret_cpus);
	hc_root_close(&root);
	return r;
}

int hc_map_reset(struct hc_map *map, const struct hc_map_work_opts *caller_opts, uint64_t *done) {
	struct hc_map_work_opts opts = {0};
	uint64_t ignored;
	if (!done)
		done = &ignored;
	*done = 0;
	int r = hc_map_check_free(map, "reset");
	if (r == 0)
		r = hc_opts_check(caller_opts, sizeof(opts), &opts);
	if (r == 0 && opts.populate_by != HC_POPULATE_CHOSEN)
		r = hc_fail(EINVAL, "a way to populate is for hc_map_populate(), not for a reset");
	if (r == 0 && map->state.kind == HC_PAGES_HUGETLB && map->shared)
		r = bring_in(map, &opts);
	struct hc_idset *nearby = NULL;
	if (r == 0)
		r = cpus_nearby(map, &opts, &nearby);
	if (r < 0)
		return r;
	if (nearby)
		opts.cpus = hc_idset_text(nearby);
	struct resetting resetting = {.map = map, .opts = &opts};
	resetting.there = malloc(hc_min(WINDOW, map->length) / map->base_page);
	r = resetting.there ? reset_runs(&resetting, done) : hc_fail_memory("no memory to look at pages");
	free(resetting.there);
	hc_idset_free(nearby);
	return r;
}

/* ---- Discard ----------------------------------------------------------------------- */

static int check_gone(const struct hc_map *map, size_t offset, size_t len) {
	unsigned char *there = malloc(hc_min(WINDOW, len) / map->base_page);
	if (!there)
		return hc_fail_memory("no memory to look at pages");
	uint64_t stayed = 0;
	int r = 0;
	for (size_t at = 0; r == 0 && at < len; at += WINDOW) {
		size_t part = (size_t)hc_min(WINDOW, len - at);
		r = hc_map_residency(map, offset + at, part, there);
		for (size_t i = 0; r == 0 && i < part / map->base_page; i++)
			stayed += there[i] ? map->base_page : 0;
	}
	free(there);
	if (r == 0 && stayed > 0)
		r = hc_fail(EBUSY, "%s of %s that were given back are still there", hc_size_rounded(stayed).s,
		        hc_size_exact(len).s);
	return r;
}

static int give_back(const struct hc_map *map, size_t offset, size_t len) {
	int r;
	if (map->fd >= 0) {
		while ((r = fallocate(map->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len)) <
		                0 &&
		        errno == EINTR)
			continue;
		return r < 0 ? hc_fail_call(errno, "fallocate(FALLOC_FL_PUNCH_HOLE) of %s", hc_size_exact(len).s) : 0;
	}
	/* Without a descriptor a shared mapping is a file too, from which MADV_DONTNEED would only unmap. */
	r = madvise(map->address + offset, len, map->shared ? MADV_REMOVE : MADV_DONTNEED);
	if (r < 0 && errno == EINVAL)
		return hc_fail(
		        EBUSY, "%s can't be given back: locked memory (mlock(2), mlockall(2))", hc_size_exact(len).s);
	return r < 0 ? hc_fail_call(errno, "madvise of %s", hc_size_exact(len).s) : 0;
}

int hc_map_discard(struct hc_map *map, size_t offset, size_t len, uint64_t *done) {
	if (done)
		*done = 0;
	int r = hc_map_check_free(map, "discarded");
	if (r < 0)
		return r;
	uint64_t end, from;
	if (!hc_add_ok(offset, len, &end) || end > map->length)
		return hc_fail(
		        EINVAL, "%zu bytes from byte %zu on aren't within a map of %zu", len, offset, map->length);
	uint64_t unit = hc_map_unit(map);
	/* The tail behind the last THP is base pages, which the end of the map closes. */
	end = end == map->length ? end : hc_align_down(end, unit);
	if (!hc_align_up_ok(offset, unit, &from) || from >= end)
		return 0;
	r = give_back(map, (size_t)from, (size_t)(end - from));
	if (r == 0)
		r = check_gone(map, (size_t)from, (size_t)(end - from));
	if (r == 0 && done)
		*done = end - from;
	return r;
}
