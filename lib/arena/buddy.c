/*
 * Buddy allocation after Knowlton ("A fast storage allocator", 1965), with Knuth's doubly linked lists by order: two
 * lists an order, of clean and of dirty frames.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/clear.h>

#include "arena/arena_object.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/size.h"
#include "sys/topology.h"

/* ---- Nodes ----------------------------------------------------------------- */

int hc_node_new(int id, struct hc_arena_node **ret_node) {
	/* A line of its own: its lock is written by all. */
	struct hc_arena_node *node = aligned_alloc(
	        HC_ARENA_LINE, (sizeof(*node) + HC_ARENA_LINE - 1) / HC_ARENA_LINE * HC_ARENA_LINE);
	if (!node)
		return hc_fail_memory("no memory for node %d of an arena", id);
	*node = (struct hc_arena_node){.id = id};
	pthread_mutex_init(&node->lock, NULL);
	pthread_cond_init(&node->scrubbed, NULL);
	*ret_node = node;
	return 0;
}

struct hc_arena_node *hc_node_free(struct hc_arena_node *node) {
	if (!node)
		return NULL;
	pthread_mutex_destroy(&node->lock);
	pthread_cond_destroy(&node->scrubbed);
	free(node);
	return NULL;
}

/* ---- Words and lists ----------------------------------------------------------- */

void hc_word_set(struct hc_frame *frame, uint64_t to) {
	uint64_t word = atomic_load_explicit(&frame->word, memory_order_relaxed);
	/* Release: who sees a head sees what it was filled in with. */
	while (!atomic_compare_exchange_weak_explicit(&frame->word, &word,
	        (word & ~(HC_WORD_STATE | HC_WORD_ORDER)) | to, memory_order_release, memory_order_relaxed))
		continue;
}

static uint64_t free_word(int cleanness, unsigned order) {
	return hc_word_make(HC_WORD_HEAD | (cleanness == HC_CLEAN ? HC_WORD_CLEAN : 0), order);
}

static void link_frame(struct hc_arena_node *node, struct hc_frame *frame, int cleanness, unsigned order, bool last) {
	struct hc_frame_list *list = &node->lists[cleanness][order];
	struct hc_frame *prev = last ? list->last : NULL, *next = last ? NULL : list->first;
	frame->prev = prev;
	frame->next = next;
	*(prev ? &prev->next : &list->first) = frame;
	*(next ? &next->prev : &list->last) = frame;
	list->nr++;
	node->not_empty[cleanness] |= UINT32_C(1) << order;
	node->free[cleanness] += UINT64_C(1) << order;
	hc_word_set(frame, free_word(cleanness, order));
}

/* The word is the caller's to set. */
static void unlink_frame(struct hc_arena_node *node, struct hc_frame *frame, int cleanness, unsigned order) {
	struct hc_frame_list *list = &node->lists[cleanness][order];
	*(frame->prev ? &frame->prev->next : &list->first) = frame->next;
	*(frame->next ? &frame->next->prev : &list->last) = frame->prev;
	if (--list->nr == 0)
		node->not_empty[cleanness] &= ~(UINT32_C(1) << order);
	node->free[cleanness] -= UINT64_C(1) << order;
}

/* ---- Giving -------------------------------------------------------------------- */

/* The other half of the next larger frame, if it is free, whole, and of this cleanness; or NULL. */
static struct hc_frame *buddy_of(
        const struct hc_arena *arena, const struct hc_frame *frame, unsigned order, int cleanness) {
	uint64_t index = (uint64_t)(frame - arena->frames), place = (index + arena->skew) ^ (UINT64_C(1) << order);
	if (order >= arena->max_order || place < arena->skew || place - arena->skew >= arena->nr_frames)
		return NULL;
	struct hc_frame *buddy = &arena->frames[place - arena->skew];
	/* Relaxed: what is on a list was put there under the lock that the caller holds. With pins it isn't, or not for long. */
	uint64_t word = atomic_load_explicit(&buddy->word, memory_order_relaxed);
	return word == free_word(cleanness, order) ? buddy : NULL;
}

