#include "bench/latency.h"

#include <math.h>
#include <stddef.h>

#include "base/arith.h"

#define SUB (UINT64_C(1) << LATENCY_SUB_BITS)

static size_t bucket_of(uint64_t ns) {
	if (ns < SUB)
		return (size_t)ns;
	unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - LATENCY_SUB_BITS;
	size_t bucket = ((size_t)shift << LATENCY_SUB_BITS) + (size_t)(ns >> shift);
	return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The largest ns of a bucket. */
static uint64_t end_of(size_t bucket) {
	if (bucket < 2 * SUB)
		return bucket;
	unsigned shift = (unsigned)(bucket >> LATENCY_SUB_BITS) - 1;
	uint64_t first = (bucket & (SUB - 1)) + SUB;
	return ((first + 1) << shift) - 1;
}

void latency_add(struct latency *latency, uint64_t ns) {
	latency->buckets[bucket_of(ns)]++;
	latency->count++;
	latency->max = hc_max(latency->max, ns);
}

void latency_merge(struct latency *latency, const struct latency *from) {
	for (size_t i = 0; i < LATENCY_BUCKETS; i++)
		latency->buckets[i] += from->buckets[i];
	latency->count += from->count;
	latency->max = hc_max(latency->max, from->max);
}

uint64_t latency_at(const struct latency *latency, double fraction) {
	uint64_t rank = (uint64_t)ceil(fraction * (double)latency->count), seen = 0;
	if (latency->count == 0)
		return 0;
	rank = hc_max(rank, 1);
	for (size_t i = 0; i < LATENCY_BUCKETS - 1; i++) {
		seen += latency->buckets[i];
		if (seen >= rank)
			return hc_min(end_of(i), latency->max);
	}
	return latency->max;
}
