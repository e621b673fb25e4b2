/*
 * Threads that allocate, pin, write, check, unpin and free frames of all orders while the scrubber runs. No frame may be handed out
 * twice, nor be cleared while it is in use, and what is said to be zero has to be. HC_STRESS_SECONDS: how long (2).
 */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>

#include "base/clock.h"
#include "base/random.h"

#define FRAME ((size_t)4096)
#define FRAMES ((size_t)4096)
#define MAX_ORDER 9
#define THREADS 4
#define HELD_MAX 24

struct stress {
	struct hc_arena *arena;
	char *memory;
	uint64_t until_ns;
	atomic_ulong rounds, not_zero, written_over, failures, unexpected;
	/* A frame in use, for who plants a fault; NULL: nobody does. */
	_Atomic(char *) victim;
	bool planted;
};

struct held {
	struct hc_frame *frame;
	unsigned order;
	uint64_t pattern;
};

/* The first and the last word of each base frame: a clear leaves none of them, nor does another owner. */
static void write_pattern(char *at, const struct held *held) {
	for (size_t i = 0; i < (size_t)1 << held->order; i++) {
		memcpy(at + i * FRAME, &held->pattern, 8);
		memcpy(at + (i + 1) * FRAME - 8, &held->pattern, 8);
	}
}

static bool has_pattern(const char *at, const struct held *held) {
	for (size_t i = 0; i < (size_t)1 << held->order; i++)
		if (memcmp(at + i * FRAME, &held->pattern, 8) != 0 ||
		        memcmp(at + (i + 1) * FRAME - 8, &held->pattern, 8) != 0)
			return false;
	return true;
}

static void take(struct stress *stress, struct held *held, uint64_t *random) {
	uint64_t dice = hc_random_next(random);
	/* Small ones more often. */
	held->order = (unsigned)__builtin_ctzll((dice >> 40) | UINT64_C(1) << MAX_ORDER);
	unsigned flags = dice >> 63 ? HC_ZEROED : 0;
	int r = hc_arena_alloc(stress->arena, held->order, HC_NODE_HERE, flags, &held->frame);
	if (r < 0) {
		held->frame = NULL;
		atomic_fetch_add(&stress->failures, 1);
		if (r != -ENOMEM)
			atomic_fetch_add(&stress->unexpected, 1);
		return;
	}
	char *at = hc_frame_address(stress->arena, held->frame);
	if (flags & HC_ZEROED && hc_is_clear(at, FRAME << held->order) != 1)
		atomic_fetch_add(&stress->not_zero, 1);
	held->pattern = hc_random_next(random) | 1;
	write_pattern(at, held);
}

static void give(struct stress *stress, struct held *held, uint64_t *random) {
	char *at = hc_frame_address(stress->arena, held->frame);
	bool pinned = hc_random_next(random) >> 63, early = hc_random_next(random) >> 63;
	int r = pinned ? hc_frame_get(stress->arena, held->frame) : 0;
	/* A device that goes on writing after the owner has freed it. */
	if (r == 0 && pinned && early)
		r = hc_arena_free(stress->arena, held->frame, held->order);
	if (!has_pattern(at, held))
		atomic_fetch_add(&stress->written_over, 1);
	if (r == 0 && pinned)
		r = hc_frame_put(stress->arena, held->frame);
	if (r == 0 && !(pinned && early))
		r = hc_arena_free(stress->arena, held->frame, held->order);
	if (r < 0)
		atomic_fetch_add(&stress->unexpected, 1);
	held->frame = NULL;
}

static void *use(void *arg) {
	struct stress *stress = arg;
	struct held held[HELD_MAX] = {0};
	uint64_t random = (uint64_t)(uintptr_t)&held;
	while (hc_clock_ns() < stress->until_ns) {
		struct held *one = &held[hc_random_next(&random) % HELD_MAX];
		if (one->frame)
			give(stress, one, &random);
		else
			take(stress, one, &random);
		atomic_fetch_add(&stress->rounds, 1);
	}
	for (size_t i = 0; i < HELD_MAX; i++)
		if (held[i].frame)
			give(stress, &held[i], &random);
	return NULL;
}