/* Two halves, neither on a list, as one that is BUSY. */
static struct hc_frame *join(struct hc_frame *a, struct hc_frame *b, unsigned order) {
	struct hc_frame *head = a < b ? a : b, *tail = a < b ? b : a;
	hc_word_set(tail, 0);
	hc_word_set(head, hc_word_make(HC_WORD_HEAD | HC_WORD_BUSY, order + 1));
	return head;
}

void hc_buddy_give(struct hc_arena *arena, struct hc_arena_node *node, struct hc_frame *frame, int cleanness) {
	unsigned order = hc_frame_order(frame);
	struct hc_frame *buddy;
	while ((buddy = buddy_of(arena, frame, order, cleanness))) {
		unlink_frame(node, buddy, cleanness, order);
		frame = join(frame, buddy, order++);
	}
	link_frame(node, frame, cleanness, order, false);
}

/* ---- Hot frames ----------------------------------------------------------------- */

/* The oldest is merged where there are more than are kept. */
static void give_hot(struct hc_arena *arena, struct hc_arena_node *node, struct hc_frame *frame, unsigned order) {
	struct hc_hot *hot = &node->hot[order];
	if (order == arena->max_order) {
		hc_buddy_give(arena, node, frame, HC_DIRTY);
		return;
	}
	if (hot->nr == HC_HOT_MAX) {
		struct hc_frame *oldest = hot->frames[0];
		for (unsigned i = 1; i < HC_HOT_MAX; i++)
			hot->frames[i - 1] = hot->frames[i];
		hot->nr--;
		node->hot_frames -= UINT64_C(1) << order;
		hc_buddy_give(arena, node, oldest, HC_DIRTY);
	}
	hot->frames[hot->nr++] = frame;
	node->hot_frames += UINT64_C(1) << order;
	hc_word_set(frame, hc_word_make(HC_WORD_HEAD | HC_WORD_HOT, order));
}

static struct hc_frame *take_hot(struct hc_arena_node *node, unsigned order) {
	struct hc_hot *hot = &node->hot[order];
	if (hot->nr == 0)
		return NULL;
	node->hot_frames -= UINT64_C(1) << order;
	return hot->frames[--hot->nr];
}

/* All onto the lists. True where there were some. */
static bool cool(struct hc_arena *arena, struct hc_arena_node *node) {
	if (node->hot_frames == 0)
		return false;
	for (unsigned order = 0; order < arena->max_order; order++)
		for (struct hc_frame *frame; (frame = take_hot(node, order));)
			hc_buddy_give(arena, node, frame, HC_DIRTY);
	return true;
}

void hc_buddy_add(struct hc_arena *arena, struct hc_arena_node *node, uint64_t begin, uint64_t end) {
	int cleanness = arena->flags & HC_ARENA_CLEAN ? HC_CLEAN : HC_DIRTY;
	pthread_mutex_lock(&node->lock);
	node->frames += end - begin;
	while (begin < end) {
		/* The largest that is aligned, and fits. */
		uint64_t place = begin + arena->skew;
		unsigned order = place == 0 ? arena->max_order
		                            : (unsigned)hc_min((uint64_t)__builtin_ctzll(place), arena->max_order);
		while (UINT64_C(1) << order > end - begin)
			order--;
		/* Lowest addresses first. */
		link_frame(node, &arena->frames[begin], cleanness, order, true);
		begin += UINT64_C(1) << order;
	}
	pthread_mutex_unlock(&node->lock);
}

/* ---- Taking -------------------------------------------------------------------- */

/* Cuts a frame that is on no list down to an order; the upper halves become free. */
static void cut_down(struct hc_arena_node *node, struct hc_frame *frame, unsigned from, unsigned to, int cleanness) {
	while (from > to) {
		from--;
		link_frame(node, frame + (UINT64_C(1) << from), cleanness, from, false);
	}
}

/* The first frame of the smallest order that will do, off its list; its word is the caller's to set. */
static struct hc_frame *take(struct hc_arena_node *node, int cleanness, unsigned order) {
	uint32_t enough = node->not_empty[cleanness] >> order;
	if (enough == 0)
		return NULL;
	unsigned from = order + (unsigned)__builtin_ctz(enough);
	struct hc_frame *frame = node->lists[cleanness][from].first;
	unlink_frame(node, frame, cleanness, from);
	cut_down(node, frame, from, order, cleanness);
	return frame;
}

