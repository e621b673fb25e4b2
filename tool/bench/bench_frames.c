/*
 * `hugeclear bench frames`: what it takes to initialise the descriptors of an arena, in one pass or two, by one
 * thread or more, at once or deferred. The arena is address space that nobody touches.
 */
#include "bench/bench_frames.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/lists.h"
#include "bench/time_text.h"
#include "cli.h"

#define SIZE_DEFAULT (UINT64_C(64) << 30)
#define LARGEST_DEFAULT (UINT64_C(1) << 30)
#define THREADS_MAX 16
#define HUGE_ALIGN ((size_t)2 << 20)

enum frames_function {
	FRAMES_BASE,     /* one thread clears all, then all threads fill in each */
	FRAMES_SERIAL,   /* one pass by one thread */
	FRAMES_PARALLEL, /* one pass by all threads */
	FRAMES_DEFERRED, /* behind the program's back */
	FRAMES_CLEAR,    /* clearing the same bytes with streaming stores, and nothing else */
	FRAMES_MEMSET,   /* libc's memset of them */
	FRAMES_FUNCTIONS,
};

static const char *const function_names[] = {"base", "serial", "parallel", "deferred", "clear", "memset", "all", NULL};

enum frames_metric { FRAMES_SECONDS, FRAMES_PER_TIB, FRAMES_THROUGHPUT, FRAMES_FIRST };

struct frames_work {
	enum frames_function function;
	unsigned threads;
	bool fresh;
};

struct frames_bench {
	uint64_t size, frame_size, largest;
	bool functions[FRAMES_FUNCTIONS];
	uint64_t threads[THREADS_MAX];
	size_t nr_threads;
	bool fresh, recycled;
	struct frames_work works[FRAMES_FUNCTIONS * THREADS_MAX * 2];
	size_t nr_works;
	void *space;         /* the arena's memory: address space */
	char *mapped, *kept; /* recycled descriptors, as mapped, and aligned to huge pages */
	size_t mapped_length, descriptors;
	struct bench_run *run;
	bool told_nodes;
};

/* ---- Options ------------------------------------------------------------- */

enum { OPTION_FRAME = 256, OPTION_LARGEST, OPTION_DESCRIPTORS };

static const struct option options[] = {
        {"size", required_argument, NULL, 's'},
        {"frame", required_argument, NULL, OPTION_FRAME},
        {"largest", required_argument, NULL, OPTION_LARGEST},
        {"function", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 't'},
        {"descriptors", required_argument, NULL, OPTION_DESCRIPTORS},
        {0},
};

static const char help[] =
        "  -s, --size SIZE       of the arena, of which only the address space is taken (64G)\n"
        "      --frame SIZE      of a frame (a base page)\n"
        "      --largest SIZE    of the largest frame (1G, or the arena's size)\n"
        "  -f, --function LIST   base, serial, parallel, deferred; clear and memset of the same bytes; all\n"
        "                        (base,serial,parallel,deferred)\n"
        "  -t, --threads LIST    that initialise (as many as there are CPUs, at most 8)\n"
        "      --descriptors WORD  recycled: memory that is there, and dirty; fresh: memory that the kernel\n"
        "                        has yet to give; both (recycled)\n";

static void *create(void) {
	struct frames_bench *bench = calloc(1, sizeof(*bench));
	if (!bench)
		return NULL;
	bench->size = SIZE_DEFAULT;
	bench->recycled = true;
	for (enum frames_function function = FRAMES_BASE; function <= FRAMES_DEFERRED; function++)
		bench->functions[function] = true;
	return bench;
}

static void destroy(void *state) {
	struct frames_bench *bench = state;
	if (!bench)
		return;
	if (bench->space)
		munmap(bench->space, (size_t)bench->size);
	if (bench->mapped)
		munmap(bench->mapped, bench->mapped_length);
	free(bench);
}

struct function_list {
	struct frames_bench *bench;
	const char *verb;
};

