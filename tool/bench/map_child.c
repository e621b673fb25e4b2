/*
 * The child of `bench map` that maps, touches or populates, and unmaps. It may be killed at any
 * time: what it found is in shared memory, and all it had goes with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/size.h"
#include "bench/bench_map.h"
#include "bench/crew.h"
#include "bench/cycles.h"
#include "bench/map_order.h"
#include "bench/pinning.h"
#include "cli.h"

/* From this size on a reading of the clock after each fault doesn't show. */
#define CLOCKED_PAGE (UINT64_C(64) << 10)
/* Of smaller ones so many faults are clocked apart, where the repeats have them. */
#define CLOCKED_FAULTS 1000

struct job {
	const struct map_bench *bench;
	const struct map_work *work;
	struct map_outcome *out;
	struct crew *crew; /* NULL: this thread alone */
	struct cycles cycles;
	char *p;
	size_t len;
	bool clocked;
	unsigned most_threads;  /* that populated one mapping */
	_Atomic unsigned ready; /* threads that wait for the others; relaxed: the crew's lock orders the rest */
};

/* ---- Touching ------------------------------------------------------------ */

/* The pages of thread: [first, *last) */
static size_t share(const struct job *job, unsigned thread, unsigned nr, size_t *ret_last) {
	size_t pages = job->len / job->work->page.page_size;
	*ret_last = (size_t)((unsigned __int128)pages * (thread + 1) / nr);
	return (size_t)((unsigned __int128)pages * thread / nr);
}

/* pre: there is a page for each thread */
static int touch(void *arg, unsigned thread, unsigned nr) {
	struct job *job = arg;
	struct map_thread *own = &job->out->by_thread[thread];
	uint64_t page_size = job->work->page.page_size, seed = job->bench->random_seed;
	size_t last, first = share(job, thread, nr, &last), pages = last - first;
	volatile char *p = job->p + first * page_size;
	struct map_order order = {0};
	if (seed)
		map_order_init(&order, pages, seed + thread);

	atomic_fetch_add_explicit(&job->ready, 1, memory_order_relaxed);
	while (atomic_load_explicit(&job->ready, memory_order_relaxed) < nr)
		sched_yield();
	uint64_t before = own->began_ns = hc_clock_ns();
	for (size_t i = 0; i < pages; i++) {
		if (seed)
			p[map_order_at(&order, i) * page_size + map_order_offset(&order, i, page_size)] = 1;
		else
			p[i * page_size] = 1;
		if (job->clocked) {
			uint64_t now = hc_clock_ns();
			latency_add(&own->faults, now - before);
			before = now;
		}
	}
	own->ended_ns = hc_clock_ns();
	return 0;
}

/* From the start of the first to the end of the last. */
static int touch_all(struct job *job, bool timed, uint64_t *ret_ns) {
	unsigned nr = job->crew ? crew_threads(job->crew) : 1;
	nr = (unsigned)hc_min(nr, job->len / job->work->page.page_size);
	job->ready = 0;
	int r = job->crew ? crew_run(job->crew, nr, touch, job) : touch(job, 0, 1);
	if (r < 0)
		return r;
	uint64_t began = UINT64_MAX, ended = 0;
	for (unsigned t = 0; t < nr; t++) {
		struct map_thread *thread = &job->out->by_thread[t];
		size_t last, first = share(job, t, nr, &last);
		began = hc_min(began, thread->began_ns);
		ended = hc_max(ended, thread->ended_ns);
		if (timed) {
			thread->sum.ns += thread->ended_ns - thread->began_ns;
			thread->sum.bytes += (last - first) * job->work->page.page_size;
		}
	}
	job->out->threads = (unsigned)hc_min(job->out->threads, nr);
	*ret_ns = ended - began;
	return 0;
}

/* ---- Mapping ------------------------------------------------------------- */

/* hc_map_step_fn */
static void note_step(void *user, unsigned thread, uint64_t len, uint64_t ns) {
	const struct job *job = user;
	if (thread >= job->work->threads)
		return;
	struct map_thread *own = &job->out->by_thread[thread];
	own->populated = true;
	own->sum.bytes += len;
	own->sum.ns += ns;
	latency_add(&own->faults, ns);
}

/* THP of which others may come instead, and are counted: the map is populated when it is open, and stays so. */
static bool may_be_others(const struct job *job) {
	return job->work->page.kind == HC_PAGES_THP && !job->bench->thp;
}

static int open_map(struct job *job, size_t len, struct hc_map **ret_map) {
	const struct map_work *work = job->work;
	struct hc_map_opts opts = map_opts(job->bench, &work->page, work->by);
	if (work->function == FUNCTION_POPULATE && !may_be_others(job)) {
		opts.flags |= HC_MAP_POPULATE;
		opts.threads = work->threads;
		opts.cpus = job->bench->cpus;
		opts.step = (size_t)work->chunk;
		opts.populate_by = work->by;
		opts.step_done = note_step;
		opts.user = job;
	}
	return hc_map_open(len, &opts, ret_map);
}

