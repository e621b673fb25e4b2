/* What every verb of the command shares: exit codes, messages, options. */
#ifndef HC_TOOL_CLI_H
#define HC_TOOL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit codes of the command, one meaning each; documented in hugeclear(1). */
enum hc_exit {
	HC_EXIT_OK = 0,
	HC_EXIT_FAILED = 1,
	HC_EXIT_SLOWER = 2,      /* compared, and slower than allowed */
	HC_EXIT_LESS = 3,        /* got less than was asked for */
	HC_EXIT_UNAVAILABLE = 4, /* not available on this machine */
	HC_EXIT_NOT_COMPARABLE = 5,
	HC_EXIT_USAGE = 64,
	HC_EXIT_INTERRUPTED = 130,
};

/* A verb: argv[0] is its name. Returns an exit code; never calls exit(). */
typedef int (*hc_verb_fn)(int argc, char **argv);

int hc_verb_status(int argc, char **argv);
int hc_verb_reserve(int argc, char **argv);
int hc_verb_tune(int argc, char **argv);
int hc_verb_bench(int argc, char **argv);

/* "hugeclear VERB: text" with a newline on standard error. */
void cli_error(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* cli_error() with hc_error_detail(), and the exit code that fits r, a negative errno. */
int cli_fail(const char *verb, int r);

/* cli_error() with the text and "try 'hugeclear VERB --help'"; returns HC_EXIT_USAGE. */
int cli_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Values of options; option is its name as the user wrote it ("--size"), for the
 * message. Return 0, or HC_EXIT_USAGE after having said what is wrong with the
 * value, what is allowed and what to write.
 */
int cli_size(const char *verb, const char *option, const char *text, uint64_t *ret_bytes); /* not 0 */
int cli_count(const char *verb, const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret_count);

/* Splits "a,b,c" at its commas. Calls each in order until it returns non-zero, which is passed on; empty items are usage errors. */
int cli_list(
        const char *verb, const char *option, const char *text, int (*each)(void *user, const char *item), void *user);

/*
 * ^C, SIGTERM, SIGHUP: after cli_catch_interrupts() the first one is only noted (a second
 * one ends the process in the ordinary way). hc_stop_fn compatible.
 */
void cli_catch_interrupts(void);
int cli_interrupted(void *unused);

/* True where standard error is a terminal: progress is shown only there. */
bool cli_progress_wanted(void);

#endif
