/* `hugeclear bench clear`: what its files share. */
#ifndef HC_BENCH_BENCH_CLEAR_H
#define HC_BENCH_BENCH_CLEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/clear_work.h"
#include "bench/crew.h"
#include "bench/harness.h"
#include "bench/kernel_clear.h"
#include "bench/resident.h"
#include "bench/room.h"

#define CLEAR_FUNCTIONS_MAX 24
#define CLEAR_EXTENTS_MAX 24
#define CLEAR_LIST_MAX 8

enum { CLEAR_THROUGHPUT, CLEAR_ALONE, CLEAR_THEN_ALONE, CLEAR_LONGEST_STEP, CLEAR_NR_METRICS };

/* A column: a way of clearing. */
struct clear_function {
	enum clear_kind kind;
	const char *name; /* "base" ..., or the method's */
};

struct clear_bench {
	/* Options. */
	uint64_t size;
	struct room_page page;
	struct clear_function functions[CLEAR_FUNCTIONS_MAX];
	size_t nr_functions;
	bool functions_given;
	uint64_t extents[CLEAR_EXTENTS_MAX]; /* UINT64_MAX: the whole, until set_up() */
	size_t nr_extents;
	bool extents_given;
	uint64_t threads[CLEAR_LIST_MAX];
	size_t nr_threads;
	uint64_t chunks[CLEAR_LIST_MAX]; /* 0: none */
	size_t nr_chunks;
	bool intent_given;
	enum hc_intent intent;
	enum clear_then then;
	const char *node_text; /* as given; NULL */
	int node;
	const char *cpus;

	/* Made by set_up(). */
	struct kernel_clear kernel;
	struct resident *memory;
	struct crew *crew;
	struct clear_work *works; /* by case */
	struct bench_run *run;
	bool chunked; /* a chunk other than 0 is among them */
};

/*
 * Chooses and gets the memory: bench->page is filled in where it wasn't given, with a
 * note that says why. 0, or an exit code.
 */
int clear_memory_get(struct clear_bench *bench, struct bench_run *run);

/* The case of this work; base has none for each chunk, as it knows no chunks. SIZE_MAX where there is none. */
size_t clear_case_of(const struct clear_bench *bench, const struct clear_function *function, uint64_t extent,
        uint64_t threads, uint64_t chunk);

/* "base", "patched", "default"; CLEAR_METHOD has its method's. */
extern const char *const clear_kind_names[];

/* The functions of the description, by file. */
int clear_sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample);
int clear_check(void *state, size_t i);
void clear_print(const void *state, const struct bench_run *run, FILE *out);

extern const struct bench bench_clear;

#endif
