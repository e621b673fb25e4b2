#include "bench/crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/counted.h"
#include "base/error.h"
#include "base/idlist.h"
#include "base/signals.h"
#include "bench/pinning.h"

#define CPUS_MAX (HC_IDLIST_MAX + 1)

struct member {
	struct crew *crew;
	pthread_t thread;
	unsigned number;
	int cpu; /* -1: not pinned */
};

struct crew {
	struct member *members;
	unsigned nr_members;
	int start_error;      /* of the one that couldn't be started, as there are fewer than asked for */
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t work, done;
	unsigned long long round; /* counts crew_run() */
	unsigned wanted;          /* members that take part in this round */
	unsigned running;         /* of them, not done yet */
	bool closing;
	int (*fn)(void *arg, unsigned thread, unsigned nr);
	void *arg;
	struct hc_error error; /* the first of this round */
};

/* ---- Lists of CPUs ------------------------------------------------------- */

static int add_range(void *arg, const struct hc_idlist_range *range) {
	for (unsigned cpu = range->first; cpu <= range->last; cpu++)
		if ((cpu - range->first) % range->group < range->used)
			CPU_SET_S(cpu, CPU_ALLOC_SIZE(CPUS_MAX), (cpu_set_t *)arg);
	return 0;
}

/*
 * Writes at most CPUS_MAX numbers and returns how many there are: ascending and
 * each once, as the library goes through a list, so that the threads of both are
 * at the same places.
 */
static int parse_cpus(const struct hc_machine *machine, const char *text, int *ret_cpus) {
	const struct hc_idset *allowed = hc_machine_cpus(machine)->allowed;
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = calloc(1, size);
	if (!set)
		return hc_fail_memory("no memory for a list of CPUs");

	int n = 0, r = hc_idlist_parse(text, add_range, set);
	if (r == -ERANGE) /* no such CPU, then; the detail is right */
		r = -EINVAL;
	for (int cpu = 0; r == 0 && cpu < CPUS_MAX; cpu++) {
		if (!CPU_ISSET_S((size_t)cpu, size, set))
			continue;
		if (allowed && !hc_idset_has(allowed, (unsigned)cpu))
			r = hc_fail(EINVAL, "CPU %d is not one this process may use: it may use %s", cpu,
			        hc_idset_text(allowed));
		else
			ret_cpus[n++] = cpu;
	}
	if (r == 0 && n == 0)
		r = hc_fail(EINVAL, "the list of CPUs is empty: leave it out, or write one as in 0-3,8");
	free(set);
	return r < 0 ? r : n;
}

int crew_check_cpus(const struct hc_machine *machine, const char *cpus) {
	int *list = malloc(CPUS_MAX * sizeof(*list));
	int n = list ? parse_cpus(machine, cpus, list) : hc_fail_memory("no memory for a list of CPUs");
	free(list);
	return n < 0 ? n : 0;
}

/* ---- Threads ------------------------------------------------------------- */

static void *serve(void *arg) {
	struct member *member = arg;
	struct crew *crew = member->crew;
	unsigned long long seen = 0;
	pthread_mutex_lock(&crew->lock);
	for (;;) {
		while (!crew->closing && crew->round == seen)
			pthread_cond_wait(&crew->work, &crew->lock);
		if (crew->closing)
			break;
		seen = crew->round;
		if (member->number >= crew->wanted)
			continue;
		pthread_mutex_unlock(&crew->lock);
		int r = crew->fn(crew->arg, member->number, crew->wanted);
		pthread_mutex_lock(&crew->lock);
		if (r < 0 && crew->error.err == 0)
			hc_error_save(r, &crew->error);
		if (--crew->running == 0)
			pthread_cond_signal(&crew->done);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

int crew_start_error(const struct crew *crew) {
	return crew->start_error;
}

unsigned crew_threads(const struct crew *crew) {
	return crew->nr_members;
}

struct crew *crew_close(struct crew *crew) {
	if (!crew)
		return NULL;
	pthread_mutex_lock(&crew->lock);
	crew->closing = true;
	pthread_cond_broadcast(&crew->work);
	pthread_mutex_unlock(&crew->lock);
	for (unsigned i = 0; i < crew->nr_members; i++)
		pthread_join(crew->members[i].thread, NULL);
	pthread_cond_destroy(&crew->work);
	pthread_cond_destroy(&crew->done);
	pthread_mutex_destroy(&crew->lock);
	free(crew->members);
	free(crew);
	return NULL;
}

int crew_open(const struct hc_machine *machine, unsigned threads, const char *cpus, struct crew **ret_crew) {
	int *list = cpus ? malloc(CPUS_MAX * sizeof(*list)) : NULL;
	struct crew *crew = calloc(1, sizeof(*crew));
	int nr_cpus = 0, r = crew && (list || !cpus) ? 0 : hc_fail_memory("no memory for threads");
	if (crew) {
		pthread_mutex_init(&crew->lock, NULL);
		pthread_cond_init(&crew->work, NULL);
		pthread_cond_init(&crew->done, NULL);
	}
	if (r == 0 && cpus)
		r = nr_cpus = parse_cpus(machine, cpus, list);
	if (r < 0)
		goto out;
	crew->members = calloc(threads, sizeof(*crew->members));
	r = crew->members ? 0 : hc_fail_memory("no memory for %s", hc_counted(threads, "thread").s);

	/* ^C is for the thread that asks for it. */
	sigset_t before;
	hc_signals_block(&before);
	for (unsigned i = 0; r == 0 && i < threads; i++) {
		crew->members[i] = (struct member){
		        .crew = crew, .number = i, .cpu = nr_cpus > 0 ? list[i % (unsigned)nr_cpus] : -1};
		struct member *member = &crew->members[i];
		int err = pinned_start(member->cpu, &member->thread, serve, member);
		if (err && i == 0)
			r = hc_fail_start(err, "not one thread could be started");
		crew->start_error = err;
		if (err)
			break;
		crew->nr_members++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
out:
	free(list);
	if (r < 0)
		crew_close(crew);
	else
		*ret_crew = crew;
	return r < 0 ? r : 0;
}

int crew_run(struct crew *crew, unsigned nr, int (*fn)(void *arg, unsigned thread, unsigned nr), void *arg) {
	pthread_mutex_lock(&crew->lock);
	crew->fn = fn;
	crew->arg = arg;
	crew->error.err = 0;
	crew->wanted = crew->running = nr < crew->nr_members ? nr : crew->nr_members;
	crew->round++;
	pthread_cond_broadcast(&crew->work);
	while (crew->running > 0)
		pthread_cond_wait(&crew->done, &crew->lock);
	int r = crew->error.err ? hc_error_restore(&crew->error) : 0;
	pthread_mutex_unlock(&crew->lock);
	return r;
}
