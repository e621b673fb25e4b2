/* Arenas: what is cut how, what is ready when, who gets which frame, and every wrong use. */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>
#include <hugeclear/map.h>

#include "arena/arena_object.h"

#define FRAME ((size_t)4096)
#define MIB ((size_t)1 << 20)

/* ---- Memory --------------------------------------------------------------------------- */

/* Address space that begins so many frames after a multiple of 1 GiB; nobody touches it. */
static char *address_space(size_t frames, size_t skew) {
	size_t align = (size_t)1 << 30, len = frames * FRAME;
	char *p = mmap(NULL, len + 2 * align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(p != MAP_FAILED);
	char *at = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1)) + skew * FRAME;
	if (at > p)
		munmap(p, (size_t)(at - p));
	munmap(at + len, 2 * align - (size_t)(at - p));
	return at;
}

static char *memory(size_t frames) {
	char *p = address_space(frames, 0);
	assert_int_equal(mprotect(p, frames * FRAME, PROT_READ | PROT_WRITE), 0);
	return p;
}

static struct hc_arena *opened(struct hc_arena_opts opts) {
	struct hc_arena *arena = NULL;
	opts.size = sizeof(opts);
	opts.frame_size = opts.frame_size ? opts.frame_size : FRAME;
	assert_ok(hc_arena_open(&opts, &arena));
	assert_ok(hc_arena_check(arena));
	return arena;
}

static void refused(struct hc_arena_opts opts, int err, const char *detail) {
	struct hc_arena *arena = NULL;
	opts.size = sizeof(opts);
	assert_error(hc_arena_open(&opts, &arena), err);
	assert_null(arena);
	assert_detail_has(detail);
}

static struct hc_frame *alloced(struct hc_arena *arena, unsigned order, int node, unsigned flags) {
	struct hc_frame *frame = NULL;
	assert_ok(hc_arena_alloc(arena, order, node, flags, &frame));
	return frame;
}

static struct hc_arena_stats stats_of(struct hc_arena *arena, int node) {
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	assert_ok(hc_arena_stats(arena, node, &stats));
	return stats;
}

static void close_arena(struct hc_arena *arena) {
	assert_ok(hc_arena_check(arena));
	assert_null(hc_arena_close(arena));
}

/* ---- Opening ---------------------------------------------------------------------------- */

static void test_wrong_settings(void **state) {
	(void)state;
	char *p = memory(1024);
	refused((struct hc_arena_opts){0}, EINVAL, "neither a map nor memory");
	refused((struct hc_arena_opts){.memory = p, .length = 100}, EINVAL, "less than a frame");
	refused((struct hc_arena_opts){.memory = p + 64, .length = MIB, .frame_size = FRAME}, EINVAL, "isn't aligned");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .frame_size = 100}, EINVAL, "not a power of two");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .frame_size = 32}, EINVAL, "at least 64");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .frame_size = FRAME, .largest = 3 * FRAME}, EINVAL,
	        "not a power of two");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .frame_size = FRAME, .largest = 64}, EINVAL,
	        "below frames");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .flags = 1u << 30}, EINVAL, "unknown flags");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .init = (enum hc_arena_init)9}, EINVAL, "no way");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .flags = HC_ARENA_AT_USE}, EINVAL,
	        "HC_ARENA_DEFERRED");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .init = HC_ARENA_SERIAL, .threads = 2}, EINVAL,
	        "one thread");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .descriptors = p + 8}, EINVAL, "aligned");
	refused((struct hc_arena_opts){.memory = p, .length = MIB, .frame_size = 64, .largest = (size_t)1 << 40},
	        EINVAL, "orders");
	refused((struct hc_arena_opts){.memory = p, .length = SIZE_MAX - 4095}, EINVAL, "wraps");
	struct hc_arena *arena;
	struct hc_arena_opts opts = {.size = 3};
	assert_error(hc_arena_open(&opts, &arena), EINVAL);
	assert_error(hc_arena_open(NULL, &arena), EINVAL);
	assert_null(hc_arena_close(NULL));
	assert_error(hc_arena_wait(NULL), EINVAL);
	munmap(p, 1024 * FRAME);
}

/* 64 PiB of frames of 4 KiB: 2^44 of them, 2^50 bytes of descriptors. */
static void test_descriptors_that_do_not_fit(void **state) {
	(void)state;
	refused(
	        (struct hc_arena_opts){
	                .memory = (void *)(uintptr_t)4096, .length = (size_t)1 << 56, .frame_size = FRAME},
	        ENOMEM, "enough for");
	assert_detail_has("17592186044416 frames need 1 PiB of descriptors");
}

static void test_size_of_descriptors(void **state) {
	(void)state;
	/* "1 TiB of 4 KiB frames is 16 GiB of descriptors" */
	assert_int_equal(hc_arena_descriptors_size((size_t)1 << 40, FRAME), (size_t)16 << 30);
	assert_int_equal(hc_arena_descriptors_size(FRAME * 3 + 1, FRAME), 192);
	assert_int_equal(hc_arena_descriptors_size(FRAME - 1, FRAME), 0);
}

