/* hugeclear run-ab: makes the runs of two sides in shuffled order, a process each, and compares them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <hugeclear/hugeclear.h>

#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/random.h"
#include "cli.h"
#include "compare_args.h"
#include "compare_verb.h"
#include "results/results_write.h"
#include "run_ab_folders.h"
#include "run_ab_run.h"

#define VERB "run-ab"
#define RUNS_MAX 1000
#define RUNS_USUAL 10

static const char usage_text[] =
        "usage: hugeclear run-ab [OPTION]... [--base OPTIONS] [--patched OPTIONS] -- BENCH [OPTION]...\n"
        "       hugeclear run-ab [OPTION]... --base-cmd CMD --patched-cmd CMD\n"
        "\n"
        "Runs a benchmark of 'hugeclear bench' with two sets of further options, or two shell commands that print\n"
        "results, in shuffled order, each time in a new process, and compares them. The two processes of a round\n"
        "run at the same time and take turns at every sample, so that the machine's noise meets both alike.\n"
        "\n"
        "      --base OPTIONS    for base, as '--function base'\n"
        "      --patched OPTIONS for patched\n"
        "      --base-cmd CMD    for sh -c; its standard output is results, as of --format json\n"
        "      --patched-cmd CMD\n"
        "  -n, --runs N          of each side (10), after one of each to warm up\n"
        "      --seed S          of the order (1)\n"
        "      --turns WORD      yes or no: no runs one after the other; commands only take turns with yes\n"
        "  -o, --output DIR      keep the results, in DIR/base and DIR/patched, which are new\n"
        "\n" COMPARE_OPTIONS_HELP "  -h, --help            this text\n"
        "\n"
        "exit codes: as 'hugeclear compare'; 1 where a run fails; 130 interrupted, after comparing what is there\n";

enum { OPTION_BASE = 256, OPTION_PATCHED, OPTION_BASE_CMD, OPTION_PATCHED_CMD, OPTION_SEED, OPTION_TURNS };

#define TURNS_USUAL (-1)

struct run_ab {
	struct compare_verb compare;
	const char *options[COMPARE_SIDES], *commands[COMPARE_SIDES];
	char **bench; /* its name and options; NULL with commands */
	uint64_t runs, seed;
	int turns; /* bool; TURNS_USUAL */
	struct run_ab_folders folders;
	char series[24]; /* what tells the rounds of this time from others */
	struct compare_side sides[COMPARE_SIDES];
};

/* ---- Running ----------------------------------------------------------------------------- */

/* Words of text behind those of argv; text is cut up. The number of words, or -E2BIG. */
static int split_words(char *text, char **argv, int n, int max) {
	for (char *rest = text, *word; (word = strtok_r(rest, " \t\n", &rest));) {
		if (n == max)
			return hc_fail(E2BIG, "more than %d words of options", max);
		argv[n++] = word;
	}
	return n;
}

#define WORDS_MAX 256

/* This program again, whatever it is called now. Its results go to standard output. argv's first words are *ret_own's. */
static int bench_argv(const struct run_ab *ab, int side, char **argv, char **ret_own) {
	int n = 0, r;
	argv[n++] = (char *)(uintptr_t) "/proc/self/exe";
	argv[n++] = (char *)(uintptr_t) "bench";
	for (char **word = ab->bench; *word; word++) {
		if (n == WORDS_MAX)
			return hc_fail(E2BIG, "more than %d words of options", WORDS_MAX);
		argv[n++] = *word;
	}
	*ret_own = strdup(ab->options[side] ? ab->options[side] : "");
	if (!*ret_own)
		return hc_fail_memory("no memory for options");
	r = n = split_words(*ret_own, argv, n, WORDS_MAX);
	if (r < 0)
		return r;
	argv[n++] = (char *)(uintptr_t) "--format";
	argv[n++] = (char *)(uintptr_t) "json";
	argv[n] = NULL;
	return 0;
}

static int command_argv(const struct run_ab *ab, int side, char **argv) {
	argv[0] = (char *)(uintptr_t) "sh";
	argv[1] = (char *)(uintptr_t) "-c";
	argv[2] = (char *)(uintptr_t)ab->commands[side];
	argv[3] = NULL;
	return 0;
}

