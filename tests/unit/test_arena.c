/* Arenas: what is cut how, what is ready when, whose they are. */
#include "support/arenas.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>
#include <hugeclear/map.h>

#include "arena/arena_object.h"
#include "support/seccomp.h"

/* ---- Opening ---------------------------------------------------------------------------- */

static void test_wrong_settings(void **state) {
	(void)state;
	char *p = arena_memory(1024);
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

/*
 * Frames that no number of threads divides, so that parts end anywhere: no two threads write the same descriptor, none is left out.
 * Sections begin at multiples of their size, whatever is left at the end.
 */
static void test_PD_02_sections_are_aligned(void **state) {
	(void)state;
	static const size_t counts[] = {65, 127, 128, 129, HC_ARENA_SECTION_MIN + 65, 2 * HC_ARENA_SECTION_MIN + 1,
	        3 * HC_ARENA_SECTION_MIN - 1};
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		char *p = address_space(counts[i], 5);
		struct hc_arena *arena = opened((struct hc_arena_opts){
		        .memory = p, .length = counts[i] * FRAME, .largest = 512 * FRAME, .threads = 7});
		uint64_t covered = 0;
		for (uint64_t section = 0; section < arena->nr_sections; section++) {
			uint64_t begin = hc_arena_section_begin(arena, section);
			assert_int_equal(begin, covered);
			assert_true(section == 0 || (begin + arena->skew) % HC_ARENA_SECTION_MIN == 0);
			covered = hc_arena_section_end(arena, section);
		}
		assert_int_equal(covered, counts[i]);
		assert_int_equal(stats_of(arena, HC_NODE_HERE).ready, counts[i]);
		close_arena(arena);
		munmap(p, counts[i] * FRAME);
	}
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

/* 1 TiB, where its 16 GiB of descriptors would fit, else less: of them the first section's 2 MiB are there. */
static void test_deferred_takes_memory_at_use(void **state) {
	(void)state;
	bool fits = (size_t)sysconf(_SC_AVPHYS_PAGES) * 4096 >= (size_t)17 << 30;
	size_t frames = ((size_t)1 << (fits ? 40 : 34)) / FRAME;
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

/* 64 GiB: 16,777,216 frames, each handed out once. Where every frame has a shadow of its own, 4 GiB in frames of 2 MiB. */
static void test_every_frame_of_64_GiB_once(void **state) {
	(void)state;
	unsigned order = under_sanitizer() ? 9 : 0;
	size_t frames = ((size_t)(under_sanitizer() ? 4 : 64) << 30) / FRAME, nr = frames >> order;
	char *p = address_space(frames, 0);
	unsigned char *seen = calloc(nr / 8, 1);
	struct hc_arena *arena = NULL;
	assert_ok(hc_arena_open(&(struct hc_arena_opts){.size = sizeof(struct hc_arena_opts),
	                                .memory = p,
	                                .length = frames * FRAME,
	                                .frame_size = FRAME,
	                                .init = HC_ARENA_DEFERRED},
	        &arena));
	assert_ok(hc_arena_wait(arena));
	struct hc_frame *frame;
	for (size_t i = 0; i < nr; i++) {
		if (hc_arena_alloc(arena, order, HC_NODE_HERE, 0, &frame) != 0)
			fail_msg("frame %zu: %s", i, hc_error_detail());
		size_t at = (size_t)((char *)hc_frame_address(arena, frame) - p) / FRAME >> order;
		if (at >= nr || seen[at / 8] & 1 << at % 8)
			fail_msg("frame %zu is handed out twice, or outside", at);
		seen[at / 8] |= (unsigned char)(1 << at % 8);
	}
	assert_error(hc_arena_alloc(arena, 0, HC_NODE_HERE, 0, &frame), ENOMEM);
	assert_null(hc_arena_close(arena));
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
	char *p = arena_memory(frames);
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

/* Where no page is wiped by fork(): before Linux 4.14, under emulators. */
static bool is_owned_without_wiping(int err) {
	(void)err;
	char *p = arena_memory(512);
	struct hc_arena *arena = NULL;
	struct hc_frame *frame = NULL;
	struct hc_arena_opts opts = {
	        .size = sizeof(opts), .memory = p, .length = 512 * FRAME, .frame_size = FRAME, .init = HC_ARENA_SERIAL};
	if (hc_arena_open(&opts, &arena) < 0 || hc_arena_alloc(arena, 0, HC_NODE_HERE, 0, &frame) < 0)
		return false;
	pid_t child = fork();
	if (child == 0)
		_exit(use_in_child(arena, frame) ? 0 : 1);
	int status;
	return waitpid(child, &status, 0) == child && status == 0 && hc_arena_free(arena, frame, 0) == 0 &&
	       !hc_arena_close(arena);
}

static void test_fork_where_no_page_is_wiped(void **state) {
	(void)state;
	with_calls_forbidden((const int[]){SYS_madvise}, 1, EINVAL, is_owned_without_wiping);
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
	        cmocka_unit_test(test_PD_02_sections_are_aligned),
	        cmocka_unit_test(test_stop_and_progress),
	        cmocka_unit_test(test_deferred_takes_memory_at_use),
	        cmocka_unit_test(test_deferred_hands_out_every_frame_once),
	        cmocka_unit_test(test_every_frame_of_64_GiB_once),
	        cmocka_unit_test(test_PD_04_used_before_the_workers_are_finished),
	        cmocka_unit_test(test_fork_in_the_middle),
	        cmocka_unit_test(test_fork_where_no_page_is_wiped),
	        cmocka_unit_test(test_an_arena_holds_its_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
