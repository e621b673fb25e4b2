/* `hugeclear bench`: the list of benchmarks, and the suite of all of them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/sys.h>

#include "base/size.h"
#include "bench/bench_arena.h"
#include "bench/bench_clear.h"
#include "bench/bench_frames.h"
#include "bench/bench_map.h"
#include "bench/harness.h"
#include "bench/room.h"
#include "cli.h"

static const struct bench *const benchmarks[] = {&bench_clear, &bench_map, &bench_frames, &bench_arena};

#define LEN(array) (sizeof(array) / sizeof(*(array)))

/* ---- The suite ----------------------------------------------------------- */

#define SUITE_WORDS 12

/* What `./dev bench` shows: the table of the series first, then what only user space can do. */
static const struct part {
	const struct bench *bench;
	bool full;      /* only with --full */
	bool each_page; /* once for each size of huge pages of which enough are available */
	const char *title;
	const char *words[SUITE_WORDS];
} suite[] = {
        {&bench_clear, false, true, "Clearing for later", {"-l", "3"}},
        {&bench_clear, false, false, "Clearing for somebody who writes it next", {"-l", "3", "--then", "write"}},
        {&bench_clear, true, false, "Clearing for somebody who reads it next", {"--then", "read"}},
        {&bench_clear, true, false, "Every method", {"-f", "all"}},
        {&bench_clear, true, false, "Every method, for somebody who writes it next", {"-f", "all", "--then", "write"}},
        {&bench_clear, true, false, "One thread and two", {"-t", "1,2"}},
        {&bench_clear, true, false, "Chunks", {"-e", "whole", "--chunk", "0"}},
        {&bench_clear, true, false, "Transparent huge pages", {"-p", "thp"}},
        {&bench_clear, true, false, "Base pages", {"-p", "base"}},
        {&bench_map, false, false, "Fresh memory from the kernel", {"-l", "3"}},
        {&bench_frames, false, false, "Frame descriptors", {"-l", "3"}},
        {&bench_map, true, false, "Fresh memory, one thread and two", {"-t", "1,2"}},
        {&bench_map, true, false, "What others suffer meanwhile", {"--victim"}},
        {&bench_frames, true, false, "Frame descriptors in fresh memory", {"--descriptors", "fresh"}},
        {&bench_arena, true, false, "Frames, of an arena and of the kernel", {"-t", "1,2"}},
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
	uint64_t bytes; /* that size says, or the usual ones */
	struct bench_settings settings;
};

/* The words of a command line, owned. */
struct words {
	char text[SUITE_WORDS + 8][64];
	char *argv[SUITE_WORDS + 9];
	int argc;
};

static void add_word(struct words *words, const char *word) {
	if (words->argc + 1 >= (int)LEN(words->argv))
		return;
	snprintf(words->text[words->argc], sizeof(words->text[0]), "%s", word);
	words->argv[words->argc] = words->text[words->argc];
	words->argv[++words->argc] = NULL;
}

static void add_option(struct words *words, const char *option, const char *value) {
	if (value) {
		add_word(words, option);
		add_word(words, value);
	}
}

/* page: an argument of -p, or NULL. */
static int run_once(
        struct bench_session *session, const struct suite *asked, const struct part *part, const char *page) {
	struct words words = {.argc = 0};
	add_word(&words, part->bench->name);
	for (size_t i = 0; i < SUITE_WORDS && part->words[i]; i++) {
		/* Few loops are for the short suite. */
		if (asked->full && strcmp(part->words[i], "-l") == 0)
			i++;
		else
			add_word(&words, part->words[i]);
	}
	/* Of two options the later one counts. */
	add_option(&words, "-p", page);
	add_option(&words, "-s", asked->size);
	add_option(&words, "-l", asked->loops);

	FILE *out = bench_session_out(session);
	if (asked->settings.format == BENCH_DEFAULT)
		fprintf(out, "== %s ==\n", part->title);
	/* A full disk is found before anything is measured. */
	int code = cli_finish("bench suite", HC_EXIT_OK);
	if (code)
		return code;
	code = bench_session_run(session, part->bench, words.argc, words.argv);
	if (asked->settings.format == BENCH_DEFAULT)
		fputc('\n', out);
	return code;
}

/* For each size of huge pages that has room; the benchmark's own choice where none has. */
static int run_pages(struct bench_session *session, const struct suite *asked, const struct part *part) {
	struct hc_machine *machine = NULL;
	int r = hc_machine_read(NULL, &machine);
	int code = r < 0 ? cli_fail("bench suite", r) : 0;
	const struct hc_pool *pool;
	bool any = false;
	for (unsigned i = 0; code == 0 && (pool = hc_machine_pool(machine, i)); i++) {
		const struct room_page page = {.kind = HC_PAGES_HUGETLB, .page_size = pool->page_size};
		if (room_of(machine, &page, -1) >= asked->bytes) {
			any = true;
			code = run_once(session, asked, part, hc_size_arg(pool->page_size).s);
		}
	}
	hc_machine_free(machine);
	return any || code ? code : run_once(session, asked, part, NULL);
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
			code = cli_size(verb, "--size", optarg, &asked->bytes);
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
	struct suite asked = {.bytes = UINT64_C(1) << 30, .settings = {.seed = 1}};
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
			code = suite[i].each_page ? run_pages(session, &asked, &suite[i])
			                          : run_once(session, &asked, &suite[i], NULL);
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
		return cli_usage("bench", "the name of a benchmark is missing: clear, map, or suite");
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		print_help();
		return 0;
	}
	if (name[0] == '-')
		return cli_usage("bench", "there is no option '%.60s' before the name of a benchmark", name);
	if (strcmp(name, "suite") == 0)
		return run_suite(argc - 1, argv + 1);

	/* What perf calls it. */
	if (strcmp(name, "mmap") == 0)
		name = bench_map.name;
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
