/*
 * An arena: memory cut into frames, with a descriptor of 64 bytes a frame.
 *
 * What a buffer pool, a page cache, a virtual machine monitor or a KV cache builds on huge
 * memory. Descriptors are initialised in one pass, in parallel or behind the program's back; frames
 * of 2^order base frames are allocated by a buddy allocator for each node; a compound frame keeps its state in
 * the descriptor of its head alone, so that allocating, pinning and freeing 1 GiB costs what 4 KiB costs; freed
 * frames are dirty until a scrubber, or who needs them zeroed, has cleared them.
 *
 * Link with -lhugeclear; see hc_arena(3).
 */
#ifndef HUGECLEAR_ARENA_H
#define HUGECLEAR_ARENA_H

#include <hugeclear/hugeclear.h>

#ifdef __cplusplus
extern "C" {
#ifdef __GNUC__
/* For structs and functions of one name, see <hugeclear/hugeclear.h>. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#endif

struct hc_map;

/* All functions but hc_arena_close() may be called from any thread at once. */
struct hc_arena;

/* A descriptor: one cache line. Belongs to the arena, and to whoever has allocated the frame. */
struct hc_frame;

/* How descriptors are initialised. Each is written whole, whatever was in its memory. */
enum hc_arena_init {
	/* In one pass, one streaming store a descriptor where the processor has one, by opts.threads. */
	HC_ARENA_PARALLEL = 0,
	/* The same by the calling thread. */
	HC_ARENA_SERIAL = 1,
	/*
	 * At first use, a section at a time, and meanwhile by threads behind the program's back: hc_arena_open() returns
	 * when the first section is ready. hc_arena_wait() waits for all.
	 */
	HC_ARENA_DEFERRED = 2,
	/*
	 * For measuring, what kernels did: the calling thread clears all descriptors with string stores,
	 * then opts.threads go over them once more and fill in each.
	 */
	HC_ARENA_MEMSET_THEN_INIT = 3,
};

/* The memory is zero now: the caller has just mapped it, or cleared it. Without: it is dirty. */
#define HC_ARENA_CLEAN (1u << 0)
/* HC_ARENA_DEFERRED without threads behind the program's back: at first use, and the rest by hc_arena_wait(). */
#define HC_ARENA_AT_USE (1u << 1)

/*
 * The node of the len bytes at address, a section or its part; below 0: not known, which counts as node 0. Called
 * once a section, perhaps from several threads at once.
 */
typedef int (*hc_arena_node_fn)(void *user, const void *address, size_t len);

struct hc_arena_opts {
	size_t size;
	/* The memory: a map, of which the arena holds on to (hc_map_reset(), _discard() and _close() are -EBUSY), or */
	struct hc_map *map;
	/* the caller's, which has to stay mapped. Address space that nobody can touch (PROT_NONE) will do. */
	void *memory;
	size_t length; /* bytes; a part of a frame at the end is left out */
	/* Bytes of a base frame, a power of two of at least 64; 0: the base page. memory is aligned to it. */
	size_t frame_size;
	/*
	 * Bytes of the largest frame, frame_size times a power of two; 0: the page size of the map, of the caller's memory
	 * 1 GiB, or less where the arena is smaller. Frames are aligned to their size.
	 */
	size_t largest;
	unsigned flags; /* HC_ARENA_... */
	enum hc_arena_init init;
	/*
	 * That initialise, spread over the nodes' CPUs; 0: for HC_ARENA_PARALLEL as many as the affinity and the cgroup's
	 * quota allow, for HC_ARENA_DEFERRED one.
	 */
	unsigned threads;
	/*
	 * Memory for the descriptors, aligned to 64 bytes, hc_arena_descriptors_size() of it; it may hold anything, and stays
	 * the caller's. NULL: the arena maps it, without taking it before it is initialised.
	 */
	void *descriptors;
	hc_arena_node_fn node_of; /* NULL: the kernel is asked where the first page of a section is */
	hc_stop_fn stop;          /* asked by hc_arena_open() between sections */
	hc_progress_fn progress;  /* in sections */
	void *user;               /* passed to these three */
};

/* Bytes of descriptors for length bytes in frames of frame_size (0: the base page). */
HC_API size_t hc_arena_descriptors_size(size_t length, size_t frame_size);

/*
 * Cuts memory into frames and initialises their descriptors. The memory itself isn't touched.
 *
 * Sections, of as many frames as the largest frame has and at least 32768, are what is initialised, and
 * what is ready or isn't. All descriptors together have to fit into the machine's available memory; what a memory cgroup leaves
 * isn't asked, as it could reclaim more.
 *
 * Returns 0 and an arena for hc_arena_close(); on an error nothing is left:
 *   -EINVAL for settings that make no sense, memory that isn't aligned or is less than a frame;
 *   -ENOMEM where the descriptors don't fit into memory (the detail says how many frames would);
 *   -ECANCELED after stop; -E2BIG as for all options; -ECHILD for a map that is a parent's.
 *
 * After a fork() every call of the child on the object, and on frames, is -ECHILD, but the accessors, which read only;
 * hc_arena_close() does nothing there.
 */
HC_API int hc_arena_open(const struct hc_arena_opts *opts, struct hc_arena **ret_arena);

/*
 * Ends the scrubber and what still initialises, frees the descriptors and lets go of the map; frames that are allocated
 * are the caller's memory as before. Takes and returns NULL. Where a frame is pinned, as a device may still write to it, it
 * does nothing and returns arena, and the detail says how many. Nobody else may be using the arena.
 */
HC_API struct hc_arena *hc_arena_close(struct hc_arena *arena);

/*
 * Waits until all sections are ready, and initialises those that nobody has begun. 0; -ENOMEM where memory for
 * descriptors ran out; -ECHILD.
 */
HC_API int hc_arena_wait(struct hc_arena *arena);

/* 1 where the section of this address is ready, 0 where it isn't yet, -EINVAL outside the arena. One load. */
HC_API int hc_arena_ready(const struct hc_arena *arena, const void *address);

/* ---- Frames -------------------------------------------------------------- */

/* All bytes are zero: clean frames first; where there are none, dirty ones are cleared before the call returns. */
#define HC_ZEROED (1u << 0)
/* Who asked doesn't touch it soon: what has to be cleared is cleared past the cache. */
#define HC_LATER (1u << 1)
/* From this node or not at all. */
#define HC_STRICT (1u << 2)

/* The node of the CPU that the caller runs on. */
#define HC_NODE_HERE (-1)

/*
 * Allocates a frame of 2^order base frames, aligned to its size, from this node, or where that has
 * none and without HC_STRICT from the others, the nearest first. Zeroed frames come from clean ones; others from dirty
 * ones first, and what is in them is anybody's. Clean and dirty neighbours are merged (and are dirty then) only where
 * there is no other way to that order.
 *
 * Returns 0; -ENOMEM where there is no such frame (the detail says what is free, and the largest); -EINVAL for an order
 * above the largest, an unknown flag or a node without frames; -ECHILD. Costs no system call and no search.
 */
HC_API int hc_arena_alloc(
        struct hc_arena *arena, unsigned order, int node, unsigned flags, struct hc_frame **ret_frame);

/*
 * Gives a frame back, by its owner, with the order it was allocated with. It is dirty then. Where it is pinned it
 * stays as it is, and becomes free at the last hc_frame_put().
 *
 * Returns 0; -EINVAL for what isn't the head of a frame of this arena, or of another order; -EALREADY where it is free
 * already; -ECHILD. Nothing is changed on an error.
 */
HC_API int hc_arena_free(struct hc_arena *arena, struct hc_frame *frame, unsigned order);

/*
 * Pins a frame, and lets go of it: while it is pinned it isn't handed out again, also when its owner has freed it. One
 * atomic operation, however large the frame is.
 *
 * Return 0; -EINVAL for what isn't the head of a frame; -ENOENT where it is free, or not pinned (put);
 * -EOVERFLOW at 2^31 pins; -ECHILD. Nothing is changed on an error.
 */
HC_API int hc_frame_get(struct hc_arena *arena, struct hc_frame *frame);
HC_API int hc_frame_put(struct hc_arena *arena, struct hc_frame *frame);

/*
 * The head of the frame that this address is in, whether it is allocated or free. Looks at one descriptor an order at most.
 * 0; -EINVAL outside the arena; -EAGAIN where the section isn't ready.
 */
HC_API int hc_frame_of(struct hc_arena *arena, const void *address, struct hc_frame **ret_frame);

/* Of a head, by its owner. Of anything else: undefined. */
HC_API void *hc_frame_address(const struct hc_arena *arena, const struct hc_frame *frame);
HC_API unsigned hc_frame_order(const struct hc_frame *frame);
HC_API int hc_frame_node(const struct hc_frame *frame);
HC_API unsigned hc_frame_pins(const struct hc_frame *frame);

/* HC_FRAME_WORDS words for the owner of a frame, kept from allocating to freeing, and not cleared in between. */
#define HC_FRAME_WORDS 4
HC_API uint64_t *hc_frame_words(struct hc_frame *frame);

/* ---- Scrubbing ----------------------------------------------------------- */

/*
 * Clears dirty free frames in the calling thread, the largest first, until budget bytes are cleared or none is left.
 * *done (may be NULL): bytes. Returns 0; -ECHILD.
 */
HC_API int hc_arena_scrub(struct hc_arena *arena, uint64_t budget, uint64_t *done);

struct hc_scrubber_opts {
	size_t size;
	uint64_t rate;           /* bytes a second at most, over the time that there is something to do; 0: no limit */
	size_t step;             /* bytes cleared at once and withheld meanwhile; 0: 8 MiB; at least a frame */
	const char *cpus;        /* a CPU list to run on, or NULL */
	hc_stop_fn stop;         /* asked before each step by the scrubber's thread: ends it */
	hc_progress_fn progress; /* told after each step: bytes cleared since it started, and with those still dirty */
	void *user;
};

/*
 * Starts the thread that clears dirty frames as they come, at ordinary priority. opts may be NULL. 0; -EALREADY where there is
 * one; -EINVAL; -EAGAIN, -ENOMEM where no thread can be started; -ECHILD.
 */
HC_API int hc_arena_scrubber_start(struct hc_arena *arena, const struct hc_scrubber_opts *opts);

/* Ends it after the step it is at, and waits for that. 0, also where there is none; -ECHILD. */
HC_API int hc_arena_scrubber_stop(struct hc_arena *arena);

/* ---- Looking ------------------------------------------------------------- */

#define HC_ARENA_ORDERS_MAX 32

struct hc_arena_stats {
	size_t size;         /* set by the caller to sizeof(struct hc_arena_stats) */
	uint64_t frame_size; /* bytes */
	unsigned max_order;  /* of the largest frame */
	uint64_t frames;     /* base frames of the arena; of one node those that are ready */
	uint64_t ready;      /* whose descriptors are initialised */
	uint64_t free_clean; /* base frames, as the next */
	uint64_t free_dirty;
	uint64_t scrubbing;   /* withheld, as they are being cleared */
	uint64_t allocations; /* calls that succeeded, as the next two */
	uint64_t frees;
	uint64_t merges;                           /* of clean with dirty ones, for want of a larger frame */
	uint64_t scrubbed_bytes;                   /* by the scrubber and hc_arena_scrub() */
	uint64_t cleared_bytes;                    /* by hc_arena_alloc(), for want of clean ones */
	uint64_t free_blocks[HC_ARENA_ORDERS_MAX]; /* by order, clean and dirty */
};

/* Of a node, or with HC_NODE_HERE of all. 0; -EINVAL for a node without frames; -ECHILD. */
HC_API int hc_arena_stats(struct hc_arena *arena, int node, struct hc_arena_stats *ret_stats);

enum hc_frame_state {
	HC_FRAME_USED = 0,
	HC_FRAME_FREE_CLEAN = 1,
	HC_FRAME_FREE_DIRTY = 2,
	HC_FRAME_PINNED = 3, /* freed by its owner, and still pinned */
	HC_FRAME_SCRUBBED = 4,
	HC_FRAME_NOT_READY = 5, /* a section, or the arena's part of one */
};

struct hc_frame_view {
	void *address;
	uint64_t length; /* bytes */
	enum hc_frame_state state;
	unsigned order, pins;
	int node;
	struct hc_frame *frame; /* NULL where it isn't ready */
};

/* Not 0 ends the walk, which returns it. Must not call the arena. */
typedef int (*hc_arena_walk_fn)(void *user, const struct hc_frame_view *view);

/* All frames in the order of their addresses, as they are at one moment: others wait for the end. 0; -ECHILD; fn's. */
HC_API int hc_arena_walk(struct hc_arena *arena, hc_arena_walk_fn fn, void *user);

/*
 * Checks what the arena knows of itself against itself, for tests: descriptors, lists and counters. Others
 * wait meanwhile. 0; -EBADMSG with what doesn't fit; -ECHILD.
 */
HC_API int hc_arena_check(struct hc_arena *arena);

#ifdef __cplusplus
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
}
#endif

#endif
