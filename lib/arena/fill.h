/*
 * Writing many descriptors that are all alike: the one pass. One file an instruction set; the build and
 * the processor choose.
 */
#ifndef HC_ARENA_FILL_H
#define HC_ARENA_FILL_H

#include <stddef.h>

#define HC_FILL_LINE 64

/*
 * Writes the 64 bytes at line to each of the nr lines at p, past the cache where the processor can. Fenced: a release
 * store afterwards publishes them.
 *
 * pre: p is aligned to 64 bytes
 */
typedef void (*hc_fill_fn)(void *p, size_t nr, const void *line);

void hc_fill(void *p, size_t nr, const void *line);

/* What the architecture's file provides: the best of this processor. */
hc_fill_fn hc_fill_choose(void);

void hc_fill_portable(void *p, size_t nr, const void *line);
void hc_fill_sse2(void *p, size_t nr, const void *line);
void hc_fill_avx2(void *p, size_t nr, const void *line);
void hc_fill_avx512(void *p, size_t nr, const void *line);
void hc_fill_stnp(void *p, size_t nr, const void *line);

#endif
