#include "sys/team.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/opts.h"
#include "base/signals.h"
#include "sys/affinity.h"
#include "sys/quota.h"

struct member {
	struct hc_team *team;
	unsigned index;
	pthread_t thread;
};

struct hc_team {
	/* Set before the first thread starts and never changed. */
	pid_t pid; /* the process whose threads these are: fork() copies the team without them */
	struct member *members;
	struct hc_idset *cpus;   /* NULL: not pinned */
	struct hc_idset *within; /* without cpus; NULL: the caller's affinity */
	/* Written by hc_team_open() alone, and read by the caller. */
	unsigned nr_members;
	char shortfall[384];

	pthread_mutex_t lock;     /* guards all below */
	pthread_cond_t work_cond; /* for members: a new generation, or the end */
	pthread_cond_t done_cond; /* for the caller: started, done or busy has changed */
	unsigned started;
	bool ending;
	uint64_t generation; /* counts the works: a member takes part once in each */
	bool running;

	/* The present work, in units of work->align items; [next, nr_units) isn't taken yet. */
	const struct hc_team_work *work;
	uint64_t align, nr_units, block_units, next_unit;
	uint64_t done; /* items in finished blocks */
	unsigned busy; /* members that haven't left the present work */
	struct hc_error error;
};

/* Takes the next block. pre: locked */
static bool take_block(struct hc_team *team, uint64_t *ret_begin, uint64_t *ret_end) {
	uint64_t units = hc_min(team->block_units, team->nr_units - team->next_unit);
	if (units == 0)
		return false;
	/* Both products are at most nr_items but for the last end, which isn't a product. */
	*ret_begin = team->next_unit * team->align;
	team->next_unit += units;
	*ret_end = team->next_unit == team->nr_units ? team->work->nr_items : team->next_unit * team->align;
	return true;
}

/* Leaves the rest of the work undone. pre: locked */
static void take_no_more(struct hc_team *team) {
	team->next_unit = team->nr_units;
}

/* Does one block, unlocked meanwhile. pre: locked, by the thread that does it */
static void do_block(struct hc_team *team, uint64_t begin, uint64_t end, unsigned thread) {
	const struct hc_team_work *work = team->work;
	pthread_mutex_unlock(&team->lock);
	int r = work->fn(work->arg, begin, end, thread);
	pthread_mutex_lock(&team->lock);
	if (r >= 0) {
		team->done += end - begin;
		return;
	}
	if (team->error.err == 0)
		hc_error_save(r, &team->error);
	take_no_more(team);
}

static void *member_run(void *arg) {
	struct member *member = arg;
	struct hc_team *team = member->team;
	uint64_t seen = 0;

	pthread_setname_np(pthread_self(), "hc-team");
	pthread_mutex_lock(&team->lock);
	team->started++;
	pthread_cond_signal(&team->done_cond);
	for (;;) {
		while (!team->ending && team->generation == seen)
			pthread_cond_wait(&team->work_cond, &team->lock);
		if (team->ending)
			break;
		seen = team->generation;

		uint64_t begin, end;
		while (take_block(team, &begin, &end)) {
			do_block(team, begin, end, member->index);
			if (team->work->stop || team->work->progress)
				pthread_cond_signal(&team->done_cond);
		}
		if (--team->busy == 0)
			pthread_cond_signal(&team->done_cond);
	}
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

/* The CPU of a member: the (index modulo count)-th of the set. pre: the set isn't empty */
static unsigned member_cpu(const struct hc_idset *cpus, unsigned index) {
	int cpu = -1;
	for (unsigned i = index % hc_idset_count(cpus) + 1; i > 0; i--)
		cpu = hc_idset_next(cpus, cpu + 1);
	return (unsigned)cpu;
}

/* Both return 0 or a positive errno. */

static int set_cpu(pthread_attr_t *attr, unsigned cpu) {
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *mask = calloc(1, size);
	int err = ENOMEM;
	if (mask) {
		CPU_SET_S(cpu, size, mask);
		err = pthread_attr_setaffinity_np(attr, size, mask);
	}
	free(mask);
	return err;
}

static int set_cpus(pthread_attr_t *attr, const struct hc_idset *cpus) {
	unsigned long *mask, nr_bits;
	if (hc_idset_mask(cpus, &mask, &nr_bits) < 0)
		return ENOMEM;
	int err = pthread_attr_setaffinity_np(attr, nr_bits / CHAR_BIT, (const cpu_set_t *)mask);
	free(mask);
	return err;
}

/* Returns 0 or a positive errno of pthread_create(3). */
static int start_member(struct hc_team *team, unsigned index) {
	struct member *member = &team->members[index];
	*member = (struct member){.team = team, .index = index};

	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);
	if (err != 0)
		return err;
	if (team->cpus)
		err = set_cpu(&attr, member_cpu(team->cpus, index));
	else if (team->within)
		err = set_cpus(&attr, team->within);
	if (err == 0)
		err = pthread_create(&member->thread, &attr, member_run, member);
	pthread_attr_destroy(&attr);
	return err;
}

