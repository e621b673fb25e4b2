/* Runs the command behind `reserve -- CMD` and stands between it and signals. */
#ifndef HC_TOOL_RESERVE_RUN_H
#define HC_TOOL_RESERVE_RUN_H

#include <signal.h>
#include <stdbool.h>

struct reserve_signals {
	sigset_t mask;     /* before */
	bool pipe_default; /* SIGPIPE wasn't ignored before */
};

/* From here on a closed pipe is an error instead of the end, so that pools are put back. */
void reserve_signals_keep_pipe(struct reserve_signals *ret_signals);

/*
 * Blocks what would end this process: from here on such signals wait, for reserve_run() to pass them on, or
 * for ever. Comes before the last look at cli_interrupted().
 */
void reserve_signals_hold(struct reserve_signals *signals);

/*
 * Runs argv with the signals as they were before, passes on what other processes send to this
 * one (the terminal's go to both anyway), and returns its exit code: 128 + the signal's number
 * where one ended it, 127 where there is no such program, 126 where it can't be run.
 */
int reserve_run(char **argv, const struct reserve_signals *signals);

#endif
