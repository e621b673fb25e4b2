#include "clear/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"

#define MAGIC "hugeclear-profile/"
#define VERSION "1"

enum key { KEY_VENDOR, KEY_FAMILY, KEY_MODEL, KEY_STEPPING, KEY_SOON, KEY_LATER, NR_KEYS };

static const char *const key_names[NR_KEYS] = {"vendor", "family", "model", "stepping", "soon", "later"};

/* ---- Reading -------------------------------------------------------------- */

/* What stands behind each key's "=", NULL where the key isn't there, and in which line. */
struct values {
	char *text[NR_KEYS];
	unsigned line[NR_KEYS];
};

static int check_first_line(const char *line) {
	size_t magic = strlen(MAGIC);
	if (strncmp(line, MAGIC, magic) != 0)
		return hc_fail(EBADMSG,
		        "line 1: \"%s\" is wanted, not %s: this isn't a profile; make one with `hugeclear tune`",
		        MAGIC VERSION, hc_quote(line).s);
	if (strcmp(line + magic, VERSION) != 0)
		return hc_fail(ENOTSUP,
		        "line 1: this library reads version %s of profiles, not %s; make one with `hugeclear tune`",
		        VERSION, hc_quote(line + magic).s);
	return 0;
}

/* A line behind the first: cuts it at its "=" and keeps the value. */
static int read_line(char *line, unsigned nr, struct values *values) {
	if (*line == '\0' || *line == '#')
		return 0;

	char *value = strchr(line, '=');
	if (!value)
		return hc_fail(EBADMSG, "line %u: key=value or a # comment is wanted, not %s", nr, hc_quote(line).s);
	*value++ = '\0';

	unsigned key = 0;
	while (key < NR_KEYS && strcmp(key_names[key], line) != 0)
		key++;
	if (key == NR_KEYS)
		return hc_fail(EBADMSG, "line %u: unknown key %s", nr, hc_quote(line).s);
	if (values->text[key])
		return hc_fail(
		        EBADMSG, "line %u: %s is there already, in line %u", nr, key_names[key], values->line[key]);
	values->text[key] = value;
	values->line[key] = nr;
	return 0;
}

/* Cuts the text into lines, which the values then point into. */
static int read_lines(char *text, struct values *values) {
	unsigned nr = 0;
	for (char *line = text, *end; *line; line = end + 1) {
		nr++;
		end = strchr(line, '\n');
		if (!end) /* "max:avx2" may be what is left of "max:avx2-nt" */
			return hc_fail(EBADMSG, "line %u: cut off, there is no newline at its end", nr);
		*end = '\0';
		int r = nr == 1 ? check_first_line(line) : read_line(line, nr, values);
		if (r < 0)
			return r;
	}
	return nr > 0 ? 0 : check_first_line(text);
}

static int read_processor_number(const struct values *values, enum key key, unsigned *ret_number) {
	uint64_t number;
	if (hc_decimal_parse(values->text[key], &number) < 0 || number > UINT_MAX)
		return hc_fail(EBADMSG, "line %u: a number is wanted, not %s", values->line[key],
		        hc_quote(values->text[key]).s);
	*ret_number = (unsigned)number;
	return 0;
}

static int check_processor(const struct values *values, const struct hc_processor_id *here) {
	for (unsigned key = 0; key < NR_KEYS; key++)
		if (!values->text[key] && key != KEY_SOON && key != KEY_LATER)
			return hc_fail(EBADMSG, "it doesn't say on which processor it was measured: no line \"%s=\"",
			        key_names[key]);

	unsigned family = 0, model = 0, stepping = 0;
	int r = read_processor_number(values, KEY_FAMILY, &family);
	if (r == 0)
		r = read_processor_number(values, KEY_MODEL, &model);
	if (r == 0)
		r = read_processor_number(values, KEY_STEPPING, &stepping);
	if (r < 0)
		return r;

	if (strcmp(values->text[KEY_VENDOR], here->vendor) != 0 || family != here->family || model != here->model ||
	        stepping != here->stepping)
		return hc_fail(EXDEV,
		        "measured on %s family %u model %u stepping %u, and this processor is %s family %u model %u "
		        "stepping %u; make one here with `hugeclear tune`",
		        hc_quote(values->text[KEY_VENDOR]).s, family, model, stepping, hc_quote(here->vendor).s,
		        here->family, here->model, here->stepping);
	return 0;
}

