#include "arena/scrub.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <hugeclear/clear.h>

#include "arena/arena_object.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/opts.h"
#include "base/signals.h"
#include "sys/affinity.h"

#define STEP_USUAL ((uint64_t)8 << 20)
/* How long it sleeps where nothing is dirty, and at most before it looks whether it is to end. */
#define IDLE_NS 5000000

/* ---- A step ------------------------------------------------------------------------ */

/* The largest order of at most so many bytes; 0 where a frame is more. */
static unsigned order_within(const struct hc_arena *arena, uint64_t bytes) {
	uint64_t frames = bytes >> arena->frame_shift;
	return frames < 2 ? 0 : (unsigned)hc_min(63 - (uint64_t)__builtin_clzll(frames), arena->max_order);
}

/* Clears the largest dirty frame of a node, at most max_order; the bytes, 0: none is dirty. */
static uint64_t scrub_one(struct hc_arena *arena, struct hc_arena_node *node, unsigned max_order) {
	pthread_mutex_lock(&node->lock);
	struct hc_frame *frame = hc_buddy_take_dirty(arena, node, max_order);
	pthread_mutex_unlock(&node->lock);
	if (!frame)
		return 0;
	unsigned order = hc_frame_order(frame);
	uint64_t bytes = UINT64_C(1) << (order + arena->frame_shift);
	struct hc_clear_opts opts = {.size = sizeof(opts), .intent = HC_INTENT_LATER};
	hc_frame_unpoison(arena, frame, order);
	int r = hc_clear_with(hc_frame_address(arena, frame), (size_t)bytes, &opts, NULL);
	hc_frame_poison(arena, frame, order);
	pthread_mutex_lock(&node->lock);
	node->scrubbing -= UINT64_C(1) << order;
	node->scrubbed_bytes += r == 0 ? bytes : 0;
	/* What goes with the lock: zeros are published by who hands the frame out. */
	hc_buddy_give(arena, node, frame, r == 0 ? HC_CLEAN : HC_DIRTY);
	if (node->waiting > 0)
		pthread_cond_broadcast(&node->scrubbed);
	pthread_mutex_unlock(&node->lock);
	return r == 0 ? bytes : 0;
}

/* Of the first node, from *at on, that has something dirty. */
static uint64_t scrub_some(struct hc_arena *arena, uint64_t bytes, int *at) {
	unsigned max_order = order_within(arena, bytes);
	for (int i = 0; i < HC_ARENA_NODES_MAX; i++) {
		int id = (*at + i) % HC_ARENA_NODES_MAX;
		struct hc_arena_node *node = hc_arena_node(arena, id);
		uint64_t done = node ? scrub_one(arena, node, max_order) : 0;
		if (done > 0) {
			*at = id;
			return done;
		}
	}
	return 0;
}

int hc_arena_scrub(struct hc_arena *arena, uint64_t budget, uint64_t *done) {
	uint64_t cleared = 0, unused, once;
	int at = 0, r = hc_arena_check_owner(arena);
	done = done ? done : &unused;
	*done = 0;
	if (r < 0)
		return r;
	while (cleared < budget && budget - cleared >= UINT64_C(1) << arena->frame_shift &&
	        (once = scrub_some(arena, budget - cleared, &at)) > 0)
		*done = cleared += once;
	return 0;
}

/* ---- The thread ---------------------------------------------------------------------- */