static int add_function(void *user, const char *item) {
	struct function_list *list = user;
	int word = cli_word(list->verb, "--function", item, function_names);
	for (int function = 0; function < FRAMES_FUNCTIONS; function++)
		if (word == function || word == FRAMES_FUNCTIONS)
			list->bench->functions[function] = true;
	return word < 0 ? HC_EXIT_USAGE : 0;
}

static int option(void *state, const char *verb, int c, const char *value) {
	static const char *const memories[] = {"recycled", "fresh", "both", NULL};
	struct frames_bench *bench = state;
	struct function_list functions = {.bench = bench, .verb = verb};
	struct bench_list list = {.verb = verb, .most = BENCH_THREADS_MAX, .option = "--threads", .max = THREADS_MAX};
	int word;
	switch (c) {
	case 's':
		return cli_size(verb, "--size", value, &bench->size);
	case OPTION_FRAME:
		return cli_size(verb, "--frame", value, &bench->frame_size);
	case OPTION_LARGEST:
		return cli_size(verb, "--largest", value, &bench->largest);
	case 'f':
		memset(bench->functions, 0, sizeof(bench->functions));
		return cli_list(verb, "--function", value, add_function, &functions);
	case 't':
		list.values = bench->threads, list.nr = &bench->nr_threads, list.read = bench_read_count;
		return bench_read_list(list, value);
	default:
		word = cli_word(verb, "--descriptors", value, memories);
		bench->recycled = word == 0 || word == 2;
		bench->fresh = word == 1 || word == 2;
		return word < 0 ? HC_EXIT_USAGE : 0;
	}
}

/* ---- Set-up -------------------------------------------------------------- */

static bool takes_threads(enum frames_function function) {
	return function != FRAMES_SERIAL && function != FRAMES_MEMSET;
}

static int add_work(struct frames_bench *bench, struct bench_run *run, struct frames_work work) {
	json_t *params = json_object();
	bool ok = params && json_object_set_new(params, "size", json_integer((json_int_t)bench->size)) == 0 &&
	          json_object_set_new(params, "frame", json_integer((json_int_t)bench->frame_size)) == 0 &&
	          json_object_set_new(params, "largest", json_integer((json_int_t)bench->largest)) == 0 &&
	          json_object_set_new(params, "function", json_string(function_names[work.function])) == 0 &&
	          json_object_set_new(params, "threads", json_integer(work.threads)) == 0 &&
	          json_object_set_new(params, "descriptors", json_string(work.fresh ? "fresh" : "recycled")) == 0;
	if (!ok) {
		json_decref(params);
		return hc_fail_memory("no memory for a case");
	}
	bench->works[bench->nr_works++] = work;
	return bench_add_case(run, params, NULL);
}

static int add_works(struct frames_bench *bench, struct bench_run *run) {
	int r = 0;
	for (int fresh = 0; fresh < 2; fresh++) {
		if (!(fresh ? bench->fresh : bench->recycled))
			continue;
		for (enum frames_function function = FRAMES_BASE; function < FRAMES_FUNCTIONS; function++) {
			/* Clearing alone is of memory that is there. */
			if (!bench->functions[function] || (fresh && function > FRAMES_DEFERRED))
				continue;
			for (size_t t = 0; r == 0 && t < (takes_threads(function) ? bench->nr_threads : 1); t++)
				r = add_work(bench, run,
				        (struct frames_work){.function = function,
				                .threads = takes_threads(function) ? (unsigned)bench->threads[t] : 1,
				                .fresh = fresh});
		}
	}
	return r;
}

/* -ENOMEM where all descriptors together are more than there is memory: how many would fit. */
static int check_room(const struct frames_bench *bench, const struct bench_run *run) {
	uint64_t available = hc_machine_memory(run->machine)->available;
	if (available == HC_UNKNOWN || bench->descriptors <= available)
		return 0;
	uint64_t fit = available / 64;
	return hc_fail(ENOMEM,
	        "%s of frames of %s need %s of descriptors, and %s of memory are available: enough for %s",
	        hc_size_exact(bench->size).s, hc_size_exact(bench->frame_size).s, hc_size_exact(bench->descriptors).s,
	        hc_size_rounded(available).s, hc_size_rounded(fit * bench->frame_size).s);
}

