/* `hugeclear bench map`: what its files share. */
#ifndef HC_BENCH_BENCH_MAP_H
#define HC_BENCH_BENCH_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <hugeclear/map.h>

#include "bench/harness.h"
#include "bench/latency.h"
#include "bench/victim.h"

#define MAP_LIST_MAX 8
#define MAP_THREADS_MAX 256

enum map_function { FUNCTION_IDLE, FUNCTION_DEMAND, FUNCTION_POPULATE, NR_FUNCTIONS };

enum {
	MAP_THROUGHPUT,
	MAP_SECONDS,
	MAP_MUNMAP,
	MAP_FAULT_P50,
	MAP_FAULT_P99,
	MAP_FAULT_MAX,
	MAP_STEP_MAX,
	MAP_CYCLES,
	/* Of victims, by where and what: p99, then the longest. */
	MAP_VICTIM,
	MAP_NR_METRICS = MAP_VICTIM + VICTIM_WHERES * VICTIM_WHATS * 2,
};

struct map_page {
	enum hc_page_kind kind;
	uint64_t page_size;
};

/* A case. */
struct map_work {
	enum map_function function;
	struct map_page page;
	unsigned threads;
	uint64_t chunk; /* 0: the library's */
	enum hc_populate_by by;
	uint64_t bytes; /* that are there at a time; less than the size where that doesn't fit */
	/* All loops together: */
	struct victim_times *victims;             /* NULL without */
	double thread_gib_per_s[MAP_THREADS_MAX]; /* sums */
	uint64_t nr_samples;
};

struct map_bench {
	/* Options. */
	uint64_t size;
	struct map_page pages[MAP_LIST_MAX];
	size_t nr_pages;
	bool functions[NR_FUNCTIONS];
	uint64_t threads[MAP_LIST_MAX], chunks[MAP_LIST_MAX];
	size_t nr_threads, nr_chunks;
	enum hc_populate_by bys[MAP_LIST_MAX];
	size_t nr_bys;
	bool thp, cycles, victim, random;
	uint64_t random_seed;
	const char *page_text, *node_text, *cpus;

	/* Made by set_up(). */
	char node[16]; /* "" : anywhere */
	int same_cpu, other_cpu;
	struct map_work *works; /* by case */
	size_t nr_works;
	struct bench_run *run;
	struct map_outcome *outcome; /* shared with the children */
	size_t outcome_size;
	bool told_base_pages, told_threads, told_cycles;
};

/* What a child leaves in shared memory. */
struct map_outcome {
	int r; /* 0 or a negative errno; 1 while the child is at work */
	char detail[1024];
	uint64_t ns, munmap_ns, cycles, longest_step_ns;
	uint64_t huge_bytes; /* of the first mapping: in pages of the size asked for */
	unsigned threads;    /* that took part */
	char threads_why[256], cycles_why[160];
	enum hc_populate_by populated_by;
	struct victim_times victims;
	struct {
		uint64_t ns;
		struct latency faults;
	} by_thread[];
};

/* "madvise", "futex", "fallocate", "map"; ended by NULL, by enum hc_populate_by less one */
extern const char *const map_by_names[];
extern const char *const map_function_names[];

/* What runs in the child: fills the outcome. Doesn't return. */
_Noreturn void map_child(const struct map_bench *bench, const struct map_work *work, uint64_t repeats);

/* The functions of the description, by file. */
int map_sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample);
void map_print(const void *state, const struct bench_run *run, FILE *out);

extern const struct bench bench_map;

#endif
