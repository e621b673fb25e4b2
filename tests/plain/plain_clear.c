/*
 * The tests of clearing that need no framework and no library but libc, so that they run where
 * those are missing: cross-built, under an emulator. TAP on standard output.
 *
 * usage: plain_clear [BYTES]     BYTES: what one dc zva clears on the processor that was chosen
 *                                (from its manual), 0 where it has none
 */
#include <errno.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "clear/methods.h"
#include "sys/idset.h"
#include "sys/processor.h"

/* What memory holds before it is cleared: no byte of it is zero. */
#define DIRT 0xa5
/* Looked at on both sides of a cleared range: more than the largest block of dc zva. */
#define AROUND 2048
/* The range that the tests move in, without its guard pages. */
#define ROOM ((size_t)4 << 20)

static unsigned nr_tests, nr_failed;
static char reason[512];

__attribute__((format(printf, 1, 2))) static bool wrong(const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	return false;
}

__attribute__((format(printf, 2, 3))) static void result(bool good, const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	printf("%s %u - ", good ? "ok" : "not ok", ++nr_tests);
	vprintf(format, ap);
	printf("\n");
	va_end(ap);
	if (!good) {
		nr_failed++;
		printf("# %s\n", reason);
	}
	fflush(stdout);
}

/* ROOM bytes between pages that fault. */
static char *guarded_room(void) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *all = mmap(NULL, ROOM + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED || mprotect(all + page, ROOM, PROT_READ | PROT_WRITE) != 0) {
		printf("Bail out! no memory: %s\n", strerror(errno));
		exit(1);
	}
	memset(all + page, DIRT, ROOM);
	return all + page;
}

static bool all_are(const char *p, size_t len, unsigned char value, size_t *ret_at) {
	/* Equal to the first and to its own neighbour: all are equal. A byte-wise loop is slow under an emulator. */
	if (len == 0 || ((unsigned char)p[0] == value && memcmp(p, p + 1, len - 1) == 0))
		return true;
	for (*ret_at = 0; (unsigned char)p[*ret_at] == value;)
		++*ret_at;
	return false;
}

/* Exactly [offset, offset + len) of the room is zero afterwards. The room is dirty again when it returns. */
static bool clears_exactly(hc_method_fn clear, char *room, size_t offset, size_t len) {
	size_t begin = offset < AROUND ? 0 : offset - AROUND;
	size_t end = ROOM - offset - len < AROUND ? ROOM : offset + len + AROUND;
	size_t at = 0;

	clear(room + offset, len);
	if (!all_are(room + begin, offset - begin, DIRT, &at))
		return wrong("offset %zu, length %zu: wrote %zu bytes in front", offset, len, offset - begin - at);
	if (!all_are(room + offset, len, 0, &at))
		return wrong("offset %zu, length %zu: left byte %zu", offset, len, at);
	if (!all_are(room + offset + len, end - offset - len, DIRT, &at))
		return wrong("offset %zu, length %zu: wrote %zu bytes behind", offset, len, at);
	memset(room + offset, DIRT, len);
	return true;
}

/* From the front guard page on, and up to the one behind. */
static bool clears_exactly_at_both_ends(hc_method_fn clear, char *room, size_t offset, size_t len) {
	return clears_exactly(clear, room, offset, len) && clears_exactly(clear, room, ROOM - offset - len, len);
}

static bool clears_short_lengths(const struct hc_method *method, char *room, size_t block) {
	for (size_t offset = 0; offset < 128; offset++)
		for (size_t len = 0; len <= 4 * block; len++) {
			/* Long blocks: all lengths that are near a multiple of one, or of a line, and each seventh. */
			size_t past = len % 64;
			if (block > 128 && past > 1 && past < 63 && (len + offset) % 7 != 0)
				continue;
			if (!clears_exactly_at_both_ends(method->clear, room, offset, len))
				return false;
		}
	return true;
}

