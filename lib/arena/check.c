/*
 * What has to hold of an arena whenever nobody is changing it:
 *
 *   1. the frames from one end of a ready section to the other are heads, each followed by as many descriptors that are
 *      none as its order says, aligned to its size, and of the same node;
 *   2. a frame is on exactly the list of its node, order and cleanness if and only if it is free, and lists are linked both ways;
 *   3. no two free halves of the same cleanness lie beside each other that could be one;
 *   4. a hot frame is in exactly its node's place for its order;
 *   5. the counters are the sums of what is there.
 */
#include "arena/check.h"

#include <errno.h>

#include "base/error.h"

static int check_list(const struct hc_arena *arena, const struct hc_arena_node *node, int cleanness, unsigned order) {
	const struct hc_frame_list *list = &node->lists[cleanness][order];
	const struct hc_frame *prev = NULL;
	uint64_t nr = 0, right = hc_word_make(HC_WORD_HEAD | (cleanness == HC_CLEAN ? HC_WORD_CLEAN : 0), order);
	for (const struct hc_frame *frame = list->first; frame; prev = frame, frame = frame->next) {
		uint64_t word = atomic_load_explicit(&frame->word, memory_order_relaxed);
		if (frame->prev != prev || ++nr > arena->nr_frames)
			return hc_fail(EBADMSG, "the list of order %u of node %d is torn", order, node->id);
		if ((uint32_t)word != (uint32_t)right || frame->node != node->id)
			return hc_fail(EBADMSG,
			        "frame %llu with the word 0x%llx of node %d is on the list of order %u of node %d",
			        (unsigned long long)(frame - arena->frames), (unsigned long long)word, frame->node,
			        order, node->id);
	}
	if (list->last != prev || nr != list->nr)
		return hc_fail(EBADMSG, "the list of order %u of node %d has %llu frames, and says %llu", order,
		        node->id, (unsigned long long)nr, (unsigned long long)list->nr);
	if ((nr > 0) != (node->not_empty[cleanness] >> order & 1))
		return hc_fail(EBADMSG, "the list of order %u of node %d isn't as it is said", order, node->id);
	return 0;
}

static int check_hot(const struct hc_arena_node *node, unsigned order) {
	for (unsigned i = 0; i < node->hot[order].nr; i++) {
		const struct hc_frame *frame = node->hot[order].frames[i];
		uint64_t word = atomic_load_explicit(&frame->word, memory_order_relaxed);
		if ((uint32_t)word != hc_word_make(HC_WORD_HEAD | HC_WORD_HOT, order) || frame->node != node->id)
			return hc_fail(EBADMSG,
			        "a frame with the word 0x%llx of node %d is hot on node %d, with order %u",
			        (unsigned long long)word, frame->node, node->id, order);
	}
	return 0;
}

/* What a walk over descriptors finds, to be compared with what nodes have counted. */
struct sums {
	uint64_t free[HC_CLEANNESSES], hot, scrubbing, frames, listed;
};

