/*
 * `hugeclear bench arena`: what a frame costs, of an arena and of the kernel: as it is, or zeroed, from clean stock and from dirty,
 * alone and with every line of it written.
 */
#include "bench/bench_arena.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <hugeclear/arena.h>
#include <hugeclear/map.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/crew.h"
#include "bench/latency.h"
#include "bench/lists.h"
#include "bench/resident.h"
#include "bench/room.h"
#include "bench/time_text.h"
#include "cli.h"

#define SIZE_DEFAULT (UINT64_C(256) << 20)
#define LIST_MAX 8
#define LINE 64
/* More frames at a time say nothing more. */
#define FRAMES_MOST 65536
#define ROUND_FRAMES 4096
/* Newer than some headers: mmap(2), the size of hugetlb pages as a power of two. */
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

enum arena_function {
	ARENA_ANY,    /* a frame as it is */
	ARENA_PINNED, /* the same, pinned and unpinned */
	ARENA_CLEAN,  /* zeroed, from clean stock */
	ARENA_SOON,   /* zeroed, nothing is clean, for use at once */
	ARENA_LATER,  /* the same, for later */
	ARENA_MMAP,   /* mmap, touch, munmap */
	ARENA_FUNCTIONS,
};

static const char *const function_names[] = {"any", "pinned", "clean", "soon", "later", "mmap", "all", NULL};

enum arena_metric { ARENA_SECONDS, ARENA_RATE, ARENA_P50, ARENA_P99, ARENA_MAX };

struct arena_work {
	enum arena_function function;
	uint64_t frame;
	unsigned order, threads;
	bool write;
};

/* Of a thread, so that starting it isn't timed. */
struct span {
	uint64_t began_ns, ended_ns;
};

struct arena_bench {
	uint64_t size;
	struct room_page page;
	uint64_t frames[LIST_MAX], threads[LIST_MAX];
	size_t nr_frames, nr_threads;
	bool functions[ARENA_FUNCTIONS], thens[2], scrubber;
	struct resident *memory;
	struct hc_arena *arena;
	struct arena_work works[ARENA_FUNCTIONS * LIST_MAX * LIST_MAX * 2];
	size_t nr_works;
	struct crew *crew;
	struct bench_run *run;
	struct hc_frame **held; /* of all threads */
	char **mapped;          /* the same of the kernel's */
	/* Frames of each order that it has when all are free: fewer than bytes would do, where it isn't aligned to them. */
	uint64_t has[HC_ARENA_ORDERS_MAX];
	uint64_t left; /* bytes of such pages that the kernel still has, beside the arena's */
	struct latency *latencies;
	struct span *spans;
};

/* ---- Options ------------------------------------------------------------- */

enum { OPTION_THEN = 256, OPTION_SCRUBBER };

static const struct option options[] = {
        {"size", required_argument, NULL, 's'},
        {"page", required_argument, NULL, 'p'},
        {"frame", required_argument, NULL, 'F'},
        {"function", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 't'},
        {"then", required_argument, NULL, OPTION_THEN},
        {"scrubber", no_argument, NULL, OPTION_SCRUBBER},
        {0},
};

static const char help[] =
        "  -s, --size SIZE       of the arena, all of which is handed out and taken back (256M)\n"
        "  -p, --page PAGE       that it is made of, as in bench clear\n"
        "  -F, --frame LIST      sizes of frames (4K,2M)\n"
        "  -f, --function LIST   any: as it is; pinned: and pinned and unpinned; clean: zeroed, from clean\n"
        "                        stock; soon, later: zeroed, and nothing is clean; mmap: pages of the kernel,\n"
        "                        mapped, touched, unmapped; all (all)\n"
        "  -t, --threads LIST    threads (1)\n"
        "      --then WORD       none, write: every line of the frame, timed too; or both (both)\n"
        "      --scrubber        runs meanwhile\n";

static void *create(void) {
	struct arena_bench *bench = calloc(1, sizeof(*bench));
	if (!bench)
		return NULL;
	bench->size = SIZE_DEFAULT;
	bench->frames[bench->nr_frames++] = 4096;
	bench->frames[bench->nr_frames++] = UINT64_C(2) << 20;
	bench->threads[bench->nr_threads++] = 1;
	bench->thens[0] = bench->thens[1] = true;
	for (int function = 0; function < ARENA_FUNCTIONS; function++)
		bench->functions[function] = true;
	return bench;
}