struct seen {
	uint64_t frames, heads, not_ready;
	char *next;
	uint64_t by_state[6];
};

static int see(void *user, const struct hc_frame_view *view) {
	struct seen *seen = user;
	assert_ptr_equal(view->address, seen->next);
	seen->next += view->length;
	seen->frames += view->length / FRAME;
	seen->by_state[view->state] += view->length / FRAME;
	if (view->state == HC_FRAME_NOT_READY)
		seen->not_ready++;
	else
		seen->heads++;
	return 0;
}

static struct seen walked(struct hc_arena *arena, char *from) {
	struct seen seen = {.next = from};
	assert_ok(hc_arena_walk(arena, see, &seen));
	return seen;
}

/*
 * Memory that begins and ends within blocks: no descriptor is left out, none says what its memory said before,
 * and frames are aligned in the address space. 1000 frames from 3 on in blocks of 512:
 * 3 = 1, 4-7 = 4, 8-15, ... 256-511; 512-1002: 256, 128, 64, 32, 8, 2, 1.
 */
static void test_PD_03_range_that_ends_inside_a_block(void **state) {
	(void)state;
	static const enum hc_arena_init ways[] = {
	        HC_ARENA_PARALLEL, HC_ARENA_SERIAL, HC_ARENA_DEFERRED, HC_ARENA_MEMSET_THEN_INIT};
	char *p = address_space(1000, 3);
	size_t size = hc_arena_descriptors_size(1000 * FRAME, FRAME);
	char *descriptors = aligned_alloc(64, size);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		memset(descriptors, 0xff, size);
		struct hc_arena *arena = opened((struct hc_arena_opts){.memory = p,
		        .length = 1000 * FRAME + 100,
		        .largest = 512 * FRAME,
		        .init = ways[i],
		        .descriptors = descriptors});
		struct seen seen = walked(arena, p);
		assert_int_equal(seen.frames, 1000);
		assert_int_equal(seen.heads, 8 + 7);
		assert_int_equal(seen.by_state[HC_FRAME_FREE_DIRTY], 1000);
		struct hc_frame *frame;
		for (size_t k = 0; k < 1000; k++)
			assert_ok(hc_frame_of(arena, p + k * FRAME + 17, &frame));
		assert_error(hc_frame_of(arena, p + 1000 * FRAME, &frame), EINVAL);
		assert_error(hc_frame_of(arena, p - 1, &frame), EINVAL);
		assert_ok(hc_frame_of(arena, p + (300 - 3) * FRAME, &frame));
		assert_ptr_equal(hc_frame_address(arena, frame), p + (256 - 3) * FRAME);
		assert_int_equal(hc_frame_order(frame), 8);
		close_arena(arena);
	}
	/* The last block is of one frame: 513 frames are one of 512, and one. */
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p + 509 * FRAME, .length = 491 * FRAME, .largest = 512 * FRAME, .init = HC_ARENA_SERIAL});
	assert_int_equal(walked(arena, p + 509 * FRAME).frames, 491);
	close_arena(arena);
	free(descriptors);
	munmap(p, 1000 * FRAME);
}

/* 3 sections and a part; every way, every number of threads, also more of them than sections: the same arena. */
static void test_all_ways_of_initialising_give_the_same(void **state) {
	(void)state;
	size_t frames = 3 * HC_ARENA_SECTION_MIN + 1234;
	char *p = address_space(frames, 0);
	size_t size = hc_arena_descriptors_size(frames * FRAME, FRAME);
	char *first = aligned_alloc(64, size), *other = aligned_alloc(64, size);
	assert_true(first && other);
	memset(first, 0xa5, size);
	struct hc_arena *arena = opened((struct hc_arena_opts){.memory = p,
	        .length = frames * FRAME,
	        .largest = 512 * FRAME,
	        .init = HC_ARENA_SERIAL,
	        .descriptors = first});
	assert_int_equal(stats_of(arena, HC_NODE_HERE).ready, frames);
	close_arena(arena);
	for (unsigned threads = 1; threads <= 9; threads += 4) {
		for (int way = 0; way < 3; way++) {
			memset(other, 0x5a, size);
			arena = opened((struct hc_arena_opts){.memory = p,
			        .length = frames * FRAME,
			        .largest = 512 * FRAME,
			        .init = (const enum hc_arena_init[]){HC_ARENA_PARALLEL, HC_ARENA_DEFERRED,
			                HC_ARENA_MEMSET_THEN_INIT}[way],
			        .threads = threads,
			        .descriptors = other});
			assert_ok(hc_arena_wait(arena));
			struct seen seen = walked(arena, p);
			assert_int_equal(seen.by_state[HC_FRAME_FREE_DIRTY], frames);
			close_arena(arena);
			/* All but the links, which depend on who was first. */
			for (size_t i = 0; i < frames; i++) {
				struct hc_frame *a = (struct hc_frame *)first + i, *b = (struct hc_frame *)other + i;
				assert_int_equal(a->word, b->word);
				assert_int_equal(a->node, b->node);
				assert_true(a->word != 0 || (!b->next && !b->prev));
				assert_memory_equal(b->words, ((uint64_t[HC_FRAME_WORDS]){0}), sizeof(b->words));
			}
		}
	}
	free(first);
	free(other);
	munmap(p, frames * FRAME);
}

