/* One side's command, run once, and the results that it printed. */
#ifndef HC_TOOL_RUN_AB_RUN_H
#define HC_TOOL_RUN_AB_RUN_H

/*
 * Runs argv[0], found in PATH, with standard output into a new file at path, and waits. After ^C or SIGTERM
 * (cli_catch_interrupts()) the program is asked to end, too.
 *
 * Returns its exit code, 128 and the number of a signal that ended it, as a shell has it; or a negative errno with a
 * detail.
 */
int run_ab_run(char **argv, const char *path);

#endif