/* Starts up to wanted members. What the system is short of is no error; all else is. */
static int start_members(struct hc_team *team, unsigned wanted) {
	/* A signal of the program belongs to threads that it knows; members inherit this mask. */
	sigset_t before;
	hc_signals_block(&before);
	int err = 0;
	while (err == 0 && team->nr_members < wanted) {
		err = start_member(team, team->nr_members);
		team->nr_members += err == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);

	pthread_mutex_lock(&team->lock);
	while (team->started < team->nr_members)
		pthread_cond_wait(&team->done_cond, &team->lock);
	pthread_mutex_unlock(&team->lock);

	if (err == 0)
		return 0;
	if (err != EAGAIN && err != ENOMEM)
		return hc_fail_errno(err, "thread %u of %u can't be started%s%s", team->nr_members + 1, wanted,
		        team->cpus ? " on one of the CPUs " : "", hc_idset_text(team->cpus));
	if (team->nr_members > 0)
		snprintf(team->shortfall, sizeof(team->shortfall), "%s wanted, %u could be started (%s)%s",
		        hc_counted(wanted, "thread").s, team->nr_members, strerrordesc_np(err), hc_hint_start(err).s);
	else
		snprintf(team->shortfall, sizeof(team->shortfall),
		        "%s wanted, none could be started (%s)%s, so the calling thread does the work",
		        hc_counted(wanted, "thread").s, strerrordesc_np(err), hc_hint_start(err).s);
	return 0;
}

/* What the options ask for, checked. *ret_cpus stays NULL where none were given. */
static int read_opts(const struct hc_team_opts *opts, unsigned *ret_wanted, struct hc_idset **ret_cpus) {
	if (opts->threads > HC_TEAM_MAX)
		return hc_fail(EINVAL, "%u threads wanted: at most %d are possible", opts->threads, HC_TEAM_MAX);

	*ret_wanted = opts->threads;
	if (opts->threads == 0) {
		struct hc_default_threads by_machine;
		int r = hc_default_threads_here(&by_machine);
		if (r < 0)
			return r;
		*ret_wanted = (unsigned)hc_min(by_machine.threads, HC_TEAM_MAX);
	}
	if (!opts->cpus)
		return 0;

	struct hc_idset *allowed = NULL;
	int r = hc_affinity_get(&allowed);
	if (r < 0)
		return r;
	r = hc_affinity_check(opts->cpus, allowed);
	hc_idset_free(allowed);
	return r < 0 ? r : hc_idset_copy(opts->cpus, ret_cpus);
}

int hc_team_open(const struct hc_team_opts *opts, struct hc_team **ret_team) {
	struct hc_team_opts checked;
	int r = hc_opts_check(opts, sizeof(checked), &checked);
	if (r < 0)
		return r;

	struct hc_team *team = calloc(1, sizeof(*team));
	if (!team)
		return hc_fail_memory("no memory for a team of threads");
	team->pid = getpid();
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->work_cond, NULL);
	pthread_cond_init(&team->done_cond, NULL);

	unsigned wanted = 1;
	r = read_opts(&checked, &wanted, &team->cpus);
	if (r == 0 && checked.within && !team->cpus)
		r = hc_idset_copy(checked.within, &team->within);
	if (r < 0)
		goto out;
	team->members = calloc(wanted, sizeof(*team->members));
	r = team->members ? start_members(team, wanted)
	                  : hc_fail_memory("no memory for %s", hc_counted(wanted, "thread").s);
out:
	if (r < 0) {
		hc_team_close(team);
		return r;
	}
	*ret_team = team;
	return 0;
}

