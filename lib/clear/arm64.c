/*
 * arm64: stores of register pairs, cached and with the non-temporal hint, and dc zva.
 *
 * Ordering. Stores to ordinary memory are weakly ordered on arm64, all of them. A
 * store-release or dmb orders every store in front of it, and dc zva is one: it
 * "requires the same considerations for ordering [...] as any other store
 * instructions" (Arm Architecture Reference Manual, DC ZVA). The hint of stnp
 * relaxes only that a load pair may pass a load that its address comes from
 * (same manual, "Load/store non-temporal pair"; Programmer's Guide for ARMv8-A,
 * DEN0024A, 6.3.8). So publication by a release store is enough, for each of the
 * three, without a barrier here.
 *
 * stnp has one all the same: the table promises that what a streaming method
 * stored is visible before any later store, also a plain one, and callers that
 * rely on it on x86 must not break here. dmb ishst orders stores among all
 * processors that run this process.
 */
#include <stdint.h>
#include <string.h>

#include <arm_neon.h>

#include "clear/arm64.h"
#include "clear/methods.h"

/* Stores are aligned to it; the size of a cache line on nearly all processors. */
#define LINE 64

/* Fields of DCZID_EL0: the logarithm of the block in words of 4 bytes, and "not allowed". */
#define DCZID_LOG2_WORDS 0xfu
#define DCZID_PROHIBITED 0x10u

/* pre: len is a constant up to 32; it becomes one or two ordinary stores of any alignment */
static inline void store_zeros(void *p, size_t len) {
	static const unsigned char zeros[32];
	memcpy(p, zeros, len);
}

/*
 * Zeroes up to a line with the two largest stores that fit; in the middle they overlap.
 * pre: len <= 64
 */
static inline void clear_edge(char *at, size_t len) {
	char *end = at + len;
	if (len >= 32) {
		store_zeros(at, 32);
		store_zeros(end - 32, 32);
	} else if (len >= 16) {
		store_zeros(at, 16);
		store_zeros(end - 16, 16);
	} else if (len >= 8) {
		store_zeros(at, 8);
		store_zeros(end - 8, 8);
	} else if (len >= 4) {
		store_zeros(at, 4);
		store_zeros(end - 4, 4);
	} else if (len >= 2) {
		store_zeros(at, 2);
		store_zeros(end - 2, 2);
	} else if (len == 1) {
		store_zeros(at, 1);
	}
}

/* Bytes from at to the next multiple of align, at most len. pre: align is a power of two */
static inline size_t head_of(const char *at, size_t len, size_t align) {
	size_t head = -(uintptr_t)at & (align - 1);
	return head < len ? head : len;
}

/*
 * A line by two stores of a pair of registers. In assembly, as a compiler makes a call of
 * memset() of a loop of them, and never an stnp.
 */
#define STORE_LINE(instruction, at, zero)                                                                              \
	__asm__ volatile(instruction " %q1, %q1, [%0]\n\t" instruction " %q1, %q1, [%0, #32]"                          \
	                 :                                                                                             \
	                 : "r"(at), "w"(zero)                                                                          \
	                 : "memory")

void hc_arm64_stp(void *p, size_t len) {
	char *at = p;
	uint8x16_t zero = vdupq_n_u8(0);

	size_t head = head_of(at, len, LINE);
	clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / LINE; lines > 0; lines--, at += LINE)
		STORE_LINE("stp", at, zero);

	clear_edge(at, len % LINE);
	HC_STORES_ARE_SEEN(p);
}

void hc_arm64_stnp(void *p, size_t len) {
	char *at = p;
	uint8x16_t zero = vdupq_n_u8(0);

	size_t head = head_of(at, len, LINE);
	clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / LINE; lines > 0; lines--, at += LINE)
		STORE_LINE("stnp", at, zero);

	clear_edge(at, len % LINE);
	__asm__ volatile("dmb ishst" : : : "memory");
}

void hc_arm64_dczva(void *p, size_t len) {
	uint64_t dczid;
	__asm__("mrs %0, dczid_el0" : "=r"(dczid));
	size_t block = (size_t)4 << (dczid & DCZID_LOG2_WORDS);

	/* The instruction zeroes the whole block that its address is in: only blocks that are inside are its. */
	char *at = p;
	size_t head = head_of(at, len, block);
	if ((dczid & DCZID_PROHIBITED) || len - head < block) {
		hc_arm64_stp(p, len);
		return;
	}
	hc_arm64_stp(at, head);
	at += head;
	len -= head;

	for (char *end = at + (len & ~(block - 1)); at < end; at += block)
		__asm__ volatile("dc zva, %0" : : "r"(at) : "memory");

	hc_arm64_stp(at, len & (block - 1));
}
