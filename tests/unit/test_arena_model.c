/*
 * An arena against a model of it: an array that says of each frame whose it is. The model knows nothing of lists, heads or
 * merging; an allocation may fail only where it has no aligned run of free frames that is long enough.
 */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>

#include "base/random.h"

/* Small, so that all of it is looked at after each step. */
#define FRAME 64
#define ORDERS 7
#define FRAMES_MAX 1000

struct owned {
	struct hc_frame *frame;
	unsigned order, pins;
	bool freed; /* and still pinned */
	unsigned char pattern;
};

struct model {
	struct hc_arena *arena;
	char *memory;
	size_t frames, skew;
	uint64_t random;
	bool used[FRAMES_MAX];
	struct owned owned[FRAMES_MAX];
	size_t nr_owned;
	unsigned long allocations, failures, frees, scrubs, merges;
};

static size_t below(struct model *model, size_t n) {
	return (size_t)(hc_random_next(&model->random) >> 33) % n;
}

static size_t index_of(const struct model *model, const struct hc_frame *frame) {
	return (size_t)((char *)hc_frame_address(model->arena, frame) - model->memory) / FRAME;
}

static bool has_run(const struct model *model, unsigned order) {
	size_t nr = (size_t)1 << order;
	for (size_t place = (model->skew + nr - 1) / nr * nr; place + nr <= model->skew + model->frames; place += nr) {
		size_t used = 0;
		for (size_t i = 0; i < nr; i++)
			used += model->used[place - model->skew + i];
		if (used == 0)
			return true;
	}
	return false;
}

static void alloc_one(struct model *model) {
	unsigned order = (unsigned)below(model, ORDERS), flags = below(model, 2) ? HC_ZEROED : 0;
	struct hc_frame *frame;
	int r = hc_arena_alloc(model->arena, order, HC_NODE_HERE, flags, &frame);
	if (r == -ENOMEM) {
		model->failures++;
		assert_false(has_run(model, order));
		return;
	}
	assert_ok(r);
	size_t index = index_of(model, frame), nr = (size_t)1 << order;
	assert_true(index + nr <= model->frames && (index + model->skew) % nr == 0);
	for (size_t i = 0; i < nr; i++) {
		assert_false(model->used[index + i]);
		model->used[index + i] = true;
	}
	char *at = hc_frame_address(model->arena, frame);
	if (flags & HC_ZEROED)
		assert_int_equal(hc_is_clear(at, nr * FRAME), 1);
	unsigned char pattern = (unsigned char)(1 + below(model, 255));
	memset(at, pattern, nr * FRAME);
	model->owned[model->nr_owned++] = (struct owned){.frame = frame, .order = order, .pattern = pattern};
	model->allocations++;
}

static void check_pattern(const struct model *model, const struct owned *owned) {
	const char *at = hc_frame_address(model->arena, owned->frame);
	for (size_t i = 0; i < (size_t)FRAME << owned->order; i++)
		assert_int_equal((unsigned char)at[i], owned->pattern);
}

static void forget(struct model *model, struct owned *owned) {
	size_t index = index_of(model, owned->frame);
	for (size_t i = 0; i < (size_t)1 << owned->order; i++)
		model->used[index + i] = false;
	*owned = model->owned[--model->nr_owned];
	model->frees++;
}

static void use_one(struct model *model) {
	if (model->nr_owned == 0)
		return;
	struct owned *owned = &model->owned[below(model, model->nr_owned)];
	struct hc_frame *head;
	check_pattern(model, owned);
	char *at = hc_frame_address(model->arena, owned->frame);
	assert_ok(hc_frame_of(model->arena, at + below(model, (size_t)FRAME << owned->order), &head));
	assert_ptr_equal(head, owned->frame);
	switch (below(model, 4)) {
	case 0:
		assert_ok(hc_frame_get(model->arena, owned->frame));
		owned->pins++;
		break;
	case 1:
		if (owned->pins == 0) {
			assert_error(hc_frame_put(model->arena, owned->frame), ENOENT);
			break;
		}
		assert_ok(hc_frame_put(model->arena, owned->frame));
		if (--owned->pins == 0 && owned->freed)
			forget(model, owned);
		break;
	default:
		if (owned->freed) {
			assert_error(hc_arena_free(model->arena, owned->frame, owned->order), EALREADY);
			break;
		}
		assert_ok(hc_arena_free(model->arena, owned->frame, owned->order));
		owned->freed = true;
		if (owned->pins == 0)
			forget(model, owned);
	}
}

