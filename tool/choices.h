/* The choice of clearing methods by length, as steps. */
#ifndef HC_TOOL_CHOICES_H
#define HC_TOOL_CHOICES_H

#include <hugeclear/clear.h>

/*
 * The steps of hc_clear_choice() for an intent; returns their number, at least 1; the last
 * one's up_to is HC_UNKNOWN. Found by asking at the powers of two and halving between
 * them: two changes between neighbouring powers may look like one or none.
 */
unsigned cli_choices(enum hc_intent intent, struct hc_clear_profile_step ret_steps[HC_CLEAR_PROFILE_STEPS_MAX]);

/*
 * "stosb up to 64 KiB, avx2-nt beyond" into text, cut where it doesn't fit. Returns text.
 */
const char *cli_choices_text(
        const struct hc_clear_profile_step *steps, unsigned nr_steps, char *text, size_t text_size);

#endif