static bool clears_long_lengths(const struct hc_method *method, char *room, size_t block) {
	const size_t lengths[] = {4 * block + 1, 4 * block + 63, 4095, 4096, 4097, 12289, 65535, 65537,
	        ((size_t)2 << 20) - 1, (size_t)2 << 20, ((size_t)2 << 20) + 1};
	static const size_t offsets[] = {0, 1, 8, 63, 64, 65, 127};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t k = 0; k < sizeof(offsets) / sizeof(offsets[0]); k++)
			if (!clears_exactly_at_both_ends(method->clear, room, offsets[k], lengths[i]))
				return false;
	return true;
}

static void test_methods(char *room) {
	const struct hc_processor_id *id = hc_processor_here();
	for (unsigned i = 0; i < hc_nr_methods; i++) {
		const struct hc_method *method = &hc_methods[i];
		if (method->features & ~id->features) {
			printf("ok %u - %s # SKIP this processor lacks %s\n", ++nr_tests, method->name, method->needs);
			continue;
		}
		size_t block = method->features & HC_FEATURE_BIT(HC_FEATURE_DCZVA) ? id->dc_zva_bytes : method->block;
		result(clears_short_lengths(method, room, block), "%s: lengths 0 to 4 blocks of %zu, offsets 0 to 127",
		        method->name, block);
		result(clears_long_lengths(method, room, block), "%s: longer ones", method->name);
	}
}

static bool dc_zva_is(const char *expected) {
	const struct hc_processor_id *id = hc_processor_here();
	bool has = (id->features & HC_FEATURE_BIT(HC_FEATURE_DCZVA)) != 0;
	unsigned long bytes = strtoul(expected, NULL, 10);
	if (id->dc_zva_bytes != bytes || has != (bytes != 0))
		return wrong("%u bytes, and the feature is %s", id->dc_zva_bytes, has ? "there" : "not there");
	return true;
}

static bool reads_sizes(void) {
	static const struct {
		const char *text;
		int r;
		uint64_t bytes;
	} rows[] = {
	        {"0", 0, 0},
	        {"2M", 0, 2097152},
	        {"2048kB", 0, 2097152},
	        {"1gib", 0, 1073741824},
	        {"16383P", 0, UINT64_C(18445618173802708992)},
	        {"16384P", -ERANGE, 0},
	        {"18446744073709551616", -ERANGE, 0},
	        {"B", -EINVAL, 0},
	        {"2X", -EINVAL, 0},
	        {"-1", -EINVAL, 0},
	        {"1.5G", -EINVAL, 0},
	        {"", -EINVAL, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bytes = 0;
		int r = hc_size_parse(rows[i].text, &bytes);
		if (r != rows[i].r || bytes != rows[i].bytes)
			return wrong("'%s': %d, %llu bytes", rows[i].text, r, (unsigned long long)bytes);
	}
	return true;
}

static bool reads_idsets(void) {
	struct hc_idset *set;
	int r = hc_idset_parse("8,0-3,16-31:2/4\n", &set);
	if (r < 0)
		return wrong("%d: %s", r, hc_error_detail());
	const char *text = hc_idset_text(set);
	bool good = hc_idset_count(set) == 13 && hc_idset_has(set, 21) && !hc_idset_has(set, 22) &&
	            hc_idset_next(set, 4) == 8 && hc_idset_next(set, 30) == -1 && text &&
	            strcmp(text, "0-3,8,16-17,20-21,24-25,28-29") == 0;
	if (!good)
		wrong("%u members: %s", hc_idset_count(set), text ? text : "no memory");
	hc_idset_free(set);
	if (good && (r = hc_idset_parse("3-1", &set)) != -EINVAL)
		return wrong("'3-1': %d", r);
	return good;
}

int main(int argc, char **argv) {
	char *room = guarded_room();
	if (argc > 1)
		result(dc_zva_is(argv[1]), "a block of dc zva has %s bytes", argv[1]);
	test_methods(room);
	result(reads_sizes(), "sizes are read");
	result(reads_idsets(), "sets of numbers are read");
	printf("1..%u\n", nr_tests);
	return nr_failed == 0 ? 0 : 1;
}
