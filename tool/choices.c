#include "choices.h"

#include <stdio.h>

#include "base/size.h"

unsigned cli_choices(enum hc_intent intent, struct hc_clear_profile_step ret_steps[HC_CLEAR_PROFILE_STEPS_MAX]) {
	/* Beyond this no machine has a use for another choice. */
	const uint64_t last = UINT64_C(1) << 42;
	unsigned n = 0;
	const struct hc_clear_method *method = hc_clear_choice(1, intent);

	for (uint64_t low = 1; low < last && n < HC_CLEAR_PROFILE_STEPS_MAX - 1; low *= 2) {
		const struct hc_clear_method *next = hc_clear_choice(low * 2, intent);
		if (next == method)
			continue;
		/* invariant: the choice at same is method, that at other isn't */
		uint64_t same = low, other = low * 2;
		while (other - same > 1) {
			uint64_t middle = same + (other - same) / 2;
			if (hc_clear_choice(middle, intent) == method)
				same = middle;
			else
				other = middle;
		}
		ret_steps[n++] = (struct hc_clear_profile_step){intent, method->name, same};
		method = next;
	}
	ret_steps[n++] = (struct hc_clear_profile_step){intent, method->name, HC_UNKNOWN};
	return n;
}

const char *cli_choices_text(
        const struct hc_clear_profile_step *steps, unsigned nr_steps, char *text, size_t text_size) {
	size_t len = 0;
	text[0] = '\0';
	for (unsigned i = 0; i < nr_steps && len < text_size; i++) {
		const char *comma = i ? ", " : "";
		if (steps[i].up_to == HC_UNKNOWN)
			len += (size_t)snprintf(text + len, text_size - len, "%s%s%s", comma, steps[i].method,
			        nr_steps > 1 ? " beyond" : "");
		else
			len += (size_t)snprintf(text + len, text_size - len, "%s%s up to %s", comma, steps[i].method,
			        hc_size_exact(steps[i].up_to).s);
	}
	return text;
}
