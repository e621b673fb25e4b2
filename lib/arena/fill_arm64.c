#include "arena/fill.h"

#include <stdint.h>

/* STNP: a pair of registers, with the hint that the memory isn't touched soon (Arm ARM, "LDNP, STNP"). */
void hc_fill_stnp(void *p, size_t nr, const void *line) {
	const uint64_t *from = line;
	for (char *at = p; nr > 0; nr--, at += HC_FILL_LINE)
		__asm__ volatile("stnp %[a], %[b], [%[at]]\n\t"
		                 "stnp %[c], %[d], [%[at], #16]\n\t"
		                 "stnp %[e], %[f], [%[at], #32]\n\t"
		                 "stnp %[g], %[h], [%[at], #48]"
		                 :
		                 : [at] "r"(at), [a] "r"(from[0]), [b] "r"(from[1]), [c] "r"(from[2]), [d] "r"(from[3]),
		                 [e] "r"(from[4]), [f] "r"(from[5]), [g] "r"(from[6]), [h] "r"(from[7])
		                 : "memory");
	/* A non-temporal store is ordered by barriers as others are: what is published with release comes after it. */
	__asm__ volatile("dmb ishst" ::: "memory");
}

hc_fill_fn hc_fill_choose(void) {
	return hc_fill_stnp;
}