static int map_space(struct frames_bench *bench) {
	void *p = mmap(NULL, (size_t)bench->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return hc_fail_errno(errno, "no address space for an arena of %s", hc_size_exact(bench->size).s);
	bench->space = p;
	return 0;
}

/* Memory for recycled descriptors, brought in and dirty. */
static int map_kept(struct frames_bench *bench) {
	bench->mapped_length = bench->descriptors + HUGE_ALIGN;
	void *p = mmap(NULL, bench->mapped_length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return hc_fail_errno(errno, "no memory for %s of descriptors", hc_size_exact(bench->descriptors).s);
	bench->mapped = p;
	bench->kept = (char *)(((uintptr_t)p + HUGE_ALIGN - 1) & ~(uintptr_t)(HUGE_ALIGN - 1));
	madvise(bench->kept, bench->descriptors, MADV_HUGEPAGE);
	for (size_t done = 0; done < bench->descriptors;) {
		size_t len = hc_min(bench->descriptors - done, (size_t)64 << 20);
		if (cli_interrupted(NULL))
			return hc_fail(ECANCELED, "interrupted");
		memset(bench->kept + done, 0xa5, len);
		done += len;
		bench_progress(bench->run, done, bench->descriptors);
	}
	return 0;
}

static void set_defaults(struct frames_bench *bench, const struct bench_run *run) {
	const struct hc_idset *allowed = hc_machine_cpus(run->machine)->allowed;
	if (bench->nr_threads == 0)
		bench->threads[bench->nr_threads++] = hc_max(1, hc_min(hc_idset_count(allowed), 8));
	if (bench->frame_size == 0)
		bench->frame_size = hc_machine_memory(run->machine)->base_page_size;
	if (bench->largest == 0)
		for (bench->largest = bench->frame_size;
		        bench->largest < LARGEST_DEFAULT && bench->largest * 2 <= bench->size;)
			bench->largest *= 2;
}

static int set_up(void *state, struct bench_run *run) {
	struct frames_bench *bench = state;
	bench->run = run;
	set_defaults(bench, run);
	bench->descriptors = hc_arena_descriptors_size((size_t)bench->size, (size_t)bench->frame_size);
	if (bench->descriptors == 0)
		return cli_usage(run->verb, "--size: %s is less than a frame of %s", hc_size_exact(bench->size).s,
		        hc_size_exact(bench->frame_size).s);
	if (bench->fresh && !bench->recycled && !bench->functions[FRAMES_BASE] && !bench->functions[FRAMES_SERIAL] &&
	        !bench->functions[FRAMES_PARALLEL] && !bench->functions[FRAMES_DEFERRED])
		return cli_usage(run->verb, "--function: clear and memset are of recycled descriptors");
	int r = check_room(bench, run);
	if (r == 0)
		r = map_space(bench);
	if (r == 0 && bench->recycled)
		r = map_kept(bench);
	if (r == 0)
		r = add_works(bench, run);
	if (r < 0) {
		int code = cli_fail(run->verb, r);
		return r == -ENOMEM ? HC_EXIT_LESS : code;
	}
	if (bench->functions[FRAMES_BASE] || bench->functions[FRAMES_MEMSET])
		bench_note(run, "base clears with string stores, as kernels do; memset is that of glibc %s",
		        gnu_get_libc_version());
	return 0;
}

/* ---- Samples --------------------------------------------------------------- */

static struct hc_arena_opts arena_opts(const struct frames_bench *bench, const struct frames_work *work) {
	static const enum hc_arena_init inits[] = {
	        [FRAMES_BASE] = HC_ARENA_MEMSET_THEN_INIT,
	        [FRAMES_SERIAL] = HC_ARENA_SERIAL,
	        [FRAMES_PARALLEL] = HC_ARENA_PARALLEL,
	        [FRAMES_DEFERRED] = HC_ARENA_DEFERRED,
	};
	return (struct hc_arena_opts){
	        .size = sizeof(struct hc_arena_opts),
	        .memory = bench->space,
	        .length = (size_t)bench->size,
	        .frame_size = (size_t)bench->frame_size,
	        .largest = (size_t)bench->largest,
	        .init = inits[work->function],
	        .threads = work->threads,
	        .descriptors = work->fresh ? NULL : bench->kept,
	        .stop = cli_interrupted,
	};
}

/* One arena, from opening it to its last descriptor; *ret_first: to a frame that can be used. */
static int time_arena(
        struct frames_bench *bench, const struct frames_work *work, uint64_t *ret_ns, uint64_t *ret_first_ns) {
	struct hc_arena_opts opts = arena_opts(bench, work);
	struct hc_arena *arena;
	struct hc_frame *frame;
	uint64_t start = hc_clock_ns();
	int r = hc_arena_open(&opts, &arena);
	if (r < 0)
		return r;
	r = hc_arena_alloc(arena, 0, HC_NODE_HERE, 0, &frame);
	*ret_first_ns = hc_clock_ns() - start;
	if (r == 0)
		r = hc_arena_wait(arena);
	*ret_ns = hc_clock_ns() - start;
	hc_arena_close(arena);
	return r;
}

static int time_clear(const struct frames_bench *bench, const struct frames_work *work, uint64_t *ret_ns) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .intent = HC_INTENT_LATER, .threads = work->threads};
	uint64_t start = hc_clock_ns();
	int r = 0;
	if (work->function == FRAMES_CLEAR) {
		r = hc_clear_with(bench->kept, bench->descriptors, &opts, NULL);
	} else {
		memset(bench->kept, 0, bench->descriptors);
		/* So that it isn't left out, as nobody reads it. */
		__asm__ volatile("" ::"r"(bench->kept) : "memory");
	}
	*ret_ns = hc_clock_ns() - start;
	return r;
}

