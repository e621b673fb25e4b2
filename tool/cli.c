#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/decimal.h"
#include "base/hints.h"
#include "base/quote.h"

/* Longest part of a bad argument that a message repeats. */
#define QUOTED_MAX 60

/* ---- Messages ------------------------------------------------------------ */

/* The first error of writing to standard output: a stream keeps only that there was one. 0: none. */
static int output_error;

static void flush_output(void) {
	errno = 0;
	if (fflush(stdout) != 0 && output_error == 0)
		output_error = errno;
}

__attribute__((format(printf, 3, 0))) static void say(
        const char *verb, const char *kind, const char *format, va_list ap) {
	/* One write, so that lines of several processes don't mix; details are at most 1 KiB. */
	char text[2048];
	vsnprintf(text, sizeof(text), format, ap);
	hc_quote_clean(text); /* arguments are foreign text: a terminal must not obey them */
	flush_output();
	fprintf(stderr, "hugeclear%s%s: %s%s\n", verb ? " " : "", verb ? verb : "", kind, text);
}

void cli_error(const char *verb, const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	say(verb, "", format, ap);
	va_end(ap);
}

void cli_warn(const char *verb, const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	say(verb, "warning: ", format, ap);
	va_end(ap);
}

int cli_fail(const char *verb, int r) {
	if (r == -ECANCELED)
		return HC_EXIT_INTERRUPTED;

	const char *detail = hc_error_detail();
	const char *name = strerrordesc_np(-r);
	cli_error(verb, "%s", *detail ? detail : name ? name : "unknown error");
	switch (-r) {
	case EOPNOTSUPP:
	case ENODEV:
	case ENOSYS:
		return HC_EXIT_UNAVAILABLE;
	default:
		return HC_EXIT_FAILED;
	}
}

int cli_usage(const char *verb, const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	say(verb, "", format, ap);
	va_end(ap);
	fprintf(stderr, "try 'hugeclear %s%s--help'\n", verb ? verb : "", verb ? " " : "");
	return HC_EXIT_USAGE;
}

int cli_finish(const char *verb, int code) {
	static bool said;
	flush_output();
	if (output_error == 0 && !ferror(stdout))
		return code;
	if (!said) {
		const char *name = output_error ? strerrordesc_np(output_error) : NULL;
		cli_error(verb, "standard output couldn't be written%s%s%s", name ? ": " : "", name ? name : "",
		        hc_hint_limit(output_error).s);
	}
	said = true;
	return code == HC_EXIT_OK ? HC_EXIT_FAILED : code;
}

int cli_check_output(const char *verb) {
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return HC_EXIT_OK;
	cli_error(verb, "standard output is closed, or not open for writing: send it to a file or /dev/null");
	return HC_EXIT_FAILED;
}

/* ---- Options ------------------------------------------------------------- */

/*
 * Steps from a to b by inserting, deleting or changing one character, or swapping two
 * neighbours (optimal string alignment); SIZE_MAX where either is too long to be a name.
 */
static size_t edit_distance(const char *a, const char *b) {
	enum { LONGEST = 32 };
	size_t la = strlen(a), lb = strlen(b);
	if (la > LONGEST || lb > LONGEST)
		return SIZE_MAX;

	size_t row[LONGEST + 1][LONGEST + 1];
	for (size_t i = 0; i <= la; i++)
		row[i][0] = i;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			size_t best = row[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (row[i - 1][j] + 1 < best)
				best = row[i - 1][j] + 1;
			if (row[i][j - 1] + 1 < best)
				best = row[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			        row[i - 2][j - 2] + 1 < best)
				best = row[i - 2][j - 2] + 1;
			row[i][j] = best;
		}
	}
	return row[la][lb];
}

const char *cli_closest(const char *text, const char *const *names) {
	const char *closest = NULL;
	size_t least = SIZE_MAX;
	for (; *names; names++) {
		size_t distance = edit_distance(text, *names);
		/* Up to a third of the name may be wrong: beyond that it is another word. */
		if (distance < least && distance <= 1 + strlen(*names) / 3 && distance < strlen(*names)) {
			least = distance;
			closest = *names;
		}
	}
	return closest;
}

static const char *closest_option(const char *text, const struct option *options) {
	enum { MOST = 63 };
	const char *names[MOST + 1];
	size_t n = 0;
	for (; options && options->name && n < MOST; options++)
		names[n++] = options->name;
	names[n] = NULL;
	return cli_closest(text, names);
}

