/* Looking at an arena while nobody changes it, and what is counted. */
#include <errno.h>
#include <string.h>

#include "arena/arena_object.h"
#include "arena/check.h"
#include "base/error.h"
#include "base/opts.h"

/* ---- All nodes' locks -------------------------------------------------------------- */

void hc_arena_lock_all(struct hc_arena *arena) {
	pthread_mutex_lock(&arena->sections_lock);
	for (int id = 0; id < HC_ARENA_NODES_MAX; id++) {
		struct hc_arena_node *node = hc_arena_node(arena, id);
		if (node)
			pthread_mutex_lock(&node->lock);
	}
}

void hc_arena_unlock_all(struct hc_arena *arena) {
	/* No node has come meanwhile: that takes the sections lock. */
	for (int id = 0; id < HC_ARENA_NODES_MAX; id++) {
		struct hc_arena_node *node = hc_arena_node(arena, id);
		if (node)
			pthread_mutex_unlock(&node->lock);
	}
	pthread_mutex_unlock(&arena->sections_lock);
}

/* ---- Walking ------------------------------------------------------------------------ */

static enum hc_frame_state state_of(uint64_t word) {
	if (word & HC_WORD_USED)
		return HC_FRAME_USED;
	if (word & HC_WORD_FREED)
		return HC_FRAME_PINNED;
	if (word & HC_WORD_BUSY)
		return HC_FRAME_SCRUBBED;
	return word & HC_WORD_CLEAN ? HC_FRAME_FREE_CLEAN : HC_FRAME_FREE_DIRTY;
}

static int walk_section(struct hc_arena *arena, uint64_t section, hc_arena_walk_fn fn, void *user) {
	uint64_t index = hc_arena_section_begin(arena, section), end = hc_arena_section_end(arena, section);
	struct hc_frame_view view = {
	        .address = hc_arena_at(arena, index),
	        .length = (end - index) << arena->frame_shift,
	        .state = HC_FRAME_NOT_READY,
	        .node = -1,
	};
	if (!hc_arena_is_ready(arena, section))
		return fn(user, &view);
	int r = 0;
	while (index < end && r == 0) {
		struct hc_frame *frame = &arena->frames[index];
		/* Relaxed: the nodes' locks order it. */
		uint64_t word = atomic_load_explicit(&frame->word, memory_order_relaxed);
		if (!(word & HC_WORD_HEAD))
			return hc_fail(
			        EBADMSG, "frame %llu is neither a head nor part of a frame", (unsigned long long)index);
		unsigned order = hc_word_order(word);
		view = (struct hc_frame_view){
		        .address = hc_arena_at(arena, index),
		        .length = UINT64_C(1) << (order + arena->frame_shift),
		        .state = state_of(word),
		        .order = order,
		        .pins = hc_word_pins(word),
		        .node = frame->node,
		        .frame = frame,
		};
		r = fn(user, &view);
		index += UINT64_C(1) << order;
	}
	return r;
}

int hc_arena_walk(struct hc_arena *arena, hc_arena_walk_fn fn, void *user) {
	int r = hc_arena_check_owner(arena);
	if (r < 0)
		return r;
	hc_arena_lock_all(arena);
	for (uint64_t section = 0; section < arena->nr_sections && r == 0; section++)
		r = walk_section(arena, section, fn, user);
	hc_arena_unlock_all(arena);
	return r;
}

/* ---- Statistics ----------------------------------------------------------------------- */

static void add_node(const struct hc_arena_node *node, struct hc_arena_stats *stats) {
	stats->ready += node->frames;
	stats->free_clean += node->free[HC_CLEAN];
	stats->free_dirty += node->free[HC_DIRTY] + node->hot_frames;
	stats->scrubbing += node->scrubbing;
	stats->allocations += node->allocations;
	stats->frees += node->frees;
	stats->merges += node->merges;
	stats->scrubbed_bytes += node->scrubbed_bytes;
	stats->cleared_bytes += node->cleared_bytes;
	for (int order = 0; order < HC_ARENA_ORDERS_MAX; order++)
		stats->free_blocks[order] += node->lists[HC_DIRTY][order].nr + node->lists[HC_CLEAN][order].nr +
		                             node->hot[order].nr;
}

int hc_arena_stats(struct hc_arena *arena, int node, struct hc_arena_stats *ret_stats) {
	int r = hc_arena_check_owner(arena);
	if (r == 0)
		r = ret_stats ? hc_report_check(ret_stats) : hc_fail(EINVAL, "no place for the statistics");
	if (r < 0)
		return r;
	if (node != HC_NODE_HERE && !hc_arena_node(arena, node))
		return hc_fail(EINVAL, "the arena has no frames on node %d", node);
	struct hc_arena_stats stats = {.frame_size = UINT64_C(1) << arena->frame_shift, .max_order = arena->max_order};
	for (int id = 0; id < HC_ARENA_NODES_MAX; id++) {
		struct hc_arena_node *one = node == HC_NODE_HERE || node == id ? hc_arena_node(arena, id) : NULL;
		if (!one)
			continue;
		pthread_mutex_lock(&one->lock);
		add_node(one, &stats);
		pthread_mutex_unlock(&one->lock);
	}
	stats.frames = node == HC_NODE_HERE ? arena->nr_frames : stats.ready;
	hc_report_write(&stats, sizeof(stats), ret_stats);
	return 0;
}
