/*
 * Telling the sanitizers about ranges that are written or read by instructions
 * they don't see: streaming stores, string instructions, inline assembly, and
 * all of this library where it was built without them.
 *
 * Their entry points are weak references, so that one build of the library,
 * shared or static, works in programs with and without a sanitizer.
 */
#ifndef HC_CLEAR_ANNOUNCE_H
#define HC_CLEAR_ANNOUNCE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Called by the thread that is about to write the range.
 *
 * AddressSanitizer reports it where a byte of it must not be touched, and goes
 * on where the program told it to (halt_on_error=0), as for memset();
 * ThreadSanitizer takes it for a write of this thread; for MemorySanitizer it is
 * initialised from here on.
 */
void hc_announce_write(void *p, size_t len);

/* Nobody may touch the range from here on, until it is given out again: AddressSanitizer reports who does. False: there is none. */
bool hc_announce_free(void *p, size_t len);
void hc_announce_given(void *p, size_t len);

/* Called by the thread that is about to read the range; MemorySanitizer isn't told. */
void hc_announce_read(const void *p, size_t len);

#endif
