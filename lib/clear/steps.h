/*
 * One clear under way: a range cut into steps, with a question to stop and word
 * of the progress between them, by the calling thread or by a team.
 */
#ifndef HC_CLEAR_STEPS_H
#define HC_CLEAR_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hugeclear/hugeclear.h>

#include "clear/methods.h"
#include "sys/idset.h"
#include "sys/team.h"

struct hc_steps {
	/* Set by the caller. */
	size_t extent; /* the method is given this much at once; 0: a step */
	size_t chunk;  /* bytes between two questions, whole extents; 0: no questions */
	size_t block;  /* a thread takes at most this much at once */
	size_t align;  /* of what the threads of a team take: no block cuts it */
	hc_stop_fn stop;
	hc_progress_fn progress;
	void *user;
	uint64_t total; /* of all ranges that these steps go through */

	/* Kept by the functions below; zero at the start. */
	uint64_t done;
	uint64_t asked_at_ns; /* 0: not yet */
	uint64_t longest_step_ns;
};

/* Announces [p, p + len) and gives it to the method by extents (0: at once). */
void hc_extents_clear(const struct hc_method *method, void *p, size_t len, size_t extent);

/*
 * A question, when one is due: tells progress, asks whether to stop, and keeps
 * how long it took since the last one. True to stop; never once all is done.
 */
bool hc_steps_ask(struct hc_steps *steps, uint64_t done);

/* -ECANCELED with its detail. */
int hc_steps_stopped(const struct hc_steps *steps);

/* Clears one range by the calling thread, as part of total. 0 or -ECANCELED. */
int hc_steps_alone(struct hc_steps *steps, const struct hc_method *method, void *p, size_t len);

/*
 * A team of up to so many threads (at least 1), but no more than there is work for,
 * on cpus, or the caller's affinity where NULL. Errors of hc_team_open().
 */
int hc_steps_team(const struct hc_steps *steps, const void *p, unsigned threads, const struct hc_idset *cpus,
        struct hc_team **ret_team);

/* Clears the whole of total at p by this team. Errors of hc_team_run(). */
int hc_steps_spread(struct hc_steps *steps, const struct hc_method *method, void *p, struct hc_team *team);

#endif
