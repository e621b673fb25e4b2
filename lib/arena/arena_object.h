/*
 * The arena object. One file a part: arena (opening and closing), descriptors (sections, ready or not), fill (the one
 * pass), buddy (free lists, allocating and freeing), frames (pins, addresses), scrub, walk (looking, statistics), check.
 *
 * A frame has an index, from 0. What it is aligned to is its index plus the arena's skew, which is where
 * the arena begins within a frame of the largest size: so frames are aligned in the address space.
 *
 * Locks: a node's lock guards its lists, its counters, and which of its descriptors are heads. The arena's sections lock
 * guards what becomes ready, and comes before nodes' locks, which come in the order of their numbers where more than one is
 * taken. No lock is held while memory is cleared or descriptors are filled.
 */
#ifndef HC_ARENA_ARENA_OBJECT_H
#define HC_ARENA_ARENA_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include <hugeclear/arena.h>

#include "base/arith.h"

#define HC_ARENA_LINE 64
/* A section has at least so many frames: 2 MiB of descriptors. */
#define HC_ARENA_SECTION_MIN 32768
/* The kernel's MAX_NUMNODES is 1024 at most. */
#define HC_ARENA_NODES_MAX 1024

/* ---- Descriptors --------------------------------------------------------- */

/*
 * The word of a descriptor: what can change without the node's lock, and what has to change together with that. A
 * descriptor that isn't a head has the word 0, and nothing in it but the node counts.
 *
 *   HEAD   of a frame of 2^order base frames, free or not
 *   USED   allocated, and not freed by its owner
 *   FREED  by its owner, while it was pinned
 *   CLEAN  free, and all zero
 *   BUSY   free, but on no list: it is being cleared, or on its way to a list
 *   HOT    free and dirty, but on no list: its node keeps it for who wants this order next
 *   order  bits 8..13
 *   pins   bits 32..63, on top, so that an unpin too many doesn't reach the others. A frame with pins is on no list.
 *
 * Free on a list: HEAD alone, or with CLEAN. Pins of programs that pin what isn't theirs come and go on any
 * word, until that is seen and taken back: so words are only changed by atomic read-modify-write, never by storing,
 * once they are initialised.
 */
#define HC_WORD_HEAD UINT64_C(1)
#define HC_WORD_USED UINT64_C(2)
#define HC_WORD_FREED UINT64_C(4)
#define HC_WORD_CLEAN UINT64_C(8)
#define HC_WORD_BUSY UINT64_C(16)
#define HC_WORD_HOT UINT64_C(32)
#define HC_WORD_STATE UINT64_C(63)
#define HC_WORD_ORDER_SHIFT 8
#define HC_WORD_ORDER (UINT64_C(63) << HC_WORD_ORDER_SHIFT)
#define HC_WORD_PIN_SHIFT 32
#define HC_WORD_PIN (UINT64_C(1) << HC_WORD_PIN_SHIFT)
#define HC_WORD_PINS_MAX UINT32_C(0x7fffffff)

struct hc_frame {
	_Atomic uint64_t word;
	struct hc_frame *next, *prev; /* on the list of its node, order and cleanness */
	uint64_t words[HC_FRAME_WORDS];
	int32_t node;
	uint32_t unused;
};
_Static_assert(sizeof(struct hc_frame) == HC_ARENA_LINE, "a descriptor is a cache line");

static inline unsigned hc_word_order(uint64_t word) {
	return (unsigned)((word & HC_WORD_ORDER) >> HC_WORD_ORDER_SHIFT);
}

/* State bits and order in one. */
static inline uint64_t hc_word_make(uint64_t state, unsigned order) {
	return state | (uint64_t)order << HC_WORD_ORDER_SHIFT;
}

static inline uint32_t hc_word_pins(uint64_t word) {
	return (uint32_t)(word >> HC_WORD_PIN_SHIFT);
}

/* ---- Nodes ----------------------------------------------------------------- */

enum { HC_DIRTY, HC_CLEAN, HC_CLEANNESSES };

/*
 * Frames of one order that were freed last, and aren't merged with their neighbours yet: whoever frees and allocates one order
 * in turn would merge and split all the way up and down each time. They are merged when a frame can't be had otherwise.
 */
#define HC_HOT_MAX 8

struct hc_hot {
	struct hc_frame *frames[HC_HOT_MAX];
	unsigned nr;
};

struct hc_frame_list {
	struct hc_frame *first, *last;
	uint64_t nr; /* of frames, whatever their order is */
};

struct hc_arena_node {
	pthread_mutex_t lock;
	pthread_cond_t scrubbed; /* something that was being cleared is back on a list */
	int id;
	struct hc_frame_list lists[HC_CLEANNESSES][HC_ARENA_ORDERS_MAX];
	uint32_t not_empty[HC_CLEANNESSES]; /* a bit an order */
	uint64_t frames;                    /* base frames whose descriptors are ready */
	uint64_t free[HC_CLEANNESSES];      /* base frames on the lists */
	struct hc_hot hot[HC_ARENA_ORDERS_MAX];
	uint64_t hot_frames; /* base frames that are hot */
	uint64_t scrubbing;  /* base frames on none, as they are being cleared */
	unsigned waiting;    /* callers that wait for those: no more are taken meanwhile */
	uint64_t allocations, frees, merges, scrubbed_bytes, cleared_bytes;
};

/* ---- The arena --------------------------------------------------------------- */

enum { HC_SECTION_RAW, HC_SECTION_BUSY, HC_SECTION_READY };

struct hc_scrubber;
struct hc_topology;

