/* Any text gives sums or unknowns, and a mapping that isn't in the range counts for nothing. */
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "map/smaps_range.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len + 1);
	if (!text)
		return 0;
	if (len > 0)
		memcpy(text, bytes, len);
	text[len] = '\0';
	struct hc_smaps all, none;
	hc_smaps_parse(text, 0, UINT64_MAX, &all);
	hc_smaps_parse(text, 1, 1, &none);
	if (none.kernel_page_size != HC_UNKNOWN || none.anon_huge != 0)
		abort();
	if (!strchr(text, '-') && (all.kernel_page_size != HC_UNKNOWN || all.anon_huge != 0))
		abort();
	free(text);
	return 0;
}
