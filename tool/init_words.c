#include "init_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"

#define RUN "hugeclear.run="
#define TIMEOUT "hugeclear.timeout="
#define SECONDS_DEFAULT 600
#define SECONDS_MAX 86400

struct init_plan *init_plan_free(struct init_plan *plan) {
	for (unsigned i = 0; plan && i < plan->nr_commands; i++)
		free(plan->commands[i].text);
	free(plan);
	return NULL;
}

static bool is_blank(char c) {
	return isspace((unsigned char)c);
}

/*
 * One parameter as the kernel's next_arg() takes it (lib/cmdline.c): up to a blank outside of double
 * quotes. A copy without the quotes, or NULL: no memory.
 */
static char *next_parameter(const char **line) {
	const char *p = *line, *begin = p;
	bool quoted = false;
	while (*p && (quoted || !is_blank(*p))) {
		if (*p == '"')
			quoted = !quoted;
		p++;
	}
	char *parameter = strndup(begin, (size_t)(p - begin));
	if (parameter) {
		char *to = parameter;
		for (const char *from = parameter; *from; from++)
			if (*from != '"')
				*to++ = *from;
		*to = '\0';
	}
	while (is_blank(*p))
		p++;
	*line = p;
	return parameter;
}

/* Splits command->text in place. */
static int split(struct init_command *command, const char *whole) {
	char *p = command->text, *to = p;
	size_t n = 0;
	for (;;) {
		while (is_blank(*p))
			p++;
		if (!*p)
			break;
		if (n == INIT_WORDS_MAX)
			return hc_fail(EINVAL, RUN "%.200s: more than %d words", whole, INIT_WORDS_MAX);
		command->words[n++] = to;
		bool quoted = false;
		while (*p && (quoted || !is_blank(*p))) {
			if (*p == '\'')
				quoted = !quoted;
			else
				*to++ = *p;
			p++;
		}
		if (quoted)
			return hc_fail(EINVAL, RUN "%.200s: a single quote is open", whole);
		bool last = !*p;
		*to++ = '\0';
		if (last)
			break;
		p++;
	}
	if (n == 0)
		return hc_fail(EINVAL, RUN ": a command is missing, as in " RUN "\"status --json\"");
	return 0;
}

static int add_command(struct init_plan *plan, const char *text) {
	if (plan->nr_commands == INIT_COMMANDS_MAX)
		return hc_fail(EINVAL, RUN ": more than %d commands", INIT_COMMANDS_MAX);
	struct init_command *command = &plan->commands[plan->nr_commands];
	command->text = strdup(text);
	if (!command->text)
		return hc_fail_memory("no memory for a command");
	plan->nr_commands++;
	return split(command, text);
}

static int read_seconds(struct init_plan *plan, const char *text) {
	uint64_t seconds;
	if (hc_decimal_parse(text, &seconds) < 0 || seconds < 1 || seconds > SECONDS_MAX)
		return hc_fail(EINVAL, TIMEOUT "%.60s: seconds are wanted, 1 to %d", text, SECONDS_MAX);
	plan->seconds = seconds;
	return 0;
}

int init_plan_read(const char *cmdline, struct init_plan **ret_plan) {
	struct init_plan *plan = calloc(1, sizeof(*plan));
	if (!plan)
		return hc_fail_memory("no memory for a list of commands");
	plan->seconds = SECONDS_DEFAULT;
	int r = 0;
	while (is_blank(*cmdline))
		cmdline++;
	while (r == 0 && *cmdline) {
		char *parameter = next_parameter(&cmdline);
		if (!parameter) {
			r = hc_fail_memory("no memory for a parameter");
			break;
		}
		if (strcmp(parameter, "--") == 0)
			cmdline = "";
		else if (strncmp(parameter, RUN, strlen(RUN)) == 0)
			r = add_command(plan, parameter + strlen(RUN));
		else if (strncmp(parameter, TIMEOUT, strlen(TIMEOUT)) == 0)
			r = read_seconds(plan, parameter + strlen(TIMEOUT));
		free(parameter);
	}
	if (r < 0) {
		init_plan_free(plan);
		return r;
	}
	*ret_plan = plan;
	return 0;
}