static int sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample) {
	struct frames_bench *bench = state;
	const struct frames_work *work = &bench->works[i];
	bool arena = work->function <= FRAMES_DEFERRED;
	uint64_t first_sum = 0;
	for (uint64_t repeat = 0; repeat < repeats; repeat++) {
		uint64_t ns = 0, first = 0;
		int r = arena ? time_arena(bench, work, &ns, &first) : time_clear(bench, work, &ns);
		if (r < 0)
			return r;
		ret_sample->ns += ns;
		first_sum += first;
	}
	double seconds = (double)ret_sample->ns / 1e9 / (double)repeats;
	ret_sample->values[FRAMES_SECONDS] = seconds;
	ret_sample->values[FRAMES_PER_TIB] = seconds / (double)bench->size * (double)(UINT64_C(1) << 40);
	ret_sample->values[FRAMES_THROUGHPUT] = bench_gib_per_s(
	        (double)bench->descriptors * (double)repeats, (double)hc_max(ret_sample->ns, 1));
	if (arena)
		ret_sample->values[FRAMES_FIRST] = (double)first_sum / 1e9 / (double)repeats;
	return 0;
}

/* Frames of each node, as the arena has them. */
static int count_node(void *user, const struct hc_frame_view *view) {
	json_t *nodes = user;
	char name[16];
	snprintf(name, sizeof(name), "%d", view->node);
	json_int_t before = json_integer_value(json_object_get(nodes, name));
	return json_object_set_new(nodes, name, json_integer(before + (json_int_t)view->length));
}

/* All descriptors are right, and lists and counters fit them. */
static int check(void *state, size_t i) {
	struct frames_bench *bench = state;
	const struct frames_work *work = &bench->works[i];
	if (work->function > FRAMES_DEFERRED)
		return 0;
	/* Of dirty memory, so that what is left out is seen. */
	if (!work->fresh)
		memset(bench->kept, 0xa5, bench->descriptors);
	struct hc_arena_opts opts = arena_opts(bench, work);
	struct hc_arena *arena;
	int r = hc_arena_open(&opts, &arena);
	if (r < 0)
		return r;
	r = hc_arena_wait(arena);
	if (r == 0)
		r = hc_arena_check(arena);
	json_t *nodes = json_object();
	if (r == 0 && nodes && hc_arena_walk(arena, count_node, nodes) == 0)
		json_object_set(bench->run->cases[i].got, "bytes_by_node", nodes);
	json_decref(nodes);
	hc_arena_close(arena);
	return r;
}

