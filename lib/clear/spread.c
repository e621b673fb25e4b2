/* The steps of a clear, by a team of threads. */
#include <errno.h>
#include <stdatomic.h>

#include "base/arith.h"
#include "base/error.h"
#include "clear/steps.h"
#include "sys/team.h"

struct spread {
	struct hc_steps *steps;
	const struct hc_method *method;
	char *base; /* the team's items are bytes from here on: at or before the range */
	char *start;
	/*
	 * Bytes cleared in finished blocks. Relaxed: it is a count; the team's lock
	 * and its end order the memory itself.
	 */
	_Atomic uint64_t done;
	/* Of the calling thread. */
	bool asked, stop;
};

/* Every method ends with a fence, so a block is visible once the team has taken its lock behind it. */
static int clear_block(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	(void)thread;
	struct spread *spread = arg;
	char *from = spread->base + begin, *to = spread->base + end;
	if (from < spread->start)
		from = spread->start;
	if (from < to) {
		hc_extents_clear(spread->method, from, (size_t)(to - from), spread->steps->extent);
		atomic_fetch_add_explicit(&spread->done, (uint64_t)(to - from), memory_order_relaxed);
	}
	return 0;
}

static void ask(struct spread *spread) {
	spread->asked = true;
	spread->stop = hc_steps_ask(spread->steps, atomic_load_explicit(&spread->done, memory_order_relaxed));
}

/* The team tells after every block, also the last one ... */
static void block_finished(void *user, uint64_t items, uint64_t nr_items) {
	(void)items, (void)nr_items;
	ask(user);
}

/* ... and asks before the first and while there are blocks to take. */
static int stop_wanted(void *user) {
	struct spread *spread = user;
	if (!spread->asked)
		ask(spread);
	return spread->stop;
}

/* Bytes in front of the range that count as items, so that blocks begin at pages. */
static size_t into_page(const struct hc_steps *steps, const void *p) {
	return steps->extent == 0 ? (uintptr_t)p % steps->align : 0;
}

int hc_steps_team(const struct hc_steps *steps, const void *p, unsigned threads, const struct hc_idset *cpus,
        struct hc_team **ret_team) {
	uint64_t nr_items = steps->total + into_page(steps, p);
	struct hc_team_opts opts = {
	        .size = sizeof(opts),
	        .threads = (unsigned)hc_min(hc_min(threads, HC_TEAM_MAX), hc_div_up(nr_items, steps->align)),
	        .cpus = cpus,
	};
	return hc_team_open(&opts, ret_team);
}

int hc_steps_spread(struct hc_steps *steps, const struct hc_method *method, void *p, struct hc_team *team) {
	struct spread spread = {
	        .steps = steps,
	        .method = method,
	        .base = (char *)p - into_page(steps, p),
	        .start = p,
	};
	struct hc_team_work work = {
	        .nr_items = steps->total + into_page(steps, p),
	        .align = steps->align,
	        .block = steps->block,
	        .fn = clear_block,
	        .arg = &spread,
	        .stop = steps->chunk > 0 ? stop_wanted : NULL,
	        .progress = steps->chunk > 0 ? block_finished : NULL,
	        .user = &spread,
	};
	int r = hc_team_run(team, &work, NULL);
	steps->done = atomic_load_explicit(&spread.done, memory_order_relaxed);
	return r == -ECANCELED ? hc_steps_stopped(steps) : r;
}