static int after_two(void *user) {
	return ++*(int *)user > 2;
}

static void count(void *user, uint64_t done, uint64_t total) {
	assert_true(done <= total);
	(*(int *)user)++;
}

static void test_stop_and_progress(void **state) {
	(void)state;
	size_t frames = 8 * HC_ARENA_SECTION_MIN;
	char *p = address_space(frames, 0);
	int asked = 0, told = 0;
	refused((struct hc_arena_opts){.memory = p,
	                .length = frames * FRAME,
	                .frame_size = FRAME,
	                .largest = 512 * FRAME,
	                .init = HC_ARENA_SERIAL,
	                .stop = after_two,
	                .user = &asked},
	        ECANCELED, "stopped");
	close_arena(opened((struct hc_arena_opts){.memory = p,
	        .length = frames * FRAME,
	        .largest = 512 * FRAME,
	        .init = HC_ARENA_SERIAL,
	        .progress = count,
	        .user = &told}));
	assert_int_equal(told, 8);
	munmap(p, frames * FRAME);
}

/* ---- Deferred -------------------------------------------------------------------------------- */

/* Pages of the descriptors that are there. */
static size_t resident(const struct hc_arena *arena) {
	size_t pages = arena->mapped_length / 4096, nr = 0;
	unsigned char *vec = malloc(pages);
	assert_int_equal(mincore(arena->mapped, arena->mapped_length, vec), 0);
	for (size_t i = 0; i < pages; i++)
		nr += vec[i] & 1;
	free(vec);
	return nr;
}

/* 1 TiB: 268 million frames, 16 GiB of descriptors, of which the first section's 2 MiB are there. */
static void test_deferred_takes_memory_at_use(void **state) {
	(void)state;
	size_t frames = ((size_t)1 << 40) / FRAME;
	if ((size_t)sysconf(_SC_AVPHYS_PAGES) * 4096 < (size_t)17 << 30)
		skip();
	char *p = address_space(frames, 0);
	struct hc_arena *arena = NULL;
	assert_ok(hc_arena_open(&(struct hc_arena_opts){.size = sizeof(struct hc_arena_opts),
	                                .memory = p,
	                                .length = frames * FRAME,
	                                .frame_size = FRAME,
	                                .largest = 512 * FRAME,
	                                .init = HC_ARENA_DEFERRED,
	                                .flags = HC_ARENA_AT_USE},
	        &arena));
	struct hc_frame *frame = alloced(arena, 9, HC_NODE_HERE, 0);
	assert_ptr_equal(hc_frame_address(arena, frame), p);
	/* One section more where THP straddle its end. */
	assert_in_range(resident(arena), 512, 2 * 512);
	assert_int_equal(hc_arena_ready(arena, p + 100), 1);
	assert_int_equal(hc_arena_ready(arena, p + (frames - 1) * FRAME), 0);
	assert_error(hc_arena_ready(arena, p + frames * FRAME), EINVAL);
	assert_error(hc_frame_of(arena, p + (frames - 1) * FRAME, &frame), EAGAIN);
	struct hc_arena_stats stats = stats_of(arena, HC_NODE_HERE);
	assert_int_equal(stats.frames, frames);
	assert_int_equal(stats.ready, HC_ARENA_SECTION_MIN);
	assert_ok(hc_arena_check(arena));
	assert_null(hc_arena_close(arena));
	munmap(p, frames * FRAME);
}

/* Every frame can be had, once, whoever makes its section ready. */
static void test_deferred_hands_out_every_frame_once(void **state) {
	(void)state;
	size_t frames = 4 * HC_ARENA_SECTION_MIN + 512;
	char *p = address_space(frames, 0), *seen = calloc(frames / 512, 1);
	for (int at_use = 0; at_use < 2; at_use++) {
		memset(seen, 0, frames / 512);
		struct hc_arena *arena = opened((struct hc_arena_opts){.memory = p,
		        .length = frames * FRAME,
		        .largest = 512 * FRAME,
		        .init = HC_ARENA_DEFERRED,
		        .flags = at_use ? HC_ARENA_AT_USE : 0});
		if (!at_use)
			assert_ok(hc_arena_wait(arena));
		for (size_t i = 0; i < frames / 512; i++) {
			char *at = hc_frame_address(arena, alloced(arena, 9, HC_NODE_HERE, 0));
			assert_int_equal((size_t)(at - p) % (512 * FRAME), 0);
			assert_int_equal(seen[(size_t)(at - p) / (512 * FRAME)]++, 0);
		}
		struct hc_frame *frame;
		assert_error(hc_arena_alloc(arena, 0, HC_NODE_HERE, 0, &frame), ENOMEM);
		assert_detail_has("no frame is free: all 514 MiB of it are in use");
		assert_ok(hc_arena_check(arena));
		assert_null(hc_arena_close(arena));
	}
	free(seen);
	munmap(p, frames * FRAME);
}

