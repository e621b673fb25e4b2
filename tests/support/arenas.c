#include "support/arenas.h"

#include <sys/mman.h>

char *address_space(size_t frames, size_t skew) {
	size_t align = (size_t)1 << 30, len = frames * FRAME;
	char *p = mmap(NULL, len + 2 * align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(p != MAP_FAILED);
	char *at = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1)) + skew * FRAME;
	if (at > p)
		munmap(p, (size_t)(at - p));
	munmap(at + len, 2 * align - (size_t)(at - p));
	return at;
}

char *arena_memory(size_t frames) {
	char *p = address_space(frames, 0);
	assert_int_equal(mprotect(p, frames * FRAME, PROT_READ | PROT_WRITE), 0);
	return p;
}

struct hc_arena *opened(struct hc_arena_opts opts) {
	struct hc_arena *arena = NULL;
	opts.size = sizeof(opts);
	opts.frame_size = opts.frame_size ? opts.frame_size : FRAME;
	assert_ok(hc_arena_open(&opts, &arena));
	assert_ok(hc_arena_check(arena));
	return arena;
}

void refused(struct hc_arena_opts opts, int err, const char *detail) {
	struct hc_arena *arena = NULL;
	opts.size = sizeof(opts);
	assert_error(hc_arena_open(&opts, &arena), err);
	assert_null(arena);
	assert_detail_has(detail);
}

struct hc_frame *alloced(struct hc_arena *arena, unsigned order, int node, unsigned flags) {
	struct hc_frame *frame = NULL;
	assert_ok(hc_arena_alloc(arena, order, node, flags, &frame));
	return frame;
}

struct hc_arena_stats stats_of(struct hc_arena *arena, int node) {
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	assert_ok(hc_arena_stats(arena, node, &stats));
	return stats;
}

void close_arena(struct hc_arena *arena) {
	assert_ok(hc_arena_check(arena));
	assert_null(hc_arena_close(arena));
}

int see(void *user, const struct hc_frame_view *view) {
	struct seen *seen = user;
	assert_ptr_equal(view->address, seen->next);
	seen->next += view->length;
	seen->frames += view->length / FRAME;
	seen->by_state[view->state] += view->length / FRAME;
	if (view->state == HC_FRAME_NOT_READY)
		seen->not_ready++;
	else
		seen->heads++;
	return 0;
}

struct seen walked(struct hc_arena *arena, char *from) {
	struct seen seen = {.next = from};
	assert_ok(hc_arena_walk(arena, see, &seen));
	return seen;
}
