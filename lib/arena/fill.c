#include "arena/fill.h"

#include <stdatomic.h>
#include <string.h>

#include "clear/announce.h"

void hc_fill_portable(void *p, size_t nr, const void *line) {
	char *at = p;
	for (; nr > 0; nr--, at += HC_FILL_LINE)
		memcpy(at, line, HC_FILL_LINE);
}

void hc_fill(void *p, size_t nr, const void *line) {
	/* Relaxed: whoever is first chooses, and all choose the same. */
	static _Atomic(hc_fill_fn) chosen;
	hc_fill_fn fill = atomic_load_explicit(&chosen, memory_order_relaxed);
	if (!fill) {
		fill = hc_fill_choose();
		atomic_store_explicit(&chosen, fill, memory_order_relaxed);
	}
	hc_announce_write(p, nr * HC_FILL_LINE);
	fill(p, nr, line);
}
