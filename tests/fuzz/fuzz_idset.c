/* Any text gives a set or an error with a detail, in bounded time; its text reads back as the same set. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sys/idset.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len + 1);
	if (!text)
		return 0;
	if (len > 0)
		memcpy(text, bytes, len);
	text[len] = '\0';

	struct hc_idset *set = NULL, *again = NULL;
	int r = hc_idset_parse(text, &set);
	if (r < 0) {
		if ((r != -EINVAL && r != -ERANGE) || hc_error_detail()[0] == '\0' || set)
			abort();
	} else {
		unsigned long *mask = NULL, bits = 0;
		if (hc_idset_parse(hc_idset_text(set), &again) != 0 || !hc_idset_is_subset(set, again) ||
		        !hc_idset_is_subset(again, set) || hc_idset_count(set) != hc_idset_count(again))
			abort();
		hc_idset_free(again);
		if (hc_idset_mask(set, &mask, &bits) != 0 || hc_idset_from_mask(mask, bits, &again) != 0 ||
		        strcmp(hc_idset_text(again), hc_idset_text(set)) != 0)
			abort();
		free(mask);
		hc_idset_free(again);
		hc_idset_free(set);
	}
	free(text);
	return 0;
}
