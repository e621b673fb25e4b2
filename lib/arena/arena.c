#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena/arena_object.h"
#include "arena/scrub.h"
#include "base/error.h"
#include "base/opts.h"
#include "base/size.h"
#include "clear/announce.h"
#include "map/mapping.h"
#include "sys/root.h"
#include "sys/topology.h"

#define FLAGS_KNOWN (HC_ARENA_CLEAN | HC_ARENA_AT_USE)
#define LARGEST_USUAL (UINT64_C(1) << 30)

/* Newer than the headers of some libc: madvise(2). */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

int hc_arena_check_owner(const struct hc_arena *arena) {
	if (!arena)
		return hc_fail(EINVAL, "no arena");
	if (*arena->alive != 1 || (arena->pid != 0 && arena->pid != getpid()))
		return hc_fail(ECHILD, "the arena belongs to the process that opened it, not to its child");
	return 0;
}

/* ---- Settings ------------------------------------------------------------------- */

static int check_opts(const struct hc_arena_opts *opts) {
	if (!opts->map == !opts->memory)
		return hc_fail(EINVAL, opts->map ? "a map and memory: one of them" : "neither a map nor memory");
	if (opts->map && opts->length)
		return hc_fail(EINVAL, "a length is for the caller's memory, a map has its own");
	if (opts->flags & ~FLAGS_KNOWN)
		return hc_fail(EINVAL, "unknown flags 0x%x", opts->flags & ~FLAGS_KNOWN);
	if ((unsigned)opts->init > HC_ARENA_MEMSET_THEN_INIT)
		return hc_fail(EINVAL, "%u is no way to initialise", (unsigned)opts->init);
	if (opts->flags & HC_ARENA_AT_USE && (opts->init != HC_ARENA_DEFERRED || opts->threads > 0))
		return hc_fail(EINVAL, "HC_ARENA_AT_USE is for HC_ARENA_DEFERRED, without threads");
	if (opts->init == HC_ARENA_SERIAL && opts->threads > 1)
		return hc_fail(EINVAL, "HC_ARENA_SERIAL is one thread, not %u", opts->threads);
	if (opts->threads > 8192)
		return hc_fail(EINVAL, "%u threads wanted: at most 8192 are possible", opts->threads);
	if ((uintptr_t)opts->descriptors % HC_ARENA_LINE != 0)
		return hc_fail(EINVAL, "memory for descriptors at %p isn't aligned to %d bytes", opts->descriptors,
		        HC_ARENA_LINE);
	return 0;
}

static int check_sizes(uint64_t frame_size, uint64_t largest) {
	if (!hc_is_power_of_two(frame_size) || frame_size < HC_ARENA_LINE)
		return hc_fail(EINVAL, "frames of %s: not a power of two of at least %d bytes",
		        hc_size_exact(frame_size).s, HC_ARENA_LINE);
	if (!hc_is_power_of_two(largest) || largest < frame_size)
		return hc_fail(EINVAL, "a largest frame of %s: not a power of two, or below frames of %s",
		        hc_size_exact(largest).s, hc_size_exact(frame_size).s);
	if (largest / frame_size >= UINT64_C(1) << HC_ARENA_ORDERS_MAX)
		return hc_fail(EINVAL, "frames from %s to %s: at most %d orders are possible",
		        hc_size_exact(frame_size).s, hc_size_exact(largest).s, HC_ARENA_ORDERS_MAX);
	return 0;
}

static int lay_out(struct hc_arena *arena, const struct hc_arena_opts *opts) {
	uint64_t length = opts->map ? hc_map_length(opts->map) : opts->length;
	arena->memory = opts->map ? hc_map_address(opts->map) : opts->memory;
	arena->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t frame_size = opts->frame_size ? opts->frame_size : arena->page_size;
	uint64_t largest = opts->largest;
	if (largest == 0 && opts->map)
		largest = hc_max(hc_map_state(opts->map)->page_size, frame_size);
	else if (largest == 0)
		for (largest = frame_size; largest < LARGEST_USUAL && largest * 2 <= length;)
			largest *= 2;
	int r = check_sizes(frame_size, largest);
	if (r < 0)
		return r;
	if ((uintptr_t)arena->memory % frame_size != 0)
		return hc_fail(EINVAL, "memory at %p isn't aligned to frames of %s", (void *)arena->memory,
		        hc_size_exact(frame_size).s);
	if (length < frame_size || !hc_range_ok(arena->memory, length))
		return hc_fail(EINVAL, "memory of %s at %p: %s", hc_size_exact(length).s, (void *)arena->memory,
		        length < frame_size ? "less than a frame" : "it wraps");
	arena->frame_shift = (unsigned)__builtin_ctzll(frame_size);
	arena->max_order = (unsigned)__builtin_ctzll(largest / frame_size);
	arena->nr_frames = length >> arena->frame_shift;
	arena->skew = ((uintptr_t)arena->memory & (largest - 1)) >> arena->frame_shift;
	arena->section_shift = (unsigned)hc_max(arena->max_order, (uint64_t)__builtin_ctz(HC_ARENA_SECTION_MIN));
	arena->nr_sections = hc_arena_section_of(arena, arena->nr_frames - 1) + 1;
	return 0;
}

