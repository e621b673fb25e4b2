/* Any text gives a size or an error with a detail; what is printed for it reads back as the same size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/size.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len + 1);
	if (!text)
		return 0;
	memcpy(text, bytes, len);
	text[len] = '\0';

	uint64_t size, again;
	int r = hc_size_parse(text, &size);
	if (r == 0) {
		if (hc_size_parse(hc_size_arg(size).s, &again) != 0 || again != size)
			abort();
		hc_size_rounded(size);
	} else if ((r != -EINVAL && r != -ERANGE) || hc_error_detail()[0] == '\0') {
		abort();
	}
	free(text);
	return 0;
}
