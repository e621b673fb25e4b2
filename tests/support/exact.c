#include "support/exact.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/support.h"

#define OFFSETS 128

struct guarded guarded_open(size_t len) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	len = (len + page - 1) / page * page;
	struct guarded area = {.mapping_len = len + 2 * page};
	area.mapping = mmap(NULL, area.mapping_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(area.mapping, MAP_FAILED);
	area.begin = area.mapping + page;
	area.end = area.begin + len;
	assert_int_equal(mprotect(area.begin, len, PROT_READ | PROT_WRITE), 0);
	memset(area.begin, FILL, len);
	return area;
}

void guarded_close(struct guarded *area) {
	munmap(area->mapping, area->mapping_len);
}

void assert_memory_is(const unsigned char *p, size_t len, unsigned char value, const char *what) {
	/* All are equal to the first, and that is value: libc's memcmp() does the work. */
	if (len == 0 || (p[0] == value && memcmp(p, p + 1, len - 1) == 0))
		return;
	for (size_t i = 0; i < len; i++)
		if (p[i] != value)
			fail_msg("%s: byte %zu of %zu is 0x%02x, not 0x%02x", what, i, len, p[i], value);
}

/* Clears [start, start + len), looks at the near side of it on either end and at itself, and fills it again. */
static void check_one(const char *what, void (*clear)(void *p, size_t len), const struct guarded *area,
        unsigned char *start, size_t len) {
	size_t around = 1024;
	size_t before = (size_t)(start - area->begin), after = (size_t)(area->end - start) - len;
	before = before < around ? before : around;
	after = after < around ? after : around;

	char where[160];
	snprintf(where, sizeof(where), "%s, offset %zu, length %zu", what, (size_t)start % OFFSETS, len);
	clear(start, len);
	assert_memory_is(start - before, before, FILL, where);
	assert_memory_is(start, len, 0, where);
	assert_memory_is(start + len, after, FILL, where);
	memset(start, FILL, len);
}

void check_clears_exactly(const char *what, void (*clear)(void *p, size_t len), size_t block) {
	size_t max = 4 * block;
	struct guarded area = guarded_open(max + 2 * OFFSETS);
	for (size_t len = 0; len <= max; len++)
		for (size_t offset = 0; offset < OFFSETS; offset++) {
			check_one(what, clear, &area, area.begin + offset, len);
			check_one(what, clear, &area, area.end - offset - len, len);
		}
	/* Whatever was further off than check_one() looks. */
	assert_memory_is(area.begin, (size_t)(area.end - area.begin), FILL, what);
	guarded_close(&area);
}

void check_clears_exactly_long(const char *what, void (*clear)(void *p, size_t len)) {
	static const size_t lengths[] = {4095, 4096, 4097, 65535, 65537, (2 << 20) - 1, 2 << 20, (2 << 20) + 1,
	        (2 << 20) + 63, (2 << 20) + 65, (4 << 20) + 127};
	static const size_t offsets[] = {0, 1, 7, 8, 31, 33, 63, 64, 65, 127};
	struct guarded area = guarded_open((4 << 20) + 4096);
	for (unsigned l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		for (unsigned o = 0; o < sizeof(offsets) / sizeof(offsets[0]); o++) {
			check_one(what, clear, &area, area.begin + offsets[o], lengths[l]);
			check_one(what, clear, &area, area.end - offsets[o] - lengths[l], lengths[l]);
		}
	assert_memory_is(area.begin, (size_t)(area.end - area.begin), FILL, what);
	guarded_close(&area);
}