static void destroy(void *state) {
	struct arena_bench *bench = state;
	if (!bench)
		return;
	hc_arena_close(bench->arena);
	resident_free(bench->memory);
	crew_close(bench->crew);
	free(bench->held);
	free(bench->mapped);
	free(bench->spans);
	free(bench->latencies);
	free(bench);
}

struct function_list {
	struct arena_bench *bench;
	const char *verb;
};

static int add_function(void *user, const char *item) {
	struct function_list *list = user;
	int word = cli_word(list->verb, "--function", item, function_names);
	for (int function = 0; function < ARENA_FUNCTIONS; function++)
		if (word == function || word == ARENA_FUNCTIONS)
			list->bench->functions[function] = true;
	return word < 0 ? HC_EXIT_USAGE : 0;
}

static int read_size(const struct bench_list *list, const char *item, uint64_t *ret_value) {
	return cli_size(list->verb, list->option, item, ret_value);
}

static int option(void *state, const char *verb, int c, const char *value) {
	static const char *const thens[] = {"none", "write", "both", NULL};
	struct arena_bench *bench = state;
	struct function_list functions = {.bench = bench, .verb = verb};
	struct bench_list list = {.verb = verb, .most = BENCH_THREADS_MAX, .max = LIST_MAX};
	int word;
	switch (c) {
	case 's':
		return cli_size(verb, "--size", value, &bench->size);
	case 'p':
		return room_read_page(verb, value, &bench->page);
	case 'F':
		list.option = "--frame", list.values = bench->frames, list.nr = &bench->nr_frames,
		list.read = read_size;
		return bench_read_list(list, value);
	case 'f':
		memset(bench->functions, 0, sizeof(bench->functions));
		return cli_list(verb, "--function", value, add_function, &functions);
	case 't':
		list.option = "--threads", list.values = bench->threads, list.nr = &bench->nr_threads;
		list.read = bench_read_count;
		return bench_read_list(list, value);
	case OPTION_SCRUBBER:
		bench->scrubber = true;
		return 0;
	default:
		word = cli_word(verb, "--then", value, thens);
		bench->thens[0] = word != 1;
		bench->thens[1] = word != 0;
		return word < 0 ? HC_EXIT_USAGE : 0;
	}
}

/* ---- Set-up -------------------------------------------------------------- */

/* How many frames a sample takes: as many of the kernel's as of the arena, if it has them. */
static uint64_t frames_of(const struct arena_bench *bench, const struct arena_work *work) {
	uint64_t nr = hc_min(bench->has[work->order], FRAMES_MOST);
	return work->function == ARENA_MMAP ? hc_min(nr, bench->left / work->frame) : nr;
}

/* Each thread has a frame at least. */
static bool has_room(struct arena_bench *bench, const struct arena_work *work) {
	uint64_t nr = frames_of(bench, work);
	if (nr >= work->threads)
		return true;
	bench_note(bench->run, "%s of %s by %s isn't measured: there are only %llu", function_names[work->function],
	        hc_size_exact(work->frame).s, hc_counted(work->threads, "thread").s, (unsigned long long)nr);
	return false;
}

static int add_work(struct arena_bench *bench, struct bench_run *run, struct arena_work work) {
	if (!has_room(bench, &work))
		return 0;
	json_t *params = json_object();
	bool ok = params && json_object_set_new(params, "size", json_integer((json_int_t)bench->size)) == 0 &&
	          json_object_set_new(params, "frame", json_integer((json_int_t)work.frame)) == 0 &&
	          json_object_set_new(params, "function", json_string(function_names[work.function])) == 0 &&
	          json_object_set_new(params, "threads", json_integer(work.threads)) == 0 &&
	          json_object_set_new(params, "backing", json_string(room_kind_name(bench->memory->kind))) == 0;
	if (ok && bench->memory->kind != HC_PAGES_BASE)
		ok = json_object_set_new(params, "page_size", json_integer((json_int_t)bench->memory->page_size)) == 0;
	if (ok && work.write)
		ok = json_object_set_new(params, "then", json_string("write")) == 0;
	if (ok && bench->scrubber && work.function != ARENA_MMAP)
		ok = json_object_set_new(params, "scrubber", json_true()) == 0;
	if (!ok) {
		json_decref(params);
		return hc_fail_memory("no memory for a case");
	}
	bench->works[bench->nr_works++] = work;
	return bench_add_case(run, params, NULL);
}