/* Looked up, walked and closed while threads are at it. */
static void test_PD_04_used_before_the_workers_are_finished(void **state) {
	(void)state;
	size_t frames = 31 * HC_ARENA_SECTION_MIN; /* a million */
	char *p = address_space(frames, 0);
	for (int round = 0; round < 3; round++) {
		struct hc_arena *arena = NULL;
		assert_ok(hc_arena_open(&(struct hc_arena_opts){.size = sizeof(struct hc_arena_opts),
		                                .memory = p,
		                                .length = frames * FRAME,
		                                .frame_size = FRAME,
		                                .largest = 512 * FRAME,
		                                .init = HC_ARENA_DEFERRED,
		                                .threads = 2},
		        &arena));
		struct hc_frame *frame;
		int r = hc_frame_of(arena, p + (frames - 1) * FRAME, &frame);
		assert_true(r == 0 || r == -EAGAIN);
		struct seen seen = walked(arena, p);
		assert_int_equal(seen.frames, frames);
		frame = alloced(arena, 0, HC_NODE_HERE, 0);
		assert_ok(hc_arena_free(arena, frame, 0));
		if (round == 1)
			assert_ok(hc_arena_wait(arena));
		assert_null(hc_arena_close(arena));
	}
	munmap(p, frames * FRAME);
}

/* ---- Allocating --------------------------------------------------------------------------------- */

static void test_frames_are_aligned_and_apart(void **state) {
	(void)state;
	char *p = memory(1024);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = 1024 * FRAME, .largest = 1024 * FRAME, .init = HC_ARENA_SERIAL});
	struct hc_frame *frames[11];
	/* 1 + 1 + 2 + 4 ... + 512 is all of it. */
	for (unsigned order = 0; order < 10; order++) {
		frames[order] = alloced(arena, order, HC_NODE_HERE, 0);
		char *at = hc_frame_address(arena, frames[order]);
		assert_int_equal((size_t)(at - p) % (FRAME << order), 0);
		assert_int_equal(hc_frame_order(frames[order]), order);
		memset(at, (int)order + 1, FRAME << order);
	}
	frames[10] = alloced(arena, 0, 0, 0);
	struct hc_frame *none, *head;
	assert_error(hc_arena_alloc(arena, 0, HC_NODE_HERE, 0, &none), ENOMEM);
	for (unsigned order = 0; order < 10; order++) {
		char *at = hc_frame_address(arena, frames[order]);
		for (size_t i = 0; i < FRAME << order; i += 511)
			assert_int_equal(at[i], (int)order + 1);
		assert_ok(hc_frame_of(arena, at + (FRAME << order) - 1, &head));
		assert_ptr_equal(head, frames[order]);
	}
	assert_ok(hc_arena_check(arena));
	for (unsigned order = 0; order < 10; order++)
		assert_ok(hc_arena_free(arena, frames[order], order));
	assert_error(hc_arena_alloc(arena, 10, HC_NODE_HERE, 0, &none), ENOMEM);
	assert_detail_has("a frame of 4 MiB wanted, the largest free one is 2 MiB");
	assert_ok(hc_arena_free(arena, frames[10], 0));
	/* All of them are one again. */
	none = alloced(arena, 10, HC_NODE_HERE, 0);
	assert_ok(hc_arena_free(arena, none, 10));
	struct hc_arena_stats stats = stats_of(arena, HC_NODE_HERE);
	assert_int_equal(stats.free_blocks[10], 1);
	assert_int_equal(stats.allocations, 12);
	assert_int_equal(stats.frees, 12);
	close_arena(arena);
	munmap(p, 1024 * FRAME);
}

/* What is written of descriptors, counted: 1 GiB touches one, and what the list links. */
static void test_a_large_frame_touches_one_descriptor(void **state) {
	(void)state;
	size_t frames = (size_t)4 << 18;
	char *p = address_space(frames, 0);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = frames * FRAME, .largest = (size_t)1 << 30, .init = HC_ARENA_SERIAL});
	size_t size = frames * sizeof(struct hc_frame);
	char *before = malloc(size);
	memcpy(before, arena->frames, size);
	struct hc_frame *frame = alloced(arena, 18, HC_NODE_HERE, 0);
	assert_ok(hc_frame_get(arena, frame));
	assert_ok(hc_frame_put(arena, frame));
	size_t touched = 0;
	for (size_t i = 0; i < frames; i++)
		touched += memcmp(before + i * 64, (const char *)&arena->frames[i], 64) != 0;
	/* The frame, and the one that was behind it on the list. */
	assert_int_equal(touched, 2);
	memcpy(before, arena->frames, size);
	assert_ok(hc_arena_free(arena, frame, 18));
	touched = 0;
	for (size_t i = 0; i < frames; i++)
		touched += memcmp(before + i * 64, (const char *)&arena->frames[i], 64) != 0;
	assert_int_equal(touched, 2);
	free(before);
	close_arena(arena);
	munmap(p, frames * FRAME);
}

