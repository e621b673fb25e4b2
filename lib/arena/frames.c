/* Frames: their addresses, their heads, their pins. */
#include <errno.h>

#include "arena/arena_object.h"
#include "base/error.h"
#include "clear/announce.h"

/* ---- Addresses ------------------------------------------------------------------- */

uint64_t hc_arena_index(const struct hc_arena *arena, const struct hc_frame *frame) {
	uintptr_t offset = (uintptr_t)frame - (uintptr_t)arena->frames;
	uint64_t index = offset / sizeof(*frame);
	if ((uintptr_t)frame < (uintptr_t)arena->frames || offset % sizeof(*frame) != 0 || index >= arena->nr_frames ||
	        !hc_arena_is_ready(arena, hc_arena_section_of(arena, index)))
		return UINT64_MAX;
	return index;
}

/* The index of the frame that an address is in; UINT64_MAX outside. */
static uint64_t index_at(const struct hc_arena *arena, const void *address) {
	uintptr_t offset = (uintptr_t)address - (uintptr_t)arena->memory;
	if ((uintptr_t)address < (uintptr_t)arena->memory || offset >> arena->frame_shift >= arena->nr_frames)
		return UINT64_MAX;
	return offset >> arena->frame_shift;
}

int hc_arena_ready(const struct hc_arena *arena, const void *address) {
	uint64_t index = arena ? index_at(arena, address) : UINT64_MAX;
	if (index == UINT64_MAX)
		return hc_fail(EINVAL, "%p isn't in the arena", address);
	return hc_arena_is_ready(arena, hc_arena_section_of(arena, index));
}

/* One look at each order; NULL where others are splitting or merging what it looks at. */
static struct hc_frame *find_head(const struct hc_arena *arena, uint64_t index) {
	uint64_t place = index + arena->skew;
	for (unsigned order = 0; order <= arena->max_order; order++) {
		uint64_t at = place & ~((UINT64_C(1) << order) - 1);
		if (at < arena->skew)
			return NULL;
		struct hc_frame *frame = &arena->frames[at - arena->skew];
		/* Acquire: what the head was filled in with comes with it. */
		uint64_t word = atomic_load_explicit(&frame->word, memory_order_acquire);
		if (word & HC_WORD_HEAD && place - at < UINT64_C(1) << hc_word_order(word))
			return frame;
	}
	return NULL;
}

int hc_frame_of(struct hc_arena *arena, const void *address, struct hc_frame **ret_frame) {
	int r = hc_arena_check_owner(arena);
	if (r < 0)
		return r;
	uint64_t index = index_at(arena, address);
	if (index == UINT64_MAX)
		return hc_fail(EINVAL, "%p isn't in the arena", address);
	if (!hc_arena_is_ready(arena, hc_arena_section_of(arena, index)))
		return hc_fail(EAGAIN, "the section of %p isn't ready: hc_arena_wait()", address);
	/* Who owns the frame finds its head at once. Of one that is free, or another's, it may be changing. */
	struct hc_frame *head = find_head(arena, index);
	struct hc_arena_node *node = hc_arena_node(arena, arena->frames[index].node);
	if (!head && node) {
		pthread_mutex_lock(&arena->sections_lock);
		pthread_mutex_lock(&node->lock);
		head = find_head(arena, index);
		pthread_mutex_unlock(&node->lock);
		pthread_mutex_unlock(&arena->sections_lock);
	}
	if (!head)
		return hc_fail(EBADMSG, "the descriptor of %p has no head: somebody wrote over descriptors", address);
	*ret_frame = head;
	return 0;
}

void *hc_frame_address(const struct hc_arena *arena, const struct hc_frame *frame) {
	return hc_arena_at(arena, (uint64_t)(frame - arena->frames));
}

unsigned hc_frame_order(const struct hc_frame *frame) {
	return hc_word_order(atomic_load_explicit(&frame->word, memory_order_relaxed));
}

int hc_frame_node(const struct hc_frame *frame) {
	return frame->node;
}

unsigned hc_frame_pins(const struct hc_frame *frame) {
	return hc_word_pins(atomic_load_explicit(&frame->word, memory_order_relaxed));
}