static void *look(void *arg) {
	struct stress *stress = arg;
	while (hc_clock_ns() < stress->until_ns)
		if (hc_arena_check(stress->arena) < 0) {
			fprintf(stderr, "%s\n", hc_error_detail());
			atomic_fetch_add(&stress->unexpected, 1);
			break;
		}
	return NULL;
}

static double seconds(void) {
	const char *text = getenv("HC_STRESS_SECONDS");
	return text ? strtod(text, NULL) : 2;
}

static struct hc_arena *opened(char *memory) {
	struct hc_arena *arena = NULL;
	assert_ok(hc_arena_open(&(struct hc_arena_opts){.size = sizeof(struct hc_arena_opts),
	                                .memory = memory,
	                                .length = FRAMES * FRAME,
	                                .frame_size = FRAME,
	                                .largest = FRAME << MAX_ORDER,
	                                .init = HC_ARENA_DEFERRED,
	                                .flags = HC_ARENA_CLEAN},
	        &arena));
	return arena;
}

static char *memory(void) {
	/* Aligned to the largest frame, so that all of it can be one. */
	size_t most = FRAME << MAX_ORDER;
	char *p = mmap(NULL, FRAMES * FRAME + most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	return (char *)(((uintptr_t)p + most - 1) & ~(uintptr_t)(most - 1));
}

static void test_threads_and_the_scrubber(void **state) {
	(void)state;
	struct stress stress = {.memory = memory()};
	stress.arena = opened(stress.memory);
	assert_ok(hc_arena_scrubber_start(
	        stress.arena, &(struct hc_scrubber_opts){.size = sizeof(struct hc_scrubber_opts), .step = 64 * FRAME}));
	stress.until_ns = hc_clock_ns() + (uint64_t)(seconds() * 1e9);
	pthread_t threads[THREADS], looking;
	assert_int_equal(pthread_create(&looking, NULL, look, &stress), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use, &stress), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(looking, NULL);
	assert_ok(hc_arena_scrubber_stop(stress.arena));

	struct hc_arena_stats stats = {.size = sizeof(stats)};
	assert_ok(hc_arena_check(stress.arena));
	assert_ok(hc_arena_stats(stress.arena, HC_NODE_HERE, &stats));
	print_message("%lu rounds, %lu without a frame, %llu MiB scrubbed, %llu cleared, %llu merges\n",
	        atomic_load(&stress.rounds), atomic_load(&stress.failures),
	        (unsigned long long)stats.scrubbed_bytes >> 20, (unsigned long long)stats.cleared_bytes >> 20,
	        (unsigned long long)stats.merges);
	assert_int_equal(atomic_load(&stress.not_zero), 0);
	assert_int_equal(atomic_load(&stress.written_over), 0);
	assert_int_equal(atomic_load(&stress.unexpected), 0);
	assert_int_equal(stats.free_clean + stats.free_dirty, FRAMES);
	assert_int_equal(stats.allocations, stats.frees);
	assert_true(stats.scrubbed_bytes > 0);
	/* Back to the start: all of the largest, and zero. */
	struct hc_frame *frame;
	for (size_t i = 0; i < FRAMES >> MAX_ORDER; i++) {
		assert_ok(hc_arena_alloc(stress.arena, MAX_ORDER, HC_NODE_HERE, HC_ZEROED, &frame));
		assert_int_equal(hc_is_clear(hc_frame_address(stress.arena, frame), FRAME << MAX_ORDER), 1);
	}
	assert_null(hc_arena_close(stress.arena));
}

/* That such a test can fail: a frame that is in use is cleared. */
static void test_a_clear_in_use_is_seen(void **state) {
	(void)state;
	struct stress stress = {.memory = memory()};
	stress.arena = opened(stress.memory);
	uint64_t random = 1;
	struct held held = {0};
	while (!held.frame || held.order < 3)
		take(&stress, &held, &random);
	assert_ok(hc_clear((char *)hc_frame_address(stress.arena, held.frame) + 5 * FRAME, FRAME));
	give(&stress, &held, &random);
	assert_int_equal(atomic_load(&stress.written_over), 1);
	assert_null(hc_arena_close(stress.arena));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_threads_and_the_scrubber),
	        cmocka_unit_test(test_a_clear_in_use_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