struct hc_arena {
	char *alive; /* a page that children of fork() find zeroed: its first byte is 1 where the arena is at home */
	pid_t pid;   /* 0 where that page is wiped; else of the process that opened it */
	struct hc_map *map; /* held; NULL: the caller's memory */
	char *memory;
	uint64_t nr_frames;
	unsigned frame_shift, max_order;
	uint64_t skew; /* of index 0, in frames: below 2^max_order */
	uint64_t page_size;
	unsigned flags;
	hc_arena_node_fn node_of;
	void *user;

	struct hc_frame *frames; /* a descriptor each */
	void *mapped;            /* what was mapped for them; NULL: the caller's memory */
	size_t mapped_length;

	unsigned section_shift; /* frames of a section, but of the first and the last, which may be cut */
	uint64_t nr_sections;
	/* HC_SECTION_...; written with release when it is READY, so that who reads that with acquire sees its descriptors. */
	_Atomic unsigned char *sections;
	_Atomic uint64_t next_section; /* none below it is raw; relaxed: a hint */
	pthread_mutex_t sections_lock;
	pthread_cond_t section_ready;
	_Atomic uint64_t nr_ready; /* sections; written under the lock, read without where it is a hint (relaxed) */
	pthread_t *background;     /* threads that initialise */
	unsigned nr_background;
	_Atomic bool closing; /* relaxed: joining them orders the rest */
	int failed;           /* 0 or a negative errno why a section can't be made ready; under the lock */

	/* By number; written once, under the sections lock (release), and never taken away. */
	_Atomic(struct hc_arena_node *) nodes[HC_ARENA_NODES_MAX];
	_Atomic int nr_nodes;         /* how many there are; relaxed: a hint */
	int first_node;               /* that was found: for who asks for none */
	struct hc_topology *topology; /* for distances; NULL: not known */

	/* What was ever free again, for the sanitizers; relaxed: who closes is alone. In frames. */
	_Atomic uint64_t poisoned_begin, poisoned_end;

	pthread_mutex_t scrubber_lock; /* guards scrubber */
	struct hc_scrubber *scrubber;
};

/* -EINVAL for NULL, -ECHILD in a forked child. */
int hc_arena_check_owner(const struct hc_arena *arena);

static inline char *hc_arena_at(const struct hc_arena *arena, uint64_t index) {
	return arena->memory + (index << arena->frame_shift);
}

static inline uint64_t hc_arena_section_of(const struct hc_arena *arena, uint64_t index) {
	return (index + arena->skew) >> arena->section_shift;
}

static inline uint64_t hc_arena_section_begin(const struct hc_arena *arena, uint64_t section) {
	return hc_minus(section << arena->section_shift, arena->skew);
}

static inline uint64_t hc_arena_section_end(const struct hc_arena *arena, uint64_t section) {
	return hc_min(((section + 1) << arena->section_shift) - arena->skew, arena->nr_frames);
}

static inline bool hc_arena_is_ready(const struct hc_arena *arena, uint64_t section) {
	return atomic_load_explicit(&arena->sections[section], memory_order_acquire) == HC_SECTION_READY;
}

static inline struct hc_arena_node *hc_arena_node(const struct hc_arena *arena, int id) {
	return id < 0 || id >= HC_ARENA_NODES_MAX ? NULL
	                                          : atomic_load_explicit(&arena->nodes[id], memory_order_acquire);
}

/* The descriptor's index; UINT64_MAX for a pointer that is none of the arena's. */
uint64_t hc_arena_index(const struct hc_arena *arena, const struct hc_frame *frame);

/* ---- Sections (descriptors.c) ------------------------------------------------- */

/* Memory for descriptors of its own. -ENOMEM */
int hc_descriptors_map(struct hc_arena *arena);

/* All sections, as init says; threads: 0 the default. */
int hc_descriptors_init(struct hc_arena *arena, const struct hc_arena_opts *opts);

/*
 * Makes a raw section ready in the calling thread: 1; 0 where none is raw; a negative errno. With wait, where others are at
 * the last ones, waits for one of them, and returns 1.
 */
int hc_descriptors_more(struct hc_arena *arena, bool wait);

/* Whether some sections aren't ready. */
bool hc_arena_has_raw(const struct hc_arena *arena);

/* Joins the threads that initialise. */
void hc_descriptors_end(struct hc_arena *arena);

/* ---- Free lists (buddy.c) -------------------------------------------------------- */

int hc_node_new(int id, struct hc_arena_node **ret_node);
struct hc_arena_node *hc_node_free(struct hc_arena_node *node);

/* The frames [begin, end) of a node, whose descriptors have just been written: free, for the first time. */
void hc_buddy_add(struct hc_arena *arena, struct hc_arena_node *node, uint64_t begin, uint64_t end);

/*
 * A frame that is on no list and nobody's (BUSY, or FREED at its last pin) becomes free, and is merged with its neighbours.
 * pre: the node's lock is held
 */
void hc_buddy_give(struct hc_arena *arena, struct hc_arena_node *node, struct hc_frame *frame, int cleanness);

/*
 * Takes the largest dirty frame, at most of max_order, for clearing: it is BUSY and counted as scrubbing. NULL: none.
 * pre: the node's lock is held
 */
struct hc_frame *hc_buddy_take_dirty(struct hc_arena *arena, struct hc_arena_node *node, unsigned max_order);

/* FREED, and not pinned any more: becomes free. Takes the node's lock. */
void hc_buddy_let_go(struct hc_arena *arena, struct hc_frame *frame);

/* Changes state and order of a word, and leaves its pins. pre: the node's lock is held, or it is the caller's frame */
void hc_word_set(struct hc_frame *frame, uint64_t to);

/* For the sanitizers: nobody may touch a free frame. */
void hc_frame_poison(struct hc_arena *arena, const struct hc_frame *frame, unsigned order);
void hc_frame_unpoison(const struct hc_arena *arena, const struct hc_frame *frame, unsigned order);

#endif
