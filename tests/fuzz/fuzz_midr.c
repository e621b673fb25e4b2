/* Any text gives a processor or nothing; the names of any register fit their places. */
#include <stdlib.h>
#include <string.h>

#include "sys/midr.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len + 1);
	if (!text)
		return 0;
	memcpy(text, bytes, len);
	text[len] = '\0';

	uint32_t midr;
	if (hc_midr_from_cpuinfo(text, &midr)) {
		struct hc_processor_id id = {.family = 0};
		hc_midr_describe(midr, &id);
		if (id.family > 0xff || id.model > 0xfff || id.stepping > 0xff ||
		        strlen(id.vendor) >= sizeof(id.vendor) || strlen(id.model_name) >= sizeof(id.model_name))
			abort();
	}
	free(text);
	return 0;
}
