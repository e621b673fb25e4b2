/* An architecture whose processor doesn't tell programs about its caches: only the kernel's files do. */
#include "sys/processor.h"

void hc_caches_ask(const struct hc_processor_source *source, struct hc_caches *ret_caches) {
	(void)source;
	*ret_caches = (struct hc_caches){0};
}
