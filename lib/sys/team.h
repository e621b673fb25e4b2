/*
 * A team of threads: so many, on these CPUs, all running before the first item.
 *
 * The caller is not a member: it waits, and is the one that asks to stop and
 * tells progress. Only where not one thread could be started it does the work
 * itself, between the questions. Work is a number of items that the members take in aligned
 * blocks; which member takes which block isn't fixed.
 */
#ifndef HC_SYS_TEAM_H
#define HC_SYS_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include <hugeclear/hugeclear.h>

#include "sys/idset.h"

struct hc_team;

struct hc_team_opts {
	size_t size;
	unsigned threads; /* 0: the default of this machine (affinity and cgroup quota) */
	/* One thread after another is pinned to one of them; NULL: the caller's affinity, not pinned. */
	const struct hc_idset *cpus;
	/* Without cpus: each thread may run on any of these, which are within the caller's affinity; NULL: as above. */
	const struct hc_idset *within;
};

/* More threads than this are refused: no machine has more CPUs. */
#define HC_TEAM_MAX 8192

/*
 * Starts the threads and waits until all run. Fewer than asked for, or none
 * (EAGAIN from pids.max, RLIMIT_NPROC or for lack of memory), is no error: see
 * hc_team_threads() and hc_team_shortfall(). Signals are blocked in them, but for
 * those that a thread brings on itself (SIGSEGV and the like).
 * Returns 0; -EINVAL where a CPU isn't within the caller's affinity (the detail
 * names both) and above HC_TEAM_MAX; -E2BIG as for all options; -ENOMEM.
 */
int hc_team_open(const struct hc_team_opts *opts, struct hc_team **ret_team);

/* Ends and joins all threads. Takes and returns NULL. In a forked child: frees nothing and returns NULL. */
struct hc_team *hc_team_close(struct hc_team *team);

/* That do the work, at least 1: the caller counts where there are none but it. */
unsigned hc_team_threads(const struct hc_team *team);

/* Why there are fewer threads than asked for, in words; NULL where there aren't. */
const char *hc_team_shortfall(const struct hc_team *team);

/*
 * Does the items [begin, end); thread is 0 .. hc_team_threads() - 1. Returns 0 or
 * a negative errno with a detail, which ends the work of all members.
 */
typedef int (*hc_team_fn)(void *arg, uint64_t begin, uint64_t end, unsigned thread);

struct hc_team_work {
	uint64_t nr_items;
	uint64_t align; /* every begin is a multiple of it, and so is every end but the last; 0: 1 */
	uint64_t block; /* items a member takes at once, rounded up to align; 0: an even share */
	hc_team_fn fn;
	void *arg;
	/*
	 * Asked and told by the calling thread: stop before the first block, both after
	 * finished ones (of some that finish at the same time, after the last), as long
	 * as there is a block left to begin. Members go on meanwhile: after a yes each
	 * ends the block it is at. May be NULL.
	 */
	hc_stop_fn stop;
	hc_progress_fn progress; /* in items */
	void *user;
};

/*
 * Runs the work to its end and returns 0, also where stop said yes too late to
 * leave anything undone; the first error of a member (its detail is this thread's
 * then); -ECANCELED after stop. *done (may be NULL): items in blocks that were
 * finished. Every store of the members is visible to the caller afterwards,
 * streaming ones only if fn fenced them. One caller at a time, and none from
 * within the callbacks: -EBUSY. -ECHILD in a forked child.
 */
int hc_team_run(struct hc_team *team, const struct hc_team_work *work, uint64_t *done);

#endif