struct hc_scrubber {
	struct hc_arena *arena;
	pthread_t thread;
	struct hc_idset *cpus;
	uint64_t rate, step;
	hc_stop_fn stop;
	hc_progress_fn progress;
	void *user;
	/* To end it, at once also where it sleeps. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool ending;
};

/* True where it is to end. */
static bool sleep_until(struct hc_scrubber *scrubber, uint64_t ns) {
	const struct timespec until = {
	        .tv_sec = (time_t)(ns / HC_NSEC_PER_SEC), .tv_nsec = (long)(ns % HC_NSEC_PER_SEC)};
	pthread_mutex_lock(&scrubber->lock);
	int err = 0;
	while (!scrubber->ending && err == 0)
		err = pthread_cond_timedwait(&scrubber->wake, &scrubber->lock, &until);
	bool ending = scrubber->ending;
	pthread_mutex_unlock(&scrubber->lock);
	return ending;
}

static uint64_t dirty_bytes(struct hc_arena *arena) {
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	return hc_arena_stats(arena, HC_NODE_HERE, &stats) < 0 ? 0 : stats.free_dirty << arena->frame_shift;
}

static void *run_scrubber(void *arg) {
	struct hc_scrubber *scrubber = arg;
	struct hc_arena *arena = scrubber->arena;
	uint64_t cleared = 0, next = hc_clock_ns();
	int at = 0;
	if (scrubber->cpus)
		hc_affinity_pin(scrubber->cpus);
	while (!scrubber->stop || scrubber->stop(scrubber->user) == 0) {
		uint64_t once = scrub_some(arena, scrubber->step, &at), now = hc_clock_ns();
		cleared += once;
		if (once > 0 && scrubber->progress)
			scrubber->progress(scrubber->user, cleared, cleared + dirty_bytes(arena));
		/* Idle time isn't saved up: after it the rate is kept again from now on. */
		if (once == 0)
			next = now + IDLE_NS;
		else if (scrubber->rate > 0)
			next = hc_max(next, hc_minus(now, IDLE_NS)) +
			       (uint64_t)((double)once / (double)scrubber->rate * (double)HC_NSEC_PER_SEC);
		else
			next = now;
		if (sleep_until(scrubber, next))
			break;
	}
	return NULL;
}

static void free_scrubber(struct hc_scrubber *scrubber) {
	if (!scrubber)
		return;
	hc_idset_free(scrubber->cpus);
	pthread_mutex_destroy(&scrubber->lock);
	pthread_cond_destroy(&scrubber->wake);
	free(scrubber);
}

static int start_thread(struct hc_scrubber *scrubber) {
	sigset_t before;
	/* A signal of the program belongs to threads that it knows. */
	hc_signals_block(&before);
	int err = pthread_create(&scrubber->thread, NULL, run_scrubber, scrubber);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err == 0 ? 0 : hc_fail_start(err, "the scrubber's thread can't be started");
}

static int make_scrubber(
        struct hc_arena *arena, const struct hc_scrubber_opts *opts, struct hc_scrubber **ret_scrubber) {
	struct hc_scrubber *scrubber = calloc(1, sizeof(*scrubber));
	if (!scrubber)
		return hc_fail_memory("no memory for a scrubber");
	*scrubber = (struct hc_scrubber){
	        .arena = arena,
	        .rate = opts->rate,
	        .step = opts->step ? opts->step : STEP_USUAL,
	        .stop = opts->stop,
	        .progress = opts->progress,
	        .user = opts->user,
	};
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&scrubber->lock, NULL);
	pthread_cond_init(&scrubber->wake, &attr);
	pthread_condattr_destroy(&attr);
	int r = hc_affinity_parse(opts->cpus, &scrubber->cpus);
	if (r == 0)
		r = start_thread(scrubber);
	if (r < 0)
		free_scrubber(scrubber);
	else
		*ret_scrubber = scrubber;
	return r;
}

int hc_arena_scrubber_start(struct hc_arena *arena, const struct hc_scrubber_opts *caller_opts) {
	struct hc_scrubber_opts opts = {0};
	int r = hc_arena_check_owner(arena);
	if (r == 0)
		r = hc_opts_check(caller_opts, sizeof(opts), &opts);
	if (r < 0)
		return r;
	pthread_mutex_lock(&arena->scrubber_lock);
	r = arena->scrubber ? hc_fail(EALREADY, "the arena has a scrubber already")
	                    : make_scrubber(arena, &opts, &arena->scrubber);
	pthread_mutex_unlock(&arena->scrubber_lock);
	return r;
}

void hc_scrubber_end(struct hc_arena *arena) {
	pthread_mutex_lock(&arena->scrubber_lock);
	struct hc_scrubber *scrubber = arena->scrubber;
	arena->scrubber = NULL;
	pthread_mutex_unlock(&arena->scrubber_lock);
	if (!scrubber)
		return;
	pthread_mutex_lock(&scrubber->lock);
	scrubber->ending = true;
	pthread_cond_signal(&scrubber->wake);
	pthread_mutex_unlock(&scrubber->lock);
	pthread_join(scrubber->thread, NULL);
	free_scrubber(scrubber);
}

int hc_arena_scrubber_stop(struct hc_arena *arena) {
	int r = hc_arena_check_owner(arena);
	if (r == 0)
		hc_scrubber_end(arena);
	return r;
}