static int add_works(struct arena_bench *bench, struct bench_run *run) {
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	int r = hc_arena_stats(bench->arena, HC_NODE_HERE, &stats);
	for (unsigned order = stats.max_order + 1; r == 0 && order-- > 0;)
		bench->has[order] = stats.free_blocks[order] +
		                    (order < stats.max_order ? 2 * bench->has[order + 1] : 0);
	for (size_t f = 0; r == 0 && f < bench->nr_frames; f++) {
		uint64_t frame = bench->frames[f];
		if (!hc_is_power_of_two(frame) || frame < stats.frame_size ||
		        frame > stats.frame_size << stats.max_order)
			return hc_fail(EINVAL, "--frame: %s: a power of two from %s to %s, the largest frame here",
			        hc_size_exact(frame).s, hc_size_exact(stats.frame_size).s,
			        hc_size_exact(stats.frame_size << stats.max_order).s);
		unsigned order = (unsigned)__builtin_ctzll(frame / stats.frame_size);
		for (size_t t = 0; t < bench->nr_threads; t++)
			for (int then = 0; then < 2; then++)
				for (enum arena_function function = ARENA_ANY; r == 0 && function < ARENA_FUNCTIONS;
				        function++)
					if (bench->functions[function] && bench->thens[then])
						r = add_work(bench, run,
						        (struct arena_work){.function = function,
						                .frame = frame,
						                .order = order,
						                .threads = (unsigned)bench->threads[t],
						                .write = then});
	}
	return r;
}

static uint64_t most_threads(const struct arena_bench *bench) {
	uint64_t most = 1;
	for (size_t t = 0; t < bench->nr_threads; t++)
		most = hc_max(most, bench->threads[t]);
	return most;
}

static int open_arena(struct arena_bench *bench, const struct bench_run *run) {
	uint64_t base_page = hc_machine_memory(run->machine)->base_page_size, largest = base_page;
	for (size_t f = 0; f < bench->nr_frames; f++)
		largest = hc_max(largest, bench->frames[f]);
	struct hc_arena_opts opts = {
	        .size = sizeof(opts),
	        .map = bench->memory->map,
	        .frame_size = (size_t)base_page,
	        .largest = (size_t)hc_max(largest, bench->memory->page_size),
	        .init = HC_ARENA_SERIAL,
	};
	return hc_arena_open(&opts, &bench->arena);
}

/* After the arena has got its pages: what the kernel can be asked for beside them. */
static int look_what_is_left(struct arena_bench *bench) {
	struct hc_machine *machine;
	int r = hc_machine_read(NULL, &machine);
	if (r < 0)
		return r;
	const struct room_page page = {.kind = bench->memory->kind, .page_size = bench->memory->page_size};
	bench->left = room_of(machine, &page, -1);
	hc_machine_free(machine);
	return 0;
}

static int set_up(void *state, struct bench_run *run) {
	struct arena_bench *bench = state;
	bench->run = run;
	struct resident_request request = {
	        .stop = cli_interrupted, .progress = bench_progress, .user = run, .node = -1};
	int code = room_plan(run, "handed out", bench->size, -1, &bench->page, &request.bytes);
	if (code)
		return code;
	request.kind = bench->page.kind;
	request.page_size = bench->page.page_size;
	int r = resident_get(&request, &bench->memory);
	if (r < 0) {
		code = cli_fail(run->verb, r);
		return r == -ENOMEM ? HC_EXIT_LESS : code;
	}
	r = open_arena(bench, run);
	uint64_t threads = most_threads(bench);
	if (r == 0) {
		bench->held = calloc(FRAMES_MOST, sizeof(struct hc_frame *));
		bench->mapped = calloc(FRAMES_MOST, sizeof(char *));
		bench->latencies = calloc(threads, sizeof(*bench->latencies));
		bench->spans = calloc(threads, sizeof(*bench->spans));
		if (!bench->held || !bench->mapped || !bench->latencies || !bench->spans)
			r = hc_fail_memory("no memory for %s", hc_counted(threads, "thread").s);
	}
	if (r == 0)
		r = look_what_is_left(bench);
	if (r == 0)
		r = add_works(bench, run);
	if (r == -EINVAL)
		return cli_usage(run->verb, "%s", hc_error_detail());
	if (r == 0 && bench->nr_works == 0) {
		cli_error(run->verb,
		        "there is nothing to measure: of what was asked for no frame fits into %s for each thread",
		        hc_size_exact(bench->memory->bytes).s);
		return HC_EXIT_LESS;
	}
	if (r == 0)
		r = crew_open(run->machine, (unsigned)threads, NULL, &bench->crew);
	if (r == 0 && crew_threads(bench->crew) < threads)
		bench_note(run, "%s wanted, %u could be started", hc_counted(threads, "thread").s,
		        crew_threads(bench->crew));
	return r < 0 ? cli_fail(run->verb, r) : 0;
}

