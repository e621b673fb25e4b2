#include "bench/clear_work.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli.h"

/* What the next user touches of each. Lines of other lengths exist; this is the shortest in use. */
#define LINE 64

/*
 * Reading the clock costs as much as clearing a few lines: of small extents only
 * one in so many is timed apart.
 */
#define SMALL_EXTENT (UINT64_C(64) << 10)
#define STAMP_EVERY 16

/* ---- One extent ---------------------------------------------------------- */

static int clear_extent(const struct clear_work *work, char *p, size_t len, struct clear_seen *seen) {
	uint64_t *longest = work->chunk ? &seen->longest_ns : NULL;
	if (work->kind == CLEAR_BASE) {
		kernel_clear_base(work->kernel, p, len, 0);
		return 0;
	}
	if (work->kind == CLEAR_PATCHED) {
		kernel_clear_patched(work->kernel, p, len, 0, work->chunk, longest);
		return 0;
	}
	struct hc_clear_opts opts = {
	        .size = sizeof(opts),
	        .method = work->method,
	        .intent = work->intent,
	        .chunk = work->chunk,
	        .stop = work->chunk ? cli_interrupted : NULL,
	};
	struct hc_clear_report report = {.size = sizeof(report)};
	int r = hc_clear_with(p, len, &opts, &report);
	seen->method = report.method;
	seen->longest_ns = hc_max(seen->longest_ns, report.longest_step_ns);
	return r;
}

static void use_extent(enum clear_then then, char *p, size_t len) {
	if (then == THEN_READ)
		for (size_t i = 0; i < len; i += LINE)
			(void)*(volatile char *)(p + i);
	else if (then == THEN_WRITE)
		for (size_t i = 0; i < len; i += LINE)
			*(volatile char *)(p + i) = 1;
}

/* ---- The extents of a thread --------------------------------------------- */

struct job {
	const struct clear_work *work;
	char *p;
	size_t len;
	uint64_t repeats;
	pthread_mutex_t lock; /* guards seen and took_part */
	struct clear_seen *seen;
	unsigned took_part; /* members that had an extent to clear */
};

static void add_seen(struct clear_seen *sum, const struct clear_seen *seen) {
	sum->clear_ns += seen->clear_ns;
	sum->then_ns += seen->then_ns;
	sum->stamp_ns += seen->stamp_ns;
	sum->longest_ns = hc_max(sum->longest_ns, seen->longest_ns);
	if (seen->method)
		sum->method = seen->method;
}

/* Extents [begin, end) of the job, once. */
static int run_share(const struct job *job, uint64_t extent, uint64_t begin, uint64_t end, uint64_t *nr_extents,
        struct clear_seen *seen) {
	const struct clear_work *work = job->work;
	uint64_t every = extent < SMALL_EXTENT ? STAMP_EVERY : 1;
	for (uint64_t i = begin; i < end; i++) {
		char *p = job->p + i * extent;
		size_t len = hc_min(extent, job->len - i * extent);
		bool stamped = work->then != THEN_NONE && (*nr_extents)++ % every == 0;
		uint64_t start = stamped ? hc_clock_ns() : 0;
		int r = clear_extent(work, p, len, seen);
		if (r < 0)
			return r;
		uint64_t cleared = stamped ? hc_clock_ns() : 0;
		use_extent(work->then, p, len);
		if (stamped) {
			/* Each difference has the cost of one reading in it. */
			uint64_t used = hc_clock_ns(), cost = work->clock_step_ns;
			seen->clear_ns += cleared - start > cost ? cleared - start - cost : 1;
			seen->then_ns += used - cleared > cost ? used - cleared - cost : 1;
			seen->stamp_ns += 3 * cost;
		}
	}
	return 0;
}

/* An even share of whole extents; extents that are too long for every thread to get one are cut to the share. */
static int run_member(void *arg, unsigned thread, unsigned nr) {
	struct job *job = arg;
	struct clear_seen seen = {0};
	uint64_t page = job->work->kernel->base_page, share = hc_div_up(job->len, nr), extent = job->work->extent;
	if (nr > 1 && extent > share && !hc_align_up_ok(share, page, &extent))
		extent = job->work->extent;
	extent = hc_min(extent, job->len);
	uint64_t n = hc_div_up(job->len, extent), begin = n * thread / nr, end = n * (thread + 1) / nr, nr_extents = 0;
	int r = 0;
	for (uint64_t i = 0; i < job->repeats && r == 0; i++)
		r = run_share(job, extent, begin, end, &nr_extents, &seen);
	pthread_mutex_lock(&job->lock);
	add_seen(job->seen, &seen);
	job->took_part += begin < end;
	pthread_mutex_unlock(&job->lock);
	return r;
}

/* ---- All ----------------------------------------------------------------- */

static bool is_library_work(const struct clear_work *work) {
	return (work->kind == CLEAR_DEFAULT || work->kind == CLEAR_METHOD) && work->then == THEN_NONE;
}

int clear_work_needs_crew(const struct clear_work *work) {
	return !is_library_work(work) && (work->threads > 1 || work->cpus);
}

static int run_library(const struct clear_work *work, char *p, size_t len, uint64_t repeats, struct clear_seen *seen) {
	struct hc_clear_opts opts = {
	        .size = sizeof(opts),
	        .method = work->method,
	        .intent = work->intent,
	        .threads = work->threads,
	        .extent = work->extent < len ? work->extent : 0,
	        .chunk = work->chunk,
	        .stop = work->chunk ? cli_interrupted : NULL,
	        .cpus = work->cpus,
	};
	for (uint64_t i = 0; i < repeats; i++) {
		struct hc_clear_report report = {.size = sizeof(report)};
		int r = hc_clear_with(p, len, &opts, &report);
		if (r < 0)
			return r;
		seen->threads = report.threads;
		seen->method = report.method;
		seen->longest_ns = hc_max(seen->longest_ns, report.longest_step_ns);
	}
	return 0;
}

int clear_work_run(const struct clear_work *work, char *p, size_t len, uint64_t repeats, struct clear_seen *seen) {
	if (is_library_work(work))
		return run_library(work, p, len, repeats, seen);
	struct job job = {
	        .work = work, .p = p, .len = len, .repeats = repeats, .lock = PTHREAD_MUTEX_INITIALIZER, .seen = seen};
	int r = clear_work_needs_crew(work) ? crew_run(work->crew, work->threads, run_member, &job)
	                                    : run_member(&job, 0, 1);
	seen->threads = job.took_part;
	return r;
}
