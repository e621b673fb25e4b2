/*
 * Threads for what a benchmark runs itself, where the library's own threads are
 * not what is measured: started once, outside of all timing.
 *
 * The library has a team (lib/sys/team) that looks alike, and isn't used here. It hands out blocks to whoever
 * is free, so a thread that wakes up late leaves its part to another, where a benchmark of N
 * threads wants each to do its own, at its place; it works without any thread, which would be
 * measured as one; and what the command measures the library with isn't to be the library's inside.
 */
#ifndef HC_BENCH_CREW_H
#define HC_BENCH_CREW_H

#include <hugeclear/sys.h>

struct crew;

/*
 * Starts threads; cpus, unless NULL, is a list as "0-3,8": one thread after
 * another is pinned on each, lowest number first. Fewer than asked for is no error as long as there is
 * one. -EINVAL for a list that can't be read or has a CPU outside of the
 * caller's affinity; -EAGAIN where not one thread could be started.
 */
int crew_open(const struct hc_machine *machine, unsigned threads, const char *cpus, struct crew **ret_crew);

/* Ends and joins them. Takes and returns NULL. */
struct crew *crew_close(struct crew *crew);

/* An errno where fewer could be started than were asked for, else 0. */
int crew_start_error(const struct crew *crew);

/* How many there are. */
unsigned crew_threads(const struct crew *crew);

/* Runs fn in the first nr threads at once; returns when all have: the first error (its detail is this thread's then). */
int crew_run(struct crew *crew, unsigned nr, int (*fn)(void *arg, unsigned thread, unsigned nr), void *arg);

/* Checks a list of CPUs as crew_open() does. */
int crew_check_cpus(const struct hc_machine *machine, const char *cpus);

#endif
