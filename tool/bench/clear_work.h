/*
 * The work of `bench clear`: one way of clearing (a function), in extents, with
 * what the next user of each extent does, by one or more threads.
 */
#ifndef HC_BENCH_CLEAR_WORK_H
#define HC_BENCH_CLEAR_WORK_H

#include <stddef.h>
#include <stdint.h>

#include <hugeclear/clear.h>

#include "bench/crew.h"
#include "bench/kernel_clear.h"

enum clear_kind {
	CLEAR_BASE,    /* the kernel's way without the series */
	CLEAR_PATCHED, /* the series */
	CLEAR_DEFAULT, /* hugeclear's own choice */
	CLEAR_METHOD,  /* one of its methods, by name */
};

enum clear_then { THEN_NONE, THEN_READ, THEN_WRITE };

struct clear_work {
	enum clear_kind kind;
	const char *method; /* of CLEAR_METHOD */
	uint64_t extent;    /* bytes that are cleared as one; at most the whole */
	uint64_t chunk;     /* bytes between two questions to stop; 0: as long as it takes */
	unsigned threads;   /* wanted */
	enum hc_intent intent;
	enum clear_then then;
	const char *cpus; /* NULL: not pinned */
	/* Shared by all works of a benchmark, borrowed. */
	const struct kernel_clear *kernel;
	struct crew *crew; /* NULL where no work needs it */
	uint64_t clock_step_ns;
};

/* What was seen while working; added up over calls. */
struct clear_seen {
	/* Of the extents that were timed apart, over all threads: the clear, and what the next user paid. */
	uint64_t clear_ns, then_ns;
	uint64_t stamp_ns;   /* what taking those times cost, by the clock */
	uint64_t longest_ns; /* between two questions to stop; 0: not known */
	unsigned threads;    /* that took part */
	const char *method;  /* that hugeclear chose; NULL */
};

/* True where the work is done by the crew rather than by the calling thread or the library's own threads. */
int clear_work_needs_crew(const struct clear_work *work);

/* Clears [p, p + len) repeats times. 0 or a negative errno; *seen is added to. */
int clear_work_run(const struct clear_work *work, char *p, size_t len, uint64_t repeats, struct clear_seen *seen);

#endif
