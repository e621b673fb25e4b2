/* Whether a function clears exactly the range it is given: between guard pages, byte by byte. */
#ifndef HC_TEST_EXACT_H
#define HC_TEST_EXACT_H

#include <stddef.h>

/* What memory holds before it is cleared. */
#define FILL 0xa5

/* len bytes (whole pages) of FILL between two pages that can't be touched. */
struct guarded {
	unsigned char *begin, *end;
	unsigned char *mapping;
	size_t mapping_len;
};

struct guarded guarded_open(size_t len);
void guarded_close(struct guarded *area);

/* Fails with the first byte that isn't value. */
void assert_memory_is(const unsigned char *p, size_t len, unsigned char value, const char *what);

/*
 * Every start offset 0 to 127 with every length from 0 to 4 blocks, the first
 * offset and the last end touching a guard page; what for messages.
 */
void check_clears_exactly(const char *what, void (*clear)(void *p, size_t len), size_t block);

/* Lengths round 2 MiB and some pages, from odd offsets, up to a guard page and away from it. */
void check_clears_exactly_long(const char *what, void (*clear)(void *p, size_t len));

#endif
