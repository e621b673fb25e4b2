#include "clear/steps.h"

#include <errno.h>
#include <inttypes.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "clear/announce.h"

void hc_extents_clear(const struct hc_method *method, void *p, size_t len, size_t extent) {
	hc_announce_write(p, len);
	if (extent == 0 || extent >= len) {
		method->clear(p, len);
		return;
	}
	for (char *at = p; len > 0;) {
		size_t part = len < extent ? len : extent;
		method->clear(at, part);
		at += part;
		len -= part;
	}
}

bool hc_steps_ask(struct hc_steps *steps, uint64_t done) {
	if (steps->chunk == 0)
		return false;
	uint64_t now = hc_clock_ns();
	if (steps->asked_at_ns != 0)
		steps->longest_step_ns = hc_max(steps->longest_step_ns, now - steps->asked_at_ns);
	if (steps->progress && done > 0)
		steps->progress(steps->user, done, steps->total);
	bool stop = steps->stop && done < steps->total && steps->stop(steps->user) != 0;
	/* The clock starts again behind the callbacks: what they take is theirs. */
	steps->asked_at_ns = steps->stop || steps->progress ? hc_clock_ns() : now;
	return stop;
}

/*
 * The next step: a chunk, or less so that the ones behind it begin at a line,
 * where whole lines can be stored. Extents are counted from the start of the range.
 */
static size_t step_size(const struct hc_steps *steps, const char *at, size_t left) {
	if (steps->chunk == 0)
		return left;
	size_t into_line = (uintptr_t)at % 64;
	size_t step = steps->extent == 0 && steps->chunk > into_line ? steps->chunk - into_line : steps->chunk;
	return step < left ? step : left;
}

int hc_steps_alone(struct hc_steps *steps, const struct hc_method *method, void *p, size_t len) {
	char *at = p;
	bool stop = steps->asked_at_ns == 0 && hc_steps_ask(steps, 0);
	while (!stop && len > 0) {
		size_t step = step_size(steps, at, len);
		hc_extents_clear(method, at, step, steps->extent);
		at += step;
		len -= step;
		steps->done += step;
		stop = hc_steps_ask(steps, steps->done);
	}
	return stop ? hc_steps_stopped(steps) : 0;
}

int hc_steps_stopped(const struct hc_steps *steps) {
	return hc_fail(
	        ECANCELED, "stopped as asked: %" PRIu64 " of %" PRIu64 " bytes are clear", steps->done, steps->total);
}
