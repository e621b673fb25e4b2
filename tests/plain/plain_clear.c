/*
 * The tests of clearing that need no framework and no library but libc, so that they run where
 * those are missing: cross-built, under an emulator. TAP on standard output.
 *
 * usage: plain_clear [--dczva BYTES | --without METHOD]
 *        --dczva: what one dc zva clears on the processor that was chosen, from its manual
 *        --without: the processor has been made to lack what this method needs
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

#include <hugeclear/clear.h>

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

static void test_methods(char *room, const char *without) {
	const struct hc_processor_id *id = hc_processor_here();
	for (unsigned i = 0; i < hc_nr_methods; i++) {
		const struct hc_method *method = &hc_methods[i];
		if (method->features & ~id->features) {
			if (strcmp(method->name, without) != 0)
				printf("ok %u - %s # SKIP this processor lacks %s\n", ++nr_tests, method->name,
				        method->needs);
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

static bool is_not_chosen(const char *name) {
	char byte = DIRT;
	struct hc_clear_opts opts = {.size = sizeof(opts), .method = name};
	int r = hc_clear_with(&byte, 1, &opts, NULL);
	if (r != -EOPNOTSUPP || byte != (char)DIRT)
		return wrong("by name: %d: %s", r, hc_error_detail());
	for (size_t len = 1; len <= (size_t)1 << 40; len *= 2)
		for (int intent = HC_INTENT_SOON; intent <= HC_INTENT_LATER; intent++) {
			const struct hc_clear_method *method = hc_clear_choice(len, (enum hc_intent)intent);
			if (!method->available || strcmp(method->name, name) == 0)
				return wrong("%zu bytes, intent %d: %s was chosen", len, intent, method->name);
		}
	return true;
}

/* Every method that is there is somebody's choice by name, and no other is. */
static bool clears_by_name(char *room) {
	const struct hc_clear_method *method;
	for (unsigned i = 0; (method = hc_clear_method(i)); i++) {
		struct hc_clear_opts opts = {.size = sizeof(opts), .method = method->name, .chunk = 4096};
		struct hc_clear_report report = {.size = sizeof(report)};
		int r = hc_clear_with(room + 1, 65537, &opts, &report);
		if (r != (method->available ? 0 : -EOPNOTSUPP))
			return wrong("%s: %d: %s", method->name, r, hc_error_detail());
		if (report.done != (method->available ? 65537 : 0) || hc_is_clear(room + 1, 65537) != method->available)
			return wrong("%s: done %llu", method->name, (unsigned long long)report.done);
		memset(room, DIRT, 65539);
	}
	struct hc_clear_opts opts = {.size = sizeof(opts), .method = "avx1024"};
	int r = hc_clear_with(room, 1, &opts, NULL);
	return r == -EINVAL || wrong("avx1024: %d", r);
}

/* What the built-in choice takes, by length and intent, and around an address. */
static bool clears_by_choice(char *room) {
	static const size_t lengths[] = {1, 64, 511, 512, 513, 4096, 65537, (size_t)3 << 20};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (unsigned way = 0; way < 4; way++) {
			size_t len = lengths[i], at = 0;
			struct hc_clear_opts opts = {.size = sizeof(opts), .threads = way == 2 ? 2 : 0};
			opts.intent = way == 1 ? HC_INTENT_LATER : HC_INTENT_SOON;
			char *p = room + 3;
			int r = way == 0   ? hc_clear(p, len)
			        : way == 3 ? hc_clear_around(p, len, p + len / 2, &opts, NULL)
			                   : hc_clear_with(p, len, &opts, NULL);
			if (r != 0)
				return wrong("way %u, %zu bytes: %d: %s", way, len, r, hc_error_detail());
			if (!all_are(p, len, 0, &at) || p[-1] != (char)DIRT || p[len] != (char)DIRT)
				return wrong("way %u, %zu bytes: not exactly the range was cleared", way, len);
			memset(p, DIRT, len);
		}
	return true;
}

