/*
 * Times of the library's maps, for perf_map.py. A line a round.
 *
 * usage: map_times reset BYTES ROUNDS   seconds of resetting a dirty map, and of making a new one instead
 *        map_times stop BYTES ROUNDS    seconds from a request to stop populating to the return
 *        map_times wait BYTES ROUNDS    the longest mmap of another thread meanwhile, and the longest step
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <hugeclear/map.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what) {
	fprintf(stderr, "map_times: %s: %s\n", what, hc_error_detail());
	exit(1);
}

static struct hc_map *open_map(size_t size) {
	const struct hc_map_opts opts = {.size = sizeof(opts), .flags = HC_MAP_POPULATE};
	struct hc_map *map;
	if (hc_map_open(size, &opts, &map) < 0)
		die("open");
	return map;
}

static void reset(size_t size, int rounds) {
	struct hc_map *map = open_map(size);
	for (int i = -1; i < rounds; i++) {
		memset(hc_map_address(map), 0xa5, size);
		double start = now();
		if (hc_map_reset(map, NULL, NULL) < 0)
			die("reset");
		double by_reset = now() - start;
		memset(hc_map_address(map), 0xa5, size);
		start = now();
		hc_map_close(map);
		map = open_map(size);
		if (i >= 0)
			printf("%.9f %.9f\n", by_reset, now() - start);
	}
	hc_map_close(map);
}

static _Atomic int stopping;
static double asked_at;

static int wants_stop(void *user) {
	(void)user;
	return atomic_load(&stopping);
}

static void *ask(void *arg) {
	usleep(*(unsigned *)arg);
	asked_at = now();
	atomic_store(&stopping, 1);
	return NULL;
}

static void stop(size_t size, int rounds) {
	for (int i = 0; i < rounds; i++) {
		const struct hc_map_opts opts = {
		        .size = sizeof(opts), .kind = HC_PAGES_THP, .flags = HC_MAP_POPULATE, .stop = wants_stop};
		struct hc_map *map = NULL;
		unsigned after = 20000 + (unsigned)i * 7919 % 200000;
		pthread_t thread;
		atomic_store(&stopping, 0);
		pthread_create(&thread, NULL, ask, &after);
		int r = hc_map_open(size, &opts, &map);
		double end = now();
		pthread_join(thread, NULL);
		if (r != -ECANCELED) {
			fprintf(stderr, "map_times: not stopped: %d\n", r);
			exit(1);
		}
		printf("%.9f\n", end - asked_at);
	}
}

static double longest_wait;

static void *map_small(void *unused) {
	(void)unused;
	longest_wait = 0;
	while (!atomic_load(&stopping)) {
		double start = now();
		void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		double took = now() - start;
		if (p != MAP_FAILED)
			munmap(p, 65536);
		if (took > longest_wait)
			longest_wait = took;
		usleep(100);
	}
	return NULL;
}

static void wait_for(size_t size, int rounds) {
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;
		atomic_store(&stopping, 0);
		pthread_create(&thread, NULL, map_small, NULL);
		struct hc_map *map = open_map(size);
		atomic_store(&stopping, 1);
		pthread_join(thread, NULL);
		printf("%.9f %.9f\n", longest_wait, (double)hc_map_state(map)->longest_step_ns / 1e9);
		hc_map_close(map);
	}
}

int main(int argc, char **argv) {
	if (argc != 4)
		return 64;
	size_t size = strtoull(argv[2], NULL, 10);
	int rounds = atoi(argv[3]);
	if (strcmp(argv[1], "reset") == 0)
		reset(size, rounds);
	else if (strcmp(argv[1], "stop") == 0)
		stop(size, rounds);
	else
		wait_for(size, rounds);
	return 0;
}
