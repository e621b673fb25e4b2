#include "clear/plan.h"

#include <errno.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "clear/choice.h"

/* Between two questions, for each thread, where nothing else is said: 0.2 ms at 10 GB/s, and the fence costs nothing. */
#define CHUNK_DEFAULT (UINT64_C(2) << 20)

/*
 * Without questions a thread still takes its share in this many blocks, so that
 * one that is held up leaves its rest to the others, ...
 */
#define BLOCKS_A_THREAD 16
/* ... of at least this many bytes, as each costs a lock. */
#define BLOCK_MIN (UINT64_C(1) << 20)

int hc_plan_check_range(const void *p, size_t len) {
	if (!p)
		return hc_fail(EINVAL, "%zu bytes at NULL can't be cleared", len);
	if (!hc_range_ok(p, len))
		return hc_fail(EOVERFLOW, "%zu bytes at %p wrap round the end of the address space", len, p);
	return 0;
}

/* What no thread's block may cut: extents counted from the start of the range, else pages, and so lines. */
static uint64_t alignment(uint64_t extent) {
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	return extent == 0 ? page_size : extent * hc_div_up(page_size, extent);
}

/* At most most, also where there is no such multiple. */
static uint64_t round_up(uint64_t n, uint64_t multiple, uint64_t most) {
	return hc_mul_ok(hc_div_up(n, multiple), multiple, &n) ? hc_min(n, most) : most;
}

void hc_plan_steps(const struct hc_clear_opts *opts, size_t len, struct hc_steps *ret_steps) {
	uint64_t extent = hc_min(opts->extent, len);
	*ret_steps = (struct hc_steps){
	        .extent = extent,
	        .align = alignment(extent),
	        .stop = opts->stop,
	        .progress = opts->progress,
	        .user = opts->user,
	        .total = len,
	};
}

void hc_plan_chunks(const struct hc_clear_opts *opts, unsigned threads, struct hc_steps *steps) {
	uint64_t len = steps->total, chunk = opts->chunk;
	if (chunk == 0 && (opts->stop || opts->progress))
		chunk = CHUNK_DEFAULT * hc_max(threads, 1);
	chunk = steps->extent > 0 ? round_up(chunk, steps->extent, len) : hc_min(chunk, len);
	steps->chunk = chunk;

	if (threads == 0)
		steps->block = chunk > 0 ? chunk : len;
	else if (chunk > 0)
		steps->block = round_up(hc_max(chunk / threads, 1), steps->align, len);
	else
		steps->block = round_up(hc_max(len / BLOCKS_A_THREAD / threads, BLOCK_MIN), steps->align, len);
}

int hc_plan_method(const struct hc_clear_opts *opts, enum hc_intent intent, const struct hc_steps *steps,
        const struct hc_method **ret_method) {
	if (opts->method)
		return hc_method_wanted(opts->method, ret_method);
	uint64_t at_once = steps->extent > 0 ? hc_min(steps->extent, steps->block) : steps->block;
	*ret_method = hc_choice_method(intent == HC_INTENT_LATER ? at_once : steps->total, intent);
	return 0;
}
