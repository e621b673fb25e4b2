/* Whether memory is zero, at the speed at which it can be read. */
#include <errno.h>
#include <string.h>

#include <hugeclear/clear.h>

#include "base/arith.h"
#include "base/error.h"
#include "clear/announce.h"

/* Vectors in the compiler's own notation become what the build's processor has, SSE2 or NEON. */
typedef uint64_t vector __attribute__((vector_size(16), aligned(1), may_alias));

/* Looked at between two tests: the loads of a block don't wait for each other. */
#define BLOCK 256

static int block_is_clear(const unsigned char *block) {
	vector bits[4] = {{0}};
	for (unsigned i = 0; i < BLOCK; i += 4 * sizeof(vector))
		for (unsigned k = 0; k < 4; k++)
			bits[k] |= *(const vector *)(block + i + k * sizeof(vector));
	vector all = (bits[0] | bits[1]) | (bits[2] | bits[3]);
	return (all[0] | all[1]) == 0;
}

int hc_is_clear(const void *p, size_t len) {
	if (len == 0)
		return 1;
	if (!p)
		return hc_fail(EINVAL, "%zu bytes at NULL can't be read", len);
	if (!hc_range_ok(p, len))
		return hc_fail(EOVERFLOW, "%zu bytes at %p wrap round the end of the address space", len, p);
	hc_announce_read(p, len);

	const unsigned char *at = p, *end = at + len;
	if (len >= BLOCK) {
		for (; (size_t)(end - at) > BLOCK; at += BLOCK)
			if (!block_is_clear(at))
				return 0;
		/* The last block ends where the range does, and may begin in the one before. */
		return block_is_clear(end - BLOCK);
	}
	for (; (size_t)(end - at) >= sizeof(uint64_t); at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, at, sizeof(word));
		if (word != 0)
			return 0;
	}
	for (; at < end; at++)
		if (*at != 0)
			return 0;
	return 1;
}
