/* 64-byte stores. Compiled with -mavx512f; see methods.h for what must not be in here. */
#include "clear/methods.h"
#include "clear/x86.h"

#include <immintrin.h>
#include <stdint.h>

void hc_x86_avx512(void *p, size_t len) {
	if (len <= 64) {
		hc_x86_clear_edge(p, len);
		return;
	}
	char *at = p, *end = at + len;
	__m512i zero = _mm512_setzero_si512();

	/* head: up to the first line, and some way into it */
	_mm512_storeu_si512(at, zero);
	size_t head = 64 - (uintptr_t)at % 64;
	at += head;

	/* whole groups of four lines */
	for (size_t groups = (len - head) / 256; groups > 0; groups--, at += 256) {
		for (unsigned i = 0; i < 256; i += 64)
			_mm512_store_si512(at + i, zero);
		HC_STORES_ARE_SEEN(at); /* or the compiler makes the loop a call of memset() */
	}

	/* tail: up to three lines that are left over, then the last 64 bytes, partly once more */
	for (; end - at >= 64; at += 64)
		_mm512_store_si512(at, zero);
	_mm512_storeu_si512(end - 64, zero);
	HC_STORES_ARE_SEEN(p);
}

void hc_x86_avx512_nt(void *p, size_t len) {
	char *at = p;
	__m512i zero = _mm512_setzero_si512();

	size_t head = HC_X86_HEAD(at, len, HC_X86_LINE);
	hc_x86_clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / HC_X86_LINE; lines > 0; lines--, at += HC_X86_LINE)
		_mm512_stream_si512((void *)at, zero);

	hc_x86_clear_edge(at, len % HC_X86_LINE);
	_mm_sfence();
	HC_STORES_ARE_SEEN(p);
}