/* ---- What is timed --------------------------------------------------------------- */

struct job {
	struct arena_bench *bench;
	const struct arena_work *work;
	uint64_t nr; /* of frames of all threads */
	uint64_t
	        rounds; /* of all of them, where it doesn't matter what they were before: few would be the clock's time */
	bool clocked;
	/* Of the kernel's: whether they are of huge pages, what is touched of each, and what is mapped more to align them. */
	bool huge;
	uint64_t page;
	size_t slack;
};

static void write_lines(char *p, uint64_t len) {
	for (uint64_t at = 0; at < len; at += LINE)
		*(volatile uint64_t *)(void *)(p + at) = at;
}

static int get_frame(const struct job *job, struct hc_frame **ret_frame) {
	static const unsigned flags[] = {[ARENA_ANY] = 0,
	        [ARENA_CLEAN] = HC_ZEROED,
	        [ARENA_SOON] = HC_ZEROED,
	        [ARENA_LATER] = HC_ZEROED | HC_LATER};
	struct hc_arena *arena = job->bench->arena;
	int r = hc_arena_alloc(arena, job->work->order, HC_NODE_HERE, flags[job->work->function], ret_frame);
	if (r == 0 && job->work->function == ARENA_PINNED) {
		r = hc_frame_get(arena, *ret_frame);
		if (r == 0)
			r = hc_frame_put(arena, *ret_frame);
	}
	if (r == 0 && job->work->write)
		write_lines(hc_frame_address(arena, *ret_frame), job->work->frame);
	return r;
}

/* All frames of a thread, then all of them back. */
static int use_arena(const struct job *job, struct hc_frame **held, uint64_t nr, struct latency *latency) {
	int r = 0;
	uint64_t got = 0, before = job->clocked ? hc_clock_ns() : 0;
	for (; got < nr && r == 0; got += r == 0) {
		r = get_frame(job, &held[got]);
		if (job->clocked) {
			uint64_t now = hc_clock_ns();
			latency_add(latency, now - before);
			before = now;
		}
	}
	while (got > 0)
		hc_arena_free(job->bench->arena, held[--got], job->work->order);
	return r;
}