struct hc_frame *hc_buddy_take_dirty(struct hc_arena *arena, struct hc_arena_node *node, unsigned max_order) {
	if (node->waiting > 0)
		return NULL;
	if (node->not_empty[HC_DIRTY] == 0)
		cool(arena, node);
	uint32_t some = node->not_empty[HC_DIRTY];
	if (some == 0)
		return NULL;
	unsigned from = 31 - (unsigned)__builtin_clz(some), order = (unsigned)hc_min(from, max_order);
	struct hc_frame *frame = node->lists[HC_DIRTY][from].first;
	unlink_frame(node, frame, HC_DIRTY, from);
	cut_down(node, frame, from, order, HC_DIRTY);
	hc_word_set(frame, hc_word_make(HC_WORD_HEAD | HC_WORD_BUSY, order));
	node->scrubbing += UINT64_C(1) << order;
	return frame;
}

/*
 * Merges clean with dirty neighbours, the smallest first, until there is a dirty frame of that order. Clean ones have
 * merged with each other, and dirty ones, so that only such pairs are left.
 */
static bool merge_mixed(struct hc_arena *arena, struct hc_arena_node *node, unsigned wanted) {
	for (unsigned order = 0; order < wanted; order++) {
		struct hc_frame *next;
		for (struct hc_frame *frame = node->lists[HC_CLEAN][order].first; frame; frame = next) {
			/* Only dirty ones leave their lists below: it stays where it is. */
			next = frame->next;
			struct hc_frame *buddy = buddy_of(arena, frame, order, HC_DIRTY);
			if (!buddy)
				continue;
			unlink_frame(node, frame, HC_CLEAN, order);
			unlink_frame(node, buddy, HC_DIRTY, order);
			hc_buddy_give(arena, node, join(frame, buddy, order), HC_DIRTY);
			node->merges++;
			if (node->not_empty[HC_DIRTY] >> wanted != 0)
				return true;
		}
	}
	return false;
}

/* ---- Allocating ------------------------------------------------------------------ */

static struct hc_frame *take_either(struct hc_arena_node *node, unsigned order, unsigned flags, int *ret_cleanness) {
	int first = flags & HC_ZEROED ? HC_CLEAN : HC_DIRTY;
	struct hc_frame *frame = first == HC_DIRTY ? take_hot(node, order) : NULL;
	if (!frame)
		frame = take(node, first, order);
	*ret_cleanness = frame ? first : !first;
	if (!frame && first == HC_CLEAN)
		frame = take_hot(node, order);
	return frame ? frame : take(node, !first, order);
}

/* NULL: the node has none. */
static struct hc_frame *alloc_on(
        struct hc_arena *arena, struct hc_arena_node *node, unsigned order, unsigned flags, int *ret_cleanness) {
	pthread_mutex_lock(&node->lock);
	struct hc_frame *frame = take_either(node, order, flags, ret_cleanness);
	while (!frame) {
		if (cool(arena, node))
			frame = take_either(node, order, flags, ret_cleanness);
		if (!frame && merge_mixed(arena, node, order))
			frame = take_either(node, order, flags, ret_cleanness);
		if (frame || node->scrubbing == 0)
			break;
		/* What is being cleared may be it, or what it lacks. */
		node->waiting++;
		pthread_cond_wait(&node->scrubbed, &node->lock);
		node->waiting--;
		frame = take_either(node, order, flags, ret_cleanness);
	}
	if (frame) {
		hc_word_set(frame, hc_word_make(HC_WORD_HEAD | HC_WORD_USED, order));
		node->allocations++;
		if (flags & HC_ZEROED && *ret_cleanness == HC_DIRTY)
			node->cleared_bytes += UINT64_C(1) << (order + arena->frame_shift);
	}
	pthread_mutex_unlock(&node->lock);
	return frame;
}