static void test_wrong_frees(void **state) {
	(void)state;
	char *p = memory(1024);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = 1024 * FRAME, .largest = 512 * FRAME, .init = HC_ARENA_SERIAL});
	struct hc_frame *frame = alloced(arena, 4, HC_NODE_HERE, 0), foreign = {0}, *none;
	assert_error(hc_arena_free(arena, frame, 3), EINVAL);
	assert_detail_has("is of order 4, not 3");
	assert_error(hc_arena_free(arena, frame + 5, 0), EINVAL);
	assert_detail_has("is no head: it is part of the frame at");
	assert_error(hc_arena_free(arena, &foreign, 0), EINVAL);
	assert_error(hc_arena_free(arena, NULL, 0), EINVAL);
	assert_error(hc_arena_free(arena, (struct hc_frame *)((char *)frame + 8), 4), EINVAL);
	assert_error(hc_arena_free(arena, arena->frames + 1024, 0), EINVAL);
	assert_ok(hc_arena_free(arena, frame, 4));
	assert_error(hc_arena_free(arena, frame, 4), EALREADY);
	assert_error(hc_arena_alloc(arena, 10, HC_NODE_HERE, 0, &none), EINVAL);
	assert_error(hc_arena_alloc(arena, 0, 77, 0, &none), EINVAL);
	assert_error(hc_arena_alloc(arena, 0, -2, 0, &none), EINVAL);
	assert_error(hc_arena_alloc(arena, 0, 100000, 0, &none), EINVAL);
	assert_error(hc_arena_alloc(arena, 0, HC_NODE_HERE, 1u << 20, &none), EINVAL);
	assert_error(hc_arena_alloc(arena, 0, HC_NODE_HERE, 0, NULL), EINVAL);
	close_arena(arena);
	munmap(p, 1024 * FRAME);
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Sections by turns of nodes 3 and 250. */
static int by_turns(void *user, const void *address, size_t len) {
	(void)len;
	return ((const char *)address - (const char *)user) / (ptrdiff_t)(HC_ARENA_SECTION_MIN * FRAME) % 2 ? 250 : 3;
}

static void test_exhausted_nodes(void **state) {
	(void)state;
	size_t frames = 4 * HC_ARENA_SECTION_MIN;
	for (int deferred = 0; deferred < 2; deferred++) {
		char *p = address_space(frames, 0);
		struct hc_arena *arena = opened((struct hc_arena_opts){.memory = p,
		        .length = frames * FRAME,
		        .largest = HC_ARENA_SECTION_MIN * FRAME,
		        .init = deferred ? HC_ARENA_DEFERRED : HC_ARENA_PARALLEL,
		        .flags = deferred ? HC_ARENA_AT_USE : 0,
		        .node_of = by_turns,
		        .user = p});
		struct hc_frame *frame = alloced(arena, 15, 250, HC_STRICT), *none;
		assert_int_equal(hc_frame_node(frame), 250);
		assert_int_equal(hc_frame_node(alloced(arena, 15, 250, HC_STRICT)), 250);
		assert_error(hc_arena_alloc(arena, 0, 250, HC_STRICT, &none), ENOMEM);
		assert_detail_has("on node 250");
		assert_int_equal(hc_frame_node(alloced(arena, 15, 250, 0)), 3);
		struct hc_arena_stats stats = stats_of(arena, 250);
		assert_int_equal(stats.free_dirty, 0);
		assert_int_equal(stats.frames, 2 * HC_ARENA_SECTION_MIN);
		assert_error(hc_arena_stats(arena, 7, &stats), EINVAL);
		assert_ok(hc_arena_free(arena, frame, 15));
		assert_int_equal(hc_frame_node(alloced(arena, 3, 250, HC_STRICT)), 250);
		assert_ok(hc_arena_check(arena));
		assert_null(hc_arena_close(arena));
		munmap(p, frames * FRAME);
	}
}

static int absurd(void *user, const void *address, size_t len) {
	(void)user, (void)address, (void)len;
	return HC_ARENA_NODES_MAX;
}

static void test_a_node_that_cannot_be(void **state) {
	(void)state;
	char *p = address_space(16, 0);
	refused((struct hc_arena_opts){.memory = p, .length = 16 * FRAME, .node_of = absurd}, EINVAL,
	        "numbers up to 1023");
	munmap(p, 16 * FRAME);
}

/* ---- Clean and dirty ---------------------------------------------------------------------------------- */

