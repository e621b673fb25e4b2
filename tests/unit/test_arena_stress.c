/*
 * Threads that allocate, pin, write, check, unpin and free frames of all orders while the scrubber runs. No frame may be handed out
 * twice, nor be cleared while it is in use, and what is said to be zero has to be. HC_STRESS_SECONDS: how long (2);
 * HC_STRESS_SEED: of what each thread does (1).
 */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>

#include "base/clock.h"
#include "base/random.h"

/* Small, so that much happens in little memory. */
#define FRAME ((size_t)256)
/* Two sections. */
#define FRAMES ((size_t)65536)
#define MAX_ORDER 9
#define THREADS 4
/* More than there is, when all are in use. */
#define HELD_MAX 1200

struct stress {
	struct hc_arena *arena;
	char *memory;
	uint64_t until_ns;
	atomic_ulong rounds, not_zero, written_over, failures, unexpected;
	/* A line of a frame in use, for who plants a fault. */
	_Atomic(char *) victim;
};

struct user {
	struct stress *stress;
	uint64_t random;
};

struct held {
	struct hc_frame *frame;
	unsigned order;
	uint64_t pattern;
};

/* A word of each line: a clear of any part leaves not all of them, nor does another owner. */
static void write_pattern(char *at, const struct held *held) {
	for (size_t i = 0; i < FRAME << held->order; i += 64)
		memcpy(at + i, &held->pattern, 8);
}

static bool has_pattern(const char *at, const struct held *held) {
	for (size_t i = 0; i < FRAME << held->order; i += 64)
		if (memcmp(at + i, &held->pattern, 8) != 0)
			return false;
	return true;
}

static void take(struct stress *stress, struct held *held, uint64_t *random) {
	uint64_t dice = hc_random_next(random);
	/* Small ones more often, and of all sizes now and then. */
	held->order = (unsigned)__builtin_ctzll((dice >> 40) | UINT64_C(1) << MAX_ORDER);
	if ((dice >> 20 & 3) == 0)
		held->order = (unsigned)(dice >> 22 & 0xff) % (MAX_ORDER + 1);
	unsigned flags = (dice >> 63 ? HC_ZEROED : 0) | (dice >> 62 & 1 ? HC_LATER : 0) |
	                 (dice >> 61 & 1 ? HC_STRICT : 0);
	int r = hc_arena_alloc(stress->arena, held->order, (int)(dice >> 60 & 1), flags, &held->frame);
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
	atomic_store(&stress->victim, at);
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
	struct user *user = arg;
	struct stress *stress = user->stress;
	static _Thread_local struct held held[HELD_MAX];
	uint64_t random = user->random;
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
	while (hc_clock_ns() < stress->until_ns) {
		if (hc_arena_check(stress->arena) < 0) {
			fprintf(stderr, "%s\n", hc_error_detail());
			atomic_fetch_add(&stress->unexpected, 1);
			break;
		}
		/* It holds all locks, and would have them again at once. */
		usleep(20000);
	}
	return NULL;
}

/* Clears what is in use, as a scrubber would that took a frame from another list than it should. */
static void *clear_in_use(void *arg) {
	struct stress *stress = arg;
	while (hc_clock_ns() < stress->until_ns) {
		char *victim = atomic_load(&stress->victim);
		if (victim)
			hc_clear(victim + 64, 64);
	}
	return NULL;
}

static double setting(const char *name, double usual) {
	const char *text = getenv(name);
	return text ? strtod(text, NULL) : usual;
}

/* Halves on two nodes. */
static int node_of(void *user, const void *address, size_t len) {
	(void)len;
	return (const char *)address >= (const char *)user + FRAMES * FRAME / 2;
}

static struct hc_arena *opened(char *memory, unsigned flags, enum hc_arena_init init) {
	struct hc_arena *arena = NULL;
	assert_ok(hc_arena_open(&(struct hc_arena_opts){.size = sizeof(struct hc_arena_opts),
	                                .memory = memory,
	                                .length = FRAMES * FRAME,
	                                .frame_size = FRAME,
	                                .largest = FRAME << MAX_ORDER,
	                                .init = init,
	                                .flags = flags,
	                                .node_of = node_of,
	                                .user = memory},
	        &arena));
	return arena;
}

/* Aligned to 8 MiB, so that all of it can be of the largest frames, and its halves are sections. */
static char *memory(void) {
	size_t align = FRAMES / 2 * FRAME;
	char *p = mmap(NULL, FRAMES * FRAME + align, PROT_READ | PROT_WRITE,
	        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(p != MAP_FAILED);
	return (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
}

static void run_users(struct stress *stress, double seconds, void *(*beside)(void *)) {
	double seed = setting("HC_STRESS_SEED", 1);
	stress->until_ns = hc_clock_ns() + (uint64_t)(seconds * 1e9);
	pthread_t threads[THREADS], other;
	struct user users[THREADS];
	assert_int_equal(pthread_create(&other, NULL, beside, stress), 0);
	for (int i = 0; i < THREADS; i++) {
		users[i] = (struct user){.stress = stress, .random = (uint64_t)seed * THREADS + (uint64_t)i};
		assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(other, NULL);
}

static void stress_arena(char *at, unsigned flags, enum hc_arena_init init, double seconds) {
	struct stress stress = {.memory = at};
	stress.arena = opened(at, flags, init);
	assert_ok(hc_arena_scrubber_start(
	        stress.arena, &(struct hc_scrubber_opts){.size = sizeof(struct hc_scrubber_opts), .step = 64 * FRAME}));
	run_users(&stress, seconds, look);
	/* What the last ones freed is left to it, however little time it got before. */
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	do {
		usleep(1000);
		assert_ok(hc_arena_stats(stress.arena, HC_NODE_HERE, &stats));
	} while (stats.free_dirty > 0 || stats.scrubbing > 0);
	assert_ok(hc_arena_scrubber_stop(stress.arena));
	assert_ok(hc_arena_wait(stress.arena));
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

static void test_threads_and_the_scrubber(void **state) {
	(void)state;
	double seconds = setting("HC_STRESS_SECONDS", 2);
	char *at = memory();
	stress_arena(at, HC_ARENA_CLEAN, HC_ARENA_DEFERRED, seconds / 2);
	/* What the first left there is dirt. */
	memset(at, 0x5a, FRAMES * FRAME);
	stress_arena(at, 0, HC_ARENA_PARALLEL, seconds / 2);
}

/* That such a test can fail: a frame that is in use is cleared, by another thread, or where that would be reported by this one. */
static void test_a_clear_in_use_is_seen(void **state) {
	(void)state;
	struct stress stress = {.memory = memory()};
	stress.arena = opened(stress.memory, HC_ARENA_CLEAN, HC_ARENA_SERIAL);
	if (!under_sanitizer()) {
		run_users(&stress, 0.2, clear_in_use);
	} else {
		uint64_t random = 1;
		struct held held = {0};
		take(&stress, &held, &random);
		assert_ok(hc_clear((char *)hc_frame_address(stress.arena, held.frame) + 64, 64));
		give(&stress, &held, &random);
	}
	assert_true(atomic_load(&stress.written_over) > 0);
	assert_null(hc_arena_close(stress.arena));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_threads_and_the_scrubber),
	        cmocka_unit_test(test_a_clear_in_use_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
