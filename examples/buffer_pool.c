/*
 * A small buffer pool: pages of a file, kept in frames of huge memory until they are in nobody's way. Who reads a page pins
 * its frame; what isn't pinned goes in the order of its last use, and the scrubber zeroes what went.
 *
 * usage: example_buffer_pool FILE [PAGES]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/arena.h>
#include <hugeclear/map.h>

#define PAGE 65536 /* of the file: a base frame of the arena */

struct pool {
	struct hc_map *map;
	struct hc_arena *arena;
	int fd;
	struct hc_frame **pages; /* of each page of the file; NULL: it isn't here */
	uint64_t nr_pages, clock, hits, misses;
};

/* What the pool keeps of a frame, in the frame's own words. */
enum { PAGE_NUMBER, LAST_USE };

/* Frees the page that hasn't been used for longest. 0 where all are pinned. */
static int evict(struct pool *pool) {
	struct hc_frame *oldest = NULL;
	for (uint64_t i = 0; i < pool->nr_pages; i++) {
		struct hc_frame *frame = pool->pages[i];
		if (frame && hc_frame_pins(frame) == 0 &&
		        (!oldest || hc_frame_words(frame)[LAST_USE] < hc_frame_words(oldest)[LAST_USE]))
			oldest = frame;
	}
	if (!oldest)
		return 0;
	pool->pages[hc_frame_words(oldest)[PAGE_NUMBER]] = NULL;
	return hc_arena_free(pool->arena, oldest, 0) == 0;
}

/* The page, pinned until hc_frame_put(); NULL: no frame, or it can't be read. */
static struct hc_frame *read_page(struct pool *pool, uint64_t number) {
	struct hc_frame *frame = pool->pages[number];
	if (!frame) {
		/* Zeroed: the last page of a file isn't whole. */
		while (hc_arena_alloc(pool->arena, 0, HC_NODE_HERE, HC_ZEROED, &frame) < 0)
			if (!evict(pool))
				return NULL;
		if (pread(pool->fd, hc_frame_address(pool->arena, frame), PAGE, (off_t)(number * PAGE)) < 0) {
			hc_arena_free(pool->arena, frame, 0);
			return NULL;
		}
		hc_frame_words(frame)[PAGE_NUMBER] = number;
		pool->pages[number] = frame;
		pool->misses++;
	} else {
		pool->hits++;
	}
	hc_frame_words(frame)[LAST_USE] = ++pool->clock;
	return hc_frame_get(pool->arena, frame) == 0 ? frame : NULL;
}

static int open_pool(struct pool *pool, const char *path, uint64_t frames) {
	pool->fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = pool->fd < 0 ? -1 : lseek(pool->fd, 0, SEEK_END);
	if (size < 0) {
		perror(path);
		return -1;
	}
	pool->nr_pages = ((uint64_t)size + PAGE - 1) / PAGE;
	pool->pages = calloc(pool->nr_pages + 1, sizeof(struct hc_frame *));
	struct hc_map_opts map_opts = {
	        .size = sizeof(map_opts), .backing = HC_BACKING_PREFER, .flags = HC_MAP_POPULATE};
	int r = pool->pages ? hc_map_open(frames * PAGE, &map_opts, &pool->map) : -1;
	struct hc_arena_opts opts = {
	        .size = sizeof(opts), .map = pool->map, .frame_size = PAGE, .largest = PAGE, .flags = HC_ARENA_CLEAN};
	if (r == 0)
		r = hc_arena_open(&opts, &pool->arena);
	return r == 0 ? hc_arena_scrubber_start(pool->arena, NULL) : r;
}

static void close_pool(struct pool *pool) {
	hc_arena_close(pool->arena);
	hc_map_close(pool->map);
	free(pool->pages);
	if (pool->fd >= 0)
		close(pool->fd);
}

/* Every page in turn, and every third of them once more: the sum of all bytes. */
static int sum_of(struct pool *pool, uint64_t *ret_sum) {
	for (uint64_t i = 0; i < pool->nr_pages * 4 / 3; i++) {
		uint64_t number = i < pool->nr_pages ? i : (i - pool->nr_pages) * 3;
		struct hc_frame *frame = read_page(pool, number);
		if (!frame)
			return -1;
		const unsigned char *bytes = hc_frame_address(pool->arena, frame);
		for (size_t k = 0; k < PAGE && i < pool->nr_pages; k++)
			*ret_sum += bytes[k];
		hc_frame_put(pool->arena, frame);
	}
	return 0;
}

int main(int argc, char **argv) {
	if (argc < 2) {
		fputs("usage: example_buffer_pool FILE [PAGES]\n", stderr);
		return 64;
	}
	struct pool pool = {.fd = -1};
	uint64_t sum = 0;
	int r = open_pool(&pool, argv[1], argc > 2 ? strtoull(argv[2], NULL, 10) : 64);
	if (r == 0)
		r = sum_of(&pool, &sum);
	if (r == 0)
		printf("sum %" PRIu64 " of %" PRIu64 " pages: %" PRIu64 " read, %" PRIu64 " found\n", sum,
		        pool.nr_pages, pool.misses, pool.hits);
	else
		fprintf(stderr, "%s\n", hc_error_detail());
	close_pool(&pool);
	return r == 0 ? 0 : 1;
}
