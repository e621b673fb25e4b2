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
	HC_EXIT_SLOWER = 2,      /* compared, and slower */
	HC_EXIT_LESS = 3,        /* got less than was asked for */
	HC_EXIT_UNAVAILABLE = 4, /* not available on this machine */
	HC_EXIT_NOT_COMPARABLE = 5,
	HC_EXIT_USAGE = 64,
	HC_EXIT_INTERRUPTED = 130,
};

/* A verb: argv[0] is its name, and getopt_long() starts afresh. Returns an exit code; never calls exit(). */
typedef int (*hc_verb_fn)(int argc, char **argv);

int hc_verb_status(int argc, char **argv);
int hc_verb_reserve(int argc, char **argv);
int hc_verb_tune(int argc, char **argv);
int hc_verb_bench(int argc, char **argv);
int hc_verb_compare(int argc, char **argv);
int hc_verb_run_ab(int argc, char **argv);
int hc_verb_init(int argc, char **argv);
int hc_verb_report(int argc, char **argv);

/* ---- Messages ------------------------------------------------------------ */

/*
 * "hugeclear VERB: text" with a newline on standard error, behind what is waiting for
 * standard output. verb NULL is the command itself: "hugeclear: text".
 */
void cli_error(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with "warning: " before the text; the exit code doesn't change. */
void cli_warn(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * cli_error() with hc_error_detail(), and the exit code that fits r, a negative errno:
 * HC_EXIT_UNAVAILABLE for -EOPNOTSUPP, -ENODEV and -ENOSYS, HC_EXIT_INTERRUPTED for
 * -ECANCELED (without a message: who pressed ^C knows), else HC_EXIT_FAILED. Where another code is
 * meant, as HC_EXIT_LESS, the verb returns that and ignores this one.
 */
int cli_fail(const char *verb, int r);

/* cli_error() with the text and "try 'hugeclear VERB --help'"; returns HC_EXIT_USAGE. */
int cli_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Ends standard output: HC_EXIT_FAILED with a message where something couldn't be
 * written (full disk, closed descriptor), else code. main() calls it behind every
 * verb; a verb whose later work depends on the output having arrived may, too: the
 * message comes once.
 */
int cli_finish(const char *verb, int code);

/*
 * Before work whose results go to standard output: HC_EXIT_FAILED with a message where it was closed or can't
 * be written to at all (main() keeps its number from being taken by another file), else HC_EXIT_OK.
 */
int cli_check_output(const char *verb);

/* ---- Options ------------------------------------------------------------- */

struct option;

/*
 * What to do when getopt_long() returned c, '?' or ':': says which option it was, what is
 * wrong with it and the nearest one there is. pre: opterr is 0 (main() sees to it) and the
 * short options begin with ":" (or "+:"). Returns HC_EXIT_USAGE.
 */
int cli_bad_option(const char *verb, int c, char **argv, const struct option *options);

/* HC_EXIT_USAGE with a message where arguments are left behind the options, else 0. */
int cli_no_arguments(const char *verb, int argc, char **argv);

/*
 * Values of options; option is its name as the user wrote it ("--size"), for the
 * message. Return 0, or HC_EXIT_USAGE after having said what is wrong with the
 * value, what is allowed and what to write. Signs, fractions, spaces and trailing
 * text are wrong everywhere.
 */
int cli_size(const char *verb, const char *option, const char *text, uint64_t *ret_bytes); /* not 0 */
int cli_count(const char *verb, const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret_count);

/*
 * The index in names (ended by NULL) of the one that text is, or -1 after a message that
 * offers the nearest and lists all. For options that take a word.
 */
int cli_word(const char *verb, const char *option, const char *text, const char *const *names);

/* Splits "a,b,c" at its commas. Calls each in order until it returns non-zero, which is passed on; empty items are usage errors. */
int cli_list(
        const char *verb, const char *option, const char *text, int (*each)(void *user, const char *item), void *user);

/* The one of names (ended by NULL) that text is most likely a slip of; NULL where none is near. */
const char *cli_closest(const char *text, const char *const *names);

/* ---- Long work ----------------------------------------------------------- */

/*
 * From here on a file that grows beyond RLIMIT_FSIZE is an error of writing, which is said and
 * cleaned up after, and not the end by SIGXFSZ. The second tells whether it was: for programs that are started.
 */
void cli_file_size_is_an_error(void);
bool cli_file_size_was_fatal(void);

/*
 * ^C, SIGTERM, SIGHUP: after cli_catch_interrupts() the first one is only noted (a second
 * one ends the process in the ordinary way). One that was ignored when the process
 * started stays ignored. cli_interrupted() is an hc_stop_fn: 1 after a signal, else 0.
 */
void cli_catch_interrupts(void);
int cli_interrupted(void *unused);

/* True where standard error is a terminal: progress is shown only there. */
bool cli_progress_wanted(void);

#endif
