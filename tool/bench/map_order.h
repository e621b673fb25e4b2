/* The order in which pages are touched, shuffled without a table: a page's turn costs no memory access. */
#ifndef HC_BENCH_MAP_ORDER_H
#define HC_BENCH_MAP_ORDER_H

#include <stdint.h>

#include "base/random.h"

/* A permutation of 0 .. n - 1. */
struct map_order {
	uint64_t n, mask, seed;
	unsigned shift;
};

/* pre: n > 0. The same seed gives the same order. */
void map_order_init(struct map_order *order, uint64_t n, uint64_t seed);

/*
 * The page whose turn is the i-th. Each step maps the numbers of that many bits onto themselves, each onto another
 * (an odd factor, a shift to the right), so their sequence does; what is n or more is mapped on until it is below.
 */
static inline uint64_t map_order_at(const struct map_order *order, uint64_t i) {
	uint64_t x = i;
	do {
		x = (x ^ order->seed) & order->mask;
		x = (x * UINT64_C(0x9e3779b97f4a7c15)) & order->mask;
		x ^= x >> order->shift;
		x = (x * UINT64_C(0xbf58476d1ce4e5b9)) & order->mask;
		x ^= x >> order->shift;
	} while (x >= order->n);
	return x;
}

/* Where in its page the i-th touch is. pre: page_size is a power of two */
static inline uint64_t map_order_offset(const struct map_order *order, uint64_t i, uint64_t page_size) {
	return hc_random_mix(i + order->seed) & (page_size - 1);
}

#endif
