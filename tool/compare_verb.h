/* What `hugeclear compare` and `hugeclear run-ab` share: options, printing, the exit code. */
#ifndef HC_TOOL_COMPARE_VERB_H
#define HC_TOOL_COMPARE_VERB_H

#include <stdbool.h>

#include "results/compare.h"

enum compare_format { COMPARE_FORMAT_TEXT, COMPARE_FORMAT_JSON, COMPARE_FORMAT_MARKDOWN };

struct compare_verb {
	const char *verb;
	enum compare_format format;
	bool fails_if_slower;
	double slower_pct;
	struct compare_opts opts; /* its lists are owned, and freed by compare_verb_end() */
};

/* The values of getopt_long() for the shared long options, and those options but for the end of the list. */
enum { COMPARE_OPTION_FORMAT = 512, COMPARE_OPTION_ACROSS, COMPARE_OPTION_METRIC, COMPARE_OPTION_FAIL };
#define COMPARE_LONG_OPTIONS                                                                                           \
	{"format", required_argument, NULL, COMPARE_OPTION_FORMAT},                                                    \
	        {"across", required_argument, NULL, COMPARE_OPTION_ACROSS},                                            \
	        {"metric", required_argument, NULL, COMPARE_OPTION_METRIC}, {                                          \
		"fail-if-slower", required_argument, NULL, COMPARE_OPTION_FAIL                                         \
	}
#define COMPARE_OPTIONS_HELP                                                                                           \
	"      --metric LIST     only these metrics, as throughput\n"                                                  \
	"      --across LIST     case parameters that may differ, as function,method\n"                                \
	"      --fail-if-slower PCT  exit with 2 where a row is slower by at least that\n"                             \
	"      --format WORD     text (72 columns, for a mail), markdown or json\n"

/* Takes one of these. 0, or HC_EXIT_USAGE after a message. */
int compare_verb_option(struct compare_verb *verb, int c, const char *text);

/* Compares and prints; returns an exit code, after a message where it isn't 0. */
int compare_verb_run(const struct compare_verb *verb, const struct compare_side sides[COMPARE_SIDES]);

void compare_verb_end(struct compare_verb *verb);

#endif