static int populate(struct job *job, struct hc_map *map) {
	const struct map_work *work = job->work;
	struct hc_map_work_opts opts = {
	        .size = sizeof(opts),
	        .threads = work->threads,
	        .cpus = job->bench->cpus,
	        .step = (size_t)work->chunk,
	        .populate_by = work->by,
	        .step_done = note_step,
	        .user = job,
	};
	uint64_t done;
	int r = hc_map_populate(map, &opts, &done);
	/* What pages they are is looked at later. */
	return (r == -EIO || r == -EPERM) && done == hc_map_length(map) ? 0 : r;
}

/* What came, after the clock has stopped. */
static int look(const struct job *job, struct hc_map *map) {
	struct map_outcome *out = job->out;
	uint64_t came = 0, huge = 0, page_size = job->work->page.page_size;
	int r = hc_map_verify(map);
	bool others = may_be_others(job) && (r == -EIO || r == -EPERM || r == -ENODATA);
	if (r < 0 && !others && !(r == -ENODATA && job->bench->thp))
		return r;
	const struct hc_map_part *part;
	for (unsigned i = 0; (part = hc_map_part(map, i)); i++) {
		if (*job->bench->node && part->node != atoi(job->bench->node))
			return hc_fail(
			        EIO, "memory bound to node %s has pages on node %d", job->bench->node, part->node);
		came += part->bytes;
		if (part->page_size == HC_UNKNOWN)
			huge = HC_UNKNOWN;
		else if (part->page_size == page_size && huge != HC_UNKNOWN)
			huge += part->bytes;
	}
	if (r == -ENODATA && !others)
		return hc_fail(ENOMEM, "THP of %s were asked for, and only %s of %s came in them",
		        hc_size_exact(page_size).s, hc_size_rounded(huge).s, hc_size_exact(hc_map_length(map)).s);
	out->bytes += came;
	out->huge_bytes = huge == HC_UNKNOWN ? HC_UNKNOWN : out->huge_bytes + huge;
	return 0;
}

static void note_state(struct job *job, const struct hc_map_state *state) {
	struct map_outcome *out = job->out;
	out->populated_by = state->populated_by;
	/* A thread that found nothing left did nothing; in the next mapping it may be another. */
	unsigned worked = 0;
	for (unsigned t = 0; t < job->work->threads; t++) {
		worked += out->by_thread[t].populated;
		out->by_thread[t].populated = false;
	}
	/* MAP_POPULATE has no steps. */
	job->most_threads = hc_max(job->most_threads, worked > 0 ? worked : state->threads);
	out->threads = job->most_threads;
	if (state->threads_shortfall)
		snprintf(out->threads_why, sizeof(out->threads_why), "%s", state->threads_shortfall);
}

/* One mapping of len bytes from mmap to munmap. */
static int map_once(struct job *job, size_t len, bool timed) {
	struct map_outcome *out = job->out;
	struct hc_map *map = NULL;
	bool demand = job->work->function == FUNCTION_DEMAND;
	uint64_t touched = 0;
	if (timed)
		cycles_start(&job->cycles);
	uint64_t start = hc_clock_ns();
	int r = open_map(job, len, &map);
	if (r == 0 && !demand && may_be_others(job))
		r = populate(job, map);
	uint64_t called = hc_clock_ns() - start;
	if (r == 0 && demand) {
		job->p = hc_map_address(map);
		job->len = len;
		out->address = (uintptr_t)job->p;
		out->length = len;
		r = touch_all(job, timed, &touched);
	}
	uint64_t cycles = timed ? cycles_stop(&job->cycles) : 0;
	if (r == 0 && timed) {
		/* The kernel's share of the calls; the rest is the library's looks at limits and pages. */
		const struct hc_map_state *state = hc_map_state(map);
		uint64_t mapped = state->map_ns + state->populate_ns;
		out->ns += mapped + touched;
		out->checks_ns += called > mapped ? called - mapped : 0;
		out->cycles += cycles;
		if (!demand)
			note_state(job, state);
		r = look(job, map);
	}
	start = hc_clock_ns();
	hc_map_close(map);
	if (timed)
		out->munmap_ns += hc_clock_ns() - start;
	/* Huge pages that were asked for by --thp and didn't come: less than asked for, as where a pool is short. */
	return r == -EIO && job->bench->thp && !*job->bench->node ? -ENOMEM : r;
}

/* The whole size, in rounds where it doesn't fit. */
static int map_all(struct job *job) {
	int r = 0;
	for (uint64_t left = job->bench->size, len; r == 0 && left > 0; left -= len) {
		len = hc_min(left, job->work->page.bytes);
		r = map_once(job, (size_t)len, true);
	}
	return r;
}

