/* The command: finds the verb and sees that what it printed arrived. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/features.h"
#include "cli.h"

/* Only verbs that are in the build; one line each. */
static const struct verb {
	const char *name;
	hc_verb_fn run;
	bool clears; /* what it shows depends on the processor's features */
	const char *summary;
} verbs[] = {
        {"bench", hc_verb_bench, true, "measures how fast memory is cleared, in ways that can be compared"},
        {"compare", hc_verb_compare, false,
                "compares saved results, base against patched, with an interval and a verdict"},
        {"init", hc_verb_init, false, "the first process of a virtual machine: runs benches there, and powers off"},
        {"report", hc_verb_report, false, "makes a page of result files, with tables and plots"},
        {"reserve", hc_verb_reserve, false, "sets how many huge pages the kernel keeps, also while a command runs"},
        {"run-ab", hc_verb_run_ab, false, "runs two commands or sets of options in turn, and compares them"},
        {"status", hc_verb_status, true, "shows what this machine has: processor, nodes, huge pages, limits"},
        {"tune", hc_verb_tune, true, "measures the ways to clear here, and writes a profile for programs"},
        {NULL, NULL, false, NULL},
};

/* Of standard output where that is no terminal. */
static char output_buffer[64 << 10];

#define NR_ROWS (sizeof(verbs) / sizeof(*verbs))

static void print_version(void) {
	unsigned v = hc_version();
	printf("hugeclear %u.%u.%u\n", v / 1000000, v / 1000 % 1000, v % 1000);
}

static void print_help(void) {
	printf("usage: hugeclear VERB [OPTION]...\n"
	       "\n"
	       "Big, clean memory: what this machine has, how fast it clears, and how to set it.\n"
	       "\n");
	for (const struct verb *v = verbs; v->name; v++)
		printf("  %-10s %s\n", v->name, v->summary);
	printf("  %-10s %s\n", "help VERB", "the options of a verb, as 'hugeclear VERB --help'");
	printf("\n"
	       "  --help     this text\n"
	       "  --version  the version of the command and its library\n"
	       "\n"
	       "Sizes are digits with K, M, G, T or P behind them, powers of 1024: 2M, 1GiB, 2048kB.\n"
	       "\n"
	       "exit codes: 0 ok, 1 failed, 2 compared and slower, 3 got less than asked for,\n"
	       "4 not available on this machine, 5 not comparable, 64 usage, 130 interrupted\n");
}

static int run_verb(int argc, char **argv) {
	const char *names[NR_ROWS + 1] = {"help"};
	for (size_t i = 0; verbs[i].name; i++) {
		if (strcmp(argv[0], verbs[i].name) == 0) {
			bool help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
			/* A slip there would measure and tell what nobody asked for. */
			if (verbs[i].clears && !help && hc_feature_mask_check(getenv(HC_FEATURE_MASK_VARIABLE)) < 0)
				return cli_usage(verbs[i].name, "%s", hc_error_detail());
			return cli_finish(verbs[i].name, verbs[i].run(argc, argv));
		}
		names[i + 1] = verbs[i].name;
	}

	const char *closest = cli_closest(argv[0], names);
	if (closest)
		return cli_usage(NULL, "there is no verb '%.60s': did you mean '%s'?", argv[0], closest);
	return cli_usage(NULL, "there is no verb '%.60s'", argv[0]);
}

/*
 * A descriptor of the first three that is closed would be the next file that is opened,
 * and messages would go into it. Opened the wrong way round, so that using it stays the
 * error that it is.
 */
static void fill_standard_descriptors(void) {
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
	fill_standard_descriptors();
	cli_file_size_is_an_error();
	/* For the width of text alone. Numbers are read and written in the C locale everywhere. */
	setlocale(LC_CTYPE, "");
	/* A message reaches a log in one piece. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	/* So that what is printed is mostly written at the end, where an error still has its number. */
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, output_buffer, _IOFBF, sizeof(output_buffer));
	opterr = 0;

	/* The kernel starts /init without a word. */
	if (argc < 2 && getpid() == 1 && strcmp(argv[0], "/init") == 0)
		return run_verb(1, (char *[]){(char[]){"init"}, NULL});
	if (argc < 2)
		return cli_usage(NULL, "a verb is missing");

	const char *word = argv[1];
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		print_version();
		return cli_finish(NULL, HC_EXIT_OK);
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (strcmp(word, "help") == 0 && argc == 2)) {
		print_help();
		return cli_finish(NULL, HC_EXIT_OK);
	}
	if (strcmp(word, "help") == 0) {
		char option[] = "--help";
		return run_verb(2, (char *[]){argv[2], option, NULL});
	}
	if (word[0] == '-')
		return cli_usage(NULL, "there is no option '%.60s' before the verb", word);
	return run_verb(argc - 1, argv + 1);
}
