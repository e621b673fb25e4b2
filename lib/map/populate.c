/*
 * Bringing pages in so that a lack of them is an error, never a signal: in steps, by one thread or
 * a team.
 *
 * A step is made by several calls to the kernel, each of which holds the process's mmap lock for
 * reading. A thread that wants it for writing, to mmap, isn't let in as soon as a call ends: the
 * next one passes it before it has woken up, until it has waited for RWSEM_WAIT_TIMEOUT, 4 ms in
 * ticks, and is handed the lock (kernel/locking/rwsem.c). It waits for that time and a call, then,
 * which is why calls are much shorter than steps, and steps longer than that time.
 *
 * Which call: no way was found that is faster than MADV_POPULATE_WRITE beyond the noise, and it is the
 * one that needs nothing but the mapping, follows its memory policy, keeps what is there,
 * and reports failure. Where the kernel lacks it, FUTEX_WAKE_OP has the same virtues, a page a call.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/size.h"
#include "map/mapping.h"
#include "map/shortage.h"
#include "sys/affinity.h"
#include "sys/nearby.h"
#include "sys/team.h"

/* Newer than the headers of Debian 12: madvise(2). */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define STEP_DEFAULT ((size_t)128 << 20)
/* Calls a step, unless they became so short that entering the kernel counts. */
#define CALLS_A_STEP 32
#define CALL_MIN ((size_t)1 << 20)

/* The kernel says EAGAIN for a fault that has to be tried again; so often in turn is something else. */
#define TRIES_MAX 1000

/* ---- Ways -------------------------------------------------------------------- */

/* Both return 0 or a positive errno. */

static int by_madvise(char *p, size_t len) {
	for (unsigned tries = 0; madvise(p, len, MADV_POPULATE_WRITE) < 0; tries++)
		if (errno != EINTR && (errno != EAGAIN || tries == TRIES_MAX))
			return errno;
	return 0;
}

/*
 * *word |= 0, by the kernel and atomically, so that nobody's store is lost; the comparison
 * decides about waking, and wakes nobody. A word is there at the start of each page.
 */
static int touch_by_futex(char *p) {
	const unsigned operation = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0);
	for (unsigned tries = 0; syscall(SYS_futex, p, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, p, operation) < 0;
	        tries++)
		if (errno != EINTR && (errno != EAGAIN || tries == TRIES_MAX))
			return errno;
	return 0;
}

static int by_futex(const struct hc_map *map, char *p, size_t len) {
	uint64_t stride = map->state.kind == HC_PAGES_HUGETLB ? map->state.page_size : map->base_page;
	int err = 0;
	for (size_t at = 0; at < len && err == 0; at += stride)
		err = touch_by_futex(p + at);
	return err;
}

/*
 * Whether MADV_POPULATE_WRITE does what it says, tried once: emulators accept advice that they do
 * nothing for. 0: not tried yet. Relaxed: every thread that tries finds the same.
 */
static _Atomic int chosen_way;

