/*
 * The measuring harness: a benchmark is one description, everything else is here.
 *
 * A benchmark has cases, which are what is compared, and quantities (metrics)
 * that each sample of a case yields. The harness owns the common options, the
 * cold loop, the repetition of what is too short for the clock, the
 * interleaving (each loop runs every case once, in a new order), ^C, progress,
 * and the results.
 */
#ifndef HC_BENCH_HARNESS_H
#define HC_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <getopt.h>
#include <jansson.h>

#include <hugeclear/sys.h>

#include "results/statistics.h"

#define BENCH_METRICS_MAX 24

struct bench_metric {
	const char *name; /* "throughput" */
	const char *unit; /* "GiB/s", "s" */
	bool higher_is_better;
};

/* What one sample is; values by metric, of one repeat. NAN where this case doesn't have that metric. */
struct bench_sample {
	uint64_t ns; /* the timed part of all repeats together */
	double values[BENCH_METRICS_MAX];
};

struct bench_series {
	double *samples; /* one a loop */
	size_t nr_samples;
	double warmup; /* of the cold loop */
	bool has_warmup;
};

struct bench_case {
	json_t *params; /* the results' case: what defines the work and nothing else */
	json_t *got;    /* how it was really done; the benchmark may add to it until it is printed */
	/* The harness's. */
	uint64_t repeats; /* of the work in one sample */
	bool below_clock; /* still too short for the clock */
	struct bench_series series[BENCH_METRICS_MAX];
};

struct bench;

/* One benchmark being run. */
struct bench_run {
	const struct bench *bench;
	const char *verb; /* for cli_error(): "bench clear" */
	const struct hc_machine *machine;
	uint64_t loops, seed;
	struct bench_case *cases;
	size_t nr_cases;
	char **notes; /* lines that belong to the results and aren't in a case */
	size_t nr_notes;
	uint64_t loops_done; /* whole ones */
	bool cold;           /* before the loops: samples that stand apart */
	bool interrupted;
	/* The harness's. */
	size_t *order;
	uint64_t random;
	uint64_t started_ns, told_ns;
	bool told;
};

/*
 * The description of a benchmark. State is the benchmark's own object. Functions
 * that return an exit code have said why; others return a negative errno with a detail.
 */
struct bench {
	const char *name;
	const char *title;   /* a line of the list of benchmarks */
	const char *summary; /* of its help; sentences */
	const char *help;    /* the lines of its own options */
	struct bench_metric metrics[BENCH_METRICS_MAX];
	size_t nr_metrics;
	const char *short_options;         /* as getopt's, without a leading ':' */
	const struct option *long_options; /* ended by zeros; values below BENCH_OPTION */

	/* The state with all defaults. NULL: no memory. */
	void *(*create)(void);
	/* One option. 0, or an exit code. */
	int (*option)(void *state, const char *verb, int c, const char *value);
	/* Checks the options together, gets the memory, adds the cases. 0, or an exit code. */
	int (*set_up)(void *state, struct bench_run *run);
	/* Runs case i, repeats times, timed. 0 or a negative errno; -ECANCELED when interrupted. */
	int (*sample)(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample);
	/* Proves that case i does what it claims, outside of all timing, once. May be NULL. */
	int (*check)(void *state, size_t i);
	/* The default format. */
	void (*print)(const void *state, const struct bench_run *run, FILE *out);
	/* Takes any half-built state, and NULL. */
	void (*destroy)(void *state);
};

/* Values of long options from here on are the harness's. */
#define BENCH_OPTION 1000

/* ---- For benchmarks ------------------------------------------------------ */

/* Adds a case; takes params and got (which may be NULL), also when it fails: -ENOMEM. */
int bench_add_case(struct bench_run *run, json_t *params, json_t *got);

/* Adds a note. Dropped where there is no memory for it. */
void bench_note(struct bench_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Statistics of a metric of case i. False where it has no samples. */
bool bench_statistics(const struct bench_run *run, size_t i, size_t metric, struct statistics *ret_statistics);

/* Shows how far long preparations are, on a terminal, after a second. hc_progress_fn; user is the run. */
void bench_progress(void *user, uint64_t done, uint64_t total);

/* bytes in ns as GiB/s. pre: ns > 0 */
double bench_gib_per_s(double bytes, double ns);

/* The least difference between two readings of the clock that isn't 0, which is also about what one reading costs. */
uint64_t bench_clock_step_ns(void);

/* ---- For the verb -------------------------------------------------------- */

enum bench_format { BENCH_DEFAULT, BENCH_SIMPLE, BENCH_JSON };

/* What is asked of all benchmarks alike. */
struct bench_settings {
	uint64_t loops; /* 0: the benchmark's usual number */
	uint64_t seed;
	const char *output; /* NULL: no results file */
	enum bench_format format;
};

#define BENCH_LOOPS_MAX 100000
#define BENCH_LOOPS_DEFAULT 5

/* Several runs into one document. */
struct bench_session;

/* Before anything is measured: the results file is known to be writable. 0, or an exit code. */
int bench_session_open(const char *verb, const struct bench_settings *settings, struct bench_session **ret_session);

/*
 * Runs one benchmark with options in argv (argv[0] is its name; -o and --format were the
 * session's). settings are the defaults of what argv doesn't set. Prints as it ends. Returns an exit code.
 */
int bench_session_run(struct bench_session *session, const struct bench *bench, int argc, char **argv);

/* Where tables go: standard output, or, where the results go there, standard error. */
FILE *bench_session_out(const struct bench_session *session);

/* Writes what was measured, unless code says that it failed; returns the exit code. Frees the session. */
int bench_session_close(struct bench_session *session, int code);

/* `hugeclear bench NAME`: a session of one run. */
int bench_main(const struct bench *bench, int argc, char **argv);

#endif
