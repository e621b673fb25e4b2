/* The public calls: what is asked for is checked first, then done. */
#include <errno.h>

#include <hugeclear/clear.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/opts.h"
#include "clear/announce.h"
#include "clear/choice.h"
#include "clear/plan.h"
#include "clear/steps.h"
#include "sys/affinity.h"

int hc_clear(void *p, size_t len) {
	if (len == 0)
		return 0;
	if (!p || !hc_range_ok(p, len))
		return hc_plan_check_range(p, len);
	const struct hc_method *method = hc_choice_method(len, HC_INTENT_SOON);
	hc_announce_write(p, len);
	method->clear(p, len);
	return 0;
}

static int clear_with(void *p, size_t len, const struct hc_clear_opts *opts, struct hc_clear_report *report) {
	if (!hc_intent_name((unsigned)opts->intent))
		return hc_fail(EINVAL, "there is no intent %d", (int)opts->intent);
	const struct hc_method *method = NULL;
	int r = opts->method ? hc_method_wanted(opts->method, &method) : 0;
	if (r == 0 && len > 0)
		r = hc_plan_check_range(p, len);
	if (r < 0)
		return r;
	struct hc_idset *cpus;
	r = hc_affinity_parse(opts->cpus, &cpus);
	if (r < 0)
		return r;

	/* The team first: what a thread is given, and the method by that, goes by the threads that run. */
	struct hc_steps steps;
	struct hc_team *team = NULL;
	hc_plan_steps(opts, len, &steps);
	if (len > 0 && (opts->threads > 1 || cpus))
		r = hc_steps_team(&steps, p, opts->threads > 1 ? opts->threads : 1, cpus, &team);
	if (r < 0)
		goto out;
	hc_plan_chunks(opts, team ? hc_team_threads(team) : 0, &steps);
	r = hc_plan_method(opts, opts->intent, &steps, &method);
	if (r < 0)
		goto out;
	report->method = method->name;
	report->threads = team ? hc_team_threads(team) : 1;
	if (len > 0)
		r = team ? hc_steps_spread(&steps, method, p, team) : hc_steps_alone(&steps, method, p, len);
	report->done = steps.done;
	report->longest_step_ns = steps.longest_step_ns;
out:
	hc_team_close(team);
	hc_idset_free(cpus);
	return r;
}

int hc_clear_with(void *p, size_t len, const struct hc_clear_opts *opts, struct hc_clear_report *report) {
	int r = hc_report_check(report);
	if (r < 0)
		return r;
	struct hc_clear_report mine = {.method = ""};
	struct hc_clear_opts checked;
	r = hc_opts_check(opts, sizeof(checked), &checked);
	if (r == 0)
		r = clear_with(p, len, &checked, &mine);
	hc_report_write(&mine, sizeof(mine), report);
	return r;
}
