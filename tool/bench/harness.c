#include "bench/harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "bench/host.h"
#include "bench/measure.h"
#include "cli.h"
#include "results/results_write.h"

struct bench_session {
	char verb[64]; /* for messages that belong to no single run */
	enum bench_format format;
	struct bench_settings defaults;
	json_t *document;
	struct results_file *file; /* -o; NULL */
	FILE *out;                 /* where tables go */
	bool measured;             /* the document has runs */
};

/* ---- Results ------------------------------------------------------------- */

/* Once, whoever says it again. Takes note, NULL for want of memory. */
static int add_note(json_t *document, json_t *note) {
	json_t *notes = json_object_get(document, "notes");
	bool there = false;
	for (size_t i = 0; note && i < json_array_size(notes); i++)
		there = there || json_equal(json_array_get(notes, i), note);
	int r = there ? 0 : json_array_append(notes, note);
	json_decref(note);
	return r == 0 ? 0 : hc_fail_memory("no memory for the results");
}

static int add_results(const struct bench_session *session, const struct bench_run *run) {
	/* Of benchmarks before this one in the session, which may have had the same cases. */
	size_t earlier = json_array_size(json_object_get(session->document, "runs"));
	int r = 0;
	for (size_t i = 0; i < run->nr_cases && r == 0; i++) {
		const struct bench_case *c = &run->cases[i];
		for (size_t m = 0; m < run->bench->nr_metrics && r == 0; m++) {
			const struct bench_series *series = &c->series[m];
			const struct bench_metric *metric = &run->bench->metrics[m];
			if (series->nr_samples == 0)
				continue;
			struct results_run result = {
			        .bench = run->bench->name,
			        .metric = metric->name,
			        .unit = metric->unit,
			        .higher_is_better = metric->higher_is_better,
			        .params = c->params,
			        .got = json_object_size(c->got) > 0 ? c->got : NULL,
			        .below_clock = c->below_clock,
			        .samples = series->samples,
			        .nr_samples = series->nr_samples,
			        .warmup = &series->warmup,
			        .nr_warmup = series->has_warmup,
			};
			r = results_add(session->document, &result, earlier);
		}
	}
	for (size_t i = 0; i < run->nr_notes && r == 0; i++)
		r = add_note(session->document, json_sprintf("%s: %s", run->bench->name, run->notes[i]));
	if (run->interrupted)
		json_object_set_new(session->document, "interrupted", json_true());
	return r;
}

/* "size=1073741824,extent=4096" */
static void print_params(const json_t *params, FILE *out) {
	const char *key, *comma = "";
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)params, key, value) {
		fprintf(out, "%s%s=", comma, key);
		if (json_is_string(value))
			fputs(json_string_value(value), out);
		else if (json_is_integer(value))
			fprintf(out, "%lld", (long long)json_integer_value(value));
		else
			json_dumpf(value, out, JSON_ENCODE_ANY | JSON_COMPACT);
		comma = ",";
	}
}

/* A line a metric of a case: benchmark, metric, case, mean, deviation in percent, unit, samples. */
static void print_simple(const struct bench_run *run, FILE *out) {
	for (size_t i = 0; i < run->nr_cases; i++) {
		for (size_t m = 0; m < run->bench->nr_metrics; m++) {
			struct statistics s;
			if (!bench_statistics(run, i, m, &s))
				continue;
			fprintf(out, "%s\t%s\t", run->bench->name, run->bench->metrics[m].name);
			print_params(run->cases[i].params, out);
			fprintf(out, "\t%.9g\t", s.mean);
			if (s.has_stdev_pct)
				fprintf(out, "%.2f", s.stdev_pct);
			else
				fputs("n/a", out);
			fprintf(out, "\t%s\t%zu\n", run->bench->metrics[m].unit, s.n);
		}
	}
}

/* Samples that stand apart: they count, but the reader must know. */
static void note_outliers(struct bench_run *run) {
	size_t far = 0, all = 0;
	for (size_t i = 0; i < run->nr_cases; i++) {
		const struct bench_series *series = &run->cases[i].series[0];
		bool *flags = calloc(series->nr_samples + 1, sizeof(*flags));
		if (flags && series->nr_samples > 0)
			far += statistics_outliers(series->samples, series->nr_samples, flags);
		all += series->nr_samples;
		free(flags);
	}
	if (far > 0)
		bench_note(run, "%zu of %s far from the others of their case (counted all the same)", far,
		        hc_counted(all, "sample").s);
	for (size_t i = 0; i < run->nr_cases; i++) {
		if (run->cases[i].below_clock) {
			bench_note(run, "some samples are below clock resolution");
			break;
		}
	}
}

static void print_notes(const struct bench_run *run, FILE *out) {
	for (size_t i = 0; i < run->nr_notes; i++)
		fprintf(out, "note: %s\n", run->notes[i]);
	if (run->interrupted)
		fprintf(out, "interrupted after %llu of %s\n", (unsigned long long)run->loops_done,
		        hc_counted(run->loops, "loop").s);
}

