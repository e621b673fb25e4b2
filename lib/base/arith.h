/* Checked arithmetic on sizes: every sum or product a caller or a file controls goes through these. */
#ifndef HC_BASE_ARITH_H
#define HC_BASE_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when the result fits; *ret_sum is written only then. */
static inline bool hc_add_ok(uint64_t a, uint64_t b, uint64_t *ret_sum) {
	uint64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*ret_sum = sum;
	return true;
}

static inline bool hc_mul_ok(uint64_t a, uint64_t b, uint64_t *ret_product) {
	uint64_t product;
	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*ret_product = product;
	return true;
}

static inline bool hc_is_power_of_two(uint64_t n) {
	return n != 0 && (n & (n - 1)) == 0;
}

/* pre: align is a power of two. False when rounding n up wraps. */
static inline bool hc_align_up_ok(uint64_t n, uint64_t align, uint64_t *ret_aligned) {
	uint64_t sum;
	if (!hc_add_ok(n, align - 1, &sum))
		return false;
	*ret_aligned = sum & ~(align - 1);
	return true;
}

/* pre: align is a power of two */
static inline uint64_t hc_align_down(uint64_t n, uint64_t align) {
	return n & ~(align - 1);
}

/* ceil(n / d) without the overflow of n + d - 1. pre: d > 0 */
static inline uint64_t hc_div_up(uint64_t n, uint64_t d) {
	return n / d + (n % d != 0);
}

/* True when [p, p + len) does not wrap round the end of the address space. */
static inline bool hc_range_ok(const void *p, size_t len) {
	uintptr_t end;
	return !__builtin_add_overflow((uintptr_t)p, len, &end);
}

/* a - b, and 0 where that is below 0. */
static inline uint64_t hc_minus(uint64_t a, uint64_t b) {
	return a > b ? a - b : 0;
}

static inline uint64_t hc_min(uint64_t a, uint64_t b) {
	return a < b ? a : b;
}

static inline uint64_t hc_max(uint64_t a, uint64_t b) {
	return a > b ? a : b;
}

#endif
