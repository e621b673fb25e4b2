/*
 * Descriptors and their sections: raw, being written by one thread, ready.
 *
 * A section's descriptors are all alike but for the heads of its free frames, of which there are few: it is filled with one
 * pattern past the cache, and the heads are linked into the lists of its node. The kernel's counterpart is
 * the deferred and parallel initialisation of struct page (mm/mm_init.c), which this follows in doing zeroing and
 * filling in in one pass.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hugeclear/clear.h>

#include "arena/arena_object.h"
#include "arena/fill.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/signals.h"
#include "base/size.h"
#include "sys/affinity.h"
#include "sys/meminfo.h"
#include "sys/nearby.h"
#include "sys/policy.h"
#include "sys/root.h"
#include "sys/team.h"
#include "sys/topology.h"

/* THP are worth it for descriptors from here on, and aligned so. */
#define HUGE_ALIGN ((size_t)2 << 20)

/* ---- Memory --------------------------------------------------------------------- */

size_t hc_arena_descriptors_size(size_t length, size_t frame_size) {
	size_t size = frame_size ? frame_size : (size_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes;
	return hc_mul_ok(length / size, sizeof(struct hc_frame), &bytes) ? (size_t)bytes : 0;
}

/* -ENOMEM where so many bytes of descriptors are more than there is memory, with what would fit. */
static int check_room(const struct hc_arena *arena, uint64_t bytes) {
	struct hc_root root;
	struct hc_meminfo meminfo;
	if (hc_root_open("/", &root) < 0)
		return 0;
	hc_meminfo_read(&root, NULL, &meminfo);
	hc_root_close(&root);
	if (meminfo.available == HC_UNKNOWN || bytes <= meminfo.available)
		return 0;
	uint64_t fit = meminfo.available / sizeof(struct hc_frame);
	return hc_fail(ENOMEM,
	        "%llu frames need %s of descriptors, and %s of memory are available, enough for %llu frames (an arena "
	        "of %s): larger frames, or a smaller arena",
	        (unsigned long long)arena->nr_frames, hc_size_rounded(bytes).s, hc_size_rounded(meminfo.available).s,
	        (unsigned long long)fit, hc_size_rounded(fit << arena->frame_shift).s);
}

int hc_descriptors_map(struct hc_arena *arena) {
	uint64_t bytes = arena->nr_frames * sizeof(struct hc_frame), length;
	int r = check_room(arena, bytes);
	if (r < 0)
		return r;
	bool huge = bytes >= HUGE_ALIGN;
	if (!hc_add_ok(bytes, huge ? HUGE_ALIGN : 0, &length) || length > SIZE_MAX)
		return hc_fail(ENOMEM, "%llu frames are more than fit into the address space",
		        (unsigned long long)arena->nr_frames);
	void *p = mmap(
	        NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return hc_fail_errno(errno, "no address space for %s of descriptors", hc_size_rounded(length).s);
	arena->mapped = p;
	arena->mapped_length = (size_t)length;
	uintptr_t begin = (uintptr_t)p;
	if (huge) {
		begin = (begin + HUGE_ALIGN - 1) & ~(uintptr_t)(HUGE_ALIGN - 1);
		/* Without them it is as right, and slower. */
		madvise((void *)begin, (size_t)bytes, MADV_HUGEPAGE);
	}
	/* A child may not use them; copying so many on write costs its parent. */
	madvise(p, (size_t)length, MADV_DONTFORK);
	arena->frames = (void *)begin;
	return 0;
}

/* ---- Nodes ----------------------------------------------------------------------- */

static int ask_node(const struct hc_arena *arena, uint64_t begin, uint64_t end) {
	char *address = hc_arena_at(arena, begin);
	int node = -1;
	if (arena->node_of) {
		node = arena->node_of(arena->user, address, (size_t)((end - begin) << arena->frame_shift));
	} else if (arena->topology) {
		/* The page that it is in; what isn't resident has no node. */
		void *page = (void *)hc_align_down((uintptr_t)address, arena->page_size);
		if (hc_policy_page_nodes(&page, 1, &node) < 0)
			node = -1;
	}
	return node < 0 ? 0 : node;
}

/* The node with that number, made where there was none. */
static int get_node(struct hc_arena *arena, int id, struct hc_arena_node **ret_node) {
	if (id >= HC_ARENA_NODES_MAX)
		return hc_fail(EINVAL, "node %d: numbers up to %d are possible", id, HC_ARENA_NODES_MAX - 1);
	*ret_node = hc_arena_node(arena, id);
	if (*ret_node)
		return 0;
	int r = 0;
	pthread_mutex_lock(&arena->sections_lock);
	*ret_node = hc_arena_node(arena, id);
	if (!*ret_node)
		r = hc_node_new(id, ret_node);
	if (r == 0 && !hc_arena_node(arena, id)) {
		if (atomic_fetch_add_explicit(&arena->nr_nodes, 1, memory_order_relaxed) == 0)
			arena->first_node = id;
		atomic_store_explicit(&arena->nodes[id], *ret_node, memory_order_release);
	}
	pthread_mutex_unlock(&arena->sections_lock);
	return r;
}

/* ---- One section -------------------------------------------------------------------- */

/* How descriptors are written: in one pass, or field by field after somebody has cleared them. */
enum { BY_FILL, BY_FIELDS };

static void write_fields(struct hc_frame *frames, uint64_t nr, int node) {
	for (uint64_t i = 0; i < nr; i++) {
		atomic_store_explicit(&frames[i].word, 0, memory_order_relaxed);
		frames[i].next = frames[i].prev = NULL;
		frames[i].node = node;
	}
}

static int make_ready(struct hc_arena *arena, uint64_t section, int how) {
	uint64_t begin = hc_arena_section_begin(arena, section), end = hc_arena_section_end(arena, section);
	int id = ask_node(arena, begin, end);
	struct hc_arena_node *node;
	int r = get_node(arena, id, &node);
	if (r == 0) {
		const struct hc_frame pattern = {.node = id};
		if (how == BY_FILL)
			hc_fill(&arena->frames[begin], end - begin, &pattern);
		else
			write_fields(&arena->frames[begin], end - begin, id);
	}
	pthread_mutex_lock(&arena->sections_lock);
	if (r == 0) {
		/* Release: who reads READY finds the descriptors written. Before anybody can have a frame of it. */
		atomic_store_explicit(&arena->sections[section], HC_SECTION_READY, memory_order_release);
		hc_buddy_add(arena, node, begin, end);
		atomic_fetch_add_explicit(&arena->nr_ready, 1, memory_order_relaxed);
	} else {
		atomic_store_explicit(&arena->sections[section], HC_SECTION_RAW, memory_order_relaxed);
		arena->failed = r;
	}
	pthread_cond_broadcast(&arena->section_ready);
	pthread_mutex_unlock(&arena->sections_lock);
	return r;
}

/* A raw section for the caller alone; UINT64_MAX: there is none. */
static uint64_t claim(struct hc_arena *arena) {
	uint64_t section;
	while ((section = atomic_fetch_add_explicit(&arena->next_section, 1, memory_order_relaxed)) <
	        arena->nr_sections) {
		unsigned char raw = HC_SECTION_RAW;
		/* Relaxed: nothing was written of a raw section that its new owner would have to see. */
		if (atomic_compare_exchange_strong_explicit(&arena->sections[section], &raw, HC_SECTION_BUSY,
		            memory_order_relaxed, memory_order_relaxed))
			return section;
	}
	/* Far behind the end it would wrap in the end. */
	atomic_store_explicit(&arena->next_section, arena->nr_sections, memory_order_relaxed);
	return UINT64_MAX;
}

bool hc_arena_has_raw(const struct hc_arena *arena) {
	return atomic_load_explicit(&arena->nr_ready, memory_order_relaxed) < arena->nr_sections;
}

int hc_descriptors_more(struct hc_arena *arena, bool wait) {
	if (!hc_arena_has_raw(arena))
		return 0;
	uint64_t section = claim(arena);
	if (section != UINT64_MAX) {
		int r = make_ready(arena, section, BY_FILL);
		return r < 0 ? r : 1;
	}
	int more = 0;
	pthread_mutex_lock(&arena->sections_lock);
	uint64_t ready = atomic_load_explicit(&arena->nr_ready, memory_order_relaxed);
	if (wait && ready < arena->nr_sections && arena->failed == 0) {
		/* Woken for nothing it looks once more than it has to. */
		pthread_cond_wait(&arena->section_ready, &arena->sections_lock);
		more = 1;
	}
	int failed = arena->failed;
	pthread_mutex_unlock(&arena->sections_lock);
	return failed < 0 ? hc_fail(-failed, "descriptors couldn't be initialised") : more;
}

/* ---- In the background ------------------------------------------------------------------ */

static void *run_background(void *arg) {
	struct hc_arena *arena = arg;
	while (!atomic_load_explicit(&arena->closing, memory_order_relaxed) && hc_descriptors_more(arena, false) > 0)
		continue;
	return NULL;
}

/* None that can be started is no error: sections are made ready at first use, and by who waits. */
static int start_background(struct hc_arena *arena, unsigned threads) {
	arena->background = calloc(threads, sizeof(*arena->background));
	if (!arena->background)
		return hc_fail_memory("no memory for %s", hc_counted(threads, "thread").s);
	sigset_t before;
	hc_signals_block(&before);
	while (arena->nr_background < threads &&
	        pthread_create(&arena->background[arena->nr_background], NULL, run_background, arena) == 0)
		arena->nr_background++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return 0;
}

void hc_descriptors_end(struct hc_arena *arena) {
	atomic_store_explicit(&arena->closing, true, memory_order_relaxed);
	for (unsigned i = 0; i < arena->nr_background; i++)
		pthread_join(arena->background[i], NULL);
	free(arena->background);
	arena->background = NULL;
	arena->nr_background = 0;
}

int hc_arena_wait(struct hc_arena *arena) {
	int r = hc_arena_check_owner(arena);
	while (r == 0) {
		r = hc_descriptors_more(arena, true);
		if (r <= 0)
			return r;
		r = 0;
	}
	return r;
}

/* ---- All at once ---------------------------------------------------------------------- */

struct pass {
	struct hc_arena *arena;
	const struct hc_arena_opts *opts;
	int how;
	unsigned threads;
};

/* hc_team_fn, of sections */
static int make_ready_all(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	const struct pass *pass = arg;
	(void)thread;
	int r = 0;
	for (uint64_t section = begin; section < end && r == 0; section++)
		r = make_ready(pass->arena, section, pass->how);
	return r;
}

/* CPUs for so many threads, as many of each node with memory as of the others. *ret_cpus NULL: any. */
static int spread_over_nodes(const struct hc_arena *arena, unsigned threads, struct hc_idset **ret_cpus) {
	*ret_cpus = NULL;
	const struct hc_idset *nodes = arena->topology ? hc_topology_nodes_with_memory(arena->topology) : NULL;
	struct hc_idset *allowed = NULL, *spread = hc_idset_new();
	int r = spread ? hc_affinity_get(&allowed) : hc_fail_memory("no memory for a set of CPUs");
	unsigned nr_nodes = hc_idset_count(nodes);
	for (int node = hc_idset_next(nodes, 0), i = 0; r == 0 && node >= 0;
	        node = hc_idset_next(nodes, node + 1), i++) {
		unsigned share = threads / nr_nodes + ((unsigned)i < threads % nr_nodes);
		struct hc_idset *one = hc_idset_new(), *near = NULL;
		r = one ? hc_idset_add(one, (unsigned)node) : hc_fail_memory("no memory for a set of nodes");
		if (r == 0)
			r = hc_nearby_cpus(arena->topology, one, allowed, &near);
		for (int cpu = hc_idset_next(near, 0); r == 0 && cpu >= 0 && share > 0;
		        cpu = hc_idset_next(near, cpu + 1), share--)
			r = hc_idset_add(spread, (unsigned)cpu);
		hc_idset_free(near);
		hc_idset_free(one);
	}
	hc_idset_free(allowed);
	if (r == 0 && hc_idset_count(spread) > 0)
		*ret_cpus = spread;
	else
		hc_idset_free(spread);
	return r;
}

static int init_all(struct pass *pass) {
	struct hc_arena *arena = pass->arena;
	struct hc_team_work work = {
	        .nr_items = arena->nr_sections,
	        .block = 1,
	        .fn = make_ready_all,
	        .arg = pass,
	        .stop = pass->opts->stop,
	        .progress = pass->opts->progress,
	        .user = pass->opts->user,
	};
	struct hc_team_opts opts = {.size = sizeof(opts), .threads = pass->threads};
	struct hc_idset *cpus = NULL;
	struct hc_team *team = NULL;
	int r = arena->topology && pass->threads > 1 ? spread_over_nodes(arena, pass->threads, &cpus) : 0;
	opts.cpus = cpus;
	if (r == 0)
		r = hc_team_open(&opts, &team);
	if (r == 0)
		r = hc_team_run(team, &work, NULL);
	hc_team_close(team);
	hc_idset_free(cpus);
	atomic_store_explicit(&arena->next_section, arena->nr_sections, memory_order_relaxed);
	return r == -ECANCELED ? hc_fail(ECANCELED, "stopped while descriptors were initialised") : r;
}

/* By the caller: no thread is started. */
static int init_alone(struct hc_arena *arena, const struct hc_arena_opts *opts) {
	uint64_t done = 0;
	int r;
	do {
		if (opts->stop && opts->stop(opts->user) != 0)
			return hc_fail(ECANCELED, "stopped while descriptors were initialised");
		r = hc_descriptors_more(arena, false);
		done += r > 0;
		if (r > 0 && opts->progress)
			opts->progress(opts->user, done, arena->nr_sections);
	} while (r > 0);
	return r;
}

/* By string stores where there are some, as kernels do. What libc's memset does depends on its version. */
static int clear_all(struct hc_arena *arena) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .method = "memset"};
	const struct hc_clear_method *method;
	for (unsigned i = 0; (method = hc_clear_method(i)); i++)
		if (strcmp(method->name, "stosb") == 0)
			opts.method = method->name;
	return hc_clear_with(arena->frames, (size_t)arena->nr_frames * sizeof(struct hc_frame), &opts, NULL);
}

int hc_descriptors_init(struct hc_arena *arena, const struct hc_arena_opts *opts) {
	struct pass pass = {.arena = arena, .opts = opts, .threads = opts->threads};
	int r;
	switch (opts->init) {
	case HC_ARENA_SERIAL:
		return init_alone(arena, opts);
	case HC_ARENA_DEFERRED:
		r = hc_descriptors_more(arena, false);
		if (r < 0 || opts->flags & HC_ARENA_AT_USE || !hc_arena_has_raw(arena))
			return r < 0 ? r : 0;
		return start_background(arena, opts->threads ? opts->threads : 1);
	case HC_ARENA_MEMSET_THEN_INIT:
		r = clear_all(arena);
		pass.how = BY_FIELDS;
		return r < 0 ? r : init_all(&pass);
	default:
		return init_all(&pass);
	}
}
