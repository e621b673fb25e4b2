#include "sys/idset.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/idlist.h"

#define WORD_BITS (sizeof(unsigned long) * CHAR_BIT)

struct hc_idset {
	unsigned long *words; /* bit i of word w: number w * WORD_BITS + i */
	size_t nr_words;
	/*
	 * The text, once it was asked for; NULL again after a change. Behind a pointer,
	 * as readers of a const set fill it in: whoever is first publishes with
	 * release, others throw theirs away.
	 */
	_Atomic(char *) *text;
};

struct hc_idset *hc_idset_new(void) {
	struct hc_idset *set = calloc(1, sizeof(*set));
	if (!set)
		return NULL;
	set->text = calloc(1, sizeof(*set->text));
	if (!set->text)
		return hc_idset_free(set);
	atomic_init(set->text, NULL);
	return set;
}

struct hc_idset *hc_idset_free(struct hc_idset *set) {
	if (!set)
		return NULL;
	if (set->text)
		free(atomic_load_explicit(set->text, memory_order_acquire));
	free(set->text);
	free(set->words);
	free(set);
	return NULL;
}

/* pre: nobody reads the set at the same time, as with every change */
static void text_drop(struct hc_idset *set) {
	free(atomic_exchange_explicit(set->text, NULL, memory_order_relaxed));
}

/* Makes room for numbers up to id; false without memory. */
static bool reserve(struct hc_idset *set, unsigned id) {
	size_t wanted = id / WORD_BITS + 1;
	if (set->words && wanted <= set->nr_words)
		return true;
	unsigned long *words = realloc(set->words, wanted * sizeof(*words));
	if (!words)
		return false;
	memset(words + set->nr_words, 0, (wanted - set->nr_words) * sizeof(*words));
	set->words = words;
	set->nr_words = wanted;
	return true;
}

static int fail_memory(unsigned id) {
	return hc_fail_memory("no memory for a set of numbers up to %u", id);
}

int hc_idset_add(struct hc_idset *set, unsigned id) {
	if (id > HC_IDSET_MAX)
		return hc_fail(ERANGE, "%u is above %u, the highest CPU or node number", id, HC_IDSET_MAX);
	if (!reserve(set, id))
		return fail_memory(id);
	set->words[id / WORD_BITS] |= 1UL << (id % WORD_BITS);
	text_drop(set);
	return 0;
}

int hc_idset_copy(const struct hc_idset *set, struct hc_idset **ret_copy) {
	return hc_idset_from_mask(set ? set->words : NULL, set ? set->nr_words * WORD_BITS : 0, ret_copy);
}

bool hc_idset_is_subset(const struct hc_idset *small, const struct hc_idset *large) {
	for (int i = -1; (i = hc_idset_next(small, i + 1)) >= 0;)
		if (!hc_idset_has(large, (unsigned)i))
			return false;
	return true;
}

void hc_idset_intersect(struct hc_idset *set, const struct hc_idset *other) {
	for (size_t w = 0; w < set->nr_words; w++)
		set->words[w] &= other && w < other->nr_words ? other->words[w] : 0;
	text_drop(set);
}

void hc_idset_subtract(struct hc_idset *set, const struct hc_idset *other) {
	for (size_t w = 0; other && w < set->nr_words && w < other->nr_words; w++)
		set->words[w] &= ~other->words[w];
	text_drop(set);
}

int hc_idset_unite(struct hc_idset *set, const struct hc_idset *other) {
	if (!other || other->nr_words == 0)
		return 0;
	unsigned last = (unsigned)(other->nr_words * WORD_BITS - 1);
	if (!reserve(set, last))
		return fail_memory(last);
	for (size_t w = 0; w < other->nr_words; w++)
		set->words[w] |= other->words[w];
	text_drop(set);
	return 0;
}

unsigned hc_idset_count(const struct hc_idset *set) {
	unsigned count = 0;
	for (size_t w = 0; set && w < set->nr_words; w++)
		count += (unsigned)__builtin_popcountl(set->words[w]);
	return count;
}

