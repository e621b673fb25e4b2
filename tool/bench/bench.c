/* `hugeclear bench`: the list of benchmarks, and the suite of all of them. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_clear.h"
#include "bench/harness.h"
#include "cli.h"

static const struct bench *const benchmarks[] = {&bench_clear};

#define LEN(array) (sizeof(array) / sizeof(*(array)))

/* ---- The suite ----------------------------------------------------------- */

#define SUITE_WORDS 12

/* What `./dev bench` shows: the table of the series first, then what only user space can do. */
static const struct part {
	const struct bench *bench;
	bool full; /* only with --full */
	const char *title;
	const char *words[SUITE_WORDS];
} suite[] = {
        {&bench_clear, false, "Clearing for later", {"-l", "3"}},
        {&bench_clear, false, "Clearing for somebody who writes it next", {"-l", "3", "--then", "write"}},
        {&bench_clear, true, "Clearing for somebody who reads it next", {"--then", "read"}},
        {&bench_clear, true, "Every method", {"-f", "all"}},
        {&bench_clear, true, "Every method, for somebody who writes it next", {"-f", "all", "--then", "write"}},
        {&bench_clear, true, "Two threads", {"-t", "2"}},
        {&bench_clear, true, "Chunks", {"-e", "whole", "--chunk", "0,1M,8M,32M"}},
        {&bench_clear, true, "Transparent huge pages", {"-p", "thp"}},
        {&bench_clear, true, "Base pages", {"-p", "base"}},
};

static const struct option suite_options[] = {
        {"full", no_argument, NULL, 'F'},
        {"size", required_argument, NULL, 's'},
        {"nr_loops", required_argument, NULL, 'l'},
        {"output", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {0},
};

struct suite {
	bool full, help;
	const char *size, *loops;
	struct bench_settings settings;
};

static int run_part(struct bench_session *session, const struct suite *asked, const struct part *part) {
	/* The part's own words, then what was asked of all: the later of two options counts. */
	char words[SUITE_WORDS + 4][64];
	char *argv[SUITE_WORDS + 6];
	int argc = 0;
	const char *more[] = {"-s", asked->size, "-l", asked->loops};
	snprintf(words[0], sizeof(words[0]), "%s", part->bench->name);
	argv[argc++] = words[0];
	for (size_t i = 0; i + 1 < SUITE_WORDS && part->words[i]; i++) {
		/* Few loops are for the short suite. */
		if (asked->full && strcmp(part->words[i], "-l") == 0) {
			i++;
			continue;
		}
		snprintf(words[argc], sizeof(words[argc]), "%s", part->words[i]);
		argv[argc] = words[argc];
		argc++;
	}
	for (size_t i = 0; i < LEN(more); i += 2) {
		if (!more[i + 1])
			continue;
		for (size_t k = i; k < i + 2; k++) {
			snprintf(words[argc], sizeof(words[argc]), "%s", more[k]);
			argv[argc] = words[argc];
			argc++;
		}
	}
	argv[argc] = NULL;
	if (asked->settings.format == BENCH_DEFAULT)
		fprintf(bench_session_out(session), "== %s ==\n", part->title);
	int code = bench_session_run(session, part->bench, argc, argv);
	if (asked->settings.format == BENCH_DEFAULT)
		fputc('\n', bench_session_out(session));
	return code;
}

static int parse_suite(int argc, char **argv, struct suite *asked) {
	static const char verb[] = "bench suite";
	static const char *const formats[] = {"default", "simple", "json", NULL};
	uint64_t number;
	int c, code = 0;
	optind = 0;
	while (code == 0 && (c = getopt_long(argc, argv, ":s:l:o:h", suite_options, NULL)) != -1) {
		switch (c) {
		case 'F':
			asked->full = true;
			break;
		case 's':
			asked->size = optarg;
			code = cli_size(verb, "--size", optarg, &number);
			break;
		case 'l':
			asked->loops = optarg;
			code = cli_count(verb, "--nr_loops", optarg, 1, BENCH_LOOPS_MAX, &number);
			break;
		case 'o':
			asked->settings.output = optarg;
			break;
		case 'f': {
			int format = cli_word(verb, "--format", optarg, formats);
			if (format < 0)
				return HC_EXIT_USAGE;
			asked->settings.format = (enum bench_format)format;
			break;
		}
		case 'h':
			asked->help = true;
			return 0;
		default:
			return cli_bad_option(verb, c, argv, suite_options);
		}
	}
	return code ? code : cli_no_arguments(verb, argc, argv);
}

static int run_suite(int argc, char **argv) {
	struct suite asked = {.settings = {.seed = 1}};
	int code = parse_suite(argc, argv, &asked);
	if (code)
		return code;
	if (asked.help) {
		printf("usage: hugeclear bench suite [OPTION]...\n\n"
		       "A selection of all benchmarks, in about a minute.\n\n"
		       "      --full            everything, in some minutes\n"
		       "  -s, --size SIZE       bytes that a sample works on\n"
		       "  -l, --nr_loops N      loops of each benchmark\n"
		       "  -o, --output FILE     write the results to FILE, whole or not at all; - is standard output\n"
		       "      --format WORD     default, simple or json\n"
		       "  -h, --help            this text\n");
		return 0;
	}
	struct bench_session *session;
	code = bench_session_open("bench suite", &asked.settings, &session);
	if (code)
		return code;
	for (size_t i = 0; i < LEN(suite) && code == 0; i++)
		if (asked.full || !suite[i].full)
			code = run_part(session, &asked, &suite[i]);
	return bench_session_close(session, code);
}

/* ---- The verb ------------------------------------------------------------ */

static void print_help(void) {
	printf("usage: hugeclear bench NAME [OPTION]...\n\n"
	       "Measures what this machine can do. `hugeclear bench NAME --help` has the options.\n\n");
	for (size_t i = 0; i < LEN(benchmarks); i++)
		printf("  %-8s %s\n", benchmarks[i]->name, benchmarks[i]->title);
	printf("  %-8s a selection of all of them, in about a minute\n", "suite");
}

int hc_verb_bench(int argc, char **argv) {
	if (argc < 2)
		return cli_usage("bench", "the name of a benchmark is missing: clear, or suite");
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		print_help();
		return 0;
	}
	if (name[0] == '-')
		return cli_usage("bench", "there is no option '%.60s' before the name of a benchmark", name);
	if (strcmp(name, "suite") == 0)
		return run_suite(argc - 1, argv + 1);

	const char *names[LEN(benchmarks) + 2] = {"suite"};
	for (size_t i = 0; i < LEN(benchmarks); i++) {
		if (strcmp(name, benchmarks[i]->name) == 0)
			return bench_main(benchmarks[i], argc - 1, argv + 1);
		names[i + 1] = benchmarks[i]->name;
	}
	const char *closest = cli_closest(name, names);
	if (closest)
		return cli_usage("bench", "there is no benchmark '%.60s': did you mean '%s'?", name, closest);
	return cli_usage("bench", "there is no benchmark '%.60s'", name);
}