static int read_step(char *step, struct hc_ladder *ladder) {
	char *colon = strchr(step, ':');
	if (!colon)
		return hc_fail(EBADMSG, "a step is LENGTH:METHOD, not %s", hc_quote(step).s);
	*colon = '\0';

	uint64_t up_to = UINT64_MAX;
	if (strcmp(step, "max") != 0 && (hc_decimal_parse(step, &up_to) < 0 || up_to == UINT64_MAX))
		return hc_fail(EBADMSG, "a length is a number of bytes or \"max\", not %s", hc_quote(step).s);

	const struct hc_method *method;
	int r = hc_method_wanted(colon + 1, &method);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r; /* the detail is right already */

	if (!hc_ladder_add(ladder, up_to, (unsigned)(method - hc_methods)))
		return hc_fail(EBADMSG, "lengths have to rise from step to step, and there are at most %d steps",
		        HC_CLEAR_PROFILE_STEPS_MAX);
	return 0;
}

static int read_ladder(const struct values *values, enum key key, struct hc_ladder *ladder) {
	for (char *step = values->text[key], *next; step; step = next) {
		next = strchr(step, ',');
		if (next)
			*next++ = '\0';
		int r = read_step(step, ladder);
		if (r < 0)
			return hc_fail_prefix(r, "line %u", values->line[key]);
	}
	if (!hc_ladder_is_whole(ladder))
		return hc_fail(EBADMSG, "line %u: the last step has to be \"max:METHOD\"", values->line[key]);
	return 0;
}

int hc_profile_parse(
        const char *text, size_t len, const struct hc_processor_id *processor, struct hc_choice *ret_choice) {
	if (len >= HC_PROFILE_BYTES_MAX)
		return hc_fail(EBADMSG, "%zu bytes or more: no profile is as long as that", len);
	if (memchr(text, '\0', len))
		return hc_fail(EBADMSG, "there is a NUL byte in it: this isn't a text");
	char copy[HC_PROFILE_BYTES_MAX];
	memcpy(copy, text, len);
	copy[len] = '\0';

	/* The processor first: another one's methods mustn't be found lacking here. */
	struct values values = {0};
	struct hc_choice choice = {0};
	int r = read_lines(copy, &values);
	if (r == 0)
		r = check_processor(&values, processor);
	if (r == 0 && values.text[KEY_SOON])
		r = read_ladder(&values, KEY_SOON, &choice.ladders[HC_INTENT_SOON]);
	if (r == 0 && values.text[KEY_LATER])
		r = read_ladder(&values, KEY_LATER, &choice.ladders[HC_INTENT_LATER]);
	if (r < 0)
		return r;
	if (!values.text[KEY_SOON] && !values.text[KEY_LATER])
		return hc_fail(EBADMSG, "it chooses nothing: there is no line \"soon=\" or \"later=\"");
	*ret_choice = choice;
	return 0;
}

/* ---- Writing -------------------------------------------------------------- */

static void print_ladder(FILE *f, const char *key, const struct hc_ladder *ladder) {
	if (ladder->nr_steps == 0)
		return;
	fprintf(f, "%s=", key);
	for (unsigned i = 0; i < ladder->nr_steps; i++) {
		const struct hc_step *step = &ladder->steps[i];
		if (step->up_to == UINT64_MAX)
			fprintf(f, "max:%s\n", hc_methods[step->method].name);
		else
			fprintf(f, "%" PRIu64 ":%s,", step->up_to, hc_methods[step->method].name);
	}
}

static void print_comment(FILE *f, const char *comment) {
	for (const char *line = comment; line && *line;) {
		size_t len = strcspn(line, "\n");
		fputs("# ", f);
		fwrite(line, 1, len, f);
		fputc('\n', f);
		line += len;
		line += *line == '\n';
	}
}

static int fail_too_long(void) {
	return hc_fail(ENOSPC, "a profile has at most %d bytes: make its comment shorter", HC_PROFILE_BYTES_MAX - 1);
}

int hc_profile_format(const struct hc_choice *choice, const struct hc_processor_id *processor, const char *comment,
        char *buf, size_t buf_size) {
	/* Nothing of it is left out: a comment that doesn't fit is an error. */
	if (comment && strlen(comment) >= HC_PROFILE_BYTES_MAX)
		return fail_too_long();
	FILE *f = fmemopen(buf, buf_size, "w");
	if (!f)
		return hc_fail_errno(errno, "a profile can't be written");
	fprintf(f, MAGIC VERSION "\n");
	print_comment(f, comment);
	print_comment(f, processor->model_name);
	fprintf(f, "vendor=%s\nfamily=%u\nmodel=%u\nstepping=%u\n", processor->vendor, processor->family,
	        processor->model, processor->stepping);
	print_ladder(f, key_names[KEY_SOON], &choice->ladders[HC_INTENT_SOON]);
	print_ladder(f, key_names[KEY_LATER], &choice->ladders[HC_INTENT_LATER]);
	long len = ftell(f);
	bool failed = fflush(f) != 0 || ferror(f);
	fclose(f);
	if (failed || len < 0 || (size_t)len >= buf_size || len >= HC_PROFILE_BYTES_MAX)
		return fail_too_long();
	return (int)len;
}
