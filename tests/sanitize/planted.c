/*
 * Misuses of memory through the library, one a name, for the sanitizers to
 * report; and right uses, for them to be silent about.
 * usage: planted NAME
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>

#define MIB ((size_t)1 << 20)

static char *make(size_t len) {
	char *p = malloc(len);
	if (!p)
		abort();
	return p;
}

/* The compiler mustn't see that the memory is free or too short: it would say so itself. */
static char *volatile hidden;

static void clear(char *p, size_t len) {
	if (hc_clear(p, len) != 0)
		abort();
}

static void right(void) {
	char *p = make(8 * MIB);
	clear(p, 8 * MIB);
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2, .intent = HC_INTENT_LATER};
	if (hc_clear_with(p + 1, 8 * MIB - 1, &opts, NULL) != 0)
		abort();
	/* The threads are done: what they wrote belongs to this one now. */
	p[12345] = 1;
	if (hc_is_clear(p, 8 * MIB) != 0 || p[4 * MIB] != 0)
		abort();
	free(p);
}

static struct hc_frame *make_frame(char *memory, struct hc_arena **ret_arena) {
	struct hc_arena_opts opts = {
	        .size = sizeof(opts), .memory = memory, .length = MIB, .frame_size = 4096, .init = HC_ARENA_SERIAL};
	struct hc_frame *frame;
	if (hc_arena_open(&opts, ret_arena) < 0 || hc_arena_alloc(*ret_arena, 2, HC_NODE_HERE, HC_ZEROED, &frame) < 0)
		abort();
	return frame;
}

/* Handed out, given back, handed out again, and the caller's in the end. */
static void right_frame(void) {
	struct hc_arena *arena;
	char *memory = aligned_alloc(4096, MIB);
	struct hc_frame *frame = make_frame(memory, &arena);
	for (int i = 0; i < 2; i++) {
		memset(hc_frame_address(arena, frame), 1, 16384);
		if (hc_arena_free(arena, frame, 2) < 0 || hc_arena_scrub(arena, MIB, NULL) < 0 ||
		        hc_arena_alloc(arena, 2, HC_NODE_HERE, HC_ZEROED, &frame) < 0)
			abort();
	}
	hc_arena_free(arena, frame, 2);
	hc_arena_close(arena);
	memset(memory, 1, MIB);
	free(memory);
}

static void freed_frame(void) {
	struct hc_arena *arena;
	hidden = aligned_alloc(4096, MIB);
	struct hc_frame *frame = make_frame(hidden, &arena);
	char *volatile p = hc_frame_address(arena, frame);
	hc_arena_free(arena, frame, 2);
	p[100] = 1;
}

static void freed(void) {
	hidden = make(1000);
	free(hidden);
	clear(hidden, 1000);
}

static void freed_large(void) {
	hidden = make(8 * MIB);
	free(hidden);
	clear(hidden, 8 * MIB);
}

static void one_byte_more(void) {
	hidden = make(1000);
	clear(hidden, 1001);
}

static void one_byte_before(void) {
	hidden = make(1000);
	clear(hidden - 1, 1001);
}

static void freed_streaming(void) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2, .intent = HC_INTENT_LATER, .chunk = MIB};
	hidden = make(8 * MIB);
	free(hidden);
	hc_clear_with(hidden, 8 * MIB, &opts, NULL);
}

static void freed_around(void) {
	hidden = make(MIB);
	free(hidden);
	hc_clear_around(hidden, MIB, hidden + 5, NULL, NULL);
}

static void freed_is_clear(void) {
	hidden = make(1000);
	free(hidden);
	hc_is_clear(hidden, 1000);
}

static void *write_middle(void *arg) {
	((char *)arg)[4 * MIB] = 1;
	return NULL;
}

static void *read_middle(void *arg) {
	return ((volatile char *)arg)[4 * MIB] == 2 ? arg : NULL;
}

static void race(void *(*other)(void *arg), void (*mine)(char *p)) {
	char *p = make(8 * MIB);
	memset(p, 1, 8 * MIB);
	pthread_t thread;
	if (pthread_create(&thread, NULL, other, p) != 0)
		abort();
	mine(p);
	pthread_join(thread, NULL);
	free(p);
}

static void clear_all(char *p) {
	clear(p, 8 * MIB);
}

static void clear_by_two(char *p) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2};
	hc_clear_with(p, 8 * MIB, &opts, NULL);
}

static void look_at_all(char *p) {
	hc_is_clear(p, 8 * MIB);
}

static void race_with_write(void) {
	race(write_middle, clear_all);
}

static void race_with_read(void) {
	race(read_middle, clear_all);
}

static void race_of_two(void) {
	race(write_middle, clear_by_two);
}

static void race_of_look(void) {
	race(write_middle, look_at_all);
}

/* What malloc() returns isn't initialised; what was cleared is. */
static void used_after_clear(void) {
	char *p = make(1000);
	clear(p, 1000);
	if (((volatile char *)p)[500] != 0)
		puts("not clear");
	free(p);
}

static void used_behind_clear(void) {
	char *p = make(1000);
	clear(p, 500);
	if (((volatile char *)p)[500] != 0)
		puts("not clear");
	free(p);
}

static const struct {
	const char *name;
	void (*fn)(void);
} plants[] = {
        {"right", right},
        {"right-frame", right_frame},
        {"freed-frame", freed_frame},
        {"freed", freed},
        {"freed-large", freed_large},
        {"one-byte-more", one_byte_more},
        {"one-byte-before", one_byte_before},
        {"freed-streaming", freed_streaming},
        {"freed-around", freed_around},
        {"freed-is-clear", freed_is_clear},
        {"race-with-write", race_with_write},
        {"race-with-read", race_with_read},
        {"race-of-two", race_of_two},
        {"race-of-look", race_of_look},
        {"used-after-clear", used_after_clear},
        {"used-behind-clear", used_behind_clear},
};

int main(int argc, char **argv) {
	for (unsigned i = 0; argc == 2 && i < sizeof(plants) / sizeof(plants[0]); i++)
		if (strcmp(argv[1], plants[i].name) == 0) {
			plants[i].fn();
			return 0;
		}
	fprintf(stderr, "usage: planted NAME\n");
	return 64;
}
