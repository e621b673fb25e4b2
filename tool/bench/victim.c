#include "bench/victim.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/signals.h"
#include "bench/pinning.h"

/* As long as a program waits that does something a thousand times a second; the rest is random. */
#define SLEEP_NS 500000
#define SLEEP_MORE_NS 1000000
#define AREA_PAGES 16

struct victim {
	struct victims *all;
	pthread_t thread;
	bool started;
	int cpu;
	enum victim_where where;
	uint64_t random;
};

struct victims {
	struct victim_times *times;
	struct victim victims[VICTIM_WHERES];
	/* Relaxed: nothing but the end of the loop hangs on it, and joining orders the times. */
	bool ending;
};

/* xorshift64, of Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t next_random(uint64_t *state) {
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void sleep_a_while(struct victim *victim, struct latency *wakeups) {
	uint64_t until = hc_clock_ns() + SLEEP_NS + next_random(&victim->random) % SLEEP_MORE_NS;
	const struct timespec at = {
	        .tv_sec = (time_t)(until / HC_NSEC_PER_SEC), .tv_nsec = (long)(until % HC_NSEC_PER_SEC)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		continue;
	uint64_t now = hc_clock_ns();
	latency_add(wakeups, now > until ? now - until : 0);
}

static void use_an_area(struct latency *maps, struct latency *faults, size_t page) {
	uint64_t before = hc_clock_ns(), now;
	volatile char *area = mmap(NULL, AREA_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	now = hc_clock_ns();
	if (area == MAP_FAILED)
		return;
	latency_add(maps, now - before);
	/* A fault that brings in several pages would count as one, and the touches behind it as very short ones. */
	(void)madvise((void *)(uintptr_t)area, AREA_PAGES * page, MADV_NOHUGEPAGE);
	now = hc_clock_ns();
	for (size_t i = 0; i < AREA_PAGES; i++) {
		before = now;
		area[i * page] = 1;
		now = hc_clock_ns();
		latency_add(faults, now - before);
	}
	munmap((void *)(uintptr_t)area, AREA_PAGES * page);
}

static void *suffer(void *arg) {
	struct victim *victim = arg;
	struct latency *at = victim->all->times->at[victim->where];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* The kernel may wake a thread 50 us late to save power; what is measured is who else makes it late. */
	prctl(PR_SET_TIMERSLACK, 1);
	while (!__atomic_load_n(&victim->all->ending, __ATOMIC_RELAXED)) {
		sleep_a_while(victim, &at[VICTIM_WAKEUP]);
		use_an_area(&at[VICTIM_MMAP], &at[VICTIM_FAULT], page);
	}
	return NULL;
}

static int start(struct victim *victim) {
	int err = pinned_start(victim->cpu, &victim->thread, suffer, victim);
	victim->started = err == 0;
	return err == 0 ? 0 : hc_fail_start(err, "a victim on CPU %d couldn't be started", victim->cpu);
}

struct victims *victims_stop(struct victims *victims) {
	if (!victims)
		return NULL;
	__atomic_store_n(&victims->ending, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < VICTIM_WHERES; i++)
		if (victims->victims[i].started)
			pthread_join(victims->victims[i].thread, NULL);
	free(victims);
	return NULL;
}

int victims_start(int cpu, int other, struct victim_times *times, struct victims **ret_victims) {
	struct victims *victims = calloc(1, sizeof(*victims));
	if (!victims)
		return hc_fail_memory("no memory for victims");
	victims->times = times;
	const int cpus[] = {[VICTIM_SAME_CPU] = cpu, [VICTIM_OTHER_CPU] = other};
	sigset_t before;
	hc_signals_block(&before);
	int r = 0;
	for (int i = 0; r == 0 && i < VICTIM_WHERES; i++) {
		victims->victims[i] = (struct victim){
		        .all = victims, .cpu = cpus[i], .where = (enum victim_where)i, .random = hc_clock_ns() | 1};
		if (cpus[i] >= 0)
			r = start(&victims->victims[i]);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		victims_stop(victims);
	else
		*ret_victims = victims;
	return r;
}