/* ---- Opening and closing ------------------------------------------------------------ */

static int make_canary(struct hc_arena *arena) {
	void *p = mmap(NULL, arena->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return hc_fail_errno(errno, "no page for an arena");
	arena->alive = p;
	*arena->alive = 1;
	/* Linux 4.14; elsewhere every call asks which process it is in. */
	if (madvise(p, arena->page_size, MADV_WIPEONFORK) < 0)
		arena->pid = getpid();
	return 0;
}

/* Distances matter, and where pages are, where there are several nodes. */
static int read_topology(struct hc_arena *arena) {
	struct hc_root root;
	int r = hc_root_open("/", &root);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = hc_topology_read(&root, NULL, &arena->topology);
	hc_root_close(&root);
	if (r == 0 && hc_idset_count(hc_topology_nodes_with_memory(arena->topology)) < 2 && !arena->node_of)
		arena->topology = hc_topology_free(arena->topology);
	return r;
}

/* Takes any half-built object. */
static void destroy(struct hc_arena *arena) {
	hc_scrubber_end(arena);
	hc_descriptors_end(arena);
	/* Free frames may be touched again: they are the caller's. */
	if (arena->poisoned_begin < arena->poisoned_end)
		hc_announce_given(hc_arena_at(arena, arena->poisoned_begin),
		        (size_t)((arena->poisoned_end - arena->poisoned_begin) << arena->frame_shift));
	if (arena->map)
		hc_map_let_go(arena->map);
	if (arena->mapped)
		munmap(arena->mapped, arena->mapped_length);
	for (int id = 0; id < HC_ARENA_NODES_MAX; id++)
		hc_node_free(hc_arena_node(arena, id));
	hc_topology_free(arena->topology);
	free((void *)(uintptr_t)arena->sections);
	if (arena->alive)
		munmap(arena->alive, arena->page_size);
	pthread_mutex_destroy(&arena->sections_lock);
	pthread_cond_destroy(&arena->section_ready);
	pthread_mutex_destroy(&arena->scrubber_lock);
	free(arena);
}

static int fill_in(struct hc_arena *arena, const struct hc_arena_opts *opts) {
	int r = lay_out(arena, opts);
	if (r == 0 && opts->map)
		r = hc_map_hold(opts->map);
	if (r == 0)
		arena->map = opts->map;
	if (r == 0)
		r = make_canary(arena);
	if (r == 0)
		r = read_topology(arena);
	if (r == 0) {
		arena->sections = calloc((size_t)arena->nr_sections, sizeof(*arena->sections));
		r = arena->sections
		            ? 0
		            : hc_fail_memory("no memory for %llu sections", (unsigned long long)arena->nr_sections);
	}
	arena->frames = opts->descriptors;
	if (r == 0 && !arena->frames)
		r = hc_descriptors_map(arena);
	return r < 0 ? r : hc_descriptors_init(arena, opts);
}

int hc_arena_open(const struct hc_arena_opts *caller_opts, struct hc_arena **ret_arena) {
	struct hc_arena_opts opts = {0};
	int r = hc_opts_check(caller_opts, sizeof(opts), &opts);
	if (r == 0)
		r = check_opts(&opts);
	if (r < 0)
		return r;
	struct hc_arena *arena = calloc(1, sizeof(*arena));
	if (!arena)
		return hc_fail_memory("no memory for an arena");
	pthread_mutex_init(&arena->sections_lock, NULL);
	pthread_cond_init(&arena->section_ready, NULL);
	pthread_mutex_init(&arena->scrubber_lock, NULL);
	arena->poisoned_begin = UINT64_MAX;
	arena->flags = opts.flags;
	arena->node_of = opts.node_of;
	arena->user = opts.user;
	r = fill_in(arena, &opts);
	if (r < 0) {
		struct hc_error error;
		hc_error_save(r, &error);
		destroy(arena);
		return hc_error_restore(&error);
	}
	*ret_arena = arena;
	return 0;
}

static int count_pinned(void *user, const struct hc_frame_view *view) {
	*(uint64_t *)user += view->pins > 0;
	return 0;
}

struct hc_arena *hc_arena_close(struct hc_arena *arena) {
	if (!arena || hc_arena_check_owner(arena) < 0)
		return NULL;
	uint64_t pinned = 0;
	hc_arena_walk(arena, count_pinned, &pinned);
	if (pinned > 0) {
		hc_fail(EBUSY, "%llu frames are pinned: who pins them may still write to them",
		        (unsigned long long)pinned);
		return arena;
	}
	destroy(arena);
	return NULL;
}