/* Nothing is touched where nothing is to be done, or it can't be. */
static bool refuses(char *room) {
	const struct {
		void *p;
		size_t len;
		int r;
	} rows[] = {
	        {room, 0, 0},
	        {NULL, 0, 0},
	        {room + ROOM, 0, 0}, /* the guard page */
	        {NULL, 64, -EINVAL},
	        {room, SIZE_MAX, -EOVERFLOW},
	        {(void *)(UINTPTR_MAX - 4095), 8192, -EOVERFLOW},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int clear = hc_clear(rows[i].p, rows[i].len);
		int is_clear = hc_is_clear(rows[i].p, rows[i].len);
		if (clear != rows[i].r || is_clear != (rows[i].r == 0 ? 1 : rows[i].r))
			return wrong("row %zu: clear %d, is_clear %d", i, clear, is_clear);
	}
	size_t at;
	return all_are(room, 65536, DIRT, &at) || wrong("byte %zu was written", at);
}

/* One byte that isn't zero, anywhere in a range of any alignment, is seen; one beside the range isn't. */
static bool finds_what_is_not_clear(char *room) {
	static const size_t lengths[] = {1, 7, 8, 15, 16, 63, 64, 255, 256, 257, 600};
	memset(room, 0, 2048);
	for (size_t offset = 64; offset < 64 + 17; offset++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			for (size_t at = offset - 1; at <= offset + lengths[i]; at++) {
				bool inside = at >= offset && at < offset + lengths[i];
				room[at] = (char)(1u << at % 8);
				int r = hc_is_clear(room + offset, lengths[i]);
				room[at] = 0;
				if (r != (inside ? 0 : 1))
					return wrong(
					        "offset %zu, length %zu, byte at %zu: %d", offset, lengths[i], at, r);
			}
	memset(room, DIRT, 2048);
	return true;
}

static int stop_at_third(void *user) {
	return ++*(unsigned *)user == 3;
}

/* Asked between chunks: what was counted is zero, the rest as before. */
static bool stops(char *room) {
	unsigned asked = 0;
	struct hc_clear_opts opts = {.size = sizeof(opts), .chunk = 65536, .stop = stop_at_third, .user = &asked};
	struct hc_clear_report report = {.size = sizeof(report)};
	int r = hc_clear_with(room, ROOM, &opts, &report);
	size_t at = 0, done = (size_t)report.done;
	bool good = r == -ECANCELED && done <= (size_t)3 * 65536 && hc_is_clear(room, done) == 1 &&
	            all_are(room + done, ROOM - done, DIRT, &at);
	memset(room, DIRT, ROOM);
	return good || wrong("%d, done %zu, asked %u times", r, done, asked);
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
	const char *without = "";
	if (argc == 3 && strcmp(argv[1], "--dczva") == 0) {
		result(dc_zva_is(argv[2]), "a block of dc zva has %s bytes", argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "--without") == 0) {
		without = argv[2];
		result(is_not_chosen(without), "%s is not there: by name an error, and never chosen", without);
	} else if (argc != 1) {
		fprintf(stderr, "usage: plain_clear [--dczva BYTES | --without METHOD]\n");
		return 64;
	}
	test_methods(room, without);
	result(clears_by_name(room), "every method clears by its name, or says that it can't");
	result(clears_by_choice(room), "the choice clears exactly the range: one thread, two, around an address");
	result(refuses(room), "lengths of 0, NULL and ranges that wrap");
	result(finds_what_is_not_clear(room), "hc_is_clear() sees a byte anywhere");
	result(stops(room), "a request to stop is heard between chunks");
	result(reads_sizes(), "sizes are read");
	result(reads_idsets(), "sets of numbers are read");
	printf("1..%u\n", nr_tests);
	return nr_failed == 0 ? 0 : 1;
}
