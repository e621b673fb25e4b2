/* hugeclear compare: base against patched, from saved results. */
#include "compare_verb.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/error.h"
#include "cli.h"
#include "compare_args.h"
#include "compare_output.h"

#define VERB "compare"

static const char usage_text[] =
        "usage: hugeclear compare [OPTION]... BASE[,BASE...] PATCHED[,PATCHED...]\n"
        "\n"
        "Compares results that benchmarks wrote with -o: the change, its 95 % interval, and a\n"
        "verdict where each side has several runs, which are files of it: a list with commas, or a folder.\n"
        "\n" COMPARE_OPTIONS_HELP "  -h, --help            this text\n"
        "\n"
        "exit codes: 0 compared, 2 slower (--fail-if-slower), 5 not comparable, 1 failed, 64 usage\n";

/* ---- Options ------------------------------------------------------------------------ */

struct list {
	char **words;
	size_t nr_words;
};

static int add_word(void *user, const char *item) {
	struct list *list = user;
	char **grown = realloc(list->words, (list->nr_words + 2) * sizeof(char *)), *word = strdup(item);
	if (grown)
		list->words = grown;
	if (!grown || !word) {
		free(word);
		cli_error(NULL, "no memory for a list");
		return HC_EXIT_FAILED;
	}
	grown[list->nr_words++] = word;
	grown[list->nr_words] = NULL;
	return 0;
}

