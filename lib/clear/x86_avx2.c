/* 32-byte stores. Compiled with -mavx2; see methods.h for what must not be in here. */
#include "clear/methods.h"
#include "clear/x86.h"

#include <immintrin.h>
#include <stdint.h>

void hc_x86_avx2(void *p, size_t len) {
	if (len <= 64) {
		hc_x86_clear_edge(p, len);
		return;
	}
	char *at = p, *end = at + len;
	__m256i zero = _mm256_setzero_si256();

	/* head: up to the first line, and some way into it */
	_mm256_storeu_si256((__m256i *)at, zero);
	_mm256_storeu_si256((__m256i *)(at + 32), zero);
	size_t head = 64 - (uintptr_t)at % 64;
	at += head;

	/* whole pairs of lines */
	for (size_t pairs = (len - head) / 128; pairs > 0; pairs--, at += 128) {
		for (unsigned i = 0; i < 128; i += 32)
			_mm256_store_si256((__m256i *)(at + i), zero);
		HC_STORES_ARE_SEEN(at); /* or the compiler makes the loop a call of memset() */
	}

	/* tail: a line that is left over, then the last 64 bytes, partly once more */
	if (end - at >= 64) {
		_mm256_store_si256((__m256i *)at, zero);
		_mm256_store_si256((__m256i *)(at + 32), zero);
	}
	_mm256_storeu_si256((__m256i *)(end - 64), zero);
	_mm256_storeu_si256((__m256i *)(end - 32), zero);
	HC_STORES_ARE_SEEN(p);
}

void hc_x86_avx2_nt(void *p, size_t len) {
	char *at = p;
	__m256i zero = _mm256_setzero_si256();

	size_t head = HC_X86_HEAD(at, len, HC_X86_LINE);
	hc_x86_clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / HC_X86_LINE; lines > 0; lines--, at += HC_X86_LINE) {
		_mm256_stream_si256((__m256i *)at, zero);
		_mm256_stream_si256((__m256i *)(at + 32), zero);
	}

	hc_x86_clear_edge(at, len % HC_X86_LINE);
	_mm_sfence();
	HC_STORES_ARE_SEEN(p);
}