/* Says in the file of a run which round it was of: what the other side's run of that round shared with it. */
static int note_round(const struct run_ab *ab, const char *path, uint64_t number) {
	json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	struct results_file *file = NULL;
	int r = 0;
	/* What isn't a results file is told by who reads it. */
	if (json_is_object(document)) {
		if (json_object_set_new(
		            document, "round", json_sprintf("%s/%llu", ab->series, (unsigned long long)number)) < 0)
			r = hc_fail_memory("no memory for results");
		if (r == 0)
			r = results_file_open(path, &file);
		if (r == 0)
			r = results_file_commit(file, document);
	}
	results_file_close(file);
	json_decref(document);
	return r;
}

/* Keeps what a run printed as the side's next. A name for people instead of a path that goes. */
static int keep_results(struct run_ab *ab, int side, const char *path, uint64_t number) {
	struct results_document *document;
	int r = note_round(ab, path, number);
	if (r == 0)
		r = results_read(path, &document);
	if (r < 0)
		return r;
	if (ab->folders.temporary) {
		char *name;
		if (asprintf(&name, "%s run %llu", run_ab_side_names[side], (unsigned long long)number) < 0) {
			results_document_free(document);
			return hc_fail_memory("no memory for a name");
		}
		free(document->name);
		document->name = name;
	}
	ab->sides[side].documents[ab->sides[side].nr_documents++] = document;
	return 0;
}

/* Whether a run was one: HC_EXIT_OK, or an exit code after a message. */
static int check_process(const struct run_ab *ab, int side, uint64_t number, const struct run_ab_process *process) {
	if (process->code > 0) {
		cli_error(VERB, "run %llu of %s ended with exit code %d", (unsigned long long)number,
		        run_ab_side_names[side], process->code);
		return process->code == HC_EXIT_LESS || process->code == HC_EXIT_UNAVAILABLE ||
		                       process->code == HC_EXIT_USAGE
		               ? process->code
		               : HC_EXIT_FAILED;
	}
	if (ab->turns && !process->had_turns) {
		cli_error(VERB, "run %llu of %s took no turns, as benchmarks of hugeclear do: without --turns yes",
		        (unsigned long long)number, run_ab_side_names[side]);
		return HC_EXIT_FAILED;
	}
	return HC_EXIT_OK;
}

/* What came of a round's processes: both are kept or none. An exit code, after a message. */
static int end_round(struct run_ab *ab, uint64_t number, const struct run_ab_process processes[COMPARE_SIDES]) {
	int code = cli_interrupted(NULL) ? HC_EXIT_INTERRUPTED : HC_EXIT_OK;
	for (int side = 0; side < COMPARE_SIDES && code == HC_EXIT_OK; side++)
		if (!processes[side].stopped)
			code = check_process(ab, side, number, &processes[side]);
	for (int side = 0; side < COMPARE_SIDES; side++) {
		if (number == 0 || code != HC_EXIT_OK) {
			run_ab_folders_remove_file(&ab->folders, side, number);
		} else if (keep_results(ab, side, processes[side].path, number) < 0) {
			cli_error(VERB, "run %llu of %s: %s", (unsigned long long)number, run_ab_side_names[side],
			        hc_error_detail());
			code = HC_EXIT_FAILED;
		}
	}
	return code;
}

static void tell(const struct run_ab *ab, uint64_t number, const char *side) {
	if (!cli_progress_wanted())
		return;
	fputs("\r\033[K" VERB ": ", stderr);
	if (number == 0)
		fprintf(stderr, "warm-up%s%s", *side ? ", " : "", side);
	else
		fprintf(stderr, "run %llu of %llu%s%s", (unsigned long long)number, (unsigned long long)ab->runs,
		        *side ? ", " : "", side);
	fflush(stderr);
}