static int check_frame(
        const struct hc_arena *arena, uint64_t index, uint64_t end, struct sums *sums, uint64_t *ret_next) {
	const struct hc_frame *frame = &arena->frames[index];
	uint64_t word = atomic_load_explicit(&frame->word, memory_order_relaxed), place = index + arena->skew;
	unsigned order = hc_word_order(word);
	uint64_t nr = UINT64_C(1) << order;
	if (!(word & HC_WORD_HEAD) || order > arena->max_order || nr > end - index || place & (nr - 1))
		return hc_fail(EBADMSG, "frame %llu with the word 0x%llx can't be a head there",
		        (unsigned long long)index, (unsigned long long)word);
	for (uint64_t i = 1; i < nr; i++) {
		uint64_t tail = atomic_load_explicit(&frame[i].word, memory_order_relaxed);
		if (tail != 0 || frame[i].node != frame->node)
			return hc_fail(EBADMSG,
			        "frame %llu with the word 0x%llx and node %d is within the frame at %llu of node %d",
			        (unsigned long long)(index + i), (unsigned long long)tail, frame[i].node,
			        (unsigned long long)index, frame->node);
	}
	sums->frames += nr;
	*ret_next = index + nr;
	bool owned = word & (HC_WORD_USED | HC_WORD_FREED);
	if (!owned && word & HC_WORD_BUSY)
		sums->scrubbing += nr;
	if (!owned && word & HC_WORD_HOT)
		sums->hot += nr;
	if (owned || word & (HC_WORD_BUSY | HC_WORD_HOT))
		return 0;
	int cleanness = word & HC_WORD_CLEAN ? HC_CLEAN : HC_DIRTY;
	sums->free[cleanness] += nr;
	sums->listed++;
	uint64_t buddy = (place ^ nr) - arena->skew;
	if (order < arena->max_order && (place ^ nr) >= arena->skew && buddy < arena->nr_frames &&
	        atomic_load_explicit(&arena->frames[buddy].word, memory_order_relaxed) == word)
		return hc_fail(EBADMSG, "frames %llu and %llu are free halves of one", (unsigned long long)index,
		        (unsigned long long)buddy);
	return 0;
}

static int check_locked(const struct hc_arena *arena) {
	struct sums there = {0}, counted = {0};
	int r = 0;
	for (uint64_t section = 0; section < arena->nr_sections && r == 0; section++) {
		uint64_t end = hc_arena_section_end(arena, section);
		for (uint64_t i = hc_arena_section_begin(arena, section);
		        i < end && r == 0 && hc_arena_is_ready(arena, section);)
			r = check_frame(arena, i, end, &there, &i);
	}
	for (int id = 0; id < HC_ARENA_NODES_MAX && r == 0; id++) {
		const struct hc_arena_node *node = hc_arena_node(arena, id);
		if (!node)
			continue;
		counted.frames += node->frames;
		counted.scrubbing += node->scrubbing;
		counted.hot += node->hot_frames;
		for (unsigned order = 0; order < HC_ARENA_ORDERS_MAX && r == 0; order++)
			r = check_hot(node, order);
		for (int cleanness = 0; cleanness < HC_CLEANNESSES && r == 0; cleanness++) {
			counted.free[cleanness] += node->free[cleanness];
			for (unsigned order = 0; order < HC_ARENA_ORDERS_MAX && r == 0; order++) {
				counted.listed += node->lists[cleanness][order].nr;
				r = check_list(arena, node, cleanness, order);
			}
		}
	}
	/* Frames of which a free is just under way are BUSY too. */
	if (r == 0 && (there.frames != counted.frames || there.listed != counted.listed || there.hot != counted.hot ||
	                      there.free[HC_DIRTY] != counted.free[HC_DIRTY] ||
	                      there.free[HC_CLEAN] != counted.free[HC_CLEAN] || there.scrubbing < counted.scrubbing))
		r = hc_fail(EBADMSG,
		        "%llu frames are there and %llu counted, of them free and dirty %llu and %llu, clean %llu and "
		        "%llu, "
		        "being cleared %llu and %llu",
		        (unsigned long long)there.frames, (unsigned long long)counted.frames,
		        (unsigned long long)there.free[HC_DIRTY], (unsigned long long)counted.free[HC_DIRTY],
		        (unsigned long long)there.free[HC_CLEAN], (unsigned long long)counted.free[HC_CLEAN],
		        (unsigned long long)there.scrubbing, (unsigned long long)counted.scrubbing);
	return r;
}

int hc_arena_check(struct hc_arena *arena) {
	int r = hc_arena_check_owner(arena);
	if (r < 0)
		return r;
	hc_arena_lock_all(arena);
	r = check_locked(arena);
	hc_arena_unlock_all(arena);
	return r;
}
