#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sys/processor.h"

void hc_processor_identify(const struct hc_processor_source *source, const char *mask, struct hc_processor_id *ret_id) {
	memset(ret_id, 0, sizeof(*ret_id));
	hc_processor_ask(source, ret_id);
	ret_id->features_masked = ret_id->features & hc_feature_mask(mask);
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
	hc_processor_identify(NULL, getenv(HC_FEATURE_MASK_VARIABLE), mine);
	/* No lock: callers that race all ask the processor, and the first one's answer is kept by all. */
	if (atomic_compare_exchange_strong_explicit(&kept, &id, mine, memory_order_acq_rel, memory_order_acquire))
		return mine;
	free(mine);
	return id;
}
