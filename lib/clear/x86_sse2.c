/* What every x86-64 processor has: SSE2, ordinary and streaming; and the edges of all other methods. */
#include "clear/methods.h"
#include "clear/x86.h"

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

/* Two stores of the same size, one from either end, meet or overlap in the middle. */
void hc_x86_clear_edge(void *p, size_t len) {
	char *at = p, *end = at + len;
	__m128i zero = _mm_setzero_si128();

	if (len >= 16) {
		_mm_storeu_si128((__m128i *)at, zero);
		_mm_storeu_si128((__m128i *)(end - 16), zero);
		if (len > 32) {
			_mm_storeu_si128((__m128i *)(at + 16), zero);
			_mm_storeu_si128((__m128i *)(end - 32), zero);
		}
	} else if (len >= 8) {
		memset(at, 0, 8);
		memset(end - 8, 0, 8);
	} else if (len >= 4) {
		memset(at, 0, 4);
		memset(end - 4, 0, 4);
	} else if (len >= 2) {
		memset(at, 0, 2);
		memset(end - 2, 0, 2);
	} else if (len == 1) {
		*at = 0;
	}
	HC_STORES_ARE_SEEN(p);
}

void hc_x86_sse2(void *p, size_t len) {
	if (len <= 64) {
		hc_x86_clear_edge(p, len);
		return;
	}
	char *at = p, *end = at + len;
	__m128i zero = _mm_setzero_si128();

	/* head: up to the first line, and some way into it */
	for (unsigned i = 0; i < 64; i += 16)
		_mm_storeu_si128((__m128i *)(at + i), zero);
	size_t head = 64 - (uintptr_t)at % 64;
	at += head;

	/* whole lines */
	for (size_t lines = (len - head) / 64; lines > 0; lines--, at += 64) {
		for (unsigned i = 0; i < 64; i += 16)
			_mm_store_si128((__m128i *)(at + i), zero);
		HC_STORES_ARE_SEEN(at); /* or the compiler makes the loop a call of memset() */
	}

	/* tail: the last 64 bytes, partly once more */
	for (unsigned i = 64; i > 0; i -= 16)
		_mm_storeu_si128((__m128i *)(end - i), zero);
	HC_STORES_ARE_SEEN(p);
}

void hc_x86_sse2_nt(void *p, size_t len) {
	char *at = p;
	__m128i zero = _mm_setzero_si128();

	size_t head = HC_X86_HEAD(at, len, HC_X86_LINE);
	hc_x86_clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / HC_X86_LINE; lines > 0; lines--, at += HC_X86_LINE)
		for (unsigned i = 0; i < HC_X86_LINE; i += 16)
			_mm_stream_si128((__m128i *)(at + i), zero);

	hc_x86_clear_edge(at, len % HC_X86_LINE);
	_mm_sfence();
	HC_STORES_ARE_SEEN(p);
}

void hc_x86_movnti(void *p, size_t len) {
	char *at = p;

	size_t head = HC_X86_HEAD(at, len, HC_X86_LINE);
	hc_x86_clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / HC_X86_LINE; lines > 0; lines--, at += HC_X86_LINE)
		for (unsigned i = 0; i < HC_X86_LINE; i += 8)
			_mm_stream_si64((long long *)(at + i), 0);

	hc_x86_clear_edge(at, len % HC_X86_LINE);
	_mm_sfence();
	HC_STORES_ARE_SEEN(p);
}
