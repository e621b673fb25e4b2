/* Names of the processor features that clearing methods need, and the mask that takes some of them away. */
#ifndef HC_BASE_FEATURES_H
#define HC_BASE_FEATURES_H

#include <stdint.h>

#define HC_FEATURE_MASK_VARIABLE "HUGECLEAR_PROCESSOR_MASK"

/* Bits of a feature set. The names in hc_feature_name() are those of /proc/cpuinfo. */
enum hc_feature {
	HC_FEATURE_SSE2,
	HC_FEATURE_AVX2,    /* AVX2, and XCR0 bits 1 and 2 */
	HC_FEATURE_AVX512F, /* AVX-512F, and XCR0 bits 1, 2, 5, 6 and 7 */
	HC_FEATURE_ERMS,    /* fast rep stosb */
	HC_FEATURE_FSRM,    /* fast short rep mov */
	HC_FEATURE_FSRS,    /* fast short rep stosb */
	HC_FEATURE_MOVDIR64B,
	HC_FEATURE_CLZERO,
	HC_FEATURE_DCZVA, /* arm64: dc zva allowed (DCZID_EL0.DZP is 0) */
	HC_NR_FEATURES,
};

#define HC_FEATURE_BIT(feature) (UINT32_C(1) << (feature))

const char *hc_feature_name(enum hc_feature feature);

/*
 * The features that a comma-separated list of names, or NULL, takes away; "all" is all but SSE2 and
 * DCZVA. Words that are none take nothing away.
 */
uint32_t hc_feature_mask(const char *mask);

/* 0, or -EINVAL with a detail that names the first word that is none, and the known ones. */
int hc_feature_mask_check(const char *mask);

#endif