uint64_t *hc_frame_words(struct hc_frame *frame) {
	return frame->words;
}

void hc_frame_poison(struct hc_arena *arena, const struct hc_frame *frame, unsigned order) {
	if (!hc_announce_free(hc_frame_address(arena, frame), (size_t)1 << (order + arena->frame_shift)))
		return;
	uint64_t begin = (uint64_t)(frame - arena->frames), end = begin + (UINT64_C(1) << order);
	uint64_t least = atomic_load_explicit(&arena->poisoned_begin, memory_order_relaxed);
	while (begin < least && !atomic_compare_exchange_weak_explicit(&arena->poisoned_begin, &least, begin,
	                                memory_order_relaxed, memory_order_relaxed))
		continue;
	uint64_t most = atomic_load_explicit(&arena->poisoned_end, memory_order_relaxed);
	while (end > most && !atomic_compare_exchange_weak_explicit(
	                             &arena->poisoned_end, &most, end, memory_order_relaxed, memory_order_relaxed))
		continue;
}

void hc_frame_unpoison(const struct hc_arena *arena, const struct hc_frame *frame, unsigned order) {
	hc_announce_given(hc_frame_address(arena, frame), (size_t)1 << (order + arena->frame_shift));
}

/* ---- Pins ------------------------------------------------------------------------ */

static int check_frame(const struct hc_arena *arena, const struct hc_frame *frame) {
	int r = hc_arena_check_owner(arena);
	if (r < 0)
		return r;
	return hc_arena_index(arena, frame) != UINT64_MAX
	               ? 0
	               : hc_fail(EINVAL, "%p is no frame of this arena that is ready", (const void *)frame);
}

/* Why a frame with this word can't be pinned, or let go of. */
static int fail_pin(const struct hc_arena *arena, const struct hc_frame *frame, uint64_t word, const char *what) {
	unsigned long long index = (unsigned long long)(frame - arena->frames);
	if (!(word & HC_WORD_HEAD))
		return hc_fail(EINVAL, "%s: frame %llu is no head", what, index);
	if (!(word & (HC_WORD_USED | HC_WORD_FREED)))
		return hc_fail(ENOENT, "%s: frame %llu is free", what, index);
	return hc_fail(ENOENT, "%s: frame %llu isn't pinned", what, index);
}

int hc_frame_get(struct hc_arena *arena, struct hc_frame *frame) {
	int r = check_frame(arena, frame);
	if (r < 0)
		return r;
	/* Relaxed: who may pin it has it from somebody who published it. */
	uint64_t word = atomic_fetch_add_explicit(&frame->word, HC_WORD_PIN, memory_order_relaxed);
	bool held = word & HC_WORD_USED || (word & HC_WORD_FREED && hc_word_pins(word) > 0);
	if (word & HC_WORD_HEAD && held && hc_word_pins(word) < HC_WORD_PINS_MAX)
		return 0;
	atomic_fetch_sub_explicit(&frame->word, HC_WORD_PIN, memory_order_relaxed);
	if (word & HC_WORD_HEAD && held)
		return hc_fail(EOVERFLOW, "frame %llu has %u pins, the most there can be",
		        (unsigned long long)(frame - arena->frames), HC_WORD_PINS_MAX);
	return fail_pin(arena, frame, word, "pinning");
}

int hc_frame_put(struct hc_arena *arena, struct hc_frame *frame) {
	int r = check_frame(arena, frame);
	if (r < 0)
		return r;
	/* Release: what was done to the frame is done before it is free; acquire for who frees it. */
	uint64_t word = atomic_fetch_sub_explicit(&frame->word, HC_WORD_PIN, memory_order_acq_rel);
	bool held = word & HC_WORD_HEAD && word & (HC_WORD_USED | HC_WORD_FREED);
	if (!held || hc_word_pins(word) == 0) {
		atomic_fetch_add_explicit(&frame->word, HC_WORD_PIN, memory_order_relaxed);
		return fail_pin(arena, frame, word, "unpinning");
	}
	/* Exactly one sees the last pin of a frame that its owner has freed. */
	if (word & HC_WORD_FREED && hc_word_pins(word) == 1)
		hc_buddy_let_go(arena, frame);
	return 0;
}