static int fail_to_alloc(struct hc_arena *arena, unsigned order, int node, unsigned flags) {
	int only = flags & HC_STRICT ? node : HC_NODE_HERE;
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	hc_arena_stats(arena, only, &stats);
	int largest = -1;
	for (unsigned i = 0; i < HC_ARENA_ORDERS_MAX; i++)
		if (stats.free_blocks[i] > 0)
			largest = (int)i;
	char where[32] = "";
	if (only >= 0)
		snprintf(where, sizeof(where), " on node %d", only);
	if (largest < 0)
		return hc_fail(ENOMEM, "no frame is free%s: all %s of it are in use", where,
		        hc_size_exact(stats.frames << arena->frame_shift).s);
	return hc_fail(ENOMEM, "a frame of %s wanted%s, the largest free one is %s (%s free)",
	        hc_size_exact(UINT64_C(1) << (order + arena->frame_shift)).s, where,
	        hc_size_exact(UINT64_C(1) << ((unsigned)largest + arena->frame_shift)).s,
	        hc_size_rounded((stats.free_clean + stats.free_dirty) << arena->frame_shift).s);
}

/* The nearest node that hasn't been tried; -1: none. Of equally near ones the lowest. */
static int nearest(const struct hc_arena *arena, int from, const bool *tried) {
	int best = -1, best_distance = 0;
	for (int id = 0; id < HC_ARENA_NODES_MAX; id++) {
		if (tried[id] || !hc_arena_node(arena, id))
			continue;
		int distance = arena->topology ? hc_topology_distance(arena->topology, (unsigned)from, (unsigned)id)
		                               : -1;
		distance = distance < 0 ? INT32_MAX : distance;
		if (best < 0 || distance < best_distance) {
			best = id;
			best_distance = distance;
		}
	}
	return best;
}

/* After the wanted node had none: sections that aren't ready, then the other nodes. */
static struct hc_frame *alloc_elsewhere(
        struct hc_arena *arena, int node, unsigned order, unsigned flags, int *ret_cleanness, int *ret_error) {
	struct hc_frame *frame = NULL;
	struct hc_arena_node *from;
	while ((*ret_error = hc_descriptors_more(arena, true)) > 0) {
		from = hc_arena_node(arena, node);
		frame = from ? alloc_on(arena, from, order, flags, ret_cleanness) : NULL;
		if (frame)
			return frame;
	}
	/* The last ones may have become ready since it was tried. */
	from = hc_arena_node(arena, node);
	frame = from ? alloc_on(arena, from, order, flags, ret_cleanness) : NULL;
	if (frame || flags & HC_STRICT)
		return frame;
	bool tried[HC_ARENA_NODES_MAX] = {false};
	tried[node] = true;
	for (int other; !frame && (other = nearest(arena, node, tried)) >= 0; tried[other] = true)
		frame = alloc_on(arena, hc_arena_node(arena, other), order, flags, ret_cleanness);
	return frame;
}

static int node_here(const struct hc_arena *arena) {
	unsigned cpu, node = 0;
	if (atomic_load_explicit(&arena->nr_nodes, memory_order_relaxed) > 1 && getcpu(&cpu, &node) == 0 &&
	        hc_arena_node(arena, (int)node))
		return (int)node;
	return arena->first_node;
}

static int clear_frame(struct hc_arena *arena, struct hc_frame *frame, unsigned order, unsigned flags) {
	struct hc_clear_opts opts = {
	        .size = sizeof(opts), .intent = flags & HC_LATER ? HC_INTENT_LATER : HC_INTENT_SOON};
	return hc_clear_with(hc_frame_address(arena, frame), (size_t)1 << (order + arena->frame_shift), &opts, NULL);
}

