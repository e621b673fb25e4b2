/* Compiled with -mavx2: see clear/methods.h for what must not be in here. */
#include "arena/fill.h"

#include <immintrin.h>

void hc_fill_avx2(void *p, size_t nr, const void *line) {
	const __m256i *from = line;
	__m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
	for (char *at = p; nr > 0; nr--, at += HC_FILL_LINE) {
		_mm256_stream_si256((__m256i *)(void *)at, a);
		_mm256_stream_si256((__m256i *)(void *)(at + 32), b);
	}
	_mm_sfence();
	_mm256_zeroupper();
}
