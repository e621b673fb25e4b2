#include "clear/plan.h"

#include <errno.h>

#include "base/arith.h"
#include "base/error.h"
#include "clear/choice.h"

/* Between two questions, for each thread, where nothing else is said: 0.2 ms at 10 GB/s, and the fence costs nothing. */
#define CHUNK_DEFAULT (UINT64_C(2) << 20)

int hc_plan_check_range(const void *p, size_t len) {
	if (!p)
		return hc_fail(EINVAL, "%zu bytes at NULL can't be cleared", len);
	if (!hc_range_ok(p, len))
		return hc_fail(EOVERFLOW, "%zu bytes at %p wrap round the end of the address space", len, p);
	return 0;
}

void hc_plan_steps(const struct hc_clear_opts *opts, size_t len, struct hc_steps *ret_steps) {
	uint64_t extent = hc_min(opts->extent, len), chunk = opts->chunk;
	if (chunk == 0 && (opts->stop || opts->progress))
		chunk = CHUNK_DEFAULT * hc_max(opts->threads, 1);
	if (chunk > 0 && extent > 0 && !hc_mul_ok(hc_div_up(chunk, extent), extent, &chunk))
		chunk = len;
	*ret_steps = (struct hc_steps){
	        .extent = extent,
	        .chunk = hc_min(chunk, len),
	        .stop = opts->stop,
	        .progress = opts->progress,
	        .user = opts->user,
	        .total = len,
	};
}

int hc_plan_method(const struct hc_clear_opts *opts, size_t len, enum hc_intent intent, const struct hc_steps *steps,
        const struct hc_method **ret_method) {
	if (opts->method)
		return hc_method_wanted(opts->method, ret_method);
	if (intent == HC_INTENT_LATER && steps->extent > 0)
		len = steps->extent;
	else if (intent == HC_INTENT_LATER && steps->chunk > 0)
		len = steps->chunk;
	*ret_method = hc_choice_method(len, intent);
	return 0;
}
