#include "clear/methods.h"

#include "clear/x86.h"
#include "sys/processor.h"

const struct hc_method hc_methods[] = {
        /* Works everywhere, but is slow byte-wise microcode where the processor doesn't promise ERMS. */
        {"stosb", "", 0, HC_FEATURE_BIT(HC_FEATURE_ERMS), false, 64, hc_x86_stosb},
        {"stosq", "", 0, 0, false, 64, hc_x86_stosq},
        {"sse2", "", 0, 0, false, 64, hc_x86_sse2},
        {"sse2-nt", "", 0, 0, true, 64, hc_x86_sse2_nt},
        {"avx2", "avx2", HC_FEATURE_BIT(HC_FEATURE_AVX2), 0, false, 128, hc_x86_avx2},
        {"avx2-nt", "avx2", HC_FEATURE_BIT(HC_FEATURE_AVX2), 0, true, 64, hc_x86_avx2_nt},
        {"avx512", "avx512f", HC_FEATURE_BIT(HC_FEATURE_AVX512F), 0, false, 256, hc_x86_avx512},
        {"avx512-nt", "avx512f", HC_FEATURE_BIT(HC_FEATURE_AVX512F), 0, true, 64, hc_x86_avx512_nt},
        {"movdir64b", "movdir64b", HC_FEATURE_BIT(HC_FEATURE_MOVDIR64B), 0, true, 64, hc_x86_movdir64b},
        {"movnti", "", 0, 0, true, 64, hc_x86_movnti},
        {"clzero", "clzero", HC_FEATURE_BIT(HC_FEATURE_CLZERO), 0, true, 64, hc_x86_clzero},
        {"memset", "", 0, 0, false, 64, hc_method_memset},
};

const unsigned hc_nr_methods = sizeof(hc_methods) / sizeof(hc_methods[0]);

_Static_assert(sizeof(hc_methods) / sizeof(hc_methods[0]) <= HC_METHODS_MAX, "raise HC_METHODS_MAX");

/*
 * AVX-512 is left out where little is cleared and where the cache takes it:
 * there it isn't faster (measured on Sapphire Rapids), and on older processors it
 * lowers the clock of the code that follows.
 */
const struct hc_method_preferences hc_method_preferences = {
        .few = {"avx2", "sse2"},
        .cached = {"stosb", "avx2", "sse2"},
        .streaming = {"avx512-nt", "clzero", "avx2-nt", "sse2-nt"},
        .few_up_to = 512,
        .streams_from = 4096,
};
