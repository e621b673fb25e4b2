/*
 * The table of clearing methods, and which of them the built-in choice prefers.
 *
 * The table belongs to the architecture: methods_x86.c, methods_arm64.c or
 * methods_other.c, chosen by the build. Each instruction set has a file of its
 * own, compiled with the flags of that set alone. Nothing in such a file runs
 * before its method is called, and nothing in it is shared with other files: a
 * helper that the linker picked from there could hold instructions that this
 * processor lacks.
 */
#ifndef HC_CLEAR_METHODS_H
#define HC_CLEAR_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Zeroes [p, p + len). Any alignment, any length, 0 too.
 *
 * Nothing outside is written, nothing inside or outside is read. A streaming
 * method is fenced on every path, so that its stores are visible before any
 * store that follows its return. The compiler has to take the stores for seen by
 * somebody (HC_STORES_ARE_SEEN), or link-time optimisation may drop them before a free().
 *
 * pre: p isn't NULL; p + len doesn't wrap; the range is mapped and writable
 */
typedef void (*hc_method_fn)(void *p, size_t len);

struct hc_method {
	const char *name;
	const char *needs; /* for people: "avx512f"; "" where every processor of this architecture has it */
	uint32_t features; /* HC_FEATURE_BIT()s without which it faults */
	bool streaming;    /* past the cache */
	unsigned block;    /* bytes its inner loop clears at once; tests try the lengths around its multiples */
	hc_method_fn clear;
};

/* At most this many, so that arrays beside the table are of fixed size. */
#define HC_METHODS_MAX 16

extern const struct hc_method hc_methods[];
extern const unsigned hc_nr_methods;

struct hc_preference {
	const char *name;
	uint32_t where; /* HC_FEATURE_BIT()s besides those it needs: it works without them, but isn't the best there */
};

#define HC_PREFERENCES_MAX 6

/*
 * The built-in choice knows three uses. For each the first row is taken whose
 * features the processor has; the last one needs none. Unused places are NULL.
 */
struct hc_method_preferences {
	struct hc_preference few[HC_PREFERENCES_MAX];       /* up to few_up_to bytes: where starting up costs most */
	struct hc_preference cached[HC_PREFERENCES_MAX];    /* above, as long as it stays in the cache */
	struct hc_preference streaming[HC_PREFERENCES_MAX]; /* past the cache */
	size_t few_up_to;
	size_t streams_from; /* intent "later" streams from this length on */
};

extern const struct hc_method_preferences hc_method_preferences;

/* The row with this name, or NULL. */
const struct hc_method *hc_method_by_name(const char *name);

/*
 * The row with this name where it can run here. -EINVAL where there is none (the
 * detail lists all names), -EOPNOTSUPP where this processor or its operating system lacks what
 * it needs (the detail lists the available ones).
 */
int hc_method_wanted(const char *name, const struct hc_method **ret_method);

/* Everything stored up to here is read by somebody whom the compiler can't see. */
#define HC_STORES_ARE_SEEN(p) __asm__ volatile("" : : "r"(p) : "memory")

/* Plain memset(), on every architecture. */
void hc_method_memset(void *p, size_t len);

#endif
