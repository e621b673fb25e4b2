/* Any bytes are a profile or an error with a detail; a profile that is written again reads back as the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/clear.h>

#include "clear/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const struct hc_processor_id processor = {.vendor = "V", .family = 1, .model = 2, .stepping = 3};

static void check(const struct hc_choice *choice) {
	bool any = false;
	for (unsigned intent = 0; intent < HC_NR_INTENTS; intent++) {
		const struct hc_ladder *ladder = &choice->ladders[intent];
		if (ladder->nr_steps == 0)
			continue;
		any = true;
		if (!hc_ladder_is_whole(ladder) || ladder->nr_steps > HC_CLEAR_PROFILE_STEPS_MAX)
			abort();
		for (unsigned i = 0; i < ladder->nr_steps; i++)
			if (ladder->steps[i].method >= hc_nr_methods ||
			        !hc_clear_method(ladder->steps[i].method)->available)
				abort();
	}
	if (!any)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len); /* of just this size, so that a byte too far is seen */
	if (len > 0 && !text)
		return 0;
	if (len > 0)
		memcpy(text, bytes, len);

	struct hc_choice choice, again;
	int r = hc_profile_parse(text ? text : "", len, &processor, &choice);
	if (r == 0) {
		check(&choice);
		char written[HC_PROFILE_BYTES_MAX];
		int n = hc_profile_format(&choice, &processor, "again", written, sizeof(written));
		if (n < 0 || hc_profile_parse(written, (size_t)n, &processor, &again) != 0 ||
		        memcmp(&choice, &again, sizeof(choice)) != 0)
			abort();
	} else if ((r != -EBADMSG && r != -ENOTSUP && r != -EXDEV) || hc_error_detail()[0] == '\0') {
		abort(); /* -EOPNOTSUPP is -ENOTSUP */
	}
	free(text);
	return 0;
}