static int report(struct bench_session *session, struct bench_run *run, void *state) {
	note_outliers(run);
	if (session->format == BENCH_DEFAULT) {
		run->bench->print(state, run, session->out);
		print_notes(run, session->out);
	} else if (session->format == BENCH_SIMPLE) {
		print_simple(run, session->out);
	}
	int r = add_results(session, run);
	if (r < 0)
		return cli_fail(run->verb, r);
	session->measured = true;
	return cli_finish(run->verb, HC_EXIT_OK);
}

static bool has_samples(const struct bench_run *run) {
	for (size_t i = 0; i < run->nr_cases; i++)
		if (run->cases[i].series[0].nr_samples > 0)
			return true;
	return false;
}

/*
 * What came of measuring: r is what bench_measure() returned. Memory that goes in the middle, as other programs
 * have taken it, makes what was measured before no worse; other errors are of the measuring itself.
 */
static int tell(struct bench_session *session, struct bench_run *run, void *state, int r) {
	struct hc_error error;
	hc_error_save(r, &error);
	int code = HC_EXIT_OK;
	run->interrupted = r == -ECANCELED || r == -ENOMEM;
	if (r == -ENOMEM && has_samples(run))
		bench_note(run, "not all was measured: %s", error.detail);
	if ((r == 0 || run->interrupted) && has_samples(run))
		code = report(session, run, state);
	else if (r == -ECANCELED)
		cli_error(run->verb, "interrupted before anything was measured");
	if (r == 0)
		return code;
	hc_error_restore(&error);
	code = cli_fail(run->verb, r);
	/* Memory that isn't there: less than asked for. */
	return r == -ENOMEM ? HC_EXIT_LESS : code;
}

static void free_run(struct bench_run *run) {
	for (size_t i = 0; i < run->nr_cases; i++) {
		json_decref(run->cases[i].params);
		json_decref(run->cases[i].got);
		for (size_t m = 0; m < BENCH_METRICS_MAX; m++)
			free(run->cases[i].series[m].samples);
	}
	for (size_t i = 0; i < run->nr_notes; i++)
		free(run->notes[i]);
	free(run->cases);
	free(run->notes);
	free(run->order);
}

static int run_with(struct bench_session *session, const struct bench *bench, const char *verb, void *state,
        const struct bench_settings *settings) {
	struct hc_machine *machine = NULL;
	int r = hc_machine_read(NULL, &machine);
	if (r < 0)
		return cli_fail(verb, r);
	struct bench_run run = {
	        .bench = bench,
	        .verb = verb,
	        .machine = machine,
	        .loops = settings->loops ? settings->loops : BENCH_LOOPS_DEFAULT,
	        .seed = settings->seed,
	        .random = settings->seed,
	        .started_ns = hc_clock_ns(),
	};

	int code = bench->set_up(state, &run);
	if (code == 0) {
		r = bench_measure(&run, state);
		bench_end_progress(&run);
		code = tell(session, &run, state, r);
	}
	bench_end_progress(&run);
	free_run(&run);
	hc_machine_free(machine);
	return code;
}

/* ---- Options ------------------------------------------------------------- */

enum { OPTION_FORMAT = BENCH_OPTION, OPTION_SEED };

static const struct option common_options[] = {
        {"nr_loops", required_argument, NULL, 'l'},
        {"output", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, OPTION_FORMAT},
        {"seed", required_argument, NULL, OPTION_SEED},
        {"help", no_argument, NULL, 'h'},
};

#define NR_COMMON (sizeof(common_options) / sizeof(*common_options))
#define OWN_OPTIONS_MAX 32

static void print_help(const struct bench *bench) {
	printf("usage: hugeclear bench %s [OPTION]...\n\n%s\n\n%s", bench->name, bench->summary, bench->help);
	printf("\n"
	       "  -l, --nr_loops N      loops, each of which runs every case once (%d)\n"
	       "  -o, --output FILE     write the results to FILE, whole or not at all; - is standard output\n"
	       "      --format WORD     default, simple (a line a case) or json\n"
	       "      --seed N          another order of the cases\n"
	       "  -h, --help            this text\n",
	        BENCH_LOOPS_DEFAULT);
}

static int parse_common(const char *verb, int c, struct bench_settings *settings) {
	static const char *const formats[] = {"default", "simple", "json", NULL};
	int format;
	switch (c) {
	case 'l':
		return cli_count(verb, "--nr_loops", optarg, 1, BENCH_LOOPS_MAX, &settings->loops);
	case 'o':
		settings->output = optarg;
		return 0;
	case OPTION_SEED:
		return cli_count(verb, "--seed", optarg, 0, INT64_MAX, &settings->seed);
	default:
		format = cli_word(verb, "--format", optarg, formats);
		if (format < 0)
			return HC_EXIT_USAGE;
		settings->format = (enum bench_format)format;
		return 0;
	}
}

