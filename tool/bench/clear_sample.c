/* One sample of `bench clear`, and the proof that it cleared. */
#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "bench/bench_clear.h"
#include "cli.h"

/* Places in each sample whose byte isn't zero before and has to be after. */
#define NR_SPOTS 64
/* The proof of a case looks at no more than this. */
#define CHECK_MAX (UINT64_C(256) << 20)
#define CHECK_USUAL (UINT64_C(64) << 20)

/* The i-th of the spots in len bytes: the first byte, the last, and others at no even distance from their lines. */
static size_t spot(size_t i, size_t len) {
	size_t even = (size_t)((unsigned __int128)(len - 1) * i / (NR_SPOTS - 1));
	return i == 0 || i == NR_SPOTS - 1 ? even : hc_min(even + i % 64, len - 1);
}

static void place_spots(char *p, size_t len) {
	for (size_t i = 0; i < NR_SPOTS; i++)
		*(volatile char *)(p + spot(i, len)) = (char)0xa5;
}

static int check_spots(const struct clear_bench *bench, const char *p, size_t len) {
	for (size_t i = 0; i < NR_SPOTS; i++) {
		size_t at = spot(i, len);
		/* The user of each extent has written the first byte of every line. */
		if (bench->then == THEN_WRITE && p[at] == 1)
			continue;
		if (hc_is_clear(p + at, 1) != 1)
			return hc_fail(EIO, "a clear left byte %zu of %zu as it was", at, len);
	}
	return 0;
}

/* Once over the size, in rounds over the memory where that is less. */
static int run_once(
        struct clear_bench *bench, const struct clear_work *work, uint64_t repeats, struct clear_seen *seen) {
	uint64_t there = bench->memory->bytes;
	if (bench->size <= there)
		return clear_work_run(work, bench->memory->p, bench->size, repeats, seen);
	for (uint64_t i = 0; i < repeats; i++) {
		for (uint64_t left = bench->size, len; left > 0; left -= len) {
			len = hc_min(left, there);
			int r = cli_interrupted(NULL) ? -ECANCELED
			                              : clear_work_run(work, bench->memory->p, len, 1, seen);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static void note_seen(struct bench_case *c, const struct clear_seen *seen, const struct clear_work *work) {
	if (seen->threads != work->threads)
		json_object_set_new(c->got, "threads", json_integer(seen->threads));
	if (work->kind == CLEAR_DEFAULT && seen->method && !json_object_get(c->got, "method"))
		json_object_set_new(c->got, "method", json_string(seen->method));
}

int clear_sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample) {
	struct clear_bench *bench = state;
	const struct clear_work *work = &bench->works[i];
	struct clear_seen seen = {0};
	size_t len = hc_min(bench->size, bench->memory->bytes);
	place_spots(bench->memory->p, len);
	uint64_t start = hc_clock_ns();
	int r = run_once(bench, work, repeats, &seen);
	ret_sample->ns = hc_clock_ns() - start;
	if (r == 0)
		r = check_spots(bench, bench->memory->p, len);
	if (r < 0)
		return r;
	note_seen(&bench->run->cases[i], &seen, work);

	double bytes = (double)bench->size * (double)repeats;
	uint64_t stamps = seen.stamp_ns / (seen.threads ? seen.threads : 1);
	double ns = (double)(ret_sample->ns > 2 * stamps ? ret_sample->ns - stamps : hc_max(ret_sample->ns, 1));
	ret_sample->values[CLEAR_THROUGHPUT] = bench_gib_per_s(bytes, ns);
	if (seen.clear_ns + seen.then_ns > 0) {
		double share = (double)seen.clear_ns / (double)(seen.clear_ns + seen.then_ns);
		ret_sample->values[CLEAR_ALONE] = bench_gib_per_s(bytes, ns * share);
		ret_sample->values[CLEAR_THEN_ALONE] = bench_gib_per_s(bytes, ns * (1 - share));
	}
	if (work->chunk && seen.longest_ns)
		ret_sample->values[CLEAR_LONGEST_STEP] = (double)seen.longest_ns / 1e9;
	return 0;
}

/* Fills, clears, looks at every byte, and at those behind. */
int clear_check(void *state, size_t i) {
	struct clear_bench *bench = state;
	struct clear_work work = bench->works[i];
	struct clear_seen seen = {0};
	uint64_t room = hc_min(bench->size, bench->memory->bytes), len = hc_min(room, CHECK_MAX);
	if (work.extent <= CHECK_USUAL)
		len = hc_min(room, CHECK_USUAL);
	uint64_t behind = hc_min(bench->memory->bytes - len, 64);
	char *p = bench->memory->p;
	memset(p, 0xa5, len + behind);
	work.then = THEN_NONE;
	work.extent = hc_min(work.extent, len);
	int r = clear_work_run(&work, p, len, 1, &seen);
	if (r < 0)
		return r;
	const char *name = work.kind == CLEAR_METHOD ? work.method : clear_kind_names[work.kind];
	if (hc_is_clear(p, len) != 1)
		return hc_fail(EIO, "%s didn't clear all of %llu bytes", name, (unsigned long long)len);
	for (uint64_t k = 0; k < behind; k++)
		if (p[len + k] != (char)0xa5)
			return hc_fail(EIO, "%s wrote behind the end of %llu bytes", name, (unsigned long long)len);
	return 0;
}