/* Either side first as it comes, so that drift of the machine meets both alike; or both, sample by sample. */
static int run_processes(
        struct run_ab *ab, uint64_t number, uint64_t *random, struct run_ab_process processes[COMPARE_SIDES]) {
	if (ab->turns) {
		tell(ab, number, "");
		return run_ab_run(processes, COMPARE_SIDES, random);
	}
	int first = (int)(hc_random_next(random) >> 63), r = 0;
	for (int i = 0; i < COMPARE_SIDES && r == 0 && !cli_interrupted(NULL); i++) {
		int side = i == 0 ? first : !first;
		tell(ab, number, run_ab_side_names[side]);
		r = run_ab_run(&processes[side], 1, random);
		/* The other would be of no use. */
		if (processes[side].code != 0 && i == 0) {
			processes[!side].stopped = true;
			break;
		}
	}
	return r;
}

/* The round of that number, 0 to warm up: HC_EXIT_OK, or an exit code after a message. */
static int run_round(struct run_ab *ab, uint64_t number, uint64_t *random) {
	char *argv[COMPARE_SIDES][WORDS_MAX + 4], *own[COMPARE_SIDES] = {NULL}, *paths[COMPARE_SIDES] = {NULL};
	struct run_ab_process processes[COMPARE_SIDES] = {0};
	int r = 0;
	for (int side = 0; side < COMPARE_SIDES && r == 0; side++) {
		paths[side] = run_ab_folders_file(&ab->folders, side, number);
		r = !paths[side] ? hc_fail_memory("no memory for a path")
		    : ab->bench  ? bench_argv(ab, side, argv[side], &own[side])
		                 : command_argv(ab, side, argv[side]);
		processes[side] = (struct run_ab_process){.argv = argv[side], .path = paths[side]};
	}
	if (r == 0)
		r = run_processes(ab, number, random, processes);
	int code = r < 0 ? cli_fail(VERB, r) : end_round(ab, number, processes);
	for (int side = 0; side < COMPARE_SIDES; side++) {
		free(own[side]);
		free(paths[side]);
	}
	return code;
}

static int run_all(struct run_ab *ab) {
	uint64_t random = ab->seed;
	int code = HC_EXIT_OK;
	for (uint64_t number = 0; number <= ab->runs && code == HC_EXIT_OK; number++)
		code = run_round(ab, number, &random);
	if (cli_progress_wanted())
		fputs("\r\033[K", stderr);
	return code;
}

/* ---- Comparing ---------------------------------------------------------------------------- */

/* Options change parameters of the case, and then those are what is compared. */
static int find_across(struct run_ab *ab) {
	if (ab->compare.opts.across)
		return 0;
	return compare_find_across(ab->sides[COMPARE_BASE].documents[0], ab->sides[COMPARE_PATCHED].documents[0],
	        &ab->compare.opts.across);
}

static int compare_all(struct run_ab *ab, int code) {
	if (ab->sides[COMPARE_BASE].nr_documents == 0 || ab->sides[COMPARE_PATCHED].nr_documents == 0)
		return code;
	int r = find_across(ab);
	if (r < 0)
		return cli_fail(VERB, r);
	if (ab->compare.format == COMPARE_FORMAT_TEXT)
		printf("%s a side after one to warm up, %s in shuffled order (--seed %llu)\n",
		        hc_counted(ab->sides[COMPARE_PATCHED].nr_documents, "run").s,
		        ab->turns ? "sample by sample" : "one after the other", (unsigned long long)ab->seed);
	int compared = compare_verb_run(&ab->compare, ab->sides);
	return code != HC_EXIT_OK ? code : compared;
}

/* Runs of another time have other names: they never pass for the other side of a round of this one. */
static void name_series(struct run_ab *ab) {
	uint64_t name;
	if (getentropy(&name, sizeof(name)) < 0)
		name = hc_clock_ns() ^ (uint64_t)getpid() << 32;
	snprintf(ab->series, sizeof(ab->series), "%016llx", (unsigned long long)name);
}