static int parse(const struct bench *bench, const char *verb, int argc, char **argv, void *state,
        struct bench_settings *settings, bool *ret_help) {
	struct option options[OWN_OPTIONS_MAX + NR_COMMON + 1] = {0};
	size_t n = 0;
	for (; bench->long_options[n].name && n < OWN_OPTIONS_MAX; n++)
		options[n] = bench->long_options[n];
	memcpy(options + n, common_options, sizeof(common_options));
	char short_options[128];
	snprintf(short_options, sizeof(short_options), ":%sl:o:h", bench->short_options);

	*ret_help = false;
	optind = 0; /* getopt_long() starts afresh, also where it was used before */
	int c, code = 0;
	while (code == 0 && (c = getopt_long(argc, argv, short_options, options, NULL)) != -1) {
		if (c == '?' || c == ':')
			return cli_bad_option(verb, c, argv, options);
		if (c == 'h') {
			*ret_help = true;
			return 0;
		}
		if (c == 'l' || c == 'o' || c >= BENCH_OPTION)
			code = parse_common(verb, c, settings);
		else
			code = bench->option(state, verb, c, optarg);
	}
	return code ? code : cli_no_arguments(verb, argc, argv);
}

/* ---- Sessions ------------------------------------------------------------ */

static struct bench_session *free_session(struct bench_session *session) {
	results_file_close(session->file);
	json_decref(session->document);
	free(session);
	return NULL;
}

static json_t *new_document(void) {
	struct hc_machine *machine = NULL;
	if (hc_machine_read(NULL, &machine) < 0)
		return NULL;
	json_t *document = results_new(host_describe(machine));
	hc_machine_free(machine);
	unsigned v = hc_version();
	if (document &&
	        json_object_set_new(
	                document, "hugeclear", json_sprintf("%u.%u.%u", v / 1000000, v / 1000 % 1000, v % 1000)) == 0 &&
	        json_object_set_new(document, "notes", json_array()) == 0)
		return document;
	json_decref(document);
	hc_fail_memory("no memory for the results");
	return NULL;
}

int bench_session_open(const char *verb, const struct bench_settings *settings, struct bench_session **ret_session) {
	/* Better now than after all the measuring. Tables or results, something goes there. */
	int code = cli_check_output(verb);
	if (code)
		return code;
	struct bench_session *session = calloc(1, sizeof(*session));
	int r = session ? 0 : hc_fail_memory("no memory");
	if (r == 0) {
		snprintf(session->verb, sizeof(session->verb), "%s", verb);
		session->format = settings->format;
		session->defaults = *settings;
		/* Results on standard output: nothing else may stand there. */
		session->out = settings->output && strcmp(settings->output, "-") == 0 ? stderr : stdout;
		if (settings->output)
			r = results_file_open(settings->output, &session->file);
	}
	if (r == 0) {
		session->document = new_document();
		if (!session->document)
			r = -ENOMEM;
	}
	if (r < 0) {
		code = cli_fail(verb, r);
		if (session)
			free_session(session);
		return code;
	}
	cli_catch_interrupts();
	*ret_session = session;
	return 0;
}

FILE *bench_session_out(const struct bench_session *session) {
	return session->out;
}

int bench_session_run(struct bench_session *session, const struct bench *bench, int argc, char **argv) {
	char verb[64];
	bool help;
	struct bench_settings settings = session->defaults;
	snprintf(verb, sizeof(verb), "bench %s", bench->name);
	void *state = bench->create();
	if (!state)
		return cli_fail(verb, hc_fail_memory("no memory"));
	int code = parse(bench, verb, argc, argv, state, &settings, &help);
	if (code == 0)
		code = run_with(session, bench, verb, state, &settings);
	bench->destroy(state);
	return code;
}

static int print_json(const json_t *document) {
	struct results_file *out;
	int r = results_file_open("-", &out);
	if (r < 0)
		return r;
	r = results_file_commit(out, document);
	results_file_close(out);
	return r;
}

int bench_session_close(struct bench_session *session, int code) {
	/* What an interrupted run has is a result, marked as such, also where memory went; what a failed one has isn't. */
	bool keep = session->measured && (code == HC_EXIT_OK || code == HC_EXIT_INTERRUPTED || code == HC_EXIT_LESS);
	int r = 0;
	if (keep && code != HC_EXIT_OK)
		json_object_set_new(session->document, "interrupted", json_true());
	if (keep && session->format == BENCH_JSON && session->out == stdout)
		r = print_json(session->document);
	if (keep && r == 0 && session->file)
		r = results_file_commit(session->file, session->document);
	if (r < 0) {
		int failed = cli_fail(session->verb, r);
		code = code ? code : failed;
	}
	free_session(session);
	return code;
}

int bench_main(const struct bench *bench, int argc, char **argv) {
	char verb[64];
	struct bench_settings settings = {.seed = 1};
	struct bench_session *session = NULL;
	bool help;
	snprintf(verb, sizeof(verb), "bench %s", bench->name);
	void *state = bench->create();
	if (!state)
		return cli_fail(verb, hc_fail_memory("no memory"));

	int code = parse(bench, verb, argc, argv, state, &settings, &help);
	if (code == 0 && help) {
		print_help(bench);
	} else if (code == 0) {
		code = bench_session_open(verb, &settings, &session);
		if (session)
			code = bench_session_close(session, run_with(session, bench, verb, state, &settings));
	}
	bench->destroy(state);
	return code;
}