int cli_bad_option(const char *verb, int c, char **argv, const struct option *options) {
	const char *written = argv[optind - 1];
	/*
	 * getopt_long() tells in optopt which option it was, but for a long one its value in
	 * the table, which needn't be a character; what was written says it better.
	 */
	bool is_long = optopt == 0 || (strncmp(written, "--", 2) == 0 && written[2] != '\0');
	int name_len = (int)strcspn(written, "=");
	if (name_len > QUOTED_MAX)
		name_len = QUOTED_MAX;

	if (c == ':') {
		if (is_long)
			return cli_usage(verb, "option '%.*s' needs a value", name_len, written);
		return cli_usage(verb, "option '-%c' needs a value", optopt);
	}
	if (!is_long)
		return cli_usage(verb, "there is no option '-%c'", optopt);
	if (optopt != 0)
		return cli_usage(verb, "option '%.*s' takes no value", name_len, written);

	char name[QUOTED_MAX + 1];
	snprintf(name, sizeof(name), "%.*s", name_len > 2 ? name_len - 2 : 0, written + (name_len > 2 ? 2 : 0));
	const char *closest = closest_option(name, options);
	return cli_usage(verb, "there is no option '%.*s', or it is the beginning of several%s%s%s", name_len, written,
	        closest ? ": did you mean '--" : "", closest ? closest : "", closest ? "'?" : "");
}

int cli_no_arguments(const char *verb, int argc, char **argv) {
	if (optind < argc)
		return cli_usage(
		        verb, "'%.*s' is one argument too many: there are only options", QUOTED_MAX, argv[optind]);
	return 0;
}

int cli_size(const char *verb, const char *option, const char *text, uint64_t *ret_bytes) {
	uint64_t bytes;
	int r = hc_size_parse(text, &bytes);
	if (r < 0)
		return cli_usage(verb, "%s: %s", option, hc_error_detail());
	if (bytes == 0)
		return cli_usage(verb, "%s: '%.*s' is nothing: at least 1 byte is needed, as in %s 2M", option,
		        QUOTED_MAX, text, option);
	*ret_bytes = bytes;
	return 0;
}

int cli_count(const char *verb, const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret_count) {
	uint64_t count = 0;
	int r = hc_decimal_parse(text, &count);
	if (r == -EINVAL)
		return cli_usage(verb, "%s: '%.*s' is not a whole number: write digits only, from %llu to %llu", option,
		        QUOTED_MAX, text, (unsigned long long)min, (unsigned long long)max);
	if (r < 0 || count < min || count > max)
		return cli_usage(verb, "%s: '%.*s' is out of range: from %llu to %llu is possible", option, QUOTED_MAX,
		        text, (unsigned long long)min, (unsigned long long)max);
	*ret_count = count;
	return 0;
}

int cli_word(const char *verb, const char *option, const char *text, const char *const *names) {
	for (int i = 0; names[i]; i++)
		if (strcmp(text, names[i]) == 0)
			return i;

	char all[512] = "";
	for (size_t i = 0, len = 0; names[i] && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "", names[i]);
	const char *closest = cli_closest(text, names);
	cli_usage(verb, "%s: '%.*s' is none of %s%s%s%s", option, QUOTED_MAX, text, all,
	        closest ? "; did you mean '" : "", closest ? closest : "", closest ? "'?" : "");
	return -1;
}

int cli_list(
        const char *verb, const char *option, const char *text, int (*each)(void *user, const char *item), void *user) {
	char *copy = strdup(text);
	if (!copy) {
		cli_error(verb, "out of memory");
		return HC_EXIT_FAILED;
	}

	int r = 0;
	for (char *item = copy, *next; item && r == 0; item = next) {
		char *comma = strchr(item, ',');
		next = comma ? comma + 1 : NULL;
		if (comma)
			*comma = '\0';
		r = *item ? each(user, item)
		          : cli_usage(verb,
		                    "%s: '%.*s' has an empty item: write one after another with a comma between",
		                    option, QUOTED_MAX, text);
	}
	free(copy);
	return r;
}

/* ---- Long work ----------------------------------------------------------- */

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number) {
	(void)number;
	interrupted = 1;
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++) {
		struct sigaction now;
		if (sigaction(caught[i], NULL, &now) == 0 && now.sa_handler == note_interrupt)
			sigaction(caught[i], &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	}
}

static bool file_size_was_fatal;

void cli_file_size_is_an_error(void) {
	struct sigaction before;
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
	file_size_was_fatal = before.sa_handler != SIG_IGN;
}

bool cli_file_size_was_fatal(void) {
	return file_size_was_fatal;
}

void cli_catch_interrupts(void) {
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++) {
		struct sigaction before;
		if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
			continue;
		struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART};
		sigemptyset(&action.sa_mask);
		/* Both at once must not run the handler in the middle of itself. */
		for (size_t k = 0; k < sizeof(caught) / sizeof(*caught); k++)
			sigaddset(&action.sa_mask, caught[k]);
		sigaction(caught[i], &action, NULL);
	}
}

int cli_interrupted(void *unused) {
	(void)unused;
	return interrupted;
}

bool cli_progress_wanted(void) {
	return isatty(STDERR_FILENO);
}
