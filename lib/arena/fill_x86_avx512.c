/* One store a descriptor. Compiled with -mavx512f: see clear/methods.h for what must not be in here. */
#include "arena/fill.h"

#include <immintrin.h>

void hc_fill_avx512(void *p, size_t nr, const void *line) {
	__m512i all = _mm512_loadu_si512(line);
	for (char *at = p; nr > 0; nr--, at += HC_FILL_LINE)
		_mm512_stream_si512((void *)at, all);
	_mm_sfence();
	_mm256_zeroupper();
}
