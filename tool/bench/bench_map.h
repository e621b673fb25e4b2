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
/* Of fewer values there is no 99th percentile: it would be the longest. */
#define MAP_P99_LEAST 100

enum map_function { FUNCTION_IDLE, FUNCTION_DEMAND, FUNCTION_POPULATE, NR_FUNCTIONS };

enum {
	MAP_THROUGHPUT,
	MAP_SECONDS,
	MAP_MUNMAP,
	MAP_FAULT_P50,
	MAP_FAULT_P99,
	MAP_FAULT_MAX,
	MAP_STEP_P50,
	MAP_STEP_P99,
	MAP_STEP_MAX,
	MAP_CYCLES,
	/* Of victims, by where and what: p99, then the longest. */
	MAP_VICTIM,
	MAP_NR_METRICS = MAP_VICTIM + VICTIM_WHERES * VICTIM_WHATS * 2,
};

struct map_page {
	enum hc_page_kind kind;
	uint64_t page_size;
	uint64_t bytes; /* that are mapped at a time: the size, or less, and then in rounds */
};

struct map_thread_time {
	uint64_t bytes, ns;
};

/* A case. */
struct map_work {
	enum map_function function;
	struct map_page page;
	unsigned threads;
	uint64_t chunk; /* 0: the library's */
	enum hc_populate_by by;
	/* All loops together: */
	struct victim_times *victims; /* NULL without */
	struct map_thread_time threads_seen[MAP_THREADS_MAX];
	uint64_t checks_ns, nr_samples;
	uint64_t watched_ns; /* that victims were at work */
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
	bool thp, memfd, cycles, victim;
	uint64_t random_seed; /* 0: in the order of addresses */
	const char *page_text, *node_text, *cpus;

	/* Made by set_up(). */
	char node[16]; /* "" : anywhere */
	int same_cpu, other_cpu;
	struct map_work *works; /* by case */
	size_t nr_works;
	struct bench_run *run;
	struct map_outcome *outcome; /* shared with the children */
	size_t outcome_size;
	/* How long victims are watched on the idle machine, and were in the longest sample of any other case. */
	uint64_t idle_ns, watched_ns;
	bool told_huge, told_threads, told_cycles;
};

/* What a thread of a child did. */
struct map_thread {
	struct map_thread_time sum;
	uint64_t began_ns, ended_ns; /* of the last mapping */
	struct latency faults;       /* or calls that populate */
	bool populated;              /* some of the mapping that is being populated */
};

/* What a child leaves in shared memory. */
struct map_outcome {
	int r; /* 0 or a negative errno; 1 while the child is at work */
	char detail[1024];
	uint64_t ns;                /* of mapping, and of touching or populating */
	uint64_t checks_ns;         /* of what hc_map_open(3) does beyond that: limits before, pages afterwards */
	uint64_t munmap_ns, cycles; /* all but the last of them sums over all mappings, as the next two */
	uint64_t bytes;             /* that came */
	uint64_t huge_bytes;        /* of them in pages of the size asked for; HC_UNKNOWN */
	unsigned threads;           /* that took part in a mapping, the most where it differed */
	char threads_why[384], cycles_why[160];
	enum hc_populate_by populated_by;
	/* SIGBUS: what was touched, and in which mapping. */
	bool bus_error, memory_error;
	uintptr_t bus_address, address;
	uint64_t length;
	uint64_t watched_ns; /* that victims were at work */
	struct victim_times victims;
	struct map_thread by_thread[];
};

/* "madvise", "futex", "fallocate", "map"; ended by NULL, by enum hc_populate_by less one */
extern const char *const map_by_names[];
extern const char *const map_function_names[];

/* Reads --page into the pages, or chooses them, and plans their bytes. 0, or an exit code with a message. */
int map_pages_read(struct map_bench *bench);

/* Before anything is measured: whether they can be had. Maps them and touches nothing. 0, or an exit code with a message. */
int map_pages_try(struct map_bench *bench);

/* For hc_map_open(), without populating; of that way only whether it needs a memfd. */
struct hc_map_opts map_opts(const struct map_bench *bench, const struct map_page *page, enum hc_populate_by by);

/* What runs in the child: fills the outcome. Doesn't return. */
_Noreturn void map_child(const struct map_bench *bench, const struct map_work *work, uint64_t repeats);

/* The functions of the description, by file. */
int map_sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample);
void map_print(const void *state, const struct bench_run *run, FILE *out);

extern const struct bench bench_map;

#endif