static int run_and_compare(struct run_ab *ab) {
	for (int side = 0; side < COMPARE_SIDES; side++) {
		ab->sides[side].documents = calloc(ab->runs, sizeof(struct results_document *));
		if (!ab->sides[side].documents)
			return cli_fail(VERB, hc_fail_memory("no memory for %s", hc_counted(ab->runs, "run").s));
	}
	name_series(ab);
	int r = run_ab_folders_make(&ab->folders);
	if (r < 0)
		return cli_fail(VERB, r);
	cli_catch_interrupts();
	int code = run_all(ab);
	/* After a failure what is there isn't what was asked for; after ^C it is what was wanted. */
	return code == HC_EXIT_OK || code == HC_EXIT_INTERRUPTED ? compare_all(ab, code) : code;
}

/* ---- The verb ------------------------------------------------------------------------------ */

static const char *const turns_words[] = {"no", "yes", NULL};

static int take_option(struct run_ab *ab, int c, const char *text) {
	switch (c) {
	case OPTION_BASE:
		ab->options[COMPARE_BASE] = text;
		return 0;
	case OPTION_PATCHED:
		ab->options[COMPARE_PATCHED] = text;
		return 0;
	case OPTION_BASE_CMD:
		ab->commands[COMPARE_BASE] = text;
		return 0;
	case OPTION_PATCHED_CMD:
		ab->commands[COMPARE_PATCHED] = text;
		return 0;
	case 'n':
		return cli_count(VERB, "--runs", text, 1, RUNS_MAX, &ab->runs);
	case OPTION_SEED:
		return cli_count(VERB, "--seed", text, 0, UINT64_MAX, &ab->seed);
	case 'o':
		ab->folders.wanted = text;
		return *text ? 0 : cli_usage(VERB, "--output: an empty name");
	case OPTION_TURNS:
		ab->turns = cli_word(VERB, "--turns", text, turns_words);
		return ab->turns < 0 ? HC_EXIT_USAGE : 0;
	default:
		return compare_verb_option(&ab->compare, c, text);
	}
}

static int check_options(struct run_ab *ab, int argc, char **argv) {
	bool commands = ab->commands[COMPARE_BASE] || ab->commands[COMPARE_PATCHED];
	if (commands && !(ab->commands[COMPARE_BASE] && ab->commands[COMPARE_PATCHED]))
		return cli_usage(VERB, "--base-cmd and --patched-cmd go together");
	if (commands && (ab->options[COMPARE_BASE] || ab->options[COMPARE_PATCHED] || optind < argc))
		return cli_usage(VERB, "two commands are run as they are: without --base, --patched and a benchmark");
	if (!commands && optind == argc)
		return cli_usage(VERB, "a benchmark is missing, as in: -- clear -s 1G");
	ab->bench = commands ? NULL : argv + optind;
	if (ab->turns == TURNS_USUAL)
		ab->turns = !commands;
	return 0;
}

int hc_verb_run_ab(int argc, char **argv) {
	static const struct option options[] = {
	        {"base", required_argument, NULL, OPTION_BASE},
	        {"patched", required_argument, NULL, OPTION_PATCHED},
	        {"base-cmd", required_argument, NULL, OPTION_BASE_CMD},
	        {"patched-cmd", required_argument, NULL, OPTION_PATCHED_CMD},
	        {"runs", required_argument, NULL, 'n'},
	        {"seed", required_argument, NULL, OPTION_SEED},
	        {"turns", required_argument, NULL, OPTION_TURNS},
	        {"output", required_argument, NULL, 'o'},
	        COMPARE_LONG_OPTIONS,
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	struct run_ab ab = {.compare.verb = VERB, .runs = RUNS_USUAL, .seed = 1, .turns = TURNS_USUAL};
	int code = HC_EXIT_OK, c;
	while (code == HC_EXIT_OK && (c = getopt_long(argc, argv, "+:hn:o:", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			compare_verb_end(&ab.compare);
			return HC_EXIT_OK;
		}
		code = c == '?' || c == ':' ? cli_bad_option(VERB, c, argv, options) : take_option(&ab, c, optarg);
	}
	if (code == HC_EXIT_OK)
		code = check_options(&ab, argc, argv);
	if (code == HC_EXIT_OK)
		code = run_and_compare(&ab);
	for (int side = 0; side < COMPARE_SIDES; side++)
		compare_side_free(&ab.sides[side]);
	run_ab_folders_end(&ab.folders, ab.runs);
	compare_verb_end(&ab.compare);
	return code;
}
