/*
 * An arena of address space alone, looked at: what is ready when, which frame an address is in, what is free.
 *
 * usage: example_look_at_arena [SIZE]
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include <hugeclear/arena.h>

static int show(void *user, const struct hc_frame_view *view) {
	static const char *const states[] = {"used", "clean", "dirty", "pinned", "being cleared", "not ready"};
	unsigned *left = user;
	if (*left == 0)
		return 1;
	printf("  %p: %" PRIu64 " KiB, %s, node %d\n", view->address, view->length >> 10, states[view->state],
	        view->node);
	return --*left == 0;
}

static int look_around(struct hc_arena *arena, void *memory) {
	struct hc_frame *frame = NULL, *head = NULL;
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	unsigned lines = 8;
	int r = hc_arena_alloc(arena, 3, HC_NODE_HERE, 0, &frame);
	if (r == 0)
		r = hc_frame_of(arena, (char *)hc_frame_address(arena, frame) + 12345, &head);
	if (r < 0)
		return r;
	printf("order %u on node %d; the first section is%s ready\n", hc_frame_order(head), hc_frame_node(head),
	        hc_arena_ready(arena, memory) == 1 ? "" : "n't");
	r = hc_arena_stats(arena, HC_NODE_HERE, &stats);
	if (r == 0)
		printf("%" PRIu64 " of %" PRIu64 " frames are ready, %" PRIu64 " of them free\n", stats.ready,
		        stats.frames, stats.free_clean + stats.free_dirty);
	r = hc_arena_walk(arena, show, &lines);
	if (r >= 0)
		r = hc_arena_free(arena, frame, 3);
	if (r == 0)
		r = hc_arena_wait(arena);
	/* Nobody can touch this memory, so nothing of it is scrubbed but in name: a budget of 0. */
	if (r == 0)
		r = hc_arena_scrub(arena, 0, NULL);
	if (r == 0)
		r = hc_arena_scrubber_stop(arena);
	return r == 0 ? hc_arena_check(arena) : r;
}

int main(int argc, char **argv) {
	uint64_t size;
	if (hc_size_parse(argc > 1 ? argv[1] : "1G", &size) < 0) {
		fprintf(stderr, "%s\n", hc_error_detail());
		return 64;
	}
	void *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct hc_arena_opts opts = {.size = sizeof(opts),
	        .memory = memory,
	        .length = size,
	        .init = HC_ARENA_DEFERRED,
	        .flags = HC_ARENA_AT_USE};
	struct hc_arena *arena = NULL;
	printf("%zu bytes of descriptors\n", hc_arena_descriptors_size(size, 0));
	int r = memory == MAP_FAILED ? -1 : hc_arena_open(&opts, &arena);
	if (r == 0)
		r = look_around(arena, memory);
	if (r < 0)
		fprintf(stderr, "%s\n", hc_error_detail());
	hc_arena_close(arena);
	return r < 0 ? 1 : 0;
}
