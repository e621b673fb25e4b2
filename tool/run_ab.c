/* hugeclear run-ab: makes the runs of two sides in shuffled order, a process each, and compares them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/counted.h"
#include "base/error.h"
#include "base/random.h"
#include "cli.h"
#include "compare_args.h"
#include "compare_verb.h"
#include "run_ab_run.h"

#define VERB "run-ab"
#define RUNS_MAX 1000
#define RUNS_USUAL 10

static const char usage_text[] =
        "usage: hugeclear run-ab [OPTION]... [--base OPTIONS] [--patched OPTIONS] -- BENCH [OPTION]...\n"
        "       hugeclear run-ab [OPTION]... --base-cmd CMD --patched-cmd CMD\n"
        "\n"
        "Runs a benchmark of 'hugeclear bench' with two sets of further options, or two shell commands that print\n"
        "results, in shuffled order, each time in a new process, and compares them.\n"
        "\n"
        "      --base OPTIONS    for base, as '--function base'\n"
        "      --patched OPTIONS for patched\n"
        "      --base-cmd CMD    for sh -c; its standard output is results, as of --format json\n"
        "      --patched-cmd CMD\n"
        "  -n, --runs N          of each side (10), after one of each to warm up\n"
        "      --seed S          of the order (1)\n"
        "  -o, --output DIR      keep the results, in DIR/base and DIR/patched, which are new\n"
        "\n" COMPARE_OPTIONS_HELP "  -h, --help            this text\n"
        "\n"
        "exit codes: as 'hugeclear compare'; 1 where a run fails; 130 interrupted, after comparing what is there\n";

enum { OPTION_BASE = 256, OPTION_PATCHED, OPTION_BASE_CMD, OPTION_PATCHED_CMD, OPTION_SEED };

static const char *const side_names[COMPARE_SIDES] = {"base", "patched"};

struct run_ab {
	struct compare_verb compare;
	const char *options[COMPARE_SIDES], *commands[COMPARE_SIDES];
	char **bench; /* its name and options; NULL with commands */
	uint64_t runs, seed;
	const char *output; /* NULL: a folder that goes again */
	char *folder;       /* where the results are; owned */
	bool folder_made;
	struct compare_side sides[COMPARE_SIDES];
};

/* ---- Folders and files ----------------------------------------------------------------- */

static char *path_in(const struct run_ab *ab, int side, const char *name) {
	char *path;
	int len = name ? asprintf(&path, "%s/%s/%s", ab->folder, side_names[side], name)
	               : asprintf(&path, "%s/%s", ab->folder, side_names[side]);
	return len < 0 ? NULL : path;
}

static int make_folders(struct run_ab *ab) {
	if (ab->output) {
		ab->folder = strdup(ab->output);
		if (ab->folder && mkdir(ab->folder, 0777) < 0 && errno != EEXIST)
			return hc_fail_errno(errno, "the folder '%s' can't be made", ab->folder);
	} else {
		const char *temporary = getenv("TMPDIR");
		if (asprintf(&ab->folder, "%s/hugeclear-run-ab.XXXXXX", temporary && *temporary ? temporary : "/tmp") <
		        0)
			ab->folder = NULL;
		if (ab->folder && !mkdtemp(ab->folder))
			return hc_fail_errno(errno, "no temporary folder '%s' can be made", ab->folder);
		ab->folder_made = ab->folder != NULL;
	}
	if (!ab->folder)
		return hc_fail_memory("no memory for a path");
	for (int side = 0; side < COMPARE_SIDES; side++) {
		char *path = path_in(ab, side, NULL);
		if (!path)
			return hc_fail_memory("no memory for a path");
		int r = 0;
		/* Results of another time among these would be compared with them. */
		if (mkdir(path, 0777) < 0)
			r = hc_fail_errno(errno, "the folder '%s' can't be made%s", path,
			        errno == EEXIST ? "; results of an earlier time are kept" : "");
		free(path);
		if (r < 0)
			return r;
	}
	return 0;
}

static void name_file(char name[static 32], uint64_t number) {
	snprintf(name, 32, "%03llu.json", (unsigned long long)number);
}

static void remove_file(const struct run_ab *ab, int side, uint64_t number) {
	char name[32];
	name_file(name, number);
	char *path = path_in(ab, side, name);
	if (path)
		unlink(path);
	free(path);
}

static void remove_folders(const struct run_ab *ab) {
	if (!ab->folder_made)
		return;
	for (int side = 0; side < COMPARE_SIDES; side++) {
		for (uint64_t number = 0; number <= ab->runs; number++)
			remove_file(ab, side, number);
		char *path = path_in(ab, side, NULL);
		if (path)
			rmdir(path);
		free(path);
	}
	rmdir(ab->folder);
}

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

/* This program again, whatever it is called now. Its results go to standard output. */
static int run_bench(const struct run_ab *ab, int side, const char *path) {
	char *argv[WORDS_MAX + 4] = {(char[]){"/proc/self/exe"}, (char[]){"bench"}};
	char *own = strdup(ab->options[side] ? ab->options[side] : "");
	if (!own)
		return hc_fail_memory("no memory for options");
	int n = 2, r = 0;
	for (char **word = ab->bench; *word && r == 0; word++) {
		if (n == WORDS_MAX)
			r = hc_fail(E2BIG, "more than %d words of options", WORDS_MAX);
		else
			argv[n++] = *word;
	}
	if (r == 0)
		r = n = split_words(own, argv, n, WORDS_MAX);
	if (r >= 0) {
		argv[n++] = (char[]){"--format"};
		argv[n++] = (char[]){"json"};
		argv[n] = NULL;
		r = run_ab_run(argv, path);
	}
	free(own);
	return r;
}