/* Single faults of small pages, apart: reading the clock would count among them. */
static int clock_faults(struct job *job, uint64_t repeats) {
	size_t len = (size_t)hc_min(job->bench->size, job->work->page.bytes);
	uint64_t faults = 0;
	int r = 0;
	job->clocked = true;
	for (uint64_t i = 0; r == 0 && i < repeats && faults < CLOCKED_FAULTS; i++) {
		r = map_once(job, len, false);
		faults += len / job->work->page.page_size;
	}
	return r;
}

/* ---- The child ----------------------------------------------------------- */

static int prepare(struct job *job) {
	const struct map_bench *bench = job->bench;
	const struct map_work *work = job->work;
	job->out->threads = work->threads;
	/* Before the threads: it counts those alone that are started after it. */
	if (bench->cycles) {
		cycles_open(&job->cycles);
		snprintf(job->out->cycles_why, sizeof(job->out->cycles_why), "%s", job->cycles.reason);
		/* It is the kernel that works here: without its cycles there is nothing to tell. */
		if (job->cycles.user_only)
			cycles_close(&job->cycles);
	}
	if (work->function == FUNCTION_DEMAND && (work->threads > 1 || bench->cpus)) {
		int r = crew_open(bench->run->machine, work->threads, bench->cpus, &job->crew);
		if (r < 0)
			return r;
		if (crew_threads(job->crew) < work->threads)
			snprintf(job->out->threads_why, sizeof(job->out->threads_why),
			        "no more than %s could be started%s", hc_counted(crew_threads(job->crew), "thread").s,
			        hc_hint_start(crew_start_error(job->crew)).s);
	}
	return 0;
}

static void idle(uint64_t ns) {
	const struct timespec time = {
	        .tv_sec = (time_t)(ns / HC_NSEC_PER_SEC), .tv_nsec = (long)(ns % HC_NSEC_PER_SEC)};
	nanosleep(&time, NULL);
}

static int work_on(struct job *job, uint64_t repeats) {
	struct victims *victims = NULL;
	uint64_t start = hc_clock_ns();
	int r = 0;
	/* Before the counter of cycles, which theirs are not for. */
	if (job->bench->victim) {
		r = victims_start(job->bench->same_cpu, job->bench->other_cpu, &job->out->victims, &victims);
		int err = r == 0 ? pin_to(job->bench->same_cpu) : 0;
		if (err)
			r = hc_fail_errno(err, "the thread that maps can't be put on CPU %d", job->bench->same_cpu);
	}
	if (r == 0)
		r = prepare(job);
	job->clocked = job->work->page.page_size >= CLOCKED_PAGE;
	if (r == 0 && job->work->function == FUNCTION_IDLE) {
		idle(job->bench->idle_ns);
		job->out->ns = job->bench->idle_ns;
	}
	for (uint64_t i = 0; r == 0 && job->work->function != FUNCTION_IDLE && i < repeats; i++)
		r = map_all(job);
	victims_stop(victims);
	job->out->watched_ns = hc_clock_ns() - start;
	if (r == 0 && job->work->function == FUNCTION_DEMAND && !job->clocked)
		r = clock_faults(job, repeats);
	cycles_close(&job->cycles);
	crew_close(job->crew);
	return r;
}

/* Where the handler of SIGBUS tells of it. */
static struct map_outcome *volatile bus_outcome;

/* Ends the process itself: no core dump of gigabytes is written. */
static void end_by_bus_error(int number, siginfo_t *info, void *context) {
	(void)number, (void)context;
	bus_outcome->bus_error = true;
	bus_outcome->bus_address = (uintptr_t)info->si_addr;
	bus_outcome->memory_error = info->si_code == BUS_MCEERR_AR || info->si_code == BUS_MCEERR_AO;
	_exit(1);
}

/* Whoever is killed for lack of memory, it shall be the one that wants so much. It works without, too. */
static void be_killed_first(void) {
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t written = write(fd, "1000", 4);
	(void)written;
	close(fd);
}

_Noreturn void map_child(const struct map_bench *bench, const struct map_work *work, uint64_t repeats) {
	struct map_outcome *out = bench->outcome;
	struct job job = {.bench = bench, .work = work, .out = out, .cycles = {.fd = -1}};
	struct sigaction bus = {.sa_sigaction = end_by_bus_error, .sa_flags = SA_SIGINFO};
	bus_outcome = out;
	sigaction(SIGBUS, &bus, NULL);
	be_killed_first();
	int r = work_on(&job, repeats);
	if (r < 0)
		snprintf(out->detail, sizeof(out->detail), "%s", hc_error_detail());
	out->r = r;
	_exit(0);
}
