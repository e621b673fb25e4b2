#include "bench/measure.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/random.h"
#include "bench/turns.h"
#include "cli.h"

/* A sample is repeated until it takes this long, or this many steps of the clock where that is longer. */
#define SAMPLE_NS UINT64_C(1000000)
#define SAMPLE_STEPS 1000
/* So many times that and more is long work for certain. */
#define CERTAINLY_LONG 20
/* Below this many steps of the clock a sample says more about the clock than about the work. */
#define RESOLVED_STEPS 100
#define REPEATS_MAX (UINT64_C(1) << 40)

#define PROGRESS_AFTER_NS HC_NSEC_PER_SEC
#define PROGRESS_EVERY_NS (HC_NSEC_PER_SEC / 5)

/* ---- For benchmarks ------------------------------------------------------ */

double bench_gib_per_s(double bytes, double ns) {
	return bytes / ns * 1e9 / (double)(1u << 30);
}

uint64_t bench_clock_step_ns(void) {
	uint64_t least = UINT64_MAX, before = hc_clock_ns();
	for (int i = 0; i < 1000; i++) {
		uint64_t now = hc_clock_ns();
		if (now != before)
			least = hc_min(least, now - before);
		before = now;
	}
	return least == UINT64_MAX ? 1 : least;
}

int bench_add_case(struct bench_run *run, json_t *params, json_t *got) {
	struct bench_case *cases = NULL;
	if (!got)
		got = json_object();
	if (params && got)
		cases = reallocarray(run->cases, run->nr_cases + 1, sizeof(*cases));
	if (!cases) {
		json_decref(params);
		json_decref(got);
		return hc_fail_memory("no memory for %s", hc_counted(run->nr_cases + 1, "case").s);
	}
	run->cases = cases;
	cases[run->nr_cases++] = (struct bench_case){.params = params, .got = got, .repeats = 1};
	return 0;
}

void bench_note(struct bench_run *run, const char *format, ...) {
	char *note = NULL;
	va_list ap;
	va_start(ap, format);
	int len = vasprintf(&note, format, ap);
	va_end(ap);
	if (len < 0)
		return;
	char **notes = reallocarray(run->notes, run->nr_notes + 1, sizeof(*notes));
	if (!notes) {
		free(note);
		return;
	}
	run->notes = notes;
	notes[run->nr_notes++] = note;
}

bool bench_statistics(const struct bench_run *run, size_t i, size_t metric, struct statistics *ret_statistics) {
	const struct bench_series *series = &run->cases[i].series[metric];
	return series->nr_samples > 0 && statistics_of(series->samples, series->nr_samples, ret_statistics) == 0;
}

/* ---- Progress ------------------------------------------------------------ */

static bool time_to_tell(struct bench_run *run) {
	uint64_t now = hc_clock_ns();
	if (now - run->started_ns < PROGRESS_AFTER_NS || now - run->told_ns < PROGRESS_EVERY_NS ||
	        !cli_progress_wanted())
		return false;
	run->told_ns = now;
	run->told = true;
	return true;
}

void bench_end_progress(struct bench_run *run) {
	if (run->told)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	run->told = false;
}

void bench_progress(void *user, uint64_t done, uint64_t total) {
	struct bench_run *run = user;
	if (!time_to_tell(run))
		return;
	fprintf(stderr, "\r\033[K%s: preparing, %.0f %%", run->verb, 100 * (double)done / (double)hc_max(total, 1));
	fflush(stderr);
}

static void measuring_progress(struct bench_run *run, uint64_t loop, uint64_t done, uint64_t total, uint64_t since) {
	if (!time_to_tell(run))
		return;
	double left = done > 0 ? (double)(hc_clock_ns() - since) / 1e9 / (double)done * (double)(total - done) : 0;
	if (loop == 0)
		fprintf(stderr, "\r\033[K%s: warm-up, %llu of %llu cases", run->verb, (unsigned long long)done,
		        (unsigned long long)total);
	else
		fprintf(stderr, "\r\033[K%s: loop %llu of %llu, %.0f s left", run->verb, (unsigned long long)loop,
		        (unsigned long long)run->loops, ceil(left));
	fflush(stderr);
}

/* ---- Measuring ----------------------------------------------------------- */

/* A new order for each loop: what runs before a case isn't always the same. */
static void shuffle(struct bench_run *run) {
	for (size_t i = run->nr_cases; i > 1; i--) {
		size_t k = hc_random_next(&run->random) % i, kept = run->order[i - 1];
		run->order[i - 1] = run->order[k];
		run->order[k] = kept;
	}
}