static int run_command(const struct run_ab *ab, int side, const char *path) {
	char *command = strdup(ab->commands[side]);
	if (!command)
		return hc_fail_memory("no memory for a command");
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, command, NULL};
	int r = run_ab_run(argv, path);
	free(command);
	return r;
}

/* Keeps what a run printed as the side's next. A name for people instead of a path that goes. */
static int keep_results(struct run_ab *ab, int side, const char *path, uint64_t number) {
	struct results_document *document;
	int r = results_read(path, &document);
	if (r < 0)
		return r;
	if (ab->folder_made) {
		char *name;
		if (asprintf(&name, "%s run %llu", side_names[side], (unsigned long long)number) < 0) {
			results_document_free(document);
			return hc_fail_memory("no memory for a name");
		}
		free(document->name);
		document->name = name;
	}
	ab->sides[side].documents[ab->sides[side].nr_documents++] = document;
	return 0;
}

/* The run of that number, 0 to warm up: HC_EXIT_OK, or an exit code after a message. */
static int run_once(struct run_ab *ab, int side, uint64_t number) {
	char name[32];
	name_file(name, number);
	char *path = path_in(ab, side, name);
	if (!path)
		return cli_fail(VERB, hc_fail_memory("no memory for a path"));
	int code = ab->bench ? run_bench(ab, side, path) : run_command(ab, side, path);
	int r = code < 0 ? code : 0;
	if (cli_interrupted(NULL)) {
		remove_file(ab, side, number);
		code = HC_EXIT_INTERRUPTED;
	} else if (code > 0) {
		cli_error(VERB, "run %llu of %s ended with exit code %d", (unsigned long long)number, side_names[side],
		        code);
		code = code == HC_EXIT_LESS || code == HC_EXIT_UNAVAILABLE || code == HC_EXIT_USAGE ? code
		                                                                                    : HC_EXIT_FAILED;
	} else if (r == 0 && number > 0) {
		r = keep_results(ab, side, path, number);
	} else if (r == 0) {
		remove_file(ab, side, number);
	}
	if (r < 0) {
		cli_error(VERB, "run %llu of %s: %s", (unsigned long long)number, side_names[side], hc_error_detail());
		code = HC_EXIT_FAILED;
	}
	free(path);
	return code;
}

static void tell(const struct run_ab *ab, uint64_t number, int side) {
	if (!cli_progress_wanted())
		return;
	if (number == 0)
		fprintf(stderr, "\r\033[K" VERB ": warm-up, %s", side_names[side]);
	else
		fprintf(stderr, "\r\033[K" VERB ": run %llu of %llu, %s", (unsigned long long)number,
		        (unsigned long long)ab->runs, side_names[side]);
	fflush(stderr);
}

/* Both sides in each round, either first as it comes: drift of the machine meets both alike. */
static int run_all(struct run_ab *ab) {
	uint64_t random = ab->seed;
	int code = HC_EXIT_OK;
	for (uint64_t number = 0; number <= ab->runs && code == HC_EXIT_OK; number++) {
		int first = (int)(hc_random_next(&random) >> 63);
		for (int i = 0; i < COMPARE_SIDES && code == HC_EXIT_OK; i++) {
			int side = i == 0 ? first : !first;
			tell(ab, number, side);
			code = run_once(ab, side, number);
		}
	}
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
		printf("%s a side after one to warm up, in shuffled order (--seed %llu)\n",
		        hc_counted(ab->sides[COMPARE_PATCHED].nr_documents, "run").s, (unsigned long long)ab->seed);
	int compared = compare_verb_run(&ab->compare, ab->sides);
	return code != HC_EXIT_OK ? code : compared;
}

static int run_and_compare(struct run_ab *ab) {
	for (int side = 0; side < COMPARE_SIDES; side++) {
		ab->sides[side].documents = calloc(ab->runs, sizeof(struct results_document *));
		if (!ab->sides[side].documents)
			return cli_fail(VERB, hc_fail_memory("no memory for %s", hc_counted(ab->runs, "run").s));
	}
	int r = make_folders(ab);
	if (r < 0)
		return cli_fail(VERB, r);
	cli_catch_interrupts();
	int code = run_all(ab);
	/* After a failure what is there isn't what was asked for; after ^C it is what was wanted. */
	return code == HC_EXIT_OK || code == HC_EXIT_INTERRUPTED ? compare_all(ab, code) : code;
}

/* ---- The verb ------------------------------------------------------------------------------ */

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
		ab->output = text;
		return *text ? 0 : cli_usage(VERB, "--output: an empty name");
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
	        {"output", required_argument, NULL, 'o'},
	        COMPARE_LONG_OPTIONS,
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	struct run_ab ab = {.compare.verb = VERB, .runs = RUNS_USUAL, .seed = 1};
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
	if (ab.folder)
		remove_folders(&ab);
	free(ab.folder);
	compare_verb_end(&ab.compare);
	return code;
}
