#include "clear/methods.h"

#include "clear/x86.h"
#include "sys/processor.h"

const struct hc_method hc_methods[] = {
        {"stosb", "", 0, false, 64, hc_x86_stosb},
        {"stosq", "", 0, false, 64, hc_x86_stosq},
        {"sse2", "", 0, false, 64, hc_x86_sse2},
        {"sse2-nt", "", 0, true, 64, hc_x86_sse2_nt},
        {"avx2", "avx2", HC_FEATURE_BIT(HC_FEATURE_AVX2), false, 128, hc_x86_avx2},
        {"avx2-nt", "avx2", HC_FEATURE_BIT(HC_FEATURE_AVX2), true, 64, hc_x86_avx2_nt},
        {"avx512", "avx512f", HC_FEATURE_BIT(HC_FEATURE_AVX512F), false, 256, hc_x86_avx512},
        {"avx512-nt", "avx512f", HC_FEATURE_BIT(HC_FEATURE_AVX512F), true, 64, hc_x86_avx512_nt},
        {"movdir64b", "movdir64b", HC_FEATURE_BIT(HC_FEATURE_MOVDIR64B), true, 64, hc_x86_movdir64b},
        {"movnti", "", 0, true, 64, hc_x86_movnti},
        {"clzero", "clzero", HC_FEATURE_BIT(HC_FEATURE_CLZERO), true, 64, hc_x86_clzero},
        {"memset", "", 0, false, 64, hc_method_memset},
};

const unsigned hc_nr_methods = sizeof(hc_methods) / sizeof(hc_methods[0]);

_Static_assert(sizeof(hc_methods) / sizeof(hc_methods[0]) <= HC_METHODS_MAX, "raise HC_METHODS_MAX");

/*
 * Each was measured with its neighbours in the list, and a write of every line
 * behind it where it is for the cache.
 *
 * clzero stands for AMD's processors where it is a condition: on Zen 3, 16-byte
 * stores fill the cache a sixth faster than 32-byte ones and string stores, which
 * are even; on Sapphire Rapids string stores are ahead of AVX-512. AVX-512 is left out
 * where the cache takes it, also because it lowers the clock of what follows on
 * older processors. Without ERMS string stores are byte-wise microcode.
 *
 * Past the cache, clzero is some percent ahead of 32-byte streaming stores on
 * Zen 3, and those of 64 bytes are far ahead of movdir64b on Sapphire Rapids. From
 * 2 KiB on streaming is no slower than filling the cache, and leaves it to others.
 */
const struct hc_method_preferences hc_method_preferences = {
        .few = {{"avx2", 0}, {"sse2", 0}},
        .cached = {{"sse2", HC_FEATURE_BIT(HC_FEATURE_CLZERO)}, {"stosb", HC_FEATURE_BIT(HC_FEATURE_ERMS)}, {"avx2", 0},
                {"sse2", 0}},
        .streaming = {{"avx512-nt", 0}, {"clzero", 0}, {"avx2-nt", 0}, {"sse2-nt", 0}},
        .few_up_to = 512,
        .streams_from = 2048,
};