static int take_sample(struct bench_run *run, void *state, size_t i, struct bench_sample *ret_sample) {
	*ret_sample = (struct bench_sample){0};
	for (size_t m = 0; m < BENCH_METRICS_MAX; m++)
		ret_sample->values[m] = NAN;
	if (cli_interrupted(NULL))
		return -ECANCELED;
	int r = turn_begin();
	if (r < 0)
		return r;
	r = run->bench->sample(state, i, run->cases[i].repeats, ret_sample);
	turn_end();
	return r;
}

/*
 * Takes a sample that seems just long enough once more, and lets the shorter count: a thread that
 * has lost its CPU for some milliseconds would pass for long work.
 */
static int confirm_long(struct bench_run *run, void *state, size_t i, uint64_t wanted, uint64_t *ns) {
	if (*ns < wanted || *ns / CERTAINLY_LONG >= wanted)
		return 0;
	struct bench_sample again;
	int r = take_sample(run, state, i, &again);
	if (r == 0)
		*ns = hc_min(*ns, again.ns);
	return r;
}

/* The cold sample, kept apart; then as many repeats as the clock needs; then the proof. */
static int warm_up(struct bench_run *run, void *state, size_t i, uint64_t clock_step) {
	struct bench_case *c = &run->cases[i];
	struct bench_sample sample;
	int r = take_sample(run, state, i, &sample);
	if (r < 0)
		return r;
	for (size_t m = 0; m < run->bench->nr_metrics; m++) {
		c->series[m].has_warmup = isfinite(sample.values[m]);
		c->series[m].warmup = sample.values[m];
	}

	uint64_t wanted = hc_max(SAMPLE_NS, clock_step * SAMPLE_STEPS), ns = sample.ns;
	r = confirm_long(run, state, i, wanted, &ns);
	while (r == 0 && ns < wanted && c->repeats < REPEATS_MAX) {
		/* A first guess may be far too high: grow at most tenfold a try. */
		double factor = (double)wanted * 1.2 / (double)hc_max(ns, 1);
		c->repeats = (uint64_t)ceil((double)c->repeats * (factor < 2 ? 2 : factor > 10 ? 10 : factor));
		r = take_sample(run, state, i, &sample);
		if (r == 0) {
			ns = sample.ns;
			r = confirm_long(run, state, i, wanted, &ns);
		}
	}
	if (r < 0)
		return r;
	c->below_clock = ns < clock_step * RESOLVED_STEPS;
	if (c->repeats > 1)
		json_object_set_new(c->got, "repeats", json_integer((json_int_t)c->repeats));
	return run->bench->check ? run->bench->check(state, i) : 0;
}

static int keep_sample(struct bench_run *run, size_t i, const struct bench_sample *sample) {
	for (size_t m = 0; m < run->bench->nr_metrics; m++) {
		struct bench_series *series = &run->cases[i].series[m];
		if (!isfinite(sample->values[m]))
			continue;
		if (!series->samples)
			series->samples = calloc(run->loops, sizeof(*series->samples));
		if (!series->samples)
			return hc_fail_memory("no memory for %s", hc_counted(run->loops, "sample").s);
		series->samples[series->nr_samples++] = sample->values[m];
	}
	return 0;
}

int bench_measure(struct bench_run *run, void *state) {
	uint64_t clock_step = bench_clock_step_ns(), since = hc_clock_ns();
	run->order = calloc(run->nr_cases, sizeof(*run->order));
	if (!run->order)
		return hc_fail_memory("no memory for %s", hc_counted(run->nr_cases, "case").s);
	for (size_t i = 0; i < run->nr_cases; i++)
		run->order[i] = i;

	run->cold = true;
	for (size_t i = 0; i < run->nr_cases; i++) {
		measuring_progress(run, 0, i, run->nr_cases, since);
		int r = warm_up(run, state, i, clock_step);
		if (r < 0)
			return r;
	}

	run->cold = false;
	since = hc_clock_ns();
	for (uint64_t loop = 0; loop < run->loops; loop++) {
		shuffle(run);
		for (size_t i = 0; i < run->nr_cases; i++) {
			struct bench_sample sample;
			measuring_progress(run, loop + 1, loop * run->nr_cases + i, run->loops * run->nr_cases, since);
			int r = take_sample(run, state, run->order[i], &sample);
			if (r == 0)
				r = keep_sample(run, run->order[i], &sample);
			if (r < 0)
				return r;
		}
		run->loops_done++;
	}
	return 0;
}