struct hc_team *hc_team_close(struct hc_team *team) {
	/* In a child nobody holds or ever lets go of the lock, and there is no thread to end. */
	if (!team || team->pid != getpid())
		return NULL;
	pthread_mutex_lock(&team->lock);
	team->ending = true;
	pthread_cond_broadcast(&team->work_cond);
	pthread_mutex_unlock(&team->lock);
	for (unsigned i = 0; i < team->nr_members; i++)
		pthread_join(team->members[i].thread, NULL);
	pthread_cond_destroy(&team->done_cond);
	pthread_cond_destroy(&team->work_cond);
	pthread_mutex_destroy(&team->lock);
	hc_idset_free(team->cpus);
	hc_idset_free(team->within);
	free(team->members);
	free(team);
	return NULL;
}

unsigned hc_team_threads(const struct hc_team *team) {
	return team->nr_members > 0 ? team->nr_members : 1;
}

const char *hc_team_shortfall(const struct hc_team *team) {
	return team->shortfall[0] != '\0' ? team->shortfall : NULL;
}

/* Asks and tells, unlocked meanwhile. pre: locked */
static void ask_and_tell(struct hc_team *team, uint64_t done) {
	const struct hc_team_work *work = team->work;
	bool can_stop = work->stop && team->next_unit < team->nr_units;
	pthread_mutex_unlock(&team->lock);
	if (work->progress && done > 0)
		work->progress(work->user, done, work->nr_items);
	bool stop = can_stop && work->stop(work->user) != 0;
	pthread_mutex_lock(&team->lock);
	if (stop)
		take_no_more(team);
}

/* pre: locked, and the work is set up */
static void run_by_members(struct hc_team *team) {
	team->busy = team->nr_members;
	team->generation++;
	pthread_cond_broadcast(&team->work_cond);
	for (uint64_t told = 0; told < team->done || team->busy > 0;) {
		if (told == team->done) {
			pthread_cond_wait(&team->done_cond, &team->lock);
			continue;
		}
		told = team->done;
		ask_and_tell(team, told);
	}
}

/* The last resort. pre: locked, and the work is set up */
static void run_blocks_by_caller(struct hc_team *team) {
	uint64_t begin, end;
	while (take_block(team, &begin, &end)) {
		do_block(team, begin, end, 0);
		if (team->error.err == 0)
			ask_and_tell(team, team->done);
	}
}

/* On the CPU that the first member would have had, and back. pre: locked, and the work is set up */
static int run_by_caller(struct hc_team *team) {
	if (!team->cpus) {
		run_blocks_by_caller(team);
		return 0;
	}

	struct hc_idset *before = NULL, *cpu = hc_idset_new();
	int r = cpu ? hc_idset_add(cpu, member_cpu(team->cpus, 0)) : hc_fail_memory("no memory for a CPU set");
	if (r == 0)
		r = hc_affinity_get(&before);
	if (r == 0)
		r = hc_affinity_pin(cpu);
	if (r == 0) {
		run_blocks_by_caller(team);
		r = hc_affinity_set(before);
	}
	hc_idset_free(before);
	hc_idset_free(cpu);
	return r;
}

int hc_team_run(struct hc_team *team, const struct hc_team_work *work, uint64_t *done) {
	if (done)
		*done = 0;
	if (team->pid != getpid())
		return hc_fail(ECHILD, "a forked child has none of its parent's threads: open a team of its own");

	pthread_mutex_lock(&team->lock);
	if (team->running) {
		pthread_mutex_unlock(&team->lock);
		return hc_fail(EBUSY, "this team is at work: one caller at a time");
	}
	team->running = true;
	team->work = work;
	team->align = work->align > 0 ? work->align : 1;
	team->nr_units = hc_div_up(work->nr_items, team->align);
	team->block_units = work->block > 0 ? hc_div_up(work->block, team->align)
	                                    : hc_div_up(team->nr_units, hc_team_threads(team));
	team->next_unit = 0;
	team->done = 0;
	team->error.err = 0;

	int r = 0;
	ask_and_tell(team, 0);
	if (team->next_unit < team->nr_units && team->nr_members > 0)
		run_by_members(team);
	else if (team->next_unit < team->nr_units)
		r = run_by_caller(team);

	if (done)
		*done = team->done;
	if (team->error.err != 0)
		r = hc_error_restore(&team->error);
	else if (r == 0 && team->done < work->nr_items)
		r = hc_fail(ECANCELED, "stopped as asked after %llu of %llu", (unsigned long long)team->done,
		        (unsigned long long)work->nr_items);
	team->running = false;
	team->work = NULL;
	pthread_mutex_unlock(&team->lock);
	return r;
}