/* What a program does without an arena: a mapping of its own for each, of the pages that the arena is made of. */
static int map_of_kernel(const struct job *job, char **ret_p) {
	const struct resident *memory = job->bench->memory;
	size_t len = (size_t)job->work->frame;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	if (job->huge && memory->kind == HC_PAGES_HUGETLB)
		flags |= MAP_HUGETLB | __builtin_ctzll(memory->page_size) << MAP_HUGE_SHIFT;
	char *p = mmap(NULL, len + job->slack, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (p == MAP_FAILED)
		return hc_fail_errno(errno, "mmap of %s", hc_size_exact(len).s);
	*ret_p = p;
	if (job->slack > 0) {
		p = (char *)(((uintptr_t)p + job->slack - 1) & ~(uintptr_t)(job->slack - 1));
		madvise(p, len, MADV_HUGEPAGE);
	}
	uint64_t step = job->work->write ? LINE : job->page;
	for (size_t at = 0; at < len; at += step)
		*(volatile uint64_t *)(void *)(p + at) = at;
	return 0;
}

/* All of a thread, then all of them back: as of the arena. */
static int use_kernel(const struct job *job, char **held, uint64_t nr, struct latency *latency) {
	int r = 0;
	uint64_t got = 0, before = job->clocked ? hc_clock_ns() : 0;
	for (; got < nr && r == 0; got += r == 0) {
		r = map_of_kernel(job, &held[got]);
		if (job->clocked) {
			uint64_t now = hc_clock_ns();
			latency_add(latency, now - before);
			before = now;
		}
	}
	while (got > 0)
		munmap(held[--got], (size_t)job->work->frame + job->slack);
	return r;
}

static int run_member(void *arg, unsigned thread, unsigned nr_threads) {
	struct job *job = arg;
	struct arena_bench *bench = job->bench;
	uint64_t first = job->nr * thread / nr_threads, last = job->nr * (thread + 1) / nr_threads;
	struct latency *latency = &bench->latencies[thread];
	int r = 0;
	bench->spans[thread].began_ns = hc_clock_ns();
	for (uint64_t round = 0; round < job->rounds && r == 0; round++)
		r = job->work->function == ARENA_MMAP ? use_kernel(job, bench->mapped + first, last - first, latency)
		                                      : use_arena(job, bench->held + first, last - first, latency);
	bench->spans[thread].ended_ns = hc_clock_ns();
	return r;
}

/* ---- Samples ------------------------------------------------------------------------ */

/* All of it dirty: handed out and taken back, which leaves no clean frame. */
static int make_dirty(struct arena_bench *bench) {
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	struct hc_frame *list = NULL, *frame;
	int r = hc_arena_stats(bench->arena, HC_NODE_HERE, &stats);
	if (r < 0 || stats.free_clean == 0)
		return r;
	/* A list through the frames' own words. */
	for (unsigned order = stats.max_order + 1; order-- > 0;) {
		while (hc_arena_alloc(bench->arena, order, HC_NODE_HERE, 0, &frame) == 0) {
			hc_frame_words(frame)[0] = (uint64_t)(uintptr_t)list;
			list = frame;
		}
	}
	while (list) {
		frame = list;
		list = (struct hc_frame *)(uintptr_t)hc_frame_words(frame)[0];
		r = hc_arena_free(bench->arena, frame, hc_frame_order(frame));
	}
	return r;
}

static int prepare(struct arena_bench *bench, const struct arena_work *work) {
	if (work->function == ARENA_CLEAN)
		return hc_arena_scrub(bench->arena, UINT64_MAX, NULL);
	return work->function == ARENA_MMAP ? 0 : make_dirty(bench);
}

static int run_pass(struct job *job, uint64_t *ret_ns) {
	struct arena_bench *bench = job->bench;
	int r = prepare(bench, job->work);
	unsigned threads = (unsigned)hc_min(job->work->threads, crew_threads(bench->crew));
	if (r == 0 && bench->scrubber && job->work->function != ARENA_MMAP)
		r = hc_arena_scrubber_start(bench->arena, NULL);
	if (r < 0)
		return r;
	r = crew_run(bench->crew, threads, run_member, job);
	hc_arena_scrubber_stop(bench->arena);
	/* From the first that began to the last that ended. */
	uint64_t began = UINT64_MAX, ended = 0;
	for (unsigned t = 0; t < threads; t++) {
		began = hc_min(began, bench->spans[t].began_ns);
		ended = hc_max(ended, bench->spans[t].ended_ns);
	}
	*ret_ns = ended - began;
	return r;
}

static int sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample) {
	struct arena_bench *bench = state;
	const struct arena_work *work = &bench->works[i];
	struct job job = {.bench = bench, .work = work};
	job.nr = frames_of(bench, work);
	job.rounds = work->function <= ARENA_PINNED && !work->write ? hc_div_up(ROUND_FRAMES, job.nr) : 1;
	job.huge = bench->memory->kind != HC_PAGES_BASE && work->frame >= bench->memory->page_size;
	job.page = job.huge ? bench->memory->page_size : hc_machine_memory(bench->run->machine)->base_page_size;
	job.slack = job.huge && bench->memory->kind == HC_PAGES_THP ? (size_t)bench->memory->page_size : 0;
	int r = 0;
	for (uint64_t repeat = 0; repeat < repeats && r == 0; repeat++) {
		uint64_t ns = 0;
		r = cli_interrupted(NULL) ? -ECANCELED : run_pass(&job, &ns);
		ret_sample->ns += ns;
	}
	double each = (double)ret_sample->ns / 1e9 / (double)repeats / (double)job.nr / (double)job.rounds;
	/* Apart, for reading the clock costs as much as a frame. */
	uint64_t unused;
	job.clocked = true;
	memset(bench->latencies, 0, (size_t)work->threads * sizeof(*bench->latencies));
	if (r == 0)
		r = run_pass(&job, &unused);
	if (r < 0)
		return r;
	for (unsigned t = 1; t < work->threads; t++)
		latency_merge(&bench->latencies[0], &bench->latencies[t]);
	ret_sample->values[ARENA_SECONDS] = each;
	ret_sample->values[ARENA_RATE] = 1 / each;
	ret_sample->values[ARENA_P50] = (double)latency_at(bench->latencies, 0.5) / 1e9;
	ret_sample->values[ARENA_P99] = (double)latency_at(bench->latencies, 0.99) / 1e9;
	ret_sample->values[ARENA_MAX] = (double)bench->latencies[0].max / 1e9;
	return 0;
}

