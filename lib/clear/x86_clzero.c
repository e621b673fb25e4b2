/*
 * clzero: AMD's instruction that zeroes the line of an address. Its stores are
 * ordered as streaming ones (AMD64 Architecture Programmer's Manual, volume 3).
 */
#include "clear/methods.h"
#include "clear/x86.h"

#include <emmintrin.h>
#include <stdint.h>

/* A test puts an instruction here that faults, and plays this one. */
#ifndef HC_CLZERO
#define HC_CLZERO "clzero"
#endif

void hc_x86_clzero(void *p, size_t len) {
	char *at = p;

	size_t head = HC_X86_HEAD(at, len, HC_X86_LINE);
	hc_x86_clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / HC_X86_LINE; lines > 0; lines--, at += HC_X86_LINE)
		__asm__ volatile(HC_CLZERO : : "a"(at) : "memory");

	hc_x86_clear_edge(at, len % HC_X86_LINE);
	_mm_sfence();
	HC_STORES_ARE_SEEN(p);
}