static bool is_zero(struct hc_arena *arena, struct hc_frame *frame) {
	return hc_is_clear(hc_frame_address(arena, frame), FRAME << hc_frame_order(frame)) == 1;
}

static void test_zeroed_frames(void **state) {
	(void)state;
	char *p = memory(1024);
	memset(p, 0x77, 1024 * FRAME);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = 1024 * FRAME, .largest = 512 * FRAME, .init = HC_ARENA_SERIAL});
	struct hc_frame *dirty = alloced(arena, 9, HC_NODE_HERE, 0);
	/* Its owner's words begin with zeros each time. */
	for (int i = 0; i < 2; i++) {
		assert_memory_equal(
		        hc_frame_words(dirty), ((uint64_t[HC_FRAME_WORDS]){0}), HC_FRAME_WORDS * sizeof(uint64_t));
		hc_frame_words(dirty)[HC_FRAME_WORDS - 1] = UINT64_MAX;
		assert_ok(hc_arena_free(arena, dirty, 9));
		assert_ptr_equal(alloced(arena, 9, HC_NODE_HERE, 0), dirty);
	}
	assert_int_equal(*(char *)hc_frame_address(arena, dirty), 0x77);
	/* Nothing is clean: cleared for who asks. */
	struct hc_frame *soon = alloced(arena, 8, HC_NODE_HERE, HC_ZEROED),
	                *later = alloced(arena, 8, 0, HC_ZEROED | HC_LATER);
	assert_true(is_zero(arena, soon) && is_zero(arena, later));
	assert_int_equal(stats_of(arena, HC_NODE_HERE).cleared_bytes, 2 * (FRAME << 8));
	assert_ok(hc_arena_free(arena, soon, 8));
	assert_ok(hc_arena_free(arena, later, 8));
	assert_ok(hc_arena_free(arena, dirty, 9));
	uint64_t done;
	/* Within the budget, by whole frames: 300 of 512. */
	assert_ok(hc_arena_scrub(arena, 300 * FRAME + 5, &done));
	assert_int_equal(done, 300 * FRAME);
	struct hc_arena_stats stats = stats_of(arena, HC_NODE_HERE);
	assert_int_equal(stats.free_clean, 300);
	assert_int_equal(stats.free_dirty, 724);
	assert_ok(hc_arena_scrub(arena, UINT64_MAX, &done));
	assert_int_equal(done, 724 * FRAME);
	assert_int_equal(stats_of(arena, HC_NODE_HERE).free_blocks[9], 2);
	/* From clean ones now, without a clear. */
	soon = alloced(arena, 9, HC_NODE_HERE, HC_ZEROED);
	assert_true(is_zero(arena, soon));
	assert_int_equal(stats_of(arena, HC_NODE_HERE).cleared_bytes, 2 * (FRAME << 8));
	assert_ok(hc_arena_free(arena, soon, 9));
	assert_ok(hc_arena_scrub(arena, FRAME - 1, &done));
	assert_int_equal(done, 0);
	close_arena(arena);

	/* Declared clean, and believed: address space that nobody can touch. */
	assert_int_equal(mprotect(p, 1024 * FRAME, PROT_NONE), 0);
	arena = opened((struct hc_arena_opts){.memory = p,
	        .length = 1024 * FRAME,
	        .largest = 512 * FRAME,
	        .init = HC_ARENA_SERIAL,
	        .flags = HC_ARENA_CLEAN});
	alloced(arena, 9, HC_NODE_HERE, HC_ZEROED);
	assert_int_equal(stats_of(arena, HC_NODE_HERE).free_clean, 512);
	assert_null(hc_arena_close(arena));
	munmap(p, 1024 * FRAME);
}

/* Clean and dirty halves stay apart as long as there is another frame, and become one dirty one then. */
static void test_clean_and_dirty_merge_only_in_need(void **state) {
	(void)state;
	char *p = memory(1024);
	struct hc_arena *arena = opened((struct hc_arena_opts){.memory = p,
	        .length = 1024 * FRAME,
	        .largest = 512 * FRAME,
	        .init = HC_ARENA_SERIAL,
	        .flags = HC_ARENA_CLEAN});
	struct hc_frame *a = alloced(arena, 8, HC_NODE_HERE, HC_ZEROED), *b;
	memset(hc_frame_address(arena, a), 1, FRAME << 8);
	assert_ok(hc_arena_free(arena, a, 8));
	struct hc_arena_stats stats = stats_of(arena, HC_NODE_HERE);
	assert_int_equal(stats.free_dirty, 256);
	assert_int_equal(stats.free_clean, 768);
	/* The whole clean one first, and nothing is merged. */
	a = alloced(arena, 9, HC_NODE_HERE, HC_ZEROED);
	assert_int_equal(stats_of(arena, HC_NODE_HERE).merges, 0);
	b = alloced(arena, 9, HC_NODE_HERE, HC_ZEROED);
	stats = stats_of(arena, HC_NODE_HERE);
	assert_int_equal(stats.merges, 1);
	assert_true(is_zero(arena, a) && is_zero(arena, b));
	assert_ok(hc_arena_free(arena, a, 9));
	assert_ok(hc_arena_free(arena, b, 9));
	close_arena(arena);
	munmap(p, 1024 * FRAME);
}

