/*
 * Which method a clear takes: a ladder of lengths for each intent, made from the
 * processor and its caches, or read from a profile.
 */
#ifndef HC_CLEAR_CHOICE_H
#define HC_CLEAR_CHOICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hugeclear/clear.h>

#include "clear/methods.h"
#include "sys/processor.h"

#define HC_NR_INTENTS 2

struct hc_step {
	uint64_t up_to;  /* lengths up to and including this; the last of a ladder has UINT64_MAX */
	unsigned method; /* row of hc_methods */
};

/* nr_steps 1 to HC_CLEAR_PROFILE_STEPS_MAX, up_to rising; 0: none was given. */
struct hc_ladder {
	unsigned nr_steps;
	struct hc_step steps[HC_CLEAR_PROFILE_STEPS_MAX];
};

struct hc_choice {
	struct hc_ladder ladders[HC_NR_INTENTS]; /* by enum hc_intent */
};

/* "soon" and "later": the words of profiles. NULL for what isn't an intent. */
const char *hc_intent_name(unsigned intent);

/* The choice for a processor with these features and caches; looks at nothing else. */
void hc_choice_built_in(uint32_t features, const struct hc_caches *caches, struct hc_choice *ret_choice);

/* Adds a step to a ladder; false where it is full, or up_to isn't above the step before. */
bool hc_ladder_add(struct hc_ladder *ladder, uint64_t up_to, unsigned method);

bool hc_ladder_is_whole(const struct hc_ladder *ladder);

/*
 * A ladder as clears look it up, a step in one word: so a clear that runs while a
 * profile is loaded reads each step whole, from the old or the new profile, and
 * either is a method that this processor has. Neither side needs a lock, and there
 * is nothing to free. Relaxed: a word depends on nothing but itself. Unused places
 * repeat the last step.
 */
struct hc_packed_ladder {
	_Atomic uint64_t steps[HC_CLEAR_PROFILE_STEPS_MAX]; /* up_to above, the method's row below */
};

#define HC_PACKED_METHOD_BITS 8
/* Greater lengths don't exist (57 bits of address, half of it the kernel's). */
#define HC_PACKED_UP_TO_MAX (UINT64_MAX >> HC_PACKED_METHOD_BITS)

/* pre: the ladder is whole */
void hc_ladder_pack(const struct hc_ladder *ladder, struct hc_packed_ladder *packed);

/* The row of hc_methods for this length. */
static inline unsigned hc_ladder_method(const struct hc_packed_ladder *packed, uint64_t len) {
	uint64_t step;
	unsigned i = 0;
	do
		step = atomic_load_explicit(&packed->steps[i], memory_order_relaxed);
	while (len > step >> HC_PACKED_METHOD_BITS && ++i < HC_CLEAR_PROFILE_STEPS_MAX);
	return (unsigned)(step & ((1u << HC_PACKED_METHOD_BITS) - 1));
}

/*
 * The method in force for this length and intent. The first call in the process
 * makes the choice and loads the profile of the environment; later ones take no
 * lock and are async-signal-safe. pre: intent is one of the enum
 */
const struct hc_method *hc_choice_method(uint64_t len, enum hc_intent intent);

#endif
