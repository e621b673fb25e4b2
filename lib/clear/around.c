/*
 * Clearing around the address that is touched next.
 *
 * The order, and two pages on either side, are those of folio_zero_user() in the
 * kernel's multi-page clearing series: right of the neighbourhood, left of it,
 * and itself last, so that it is what the cache holds in the end.
 */
#include <errno.h>
#include <unistd.h>

#include <hugeclear/clear.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/opts.h"
#include "clear/choice.h"
#include "clear/plan.h"
#include "clear/steps.h"

#define PAGES_ON_EITHER_SIDE 2

/* [from, to) of the bytes that are cleared last, as offsets into the range. */
static void neighbourhood(const char *p, size_t len, const char *touch, size_t *ret_from, size_t *ret_to) {
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t page = hc_align_down((uintptr_t)touch, page_size); /* its address may be below p */
	uint64_t from, to;
	if (__builtin_sub_overflow(page, PAGES_ON_EITHER_SIDE * page_size, &from) || from < (uintptr_t)p)
		from = (uintptr_t)p;
	if (!hc_add_ok(page, (PAGES_ON_EITHER_SIDE + 1) * page_size, &to) || to > (uintptr_t)p + len)
		to = (uintptr_t)p + len;
	*ret_from = from - (uintptr_t)p;
	*ret_to = to - (uintptr_t)p;
}

static int check(const char *p, size_t len, const char *touch, const struct hc_clear_opts *opts) {
	if (opts->intent != 0 || opts->threads != 0 || opts->cpus)
		return hc_fail(EINVAL, "intent, threads and cpus have to be 0 and NULL to clear around an address: "
		                       "it is done by the thread that touches it");
	if (len == 0)
		return 0;
	int r = hc_plan_check_range(p, len);
	if (r == 0 && ((uintptr_t)touch < (uintptr_t)p || (uintptr_t)touch - (uintptr_t)p >= len))
		return hc_fail(EINVAL, "%p isn't within the %zu bytes at %p that are to be cleared",
		        (const void *)touch, len, (const void *)p);
	return r;
}

static int clear_around(
        char *p, size_t len, const char *touch, const struct hc_clear_opts *opts, struct hc_clear_report *report) {
	int r = check(p, len, touch, opts);
	if (r < 0)
		return r;
	struct hc_steps steps;
	hc_plan_steps(opts, len, &steps);
	hc_plan_chunks(opts, 0, &steps);
	const struct hc_method *far, *near;
	r = hc_plan_method(opts, HC_INTENT_LATER, &steps, &far);
	if (r < 0)
		return r;
	report->method = far->name;
	report->threads = 1;
	if (len == 0)
		return 0;

	size_t from, to;
	neighbourhood(p, len, touch, &from, &to);
	near = opts->method && !far->streaming ? far : hc_choice_method(to - from, HC_INTENT_SOON);

	r = hc_steps_alone(&steps, far, p + to, len - to);
	if (r == 0)
		r = hc_steps_alone(&steps, far, p, from);
	if (r == 0)
		r = hc_steps_alone(&steps, near, p + from, to - from);
	report->done = steps.done;
	report->longest_step_ns = steps.longest_step_ns;
	return r;
}

int hc_clear_around(
        void *p, size_t len, const void *touch, const struct hc_clear_opts *opts, struct hc_clear_report *report) {
	int r = hc_report_check(report);
	if (r < 0)
		return r;
	struct hc_clear_report mine = {.method = ""};
	struct hc_clear_opts checked;
	r = hc_opts_check(opts, sizeof(checked), &checked);
	if (r == 0)
		r = clear_around(p, len, touch, &checked, &mine);
	hc_report_write(&mine, sizeof(mine), report);
	return r;
}
