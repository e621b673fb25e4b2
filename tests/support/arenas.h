/* What the tests of arenas share: memory to make them of, and looking at them. */
#ifndef HC_TEST_ARENAS_H
#define HC_TEST_ARENAS_H

#include "support/support.h"

#include <hugeclear/arena.h>

#define FRAME ((size_t)4096)
#define MIB ((size_t)1 << 20)

/* Address space that begins so many frames after a multiple of 1 GiB; nobody touches it. Unmapped by the caller. */
char *address_space(size_t frames, size_t skew);

/* The same that may be touched, from a multiple of 1 GiB on. */
char *arena_memory(size_t frames);

/* An arena of frames of FRAME where opts don't say, checked. */
struct hc_arena *opened(struct hc_arena_opts opts);

/* Fails where opts don't fail with err and that detail. */
void refused(struct hc_arena_opts opts, int err, const char *detail);

struct hc_frame *alloced(struct hc_arena *arena, unsigned order, int node, unsigned flags);
struct hc_arena_stats stats_of(struct hc_arena *arena, int node);

/* Checks it first. */
void close_arena(struct hc_arena *arena);

/* What a walk saw. */
struct seen {
	uint64_t frames, heads, not_ready;
	char *next;
	uint64_t by_state[6];
};

/* hc_arena_walk_fn; user is a struct seen */
int see(void *user, const struct hc_frame_view *view);
struct seen walked(struct hc_arena *arena, char *from);

#endif