int hc_idset_has(const struct hc_idset *set, unsigned id) {
	return set && id / WORD_BITS < set->nr_words && (set->words[id / WORD_BITS] >> (id % WORD_BITS) & 1) != 0;
}

int hc_idset_next(const struct hc_idset *set, int from) {
	if (!set)
		return -1;
	size_t start = from < 0 ? 0 : (size_t)from;
	for (size_t w = start / WORD_BITS; w < set->nr_words; w++) {
		unsigned long word = set->words[w];
		if (w == start / WORD_BITS)
			word &= ~0UL << (start % WORD_BITS);
		if (word != 0)
			return (int)(w * WORD_BITS) + __builtin_ctzl(word);
	}
	return -1;
}

static char *text_make(const struct hc_idset *set) {
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	const char *comma = "";
	for (int first = -1; (first = hc_idset_next(set, first + 1)) >= 0;) {
		int last = first;
		while (hc_idset_has(set, (unsigned)last + 1))
			last++;
		if (last > first)
			fprintf(out, "%s%d-%d", comma, first, last);
		else
			fprintf(out, "%s%d", comma, first);
		comma = ",";
		first = last;
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

const char *hc_idset_text(const struct hc_idset *set) {
	if (!set)
		return "";
	char *there = atomic_load_explicit(set->text, memory_order_acquire);
	if (there)
		return there;
	char *text = text_make(set);
	if (!text)
		return "(no memory for the list)";
	if (!atomic_compare_exchange_strong_explicit(
	            set->text, &there, text, memory_order_acq_rel, memory_order_acquire)) {
		free(text);
		return there;
	}
	return text;
}

static int add_range(void *arg, const struct hc_idlist_range *range) {
	struct hc_idset *set = arg;
	if (!reserve(set, range->last))
		return fail_memory(range->last);
	for (unsigned id = range->first; id <= range->last; id++)
		if ((id - range->first) % range->group < range->used)
			set->words[id / WORD_BITS] |= 1UL << (id % WORD_BITS);
	return 0;
}

int hc_idset_parse(const char *text, struct hc_idset **ret_set) {
	struct hc_idset *set = hc_idset_new();
	if (!set)
		return hc_fail_memory("no memory for a set of numbers");
	int r = hc_idlist_parse(text, add_range, set);
	if (r < 0) {
		hc_idset_free(set);
		return r;
	}
	*ret_set = set;
	return 0;
}

/* The kernel reads maxnode - 1 bits (mbind(2), NOTES), so a set whose highest member is the last bit of a word needs one more. */
int hc_idset_mask(const struct hc_idset *set, unsigned long **ret_mask, unsigned long *ret_nr_bits) {
	int highest = -1;
	for (int i = -1; (i = hc_idset_next(set, i + 1)) >= 0;)
		highest = i;
	size_t nr_words = hc_div_up((unsigned)(highest + 2), WORD_BITS);
	unsigned long *mask = calloc(nr_words, sizeof(*mask));
	if (!mask)
		return hc_fail_memory("no memory for a mask of %zu bits", nr_words * WORD_BITS);
	if (set && set->words)
		memcpy(mask, set->words, hc_min(nr_words, set->nr_words) * sizeof(*mask));
	*ret_mask = mask;
	*ret_nr_bits = nr_words * WORD_BITS;
	return 0;
}

int hc_idset_from_mask(const unsigned long *mask, unsigned long nr_bits, struct hc_idset **ret_set) {
	struct hc_idset *set = hc_idset_new();
	if (!set)
		return hc_fail_memory("no memory for a set of numbers");
	for (unsigned long i = 0; i < nr_bits; i++) {
		if (mask[i / WORD_BITS] == 0) {
			i |= WORD_BITS - 1;
			continue;
		}
		if ((mask[i / WORD_BITS] >> (i % WORD_BITS) & 1) == 0)
			continue;
		int r = i > HC_IDSET_MAX
		                ? hc_fail(ERANGE, "%lu is above %u, the highest CPU or node number", i, HC_IDSET_MAX)
		                : hc_idset_add(set, (unsigned)i);
		if (r < 0) {
			hc_idset_free(set);
			return r;
		}
	}
	*ret_set = set;
	return 0;
}