static enum hc_populate_by choose_way(size_t base_page) {
	int way = atomic_load_explicit(&chosen_way, memory_order_relaxed);
	if (way != 0)
		return (enum hc_populate_by)way;
	void *page = mmap(NULL, base_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return HC_POPULATE_BY_FUTEX;
	unsigned char there = 0;
	bool works = madvise(page, base_page, MADV_POPULATE_WRITE) == 0 && mincore(page, base_page, &there) == 0 &&
	             there & 1;
	munmap(page, base_page);
	way = works ? HC_POPULATE_BY_MADVISE : HC_POPULATE_BY_FUTEX;
	atomic_store_explicit(&chosen_way, way, memory_order_relaxed);
	return (enum hc_populate_by)way;
}

/* ---- Calls and steps ----------------------------------------------------------- */

/* What a thread did of its step. A cache line, as each thread writes its own. */
struct thread_step {
	uint64_t bytes, ns;
	uint64_t apart[6];
};

struct populating {
	const struct hc_root *root;
	const struct hc_map *map;
	enum hc_populate_by by;
	/* Which call maps in. Relaxed: a member that sees it late finds out itself that the other doesn't work. */
	_Atomic int map_in_by;
	/* Relaxed: a count; the team's lock and its end order the memory. */
	_Atomic uint64_t done;
	uint64_t step;
	struct thread_step *thread_steps;
	/* Relaxed, as done. */
	_Atomic uint64_t longest_ns;
	const struct hc_map_work *work;
};

static int fail_call(const struct populating *populating, uint64_t offset, size_t len, const char *call, int err) {
	const struct hc_map *map = populating->map;
	if (err == EHWPOISON)
		return hc_fail(err, "a page between byte %llu of the map and the next %s has a memory error",
		        (unsigned long long)offset, hc_size_exact(len).s);
	bool shortage = err == EFAULT || err == ENOMEM || err == ENOSPC;
	if (!shortage)
		return hc_fail_call(err, "%s of %s, from byte %llu of the map on", call, hc_size_exact(len).s,
		        (unsigned long long)offset);
	if (map->state.kind != HC_PAGES_HUGETLB)
		return hc_fail(ENOMEM, "%s wanted, %s came, then the kernel had no memory (%s: %s)%s",
		        hc_size_exact(map->length).s,
		        hc_size_rounded(atomic_load_explicit(&populating->done, memory_order_relaxed)).s, call,
		        strerror(err), hc_hint_limit(err).s);
	struct hc_want want = {
	        .page_size = map->state.page_size,
	        .bytes = map->length,
	        .nodes = map->placement == HC_PLACE_BIND ? map->nodes : NULL,
	        .is_reserved = !(map->flags & HC_MAP_NORESERVE),
	};
	/* What came of this call, the kernel doesn't say; it's there to be counted. */
	uint64_t came = atomic_load_explicit(&populating->done, memory_order_relaxed);
	unsigned char there;
	for (size_t at = 0; at < len; at += map->state.page_size)
		if (mincore(map->address + offset + at, map->base_page, &there) == 0 && there & 1)
			came += map->state.page_size;
	return hc_shortage_of_pages(populating->root, &want, came);
}

static int do_call(struct populating *populating, uint64_t offset, size_t len) {
	const struct hc_map *map = populating->map;
	if (populating->by == HC_POPULATE_BY_FALLOCATE) {
		int r;
		while ((r = fallocate(map->fd, 0, (off_t)offset, (off_t)len)) < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fail_call(populating, offset, len, "fallocate", errno);
	}
	bool futex = atomic_load_explicit(&populating->map_in_by, memory_order_relaxed) == HC_POPULATE_BY_FUTEX;
	int err = futex ? by_futex(map, map->address + offset, len) : by_madvise(map->address + offset, len);
	/* A seccomp filter may have come since it was tried. */
	if (!futex && (err == EINVAL || err == EPERM || err == ENOSYS) &&
	        populating->work->by != HC_POPULATE_BY_MADVISE) {
		atomic_store_explicit(&populating->map_in_by, HC_POPULATE_BY_FUTEX, memory_order_relaxed);
		futex = true;
		err = by_futex(map, map->address + offset, len);
	}
	if (err == 0)
		return 0;
	return fail_call(populating, offset, len, futex ? "futex" : "madvise(MADV_POPULATE_WRITE)", err);
}

static void end_step(struct populating *populating, unsigned thread) {
	struct thread_step *step = &populating->thread_steps[thread];
	uint64_t longest = atomic_load_explicit(&populating->longest_ns, memory_order_relaxed);
	while (step->ns > longest && !atomic_compare_exchange_weak_explicit(&populating->longest_ns, &longest, step->ns,
	                                     memory_order_relaxed, memory_order_relaxed))
		continue;
	if (populating->work->step_done)
		populating->work->step_done(populating->work->user, thread, step->bytes, step->ns);
	*step = (struct thread_step){0};
}

static int timed_call(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	struct populating *populating = arg;
	uint64_t start = hc_clock_ns();
	int r = do_call(populating, begin, (size_t)(end - begin));
	if (r < 0)
		return r;
	struct thread_step *step = &populating->thread_steps[thread];
	step->ns += hc_clock_ns() - start;
	step->bytes += end - begin;
	atomic_fetch_add_explicit(&populating->done, end - begin, memory_order_relaxed);
	if (step->bytes >= populating->step)
		end_step(populating, thread);
	return 0;
}

static int stopped(const struct populating *populating) {
	return hc_fail(ECANCELED, "stopped after populating %s of %s",
	        hc_size_rounded(atomic_load_explicit(&populating->done, memory_order_relaxed)).s,
	        hc_size_exact(populating->map->length).s);
}

static int populate_alone(struct populating *populating, size_t call) {
	const struct hc_map_work *work = populating->work;
	uint64_t length = populating->map->length;
	for (uint64_t at = 0; at < length; at += call) {
		if (work->stop && work->stop(work->user) != 0)
			return stopped(populating);
		int r = timed_call(populating, at, hc_min(at + call, length), 0);
		if (r < 0)
			return r;
		if (work->progress)
			work->progress(work->user, at + hc_min(call, length - at), length);
	}
	return 0;
}

static int populate_with_team(struct populating *populating, struct hc_map *map, const struct hc_idset *cpus,
        const struct hc_idset *nearby, unsigned threads, size_t call) {
	const struct hc_map_work *work = populating->work;
	struct hc_team_opts opts = {.size = sizeof(opts), .threads = threads, .cpus = cpus, .within = nearby};
	struct hc_team *team;
	int r = hc_team_open(&opts, &team);
	if (r < 0)
		return r;
	map->state.threads = hc_team_threads(team);
	if (hc_team_shortfall(team)) {
		map->threads_shortfall = strdup(hc_team_shortfall(team));
		map->state.threads_shortfall = map->threads_shortfall;
	}
	struct hc_team_work team_work = {
	        .nr_items = map->length,
	        .align = hc_map_unit(map),
	        .block = call,
	        .fn = timed_call,
	        .arg = populating,
	        .stop = work->stop,
	        .progress = work->progress,
	        .user = work->user,
	};
	r = hc_team_run(team, &team_work, NULL);
	hc_team_close(team);
	return r == -ECANCELED ? stopped(populating) : r;
}

/* ---- All of it ------------------------------------------------------------------- */

static int check_way(const struct hc_map *map, enum hc_populate_by by) {
	if (by > HC_POPULATE_BY_MAP)
		return hc_fail(EINVAL, "%d is no way to populate", (int)by);
	if (by == HC_POPULATE_BY_FALLOCATE && map->fd < 0)
		return hc_fail(EINVAL, "fallocate populates memfds, and this map has none");
	if (by == HC_POPULATE_BY_FALLOCATE && map->placement != HC_PLACE_DEFAULT)
		return hc_fail(EINVAL, "fallocate doesn't follow the placement of a map: populate it in another way");
	return 0;
}

int hc_populate_all(const struct hc_root *root, struct hc_map *map, const struct hc_map_work *work, uint64_t *done) {
	*done = 0;
	uint64_t unit = hc_map_unit(map);
	int r = check_way(map, work->by);
	if (r < 0)
		return r;
	uint64_t step = work->step ? work->step : STEP_DEFAULT,
	         call = hc_max(step / CALLS_A_STEP, hc_min(step, CALL_MIN));
	if (!hc_mul_ok(hc_div_up(call, unit), unit, &call) || call > map->length)
		call = map->length;

	struct populating populating = {
	        .root = root, .map = map, .work = work, .by = work->by, .map_in_by = work->by, .step = step};
	if (work->by != HC_POPULATE_BY_MADVISE && work->by != HC_POPULATE_BY_FUTEX)
		populating.map_in_by = choose_way((size_t)map->base_page);

	struct hc_idset *cpus, *nearby = NULL;
	r = hc_affinity_parse(work->cpus, &cpus);
	/* Pages are cleared by who brings them in, which across nodes is slower. */
	if (r == 0 && !cpus && map->nodes)
		r = hc_nearby_cpus_here(root, map->nodes, &nearby);
	if (r < 0)
		return r;
	free(map->threads_shortfall);
	map->threads_shortfall = NULL;
	map->state.threads_shortfall = NULL;
	unsigned threads = (unsigned)hc_min(hc_max(work->threads, 1), hc_div_up(map->length, unit));
	populating.thread_steps = calloc(threads, sizeof(*populating.thread_steps));
	if (!populating.thread_steps) {
		hc_idset_free(cpus);
		hc_idset_free(nearby);
		return hc_fail_memory("no memory to populate by %u threads", threads);
	}
	uint64_t start = hc_clock_ns();
	if (threads == 1 && !cpus && !nearby) {
		map->state.threads = 1;
		r = populate_alone(&populating, (size_t)call);
	} else {
		r = populate_with_team(&populating, map, cpus, nearby, threads, (size_t)call);
	}
	map->state.populate_ns = hc_clock_ns() - start;
	for (unsigned thread = 0; thread < threads; thread++)
		if (populating.thread_steps[thread].bytes > 0)
			end_step(&populating, thread);
	free(populating.thread_steps);
	hc_idset_free(cpus);
	hc_idset_free(nearby);
	map->state.populated_by = work->by != HC_POPULATE_CHOSEN ? work->by : (enum hc_populate_by)populating.map_in_by;
	map->state.longest_step_ns = atomic_load_explicit(&populating.longest_ns, memory_order_relaxed);
	*done = atomic_load_explicit(&populating.done, memory_order_relaxed);
	return r;
}