static int check(void *state, size_t i) {
	struct arena_bench *bench = state;
	const struct arena_work *work = &bench->works[i];
	if (work->function == ARENA_MMAP)
		return 0;
	return hc_arena_check(bench->arena);
}

/* ---- The table ---------------------------------------------------------------------- */

static double seconds_of(const struct bench_run *run, size_t i, enum arena_metric metric) {
	struct statistics s;
	return bench_statistics(run, i, metric, &s) ? s.mean : NAN;
}

static void print(const void *state, const struct bench_run *run, FILE *out) {
	const struct arena_bench *bench = state;
	const struct resident *memory = bench->memory;
	fprintf(out, "arena: %s of %s pages of %s%s\n", hc_size_exact(memory->bytes).s, room_kind_name(memory->kind),
	        hc_size_exact(memory->page_size).s, bench->scrubber ? ", the scrubber runs" : "");
	fprintf(out, "%-8s %-5s %-5s %3s  %9s %9s %9s %9s %9s  %9s\n", "frame", "then", "what", "thr", "each", "stdev",
	        "get p50", "p99", "max", "to mmap");
	for (size_t i = 0; i < bench->nr_works; i++) {
		const struct arena_work *work = &bench->works[i];
		struct statistics each;
		double kernel = NAN;
		if (!bench_statistics(run, i, ARENA_SECONDS, &each))
			continue;
		for (size_t k = 0; k < bench->nr_works; k++)
			if (bench->works[k].function == ARENA_MMAP && bench->works[k].frame == work->frame &&
			        bench->works[k].write == work->write && bench->works[k].threads == work->threads)
				kernel = seconds_of(run, k, ARENA_SECONDS);
		fprintf(out, "%-8s %-5s %-5s %3u  %9s", hc_size_exact(work->frame).s, work->write ? "write" : "-",
		        function_names[work->function], work->threads, bench_time_text(each.mean).s);
		if (each.has_stdev_pct)
			fprintf(out, " %7.1f %%", each.stdev_pct);
		else
			fprintf(out, " %9s", "n/a");
		fprintf(out, " %9s", bench_time_text(seconds_of(run, i, ARENA_P50)).s);
		fprintf(out, " %9s", bench_time_text(seconds_of(run, i, ARENA_P99)).s);
		fprintf(out, " %9s", bench_time_text(seconds_of(run, i, ARENA_MAX)).s);
		if (work->function != ARENA_MMAP && isfinite(kernel) && each.mean > 0)
			fprintf(out, "  %8.1fx", kernel / each.mean);
		fputc('\n', out);
	}
	fputs("each: a frame got, and given back; of mmap: mapped, touched and unmapped. \"to mmap\": how many times "
	      "as fast.\n"
	      "clean: zeroed beforehand, outside of the time; soon and later: zeroed when it is asked for.\n",
	        out);
}

const struct bench bench_arena = {
        .name = "arena",
        .title = "what a frame costs, of an arena and of the kernel",
        .summary = "Takes all frames of an arena and gives them back: as they are, or zeroed from clean or from dirty\n"
                   "stock, and beside it what a program does without one: mmap, touch and munmap.",
        .help = help,
        .metrics = {[ARENA_SECONDS] = {"seconds", "s", false},
                [ARENA_RATE] = {"operations", "1/s", true},
                [ARENA_P50] = {"get_p50", "s", false},
                [ARENA_P99] = {"get_p99", "s", false},
                [ARENA_MAX] = {"get_max", "s", false}},
        .nr_metrics = 5,
        .short_options = "s:p:F:f:t:",
        .long_options = options,
        .create = create,
        .option = option,
        .set_up = set_up,
        .sample = sample,
        .check = check,
        .print = print,
        .destroy = destroy,
};
