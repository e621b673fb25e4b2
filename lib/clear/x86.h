/* The methods of x86-64: one file an instruction set. */
#ifndef HC_CLEAR_X86_H
#define HC_CLEAR_X86_H

#include <stddef.h>

/* Everything that streams does so by whole cache lines: 64 bytes on every x86-64 processor. */
#define HC_X86_LINE 64

/*
 * Zeroes less than a line (or a line) with ordinary stores: the parts of a range
 * in front of the first aligned block and behind the last. They need no fence of
 * their own: the processor keeps ordinary stores in order.
 *
 * pre: len <= 64
 */
void hc_x86_clear_edge(void *p, size_t len);

/* Bytes from p to the next multiple of align, at most len. pre: align is a power of two */
#define HC_X86_HEAD(p, len, align)                                                                                     \
	((-(uintptr_t)(p) & ((align)-1)) < (len) ? (size_t)(-(uintptr_t)(p) & ((align)-1)) : (len))

void hc_x86_stosb(void *p, size_t len);
void hc_x86_stosq(void *p, size_t len);
void hc_x86_sse2(void *p, size_t len);
void hc_x86_sse2_nt(void *p, size_t len);
void hc_x86_movnti(void *p, size_t len);
void hc_x86_avx2(void *p, size_t len);
void hc_x86_avx2_nt(void *p, size_t len);
void hc_x86_avx512(void *p, size_t len);
void hc_x86_avx512_nt(void *p, size_t len);
void hc_x86_movdir64b(void *p, size_t len);
void hc_x86_clzero(void *p, size_t len);

#endif