/* ---- The scrubber ---------------------------------------------------------------------------------------- */

static void told(void *user, uint64_t done, uint64_t total) {
	assert_true(done <= total);
	atomic_fetch_add((atomic_uint *)user, 1);
}

static void wait_until_clean(struct hc_arena *arena) {
	for (int i = 0; i < 20000; i++) {
		struct hc_arena_stats stats = stats_of(arena, HC_NODE_HERE);
		if (stats.free_dirty == 0 && stats.scrubbing == 0)
			return;
		usleep(500);
	}
	fail_msg("the scrubber doesn't end");
}

static void test_scrubber(void **state) {
	(void)state;
	char *p = memory(2048);
	memset(p, 0x55, 2048 * FRAME);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = 2048 * FRAME, .largest = 512 * FRAME, .init = HC_ARENA_SERIAL});
	atomic_uint steps = 0;
	struct hc_scrubber_opts opts = {.size = sizeof(opts), .step = 64 * FRAME, .progress = told, .user = &steps};
	assert_ok(hc_arena_scrubber_stop(arena));
	assert_ok(hc_arena_scrubber_start(arena, &opts));
	assert_error(hc_arena_scrubber_start(arena, NULL), EALREADY);
	wait_until_clean(arena);
	assert_ok(hc_arena_scrubber_stop(arena));
	assert_int_equal(atomic_load(&steps), 32);
	assert_int_equal(stats_of(arena, HC_NODE_HERE).scrubbed_bytes, 2048 * FRAME);
	/* Clean neighbours are merged again. */
	assert_int_equal(stats_of(arena, HC_NODE_HERE).free_blocks[9], 4);
	for (int i = 0; i < 4; i++)
		assert_true(is_zero(arena, alloced(arena, 9, HC_NODE_HERE, HC_ZEROED)));
	opts.cpus = "no list";
	assert_error(hc_arena_scrubber_start(arena, &opts), EINVAL);
	/* Closing ends it. */
	assert_ok(hc_arena_scrubber_start(arena, NULL));
	assert_null(hc_arena_close(arena));
	munmap(p, 2048 * FRAME);
}

/* ---- Pins ---------------------------------------------------------------------------------------------------- */

static void test_pins(void **state) {
	(void)state;
	char *p = memory(1024);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = 1024 * FRAME, .largest = 1024 * FRAME, .init = HC_ARENA_SERIAL});
	struct hc_frame *frame = alloced(arena, 9, HC_NODE_HERE, 0), *other = alloced(arena, 9, HC_NODE_HERE, 0), *none;
	assert_error(hc_frame_put(arena, frame), ENOENT);
	assert_detail_has("isn't pinned");
	assert_error(hc_frame_get(arena, frame + 1), EINVAL);
	assert_detail_has("no head");
	assert_error(hc_frame_put(arena, frame + 1), EINVAL);
	for (unsigned i = 1; i <= 3; i++) {
		assert_ok(hc_frame_get(arena, frame));
		assert_int_equal(hc_frame_pins(frame), i);
	}
	/* Freed and pinned: nobody gets it. */
	assert_ok(hc_arena_free(arena, frame, 9));
	assert_error(hc_arena_free(arena, frame, 9), EALREADY);
	assert_error(hc_arena_alloc(arena, 9, HC_NODE_HERE, 0, &none), ENOMEM);
	assert_int_equal(walked(arena, p).by_state[HC_FRAME_PINNED], 512);
	assert_ok(hc_arena_check(arena));
	assert_ptr_equal(hc_arena_close(arena), arena);
	assert_detail_has("1 frames are pinned");
	/* A pin begets a pin. */
	assert_ok(hc_frame_get(arena, frame));
	for (int i = 0; i < 4; i++)
		assert_ok(hc_frame_put(arena, frame));
	assert_error(hc_frame_put(arena, frame), ENOENT);
	assert_error(hc_frame_get(arena, frame), ENOENT);
	assert_detail_has("is free");
	assert_int_equal(hc_frame_pins(frame), 0);
	assert_ptr_equal(alloced(arena, 9, HC_NODE_HERE, 0), frame);
	/* 2^31 - 1 of them, and no more. */
	atomic_fetch_add(&other->word, UINT64_C(0x7ffffffe) << 32);
	assert_ok(hc_frame_get(arena, other));
	assert_error(hc_frame_get(arena, other), EOVERFLOW);
	assert_int_equal(hc_frame_pins(other), 0x7fffffff);
	atomic_fetch_sub(&other->word, UINT64_C(0x7fffffff) << 32);
	close_arena(arena);
	munmap(p, 1024 * FRAME);
}

/* ---- Fork, maps ------------------------------------------------------------------------------------------------ */