/* ---- The table ---------------------------------------------------------------- */

static void print_row(const struct frames_bench *bench, const struct bench_run *run, size_t i, double base, FILE *out) {
	const struct frames_work *work = &bench->works[i];
	struct statistics seconds, per_tib, throughput, first;
	double change;
	if (!bench_statistics(run, i, FRAMES_SECONDS, &seconds) ||
	        !bench_statistics(run, i, FRAMES_PER_TIB, &per_tib) ||
	        !bench_statistics(run, i, FRAMES_THROUGHPUT, &throughput))
		return;
	fprintf(out, "%-8s  %-8s %3u  %9s", work->fresh ? "fresh" : "recycled", function_names[work->function],
	        work->threads, bench_time_text(seconds.mean).s);
	if (seconds.has_stdev_pct)
		fprintf(out, " +- %4.1f %%", seconds.stdev_pct);
	else
		fprintf(out, " +-   n/a");
	fprintf(out, "  %9s  %6.2f", bench_time_text(per_tib.mean).s, throughput.mean);
	fprintf(out, "  %9s", bench_time_text(bench_statistics(run, i, FRAMES_FIRST, &first) ? first.mean : NAN).s);
	if (work->function != FRAMES_BASE && statistics_change_pct(base, seconds.mean, &change))
		fprintf(out, "  %+6.1f %%", change);
	fputc('\n', out);
}

static void print(const void *state, const struct bench_run *run, FILE *out) {
	const struct frames_bench *bench = state;
	fprintf(out, "frames: an arena of %s in frames of %s up to %s: %s, %s of descriptors\n",
	        hc_size_exact(bench->size).s, hc_size_exact(bench->frame_size).s, hc_size_exact(bench->largest).s,
	        hc_counted(bench->descriptors / 64, "frame").s, hc_size_rounded(bench->descriptors).s);
	fprintf(out, "%-8s  %-8s %3s  %9s %9s  %9s  %6s  %9s  %8s\n", "memory", "function", "thr", "seconds", "stdev",
	        "a TiB", "GiB/s", "1st frame", "to base");
	for (size_t i = 0; i < bench->nr_works; i++) {
		const struct frames_work *work = &bench->works[i];
		double base = 0;
		struct statistics s;
		/* Of the same memory, with as many threads, or one where the function has one. */
		for (size_t k = 0; k < bench->nr_works; k++)
			if (bench->works[k].function == FRAMES_BASE && bench->works[k].fresh == work->fresh &&
			        (bench->works[k].threads == work->threads || !takes_threads(work->function)) &&
			        bench_statistics(run, k, FRAMES_SECONDS, &s))
				base = s.mean;
		print_row(bench, run, i, base, out);
	}
	fputs("base: one thread clears all descriptors, then the threads fill in each. The others write each once.\n"
	      "GiB/s are of descriptors; \"a TiB\" is the time for a TiB of arena, as kernels report it for memory.\n",
	        out);
}

const struct bench bench_frames = {
        .name = "frames",
        .title = "initialising frame descriptors, in one pass or two",
        .summary = "Initialises the descriptors of an arena's frames, 64 bytes each: cleared by one thread first and\n"
                   "filled in after, as kernels did it; or written once, by one thread, by several, or deferred.",
        .help = help,
        .metrics = {[FRAMES_SECONDS] = {"seconds", "s", false},
                [FRAMES_PER_TIB] = {"seconds_per_tib", "s", false},
                [FRAMES_THROUGHPUT] = {"throughput", "GiB/s", true},
                [FRAMES_FIRST] = {"first_frame", "s", false}},
        .nr_metrics = 4,
        .short_options = "s:f:t:",
        .long_options = options,
        .create = create,
        .option = option,
        .set_up = set_up,
        .sample = sample,
        .check = check,
        .print = print,
        .destroy = destroy,
};
