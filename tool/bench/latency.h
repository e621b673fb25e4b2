/*
 * Latencies in ns, kept as counts in buckets of logarithmic width, so that adding one costs a few
 * ns and memory doesn't grow. No pointers: it may lie in memory that processes share. One thread
 * adds at a time.
 */
#ifndef HC_BENCH_LATENCY_H
#define HC_BENCH_LATENCY_H

#include <stdint.h>

/* A bucket is as wide as 1/128 of what is in it: below 256 ns exact, above to 0.8 %. */
#define LATENCY_SUB_BITS 7
#define LATENCY_BITS 40 /* longer ones, 18 minutes and more, are in the last bucket */
#define LATENCY_BUCKETS (((LATENCY_BITS - LATENCY_SUB_BITS) + 1) << LATENCY_SUB_BITS)

struct latency {
	uint64_t count, max; /* max is exact */
	uint64_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, uint64_t ns);

/* Adds all of from. */
void latency_merge(struct latency *latency, const struct latency *from);

/*
 * The least ns that at least fraction (0 < fraction <= 1) of all are no longer than (nearest rank),
 * as the upper end of its bucket and at most max. 0 where there are none.
 */
uint64_t latency_at(const struct latency *latency, double fraction);

#endif
