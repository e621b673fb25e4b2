/*
 * Random numbers for orders and places, from a seed, the same everywhere: splitmix64 of Steele, Lea and Flood, "Fast
 * Splittable Pseudorandom Number Generators", 2014. Not for secrets.
 */
#ifndef HC_BASE_RANDOM_H
#define HC_BASE_RANDOM_H

#include <stdint.h>

/* A well-mixed number of x: its last step. */
static inline uint64_t hc_random_mix(uint64_t x) {
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The next number. *state is the seed at first. */
static inline uint64_t hc_random_next(uint64_t *state) {
	return hc_random_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

#endif