static void free_words(char **words) {
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

static int take_list(struct compare_verb *verb, const char *option, const char *text, char ***words) {
	struct list list = {0};
	int code = cli_list(verb->verb, option, text, add_word, &list);
	free_words(*words);
	*words = list.words;
	return code;
}

static int take_percent(struct compare_verb *verb, const char *text) {
	char *end;
	double pct = strtod(text, &end);
	/* Spaces, signs, hexadecimal and words are numbers for strtod() alone. */
	if (end == text || *end != '\0' || strspn(text, "0123456789.") != strlen(text) || !isfinite(pct))
		return cli_usage(verb->verb, "--fail-if-slower %.40s: not a number of percent, as 2 or 0.5", text);
	verb->fails_if_slower = true;
	verb->slower_pct = pct;
	return 0;
}

int compare_verb_option(struct compare_verb *verb, int c, const char *text) {
	static const char *const formats[] = {"text", "json", "markdown", NULL};
	int word;
	switch (c) {
	case COMPARE_OPTION_FORMAT:
		word = cli_word(verb->verb, "--format", text, formats);
		if (word < 0)
			return HC_EXIT_USAGE;
		verb->format = (enum compare_format)word;
		return 0;
	case COMPARE_OPTION_ACROSS:
		return take_list(verb, "--across", text, &verb->opts.across);
	case COMPARE_OPTION_METRIC:
		return take_list(verb, "--metric", text, &verb->opts.metrics);
	default:
		return take_percent(verb, text);
	}
}

void compare_verb_end(struct compare_verb *verb) {
	free_words(verb->opts.across);
	free_words(verb->opts.metrics);
	verb->opts = (struct compare_opts){0};
}

/* ---- What it comes to ------------------------------------------------------------------ */

static int judge(const struct compare_verb *verb, const struct comparison *comparison) {
	if (comparison->nr_rows == 0 && comparison->nr_refused == 0)
		cli_error(verb->verb, "nothing to compare: no case is on both sides; parameters that are meant to "
		                      "differ are given to --across");
	if (comparison->nr_refused > 0)
		cli_error(verb->verb, "%zu of the cases can't be compared, see 'refused'", comparison->nr_refused);
	if (comparison->nr_rows == 0 || comparison->nr_refused > 0)
		return HC_EXIT_NOT_COMPARABLE;
	if (!verb->fails_if_slower)
		return HC_EXIT_OK;
	size_t slower = 0, judged = 0;
	for (size_t i = 0; i < comparison->nr_rows; i++) {
		const struct compare_row *row = &comparison->rows[i];
		judged += row->verdict != COMPARE_NO_VERDICT && row->verdict != COMPARE_CANNOT_SAY;
		slower += row->verdict == COMPARE_SLOWER && compare_loss_pct(row) >= verb->slower_pct;
	}
	if (judged < comparison->nr_rows)
		cli_warn(verb->verb, "--fail-if-slower: %zu of %zu rows have no verdict", comparison->nr_rows - judged,
		        comparison->nr_rows);
	if (slower > 0)
		cli_error(verb->verb, "slower by %g %% or more in %zu of %zu rows", verb->slower_pct, slower,
		        comparison->nr_rows);
	return slower > 0 ? HC_EXIT_SLOWER : HC_EXIT_OK;
}

int compare_verb_run(const struct compare_verb *verb, const struct compare_side sides[COMPARE_SIDES]) {
	struct comparison *comparison;
	int r = compare(sides, &verb->opts, &comparison);
	if (r < 0)
		return cli_fail(verb->verb, r);
	switch (verb->format) {
	case COMPARE_FORMAT_TEXT:
		r = compare_print_text(stdout, sides, comparison);
		break;
	case COMPARE_FORMAT_JSON:
		r = compare_print_json(stdout, sides, comparison);
		break;
	case COMPARE_FORMAT_MARKDOWN:
		r = compare_print_markdown(stdout, sides, comparison);
		break;
	}
	int code = r < 0 ? cli_fail(verb->verb, r) : judge(verb, comparison);
	comparison_free(comparison);
	return code;
}

/* ---- The verb ----------------------------------------------------------------------------- */

struct side_reading {
	const char *argument;
	struct compare_side side;
	struct hc_error error;
};

static void *read_side(void *arg) {
	struct side_reading *reading = arg;
	int r = compare_side_read(reading->argument, &reading->side);
	if (r < 0)
		hc_error_save(r, &reading->error);
	return NULL;
}

/* Both at once where there is a thread for it: reading is most of what a comparison takes. */
static int read_sides(char **arguments, struct compare_side sides[COMPARE_SIDES]) {
	struct side_reading readings[COMPARE_SIDES] = {{.argument = arguments[0]}, {.argument = arguments[1]}};
	pthread_t thread;
	/* Before the first object of two threads at once. */
	json_object_seed(0);
	bool beside = pthread_create(&thread, NULL, read_side, &readings[COMPARE_PATCHED]) == 0;
	read_side(&readings[COMPARE_BASE]);
	if (beside)
		pthread_join(thread, NULL);
	else
		read_side(&readings[COMPARE_PATCHED]);
	int r = 0;
	for (int side = 0; side < COMPARE_SIDES; side++) {
		sides[side] = readings[side].side;
		if (r == 0 && readings[side].error.err < 0)
			r = hc_error_restore(&readings[side].error);
	}
	return r;
}

static int compare_files(const struct compare_verb *verb, char **arguments) {
	struct compare_side sides[COMPARE_SIDES] = {0};
	int code = HC_EXIT_OK;
	if (read_sides(arguments, sides) < 0) {
		cli_error(verb->verb, "%s", hc_error_detail());
		code = HC_EXIT_FAILED;
	}
	if (code == HC_EXIT_OK)
		code = compare_verb_run(verb, sides);
	for (int side = 0; side < COMPARE_SIDES; side++)
		compare_side_free(&sides[side]);
	return code;
}

int hc_verb_compare(int argc, char **argv) {
	static const struct option options[] = {
	        COMPARE_LONG_OPTIONS,
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	struct compare_verb verb = {.verb = VERB};
	int code = HC_EXIT_OK, c;
	while (code == HC_EXIT_OK && (c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			compare_verb_end(&verb);
			return HC_EXIT_OK;
		}
		code = c == '?' || c == ':' ? cli_bad_option(VERB, c, argv, options)
		                            : compare_verb_option(&verb, c, optarg);
	}
	if (code == HC_EXIT_OK && argc - optind != COMPARE_SIDES)
		code = cli_usage(VERB, "two sides are needed, base and patched; %d given", argc - optind);
	if (code == HC_EXIT_OK)
		code = compare_files(&verb, argv + optind);
	compare_verb_end(&verb);
	return code;
}
