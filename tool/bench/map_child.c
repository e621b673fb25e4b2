/*
 * The child of `bench map` that maps, touches or populates, and unmaps. It may be killed at any
 * time: what it found is in shared memory, and all it had goes with it.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "bench/bench_map.h"
#include "bench/crew.h"
#include "bench/cycles.h"
#include "cli.h"

/* From this size on a reading of the clock after each fault doesn't show. */
#define CLOCKED_PAGE (UINT64_C(64) << 10)
#define IDLE_NS (HC_NSEC_PER_SEC / 2)

struct job {
	const struct map_bench *bench;
	const struct map_work *work;
	struct map_outcome *out;
	struct crew *crew; /* NULL: this thread alone */
	unsigned threads;
	size_t *order; /* of pages, within each thread's share; NULL: in the order of addresses */
	struct cycles cycles;
	char *p;
	size_t len;
	bool clocked;
};

/* ---- Touching ------------------------------------------------------------ */

/* The pages of thread: [first, *last) */
static size_t share(const struct job *job, unsigned thread, unsigned nr, size_t *ret_last) {
	size_t pages = job->len / job->work->page.page_size;
	*ret_last = (size_t)((unsigned __int128)pages * (thread + 1) / nr);
	return (size_t)((unsigned __int128)pages * thread / nr);
}

static int touch(void *arg, unsigned thread, unsigned nr) {
	struct job *job = arg;
	struct latency *faults = &job->out->by_thread[thread].faults;
	uint64_t page_size = job->work->page.page_size, start = hc_clock_ns(), before = start;
	size_t last, first = share(job, thread, nr, &last);
	for (size_t i = first; i < last; i++) {
		size_t page = job->order ? job->order[i] : i;
		*(volatile char *)(job->p + page * page_size) = 0;
		if (job->clocked) {
			uint64_t now = hc_clock_ns();
			latency_add(faults, now - before);
			before = now;
		}
	}
	job->out->by_thread[thread].ns += hc_clock_ns() - start;
	return 0;
}

static int touch_all(struct job *job) {
	return job->crew ? crew_run(job->crew, job->threads, touch, job) : touch(job, 0, 1);
}

