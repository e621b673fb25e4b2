#include "base/features.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"

static const char *const feature_names[HC_NR_FEATURES] = {
        [HC_FEATURE_SSE2] = "sse2",
        [HC_FEATURE_AVX2] = "avx2",
        [HC_FEATURE_AVX512F] = "avx512f",
        [HC_FEATURE_ERMS] = "erms",
        [HC_FEATURE_FSRM] = "fsrm",
        [HC_FEATURE_FSRS] = "fsrs",
        [HC_FEATURE_MOVDIR64B] = "movdir64b",
        [HC_FEATURE_CLZERO] = "clzero",
        [HC_FEATURE_DCZVA] = "dczva",
};

const char *hc_feature_name(enum hc_feature feature) {
	return feature_names[feature];
}

/* 0 where the word is none. */
static uint32_t bits_of_word(const char *word, size_t len) {
	if (len == 3 && memcmp(word, "all", 3) == 0)
		return ~(HC_FEATURE_BIT(HC_FEATURE_SSE2) | HC_FEATURE_BIT(HC_FEATURE_DCZVA));
	for (unsigned i = 0; i < HC_NR_FEATURES; i++)
		if (strlen(feature_names[i]) == len && memcmp(word, feature_names[i], len) == 0)
			return HC_FEATURE_BIT(i);
	return 0;
}

uint32_t hc_feature_mask(const char *mask) {
	uint32_t bits = 0;
	for (const char *word = mask; word && *word;) {
		size_t len = strcspn(word, ",");
		bits |= bits_of_word(word, len);
		word += len + (word[len] == ',');
	}
	return bits;
}

int hc_feature_mask_check(const char *mask) {
	for (const char *word = mask; word && *word;) {
		size_t len = strcspn(word, ",");
		if (len > 0 && bits_of_word(word, len) == 0) {
			char text[64], known[128] = "all";
			snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len : sizeof(text) - 1), word);
			for (unsigned i = 0, n = 3; i < HC_NR_FEATURES && n < sizeof(known); i++)
				n += (unsigned)snprintf(known + n, sizeof(known) - n, ", %s", feature_names[i]);
			return hc_fail(EINVAL,
			        HC_FEATURE_MASK_VARIABLE
			        ": %s is no feature of a processor: write some of %s with commas between",
			        hc_quote(text).s, known);
		}
		word += len + (word[len] == ',');
	}
	return 0;
}
