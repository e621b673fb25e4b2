/* Frames of an arena: who gets which, clean or dirty, pins, and every wrong use. */
#include "support/arenas.h"

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

/* ---- Allocating --------------------------------------------------------------------------------- */

static void test_frames_are_aligned_and_apart(void **state) {
	(void)state;
	char *p = arena_memory(1024);
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
	char *p = arena_memory(1024);
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
	char *p = arena_memory(1024);
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
	char *p = arena_memory(1024);
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
	char *p = arena_memory(2048);
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

static int at_once(void *user) {
	(void)user;
	return 1;
}

/* One step, and then nothing for months: a byte a second. And one that is told to stop before its first step. */
static void test_scrubber_keeps_its_rate(void **state) {
	(void)state;
	char *p = arena_memory(1024);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = 1024 * FRAME, .largest = 512 * FRAME, .init = HC_ARENA_SERIAL});
	atomic_uint steps = 0;
	struct hc_scrubber_opts opts = {
	        .size = sizeof(opts), .step = 64 * FRAME, .rate = 1, .progress = told, .user = &steps};
	assert_ok(hc_arena_scrubber_start(arena, &opts));
	while (atomic_load(&steps) == 0)
		usleep(1000);
	usleep(20000);
	assert_ok(hc_arena_scrubber_stop(arena));
	assert_int_equal(atomic_load(&steps), 1);
	assert_int_equal(stats_of(arena, HC_NODE_HERE).scrubbed_bytes, 64 * FRAME);
	opts.rate = 0;
	opts.stop = at_once;
	assert_ok(hc_arena_scrubber_start(arena, &opts));
	usleep(20000);
	assert_ok(hc_arena_scrubber_stop(arena));
	assert_int_equal(atomic_load(&steps), 1);
	close_arena(arena);
	munmap(p, 1024 * FRAME);
}

/* ---- Pins ---------------------------------------------------------------------------------------------------- */

static void test_pins(void **state) {
	(void)state;
	char *p = arena_memory(1024);
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

/* ---- The check ----------------------------------------------------------------------------------------------- */

/* Each breaks an arena of 1024 frames of which those from 512 on are used, and puts it right again. */
static void flip(struct hc_arena *arena, unsigned index, uint64_t bits, const char *detail) {
	atomic_fetch_xor(&arena->frames[index].word, bits);
	assert_error(hc_arena_check(arena), EBADMSG);
	assert_detail_has(detail);
	atomic_fetch_xor(&arena->frames[index].word, bits);
	assert_ok(hc_arena_check(arena));
}

static void test_the_check_finds_what_is_broken(void **state) {
	(void)state;
	char *p = arena_memory(1024);
	struct hc_arena *arena = opened((struct hc_arena_opts){
	        .memory = p, .length = 1024 * FRAME, .largest = 512 * FRAME, .init = HC_ARENA_SERIAL});
	struct hc_frame *low = alloced(arena, 9, HC_NODE_HERE, 0), *used = alloced(arena, 9, HC_NODE_HERE, 0);
	assert_ok(hc_arena_free(arena, low, 9));
	struct hc_arena_node *node = hc_arena_node(arena, 0);
	/* A tail that says it is a head; a head that says it is none; another order; a state that isn't on a list. */
	flip(arena, 7, HC_WORD_HEAD, "is within the frame");
	flip(arena, 0, HC_WORD_HEAD, "can't be a head");
	flip(arena, 512, UINT64_C(1) << HC_WORD_ORDER_SHIFT, "can't be a head");
	flip(arena, 0, HC_WORD_CLEAN, "is on the list");
	flip(arena, 0, HC_WORD_USED, "is on the list");
	flip(arena, 512, HC_WORD_USED, "counted");
	node->free[HC_DIRTY]++;
	assert_error(hc_arena_check(arena), EBADMSG);
	node->free[HC_DIRTY]--;
	node->not_empty[HC_CLEAN] = 1;
	assert_error(hc_arena_check(arena), EBADMSG);
	node->not_empty[HC_CLEAN] = 0;
	low->next = low;
	assert_error(hc_arena_check(arena), EBADMSG);
	low->next = NULL;
	arena->frames[300].node = 1;
	assert_error(hc_arena_check(arena), EBADMSG);
	arena->frames[300].node = 0;
	/* Halves that should be one: a merge that was left out. */
	struct hc_frame *half = alloced(arena, 8, HC_NODE_HERE, 0);
	pthread_mutex_lock(&node->lock);
	hc_word_set(half, hc_word_make(HC_WORD_HEAD | HC_WORD_BUSY, 8));
	unsigned max_order = arena->max_order;
	arena->max_order = 8;
	hc_buddy_give(arena, node, half, HC_DIRTY);
	arena->max_order = max_order;
	pthread_mutex_unlock(&node->lock);
	assert_error(hc_arena_check(arena), EBADMSG);
	assert_detail_has("free halves of one");
	assert_ok(hc_arena_free(arena, used, 9));
	assert_null(hc_arena_close(arena));
	munmap(p, 1024 * FRAME);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_frames_are_aligned_and_apart),
	        cmocka_unit_test(test_a_large_frame_touches_one_descriptor),
	        cmocka_unit_test(test_wrong_frees),
	        cmocka_unit_test(test_exhausted_nodes),
	        cmocka_unit_test(test_a_node_that_cannot_be),
	        cmocka_unit_test(test_zeroed_frames),
	        cmocka_unit_test(test_clean_and_dirty_merge_only_in_need),
	        cmocka_unit_test(test_scrubber),
	        cmocka_unit_test(test_scrubber_keeps_its_rate),
	        cmocka_unit_test(test_pins),
	        cmocka_unit_test(test_the_check_finds_what_is_broken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
