#include "bench/map_order.h"

void map_order_init(struct map_order *order, uint64_t n, uint64_t seed) {
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;
	order->n = n;
	order->mask = bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
	order->shift = bits / 2 + 1;
	/* Seeds that a person writes, 1 and 2, differ in all bits. */
	order->seed = hc_random_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
}
