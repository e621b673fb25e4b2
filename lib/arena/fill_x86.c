#include "arena/fill.h"

#include <emmintrin.h>

#include "base/features.h"
#include "sys/processor.h"

void hc_fill_sse2(void *p, size_t nr, const void *line) {
	const __m128i *from = line;
	__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1), c = _mm_loadu_si128(from + 2),
	        d = _mm_loadu_si128(from + 3);
	for (char *at = p; nr > 0; nr--, at += HC_FILL_LINE) {
		_mm_stream_si128((__m128i *)(void *)at, a);
		_mm_stream_si128((__m128i *)(void *)(at + 16), b);
		_mm_stream_si128((__m128i *)(void *)(at + 32), c);
		_mm_stream_si128((__m128i *)(void *)(at + 48), d);
	}
	_mm_sfence();
}

hc_fill_fn hc_fill_choose(void) {
	uint32_t features = hc_processor_here()->features;
	if (features & HC_FEATURE_BIT(HC_FEATURE_AVX512F))
		return hc_fill_avx512;
	return features & HC_FEATURE_BIT(HC_FEATURE_AVX2) ? hc_fill_avx2 : hc_fill_sse2;
}
