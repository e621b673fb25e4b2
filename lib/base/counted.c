#include "base/counted.h"

#include <inttypes.h>
#include <stdio.h>

struct hc_counted_text hc_counted(uint64_t n, const char *noun) {
	struct hc_counted_text text;
	snprintf(text.s, sizeof(text.s), "%" PRIu64 " %.16s%s", n, noun, n == 1 ? "" : "s");
	return text;
}