int hc_arena_alloc(struct hc_arena *arena, unsigned order, int node, unsigned flags, struct hc_frame **ret_frame) {
	int r = hc_arena_check_owner(arena), cleanness = HC_DIRTY;
	if (r < 0)
		return r;
	if (order > arena->max_order)
		return hc_fail(EINVAL, "a frame of order %u wanted, the largest of this arena is %u (%s)", order,
		        arena->max_order, hc_size_exact(UINT64_C(1) << (arena->max_order + arena->frame_shift)).s);
	if (flags & ~(HC_ZEROED | HC_LATER | HC_STRICT) || !ret_frame)
		return hc_fail(EINVAL, ret_frame ? "unknown flags 0x%x" : "no place for the frame (flags 0x%x)", flags);
	if (node == HC_NODE_HERE)
		node = node_here(arena);
	struct hc_arena_node *from = hc_arena_node(arena, node);
	if (!from && (node < 0 || node >= HC_ARENA_NODES_MAX || !hc_arena_has_raw(arena)))
		return hc_fail(EINVAL, "the arena has no frames on node %d", node);
	struct hc_frame *frame = from ? alloc_on(arena, from, order, flags, &cleanness) : NULL;
	if (!frame)
		frame = alloc_elsewhere(arena, node, order, flags, &cleanness, &r);
	if (!frame)
		return r < 0 ? r : fail_to_alloc(arena, order, node, flags);
	for (unsigned i = 0; i < HC_FRAME_WORDS; i++)
		frame->words[i] = 0;
	hc_frame_unpoison(arena, frame, order);
	if (flags & HC_ZEROED && cleanness == HC_DIRTY)
		clear_frame(arena, frame, order, flags);
	*ret_frame = frame;
	return 0;
}

/* ---- Freeing ----------------------------------------------------------------------- */

void hc_buddy_let_go(struct hc_arena *arena, struct hc_frame *frame) {
	struct hc_arena_node *node = hc_arena_node(arena, frame->node);
	hc_frame_poison(arena, frame, hc_frame_order(frame));
	pthread_mutex_lock(&node->lock);
	hc_buddy_give(arena, node, frame, HC_DIRTY);
	pthread_mutex_unlock(&node->lock);
}

static int fail_to_free(struct hc_arena *arena, uint64_t index, uint64_t word, unsigned order) {
	if (!(word & HC_WORD_HEAD)) {
		struct hc_frame *head;
		uint64_t of = hc_frame_of(arena, hc_arena_at(arena, index), &head) < 0
		                      ? index
		                      : (uint64_t)(head - arena->frames);
		return hc_fail(EINVAL, "frame %llu is no head: it is part of the frame at %llu",
		        (unsigned long long)index, (unsigned long long)of);
	}
	if (!(word & HC_WORD_USED))
		return hc_fail(EALREADY, "frame %llu is free already", (unsigned long long)index);
	return hc_fail(
	        EINVAL, "frame %llu is of order %u, not %u", (unsigned long long)index, hc_word_order(word), order);
}

int hc_arena_free(struct hc_arena *arena, struct hc_frame *frame, unsigned order) {
	int r = hc_arena_check_owner(arena);
	if (r < 0)
		return r;
	uint64_t index = hc_arena_index(arena, frame);
	if (index == UINT64_MAX)
		return hc_fail(EINVAL, "%p is no frame of this arena that is ready", (const void *)frame);
	uint64_t word = atomic_load_explicit(&frame->word, memory_order_relaxed), to;
	do {
		if ((word & (HC_WORD_HEAD | HC_WORD_USED)) != (HC_WORD_HEAD | HC_WORD_USED) ||
		        hc_word_order(word) != order)
			return fail_to_free(arena, index, word, order);
		/* With pins the last one of them gives it back. */
		to = hc_word_pins(word) > 0 ? (word & ~HC_WORD_USED) | HC_WORD_FREED
		                            : hc_word_make(HC_WORD_HEAD | HC_WORD_BUSY, order);
		/* Release, and acquire at the last unpin: what its users did with it is done when it is handed out again. */
	} while (!atomic_compare_exchange_weak_explicit(
	        &frame->word, &word, to, memory_order_acq_rel, memory_order_relaxed));
	struct hc_arena_node *node = hc_arena_node(arena, frame->node);
	bool pinned = hc_word_pins(word) > 0;
	if (!pinned)
		hc_frame_poison(arena, frame, order);
	pthread_mutex_lock(&node->lock);
	if (!pinned)
		give_hot(arena, node, frame, order);
	node->frees++;
	pthread_mutex_unlock(&node->lock);
	return 0;
}