static int use_in_child(struct hc_arena *arena, struct hc_frame *frame) {
	struct hc_frame *none;
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	uint64_t done;
	return hc_arena_alloc(arena, 0, 0, 0, &none) == -ECHILD && hc_arena_free(arena, frame, 0) == -ECHILD &&
	       hc_frame_get(arena, frame) == -ECHILD && hc_frame_put(arena, frame) == -ECHILD &&
	       hc_arena_wait(arena) == -ECHILD && hc_arena_scrub(arena, 4096, &done) == -ECHILD &&
	       hc_arena_scrubber_start(arena, NULL) == -ECHILD && hc_arena_scrubber_stop(arena) == -ECHILD &&
	       hc_arena_stats(arena, HC_NODE_HERE, &stats) == -ECHILD && hc_arena_check(arena) == -ECHILD &&
	       hc_arena_walk(arena, see, NULL) == -ECHILD && hc_arena_close(arena) == NULL;
}

static void test_fork_in_the_middle(void **state) {
	(void)state;
	size_t frames = 31 * HC_ARENA_SECTION_MIN;
	char *p = memory(frames);
	struct hc_arena *arena = NULL;
	assert_ok(hc_arena_open(&(struct hc_arena_opts){.size = sizeof(struct hc_arena_opts),
	                                .memory = p,
	                                .length = frames * FRAME,
	                                .frame_size = FRAME,
	                                .largest = 512 * FRAME,
	                                .init = HC_ARENA_DEFERRED},
	        &arena));
	struct hc_frame *frame = alloced(arena, 0, HC_NODE_HERE, 0);
	assert_ok(hc_arena_scrubber_start(
	        arena, &(struct hc_scrubber_opts){.size = sizeof(struct hc_scrubber_opts), .rate = 1 << 20}));
	pid_t child = fork();
	if (child == 0)
		_exit(use_in_child(arena, frame) ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ok(hc_arena_wait(arena));
	assert_ok(hc_arena_free(arena, frame, 0));
	assert_ok(hc_arena_scrubber_stop(arena));
	assert_int_equal(stats_of(arena, HC_NODE_HERE).ready, frames);
	close_arena(arena);
	munmap(p, frames * FRAME);
}

static void test_an_arena_holds_its_map(void **state) {
	(void)state;
	struct hc_map *map = NULL;
	struct hc_map_opts opts = {.size = sizeof(opts), .backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE};
	assert_ok(hc_map_open(1024 * FRAME, &opts, &map));
	struct hc_arena *arena = opened(
	        (struct hc_arena_opts){.map = map, .flags = HC_ARENA_CLEAN, .frame_size = FRAME});
	assert_int_equal(stats_of(arena, HC_NODE_HERE).max_order, 0);
	assert_error(hc_map_reset(map, NULL, NULL), EBUSY);
	assert_error(hc_map_discard(map, 0, FRAME, NULL), EBUSY);
	assert_ptr_equal(hc_map_close(map), map);
	assert_detail_has("arena");
	refused((struct hc_arena_opts){.map = map, .memory = hc_map_address(map)}, EINVAL, "one of them");
	refused((struct hc_arena_opts){.map = map, .length = 4096}, EINVAL, "a map has its own");
	/* One that can't be opened holds nothing. */
	refused((struct hc_arena_opts){.map = map, .frame_size = 3}, EINVAL, "power of two");
	struct hc_arena *second = opened((struct hc_arena_opts){.map = map, .largest = 64 * FRAME});
	close_arena(second);
	assert_error(hc_map_reset(map, NULL, NULL), EBUSY);
	close_arena(arena);
	assert_ok(hc_map_reset(map, NULL, NULL));
	assert_null(hc_map_close(map));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_wrong_settings),
	        cmocka_unit_test(test_descriptors_that_do_not_fit),
	        cmocka_unit_test(test_size_of_descriptors),
	        cmocka_unit_test(test_PD_03_range_that_ends_inside_a_block),
	        cmocka_unit_test(test_all_ways_of_initialising_give_the_same),
	        cmocka_unit_test(test_stop_and_progress),
	        cmocka_unit_test(test_deferred_takes_memory_at_use),
	        cmocka_unit_test(test_deferred_hands_out_every_frame_once),
	        cmocka_unit_test(test_PD_04_used_before_the_workers_are_finished),
	        cmocka_unit_test(test_frames_are_aligned_and_apart),
	        cmocka_unit_test(test_a_large_frame_touches_one_descriptor),
	        cmocka_unit_test(test_wrong_frees),
	        cmocka_unit_test(test_exhausted_nodes),
	        cmocka_unit_test(test_a_node_that_cannot_be),
	        cmocka_unit_test(test_zeroed_frames),
	        cmocka_unit_test(test_clean_and_dirty_merge_only_in_need),
	        cmocka_unit_test(test_scrubber),
	        cmocka_unit_test(test_pins),
	        cmocka_unit_test(test_fork_in_the_middle),
	        cmocka_unit_test(test_an_arena_holds_its_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
