/* One or both sides' commands, run once, and the results that they print. */
#ifndef HC_TOOL_RUN_AB_RUN_H
#define HC_TOOL_RUN_AB_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_AB_PROCESSES_MAX 2

struct run_ab_process {
	char **argv;      /* argv[0] is found in PATH */
	const char *path; /* of a new file for standard output */
	/* What came of it. */
	int code;       /* exit code, or 128 and the number of the signal that ended it, as a shell has it */
	bool stopped;   /* as the other failed */
	bool had_turns; /* it asked for one */
	/* run_ab_run()'s own. */
	pid_t pid;
	int turns_fd; /* -1: none */
	bool running, asks;
};

/*
 * Runs one process, or two at the same time that take turns (bench/turns.h): neither has one while the other does anything but
 * wait, and of each two turns either comes first as *random has it. Where one fails, the other is ended.
 * After ^C or SIGTERM (cli_catch_interrupts()) they are asked to end, too.
 *
 * Returns 0 once they have ended, or a negative errno with a detail, after which none is left either.
 */
int run_ab_run(struct run_ab_process *processes, size_t nr, uint64_t *random);

#endif