static void check_sums(struct model *model) {
	size_t used = 0;
	for (size_t i = 0; i < model->frames; i++)
		used += model->used[i];
	struct hc_arena_stats stats = {.size = sizeof(stats)};
	assert_ok(hc_arena_stats(model->arena, HC_NODE_HERE, &stats));
	assert_int_equal(stats.free_clean + stats.free_dirty, model->frames - used);
	assert_ok(hc_arena_check(model->arena));
	model->merges = stats.merges;
}

static void run_model(size_t frames, size_t skew, uint64_t seed, unsigned steps) {
	static struct model model;
	char *memory = aligned_alloc(FRAME << (ORDERS - 1), ((size_t)FRAMES_MAX / 64 + 2) * 64 * FRAME);
	assert_non_null(memory);
	model = (struct model){.memory = memory + skew * FRAME, .frames = frames, .skew = skew, .random = seed};
	assert_ok(hc_arena_open(&(struct hc_arena_opts){.size = sizeof(struct hc_arena_opts),
	                                .memory = model.memory,
	                                .length = frames * FRAME,
	                                .frame_size = FRAME,
	                                .largest = FRAME << (ORDERS - 1),
	                                .init = HC_ARENA_SERIAL},
	        &model.arena));
	for (unsigned step = 0; step < steps; step++) {
		/* Fuller and emptier by turns. */
		size_t more = step / 500 % 2 ? 7 : 3;
		if (below(&model, 50) == 0) {
			uint64_t done;
			assert_ok(hc_arena_scrub(model.arena, below(&model, 200) * FRAME, &done));
			model.scrubs++;
		} else if (below(&model, 10) < more) {
			alloc_one(&model);
		} else {
			use_one(&model);
		}
		if (step % 16 == 0)
			check_sums(&model);
	}
	while (model.nr_owned > 0) {
		struct owned *owned = &model.owned[0];
		check_pattern(&model, owned);
		if (!owned->freed)
			assert_ok(hc_arena_free(model.arena, owned->frame, owned->order));
		while (owned->pins-- > 0)
			assert_ok(hc_frame_put(model.arena, owned->frame));
		forget(&model, owned);
	}
	/* All of it comes together again: as many of the largest as there are places for. */
	struct hc_frame *frame;
	size_t nr = (size_t)1 << (ORDERS - 1);
	for (size_t places = (skew + frames) / nr - (skew + nr - 1) / nr; places > 0; places--)
		assert_ok(hc_arena_alloc(model.arena, ORDERS - 1, HC_NODE_HERE, HC_ZEROED, &frame));
	assert_error(hc_arena_alloc(model.arena, ORDERS - 1, HC_NODE_HERE, 0, &frame), ENOMEM);
	assert_ok(hc_arena_check(model.arena));
	print_message("%lu allocations, %lu without a frame, %lu frees, %lu scrubs, %lu merges of clean and dirty\n",
	        model.allocations, model.failures, model.frees, model.scrubs, model.merges);
	assert_true(model.allocations > 100 && model.failures > 10 && model.merges > 10);
	assert_null(hc_arena_close(model.arena));
	free(memory);
}

static void test_random_use(void **state) {
	(void)state;
	unsigned steps = under_sanitizer() ? 6000 : 20000;
	run_model(1000, 0, 1, steps);
	run_model(997, 3, 2, steps);
	run_model(130, 63, 3, steps);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_use)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