/* splitmix64, of Steele, Lea and Flood, 2014. */
static uint64_t next_random(uint64_t *state) {
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int make_order(struct job *job, size_t len) {
	size_t pages = len / job->work->page.page_size;
	uint64_t random = job->bench->random_seed;
	job->order = malloc(pages * sizeof(*job->order));
	if (!job->order)
		return hc_fail(ENOMEM, "no memory for an order of %zu pages", pages);
	for (size_t i = 0; i < pages; i++)
		job->order[i] = i;
	for (unsigned thread = 0; thread < job->threads; thread++) {
		job->len = len;
		size_t last, first = share(job, thread, job->threads, &last);
		for (size_t i = last; i > first + 1; i--) {
			size_t k = first + next_random(&random) % (i - first), kept = job->order[i - 1];
			job->order[i - 1] = job->order[k];
			job->order[k] = kept;
		}
	}
	return 0;
}

/* ---- Mapping ------------------------------------------------------------- */

static struct hc_map_opts opts_of(const struct job *job) {
	const struct map_work *work = job->work;
	bool populate = work->function == FUNCTION_POPULATE;
	struct hc_map_opts opts = {
	        .size = sizeof(opts),
	        .kind = work->page.kind,
	        .page_size = work->page.kind == HC_PAGES_BASE ? 0 : work->page.page_size,
	        .flags = populate ? HC_MAP_POPULATE : 0,
	        .threads = populate ? work->threads : 0,
	        .cpus = populate && !job->bench->victim ? job->bench->cpus : NULL,
	        .step = populate ? (size_t)work->chunk : 0,
	        .populate_by = populate ? work->by : HC_POPULATE_CHOSEN,
	};
	if (opts.populate_by == HC_POPULATE_BY_FALLOCATE)
		opts.flags |= HC_MAP_MEMFD;
	if (*job->bench->node) {
		opts.placement = HC_PLACE_BIND;
		opts.nodes = job->bench->node;
	}
	return opts;
}

/* How much of it is what was asked for, after the clock has stopped. */
static int look(struct job *job, struct hc_map *map) {
	int r = job->work->function == FUNCTION_DEMAND ? hc_map_verify(map) : 0;
	bool thp = job->work->page.kind == HC_PAGES_THP;
	if (r < 0 && !(thp && r == -EIO))
		return r;
	const struct hc_map_part *part;
	job->out->huge_bytes = 0;
	for (unsigned i = 0; (part = hc_map_part(map, i)); i++)
		if (part->kind == job->work->page.kind)
			job->out->huge_bytes += part->bytes;
	return 0;
}

static void note_state(struct job *job, const struct hc_map *map) {
	const struct hc_map_state *state = hc_map_state(map);
	struct map_outcome *out = job->out;
	out->populated_by = state->populated_by;
	out->threads = state->threads;
	out->longest_step_ns = hc_max(out->longest_step_ns, state->longest_step_ns);
	if (state->threads_shortfall)
		snprintf(out->threads_why, sizeof(out->threads_why), "%s", state->threads_shortfall);
}

/* One mapping of len bytes from mmap to munmap. The part that is timed ends before it is looked at. */
static int map_once(struct job *job, size_t len, bool timed, bool first) {
	struct hc_map_opts opts = opts_of(job);
	struct hc_map *map = NULL;
	bool demand = job->work->function == FUNCTION_DEMAND;
	if (timed)
		cycles_start(&job->cycles);
	uint64_t start = hc_clock_ns();
	int r = hc_map_open(len, &opts, &map);
	if (r < 0)
		return r;
	job->p = hc_map_address(map);
	job->len = len;
	if (demand)
		r = touch_all(job);
	uint64_t end = hc_clock_ns();
	if (timed) {
		job->out->cycles += cycles_stop(&job->cycles);
		job->out->ns += end - start;
	}
	if (r == 0 && first)
		r = look(job, map);
	if (r == 0 && !demand)
		note_state(job, map);
	start = hc_clock_ns();
	hc_map_close(map);
	if (timed)
		job->out->munmap_ns += hc_clock_ns() - start;
	return r;
}

/* The whole size, in rounds where it doesn't fit. */
static int map_all(struct job *job, bool timed) {
	int r = 0;
	for (uint64_t left = job->bench->size, len; r == 0 && left > 0; left -= len) {
		len = hc_min(left, job->work->bytes);
		r = map_once(job, (size_t)len, timed, left == job->bench->size);
	}
	return r;
}

/* ---- The child ----------------------------------------------------------- */

static void pin(int cpu) {
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	sched_setaffinity(0, size, set);
	CPU_FREE(set);
}

static int prepare(struct job *job) {
	const struct map_bench *bench = job->bench;
	const struct map_work *work = job->work;
	int r = 0;
	job->threads = 1;
	if (work->function == FUNCTION_DEMAND && (work->threads > 1 || (bench->cpus && !bench->victim))) {
		r = crew_open(bench->run->machine, work->threads, bench->cpus, &job->crew);
		if (r < 0)
			return r;
		job->threads = crew_threads(job->crew);
		if (job->threads < work->threads)
			snprintf(job->out->threads_why, sizeof(job->out->threads_why),
			        "no more than %u threads could be started", job->threads);
	}
	job->out->threads = job->threads;
	if (bench->random && work->function == FUNCTION_DEMAND)
		r = make_order(job, (size_t)hc_min(bench->size, work->bytes));
	if (bench->cycles) {
		cycles_open(&job->cycles);
		snprintf(job->out->cycles_why, sizeof(job->out->cycles_why), "%s", job->cycles.reason);
	}
	return r;
}

static int idle(void) {
	const struct timespec time = {.tv_nsec = IDLE_NS};
	nanosleep(&time, NULL);
	return 0;
}

static int work_on(struct job *job, uint64_t repeats) {
	struct victims *victims = NULL;
	int r = prepare(job);
	if (r == 0 && job->bench->victim) {
		r = victims_start(job->bench->same_cpu, job->bench->other_cpu, &job->out->victims, &victims);
		pin(job->bench->same_cpu);
	}
	job->clocked = job->work->page.page_size >= CLOCKED_PAGE;
	if (r == 0 && job->work->function == FUNCTION_IDLE) {
		r = idle();
		job->out->ns = IDLE_NS;
	}
	for (uint64_t i = 0; r == 0 && job->work->function != FUNCTION_IDLE && i < repeats; i++)
		r = map_all(job, true);
	victims_stop(victims);
	if (r == 0 && job->work->function == FUNCTION_DEMAND && !job->clocked) {
		/* Once more for the single faults, apart, as the clock would count among them. */
		uint64_t kept[MAP_THREADS_MAX] = {0};
		for (unsigned i = 0; i < job->threads; i++)
			kept[i] = job->out->by_thread[i].ns;
		job->clocked = true;
		r = map_once(job, (size_t)hc_min(job->bench->size, job->work->bytes), false, false);
		for (unsigned i = 0; i < job->threads; i++)
			job->out->by_thread[i].ns = kept[i];
	}
	cycles_close(&job->cycles);
	crew_close(job->crew);
	free(job->order);
	return r;
}

_Noreturn void map_child(const struct map_bench *bench, const struct map_work *work, uint64_t repeats) {
	struct map_outcome *out = bench->outcome;
	struct job job = {.bench = bench, .work = work, .out = out, .cycles = {.fd = -1}};
	int r = work_on(&job, repeats);
	if (r < 0)
		snprintf(out->detail, sizeof(out->detail), "%s", hc_error_detail());
	out->r = r;
	_exit(0);
}
