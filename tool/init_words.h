/* What the kernel's command line asks of `hugeclear init`. */
#ifndef HC_TOOL_INIT_WORDS_H
#define HC_TOOL_INIT_WORDS_H

#include <stdint.h>

#define INIT_COMMANDS_MAX 64
#define INIT_WORDS_MAX 64

struct init_command {
	char *words[INIT_WORDS_MAX + 1]; /* ended by NULL; they point into text */
	char *text;
};

struct init_plan {
	struct init_command commands[INIT_COMMANDS_MAX];
	unsigned nr_commands;
	uint64_t seconds; /* that one command may take */
};

/*
 * Reads hugeclear.run="WORD…" (as often as there are commands, in their order) and
 * hugeclear.timeout=SECONDS from a line as in /proc/cmdline. As in the kernel, blanks
 * separate parameters but within double quotes, and everything behind a "--" of its own
 * is the init's arguments, which aren't read. Within a command blanks separate words,
 * and single quotes keep blanks.
 *
 * 0 and a plan for init_plan_free(); -EINVAL with a detail for a command without words or with too many,
 * an open quote, too many commands, or a time that isn't 1 to 86400; -ENOMEM.
 */
int init_plan_read(const char *cmdline, struct init_plan **ret_plan);

/* Takes and returns NULL. */
struct init_plan *init_plan_free(struct init_plan *plan);

#endif
