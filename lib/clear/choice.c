#include "clear/choice.h"

#include "base/arith.h"

static const char *const intent_names[HC_NR_INTENTS] = {
        [HC_INTENT_SOON] = "soon",
        [HC_INTENT_LATER] = "later",
};

const char *hc_intent_name(unsigned intent) {
	return intent < HC_NR_INTENTS ? intent_names[intent] : NULL;
}

bool hc_ladder_add(struct hc_ladder *ladder, uint64_t up_to, unsigned method) {
	if (ladder->nr_steps == HC_CLEAR_PROFILE_STEPS_MAX)
		return false;
	if (ladder->nr_steps > 0 && up_to <= ladder->steps[ladder->nr_steps - 1].up_to)
		return false;
	ladder->steps[ladder->nr_steps++] = (struct hc_step){.up_to = up_to, .method = method};
	return true;
}

bool hc_ladder_is_whole(const struct hc_ladder *ladder) {
	return ladder->nr_steps > 0 && ladder->steps[ladder->nr_steps - 1].up_to == UINT64_MAX;
}

_Static_assert(HC_METHODS_MAX <= 1 << HC_PACKED_METHOD_BITS, "a method's row doesn't fit its bits");

void hc_ladder_pack(const struct hc_ladder *ladder, struct hc_packed_ladder *packed) {
	for (unsigned i = 0; i < HC_CLEAR_PROFILE_STEPS_MAX; i++) {
		const struct hc_step *step = &ladder->steps[i < ladder->nr_steps ? i : ladder->nr_steps - 1];
		atomic_store_explicit(&packed->steps[i],
		        hc_min(step->up_to, HC_PACKED_UP_TO_MAX) << HC_PACKED_METHOD_BITS | step->method,
		        memory_order_relaxed);
	}
}

/* The row of the first that has its place on a processor with these features. The last needs none. */
static unsigned preferred(const struct hc_preference preferences[HC_PREFERENCES_MAX], uint32_t features) {
	unsigned row = 0;
	for (unsigned i = 0; i < HC_PREFERENCES_MAX && preferences[i].name; i++) {
		const struct hc_method *method = hc_method_by_name(preferences[i].name);
		row = (unsigned)(method - hc_methods);
		if (((method->features | preferences[i].where) & ~features) == 0)
			break;
	}
	return row;
}

void hc_choice_built_in(uint32_t features, const struct hc_caches *caches, struct hc_choice *ret_choice) {
	const struct hc_method_preferences *prefer = &hc_method_preferences;
	unsigned few = preferred(prefer->few, features);
	unsigned cached = preferred(prefer->cached, features);
	unsigned streaming = preferred(prefer->streaming, features);

	*ret_choice = (struct hc_choice){0};
	struct hc_ladder *soon = &ret_choice->ladders[HC_INTENT_SOON];
	hc_ladder_add(soon, prefer->few_up_to, few);
	hc_ladder_add(soon, hc_cached_up_to(caches), cached);
	hc_ladder_add(soon, UINT64_MAX, streaming);

	struct hc_ladder *later = &ret_choice->ladders[HC_INTENT_LATER];
	hc_ladder_add(later, hc_min(prefer->few_up_to, prefer->streams_from - 1), few);
	hc_ladder_add(later, prefer->streams_from - 1, cached);
	hc_ladder_add(later, UINT64_MAX, streaming);
}
