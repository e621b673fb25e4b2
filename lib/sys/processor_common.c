#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sys/processor.h"

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

/* The features that a comma-separated list of names takes away. */
static uint32_t mask_bits(const char *mask) {
	uint32_t bits = 0;
	for (const char *name = mask; name && *name;) {
		size_t len = strcspn(name, ",");
		if (len == 3 && memcmp(name, "all", 3) == 0)
			bits |= ~(HC_FEATURE_BIT(HC_FEATURE_SSE2) | HC_FEATURE_BIT(HC_FEATURE_DCZVA));
		for (unsigned i = 0; i < HC_NR_FEATURES; i++)
			if (strlen(feature_names[i]) == len && memcmp(name, feature_names[i], len) == 0)
				bits |= HC_FEATURE_BIT(i);
		name += len;
		name += *name == ',';
	}
	return bits;
}

void hc_processor_identify(const struct hc_processor_source *source, const char *mask, struct hc_processor_id *ret_id) {
	memset(ret_id, 0, sizeof(*ret_id));
	hc_processor_ask(source, ret_id);
	ret_id->features_masked = ret_id->features & mask_bits(mask);
	ret_id->features &= ~ret_id->features_masked;
}

const struct hc_processor_id *hc_processor_here(void) {
	static _Atomic(struct hc_processor_id *) kept;
	static const struct hc_processor_id nothing_known;

	/* Acquire, with the release below: who sees the pointer sees what it points to. It is never freed. */
	struct hc_processor_id *id = atomic_load_explicit(&kept, memory_order_acquire);
	if (id)
		return id;

	struct hc_processor_id *mine = malloc(sizeof(*mine));
	if (!mine)
		return &nothing_known;
	hc_processor_identify(NULL, getenv("HUGECLEAR_PROCESSOR_MASK"), mine);
	/* No lock: callers that race all ask the processor, and the first one's answer is kept by all. */
	if (atomic_compare_exchange_strong_explicit(&kept, &id, mine, memory_order_acq_rel, memory_order_acquire))
		return mine;
	free(mine);
	return id;
}
