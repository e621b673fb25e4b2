#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "tune.h"

/* So much is cleared in one sample, or one extent where that is more: some milliseconds. */
#define SAMPLE_BYTES (UINT64_C(16) << 20)

/* Extents beyond this are cleared in steps, so that ^C doesn't wait; a step costs nothing in comparison. */
#define STEP_BYTES (UINT64_C(256) << 20)

/* The next user writes to every line; 64 bytes are a line, or half of one. */
#define LINE_BYTES 64

static unsigned method_index(const struct tune *tune, const struct hc_clear_method *method) {
	unsigned i = 0;
	while (i + 1 < tune->nr_methods && tune->methods[i] != method)
		i++;
	return i;
}

void tune_plan(struct tune *tune, uint64_t size) {
	const struct hc_clear_method *method;
	tune->nr_methods = 0;
	for (unsigned i = 0; (method = hc_clear_method(i)) && tune->nr_methods < TUNE_METHODS_MAX; i++)
		if (method->available)
			tune->methods[tune->nr_methods++] = method;

	static const uint64_t extents[] = {
	        1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 8 << 20, 32 << 20, UINT64_MAX};
	static const enum hc_intent intents[] = {HC_INTENT_SOON, HC_INTENT_LATER};
	tune->nr_cells = 0;
	for (size_t k = 0; k < sizeof(intents) / sizeof(*intents); k++) {
		for (size_t i = 0; i < sizeof(extents) / sizeof(*extents); i++) {
			uint64_t extent = extents[i] < size ? extents[i] : size;
			struct tune_cell *cell = &tune->cells[tune->nr_cells++];
			uint64_t target = size < SAMPLE_BYTES ? size : SAMPLE_BYTES;
			*cell = (struct tune_cell){
			        .intent = intents[k],
			        .extent = extent,
			        .sample_bytes = extent < target ? target / extent * extent : extent,
			        .builtin = method_index(tune, hc_clear_choice(extent, intents[k])),
			};
			if (extent == size)
				break;
		}
	}
}

/* Where the next sample is taken: walks through the memory, so that what is cleared wasn't used lately. */
struct walk {
	char *start;
	uint64_t size, offset;
};

static char *next_window(struct walk *walk, const struct tune_cell *cell) {
	uint64_t rest = walk->offset % cell->extent;
	uint64_t offset = rest ? walk->offset + cell->extent - rest : walk->offset;
	if (offset > walk->size || walk->size - offset < cell->sample_bytes)
		offset = 0;
	walk->offset = offset + cell->sample_bytes;
	return walk->start + offset;
}

static int take_sample(const struct tune *tune, const struct tune_cell *cell, unsigned method, char *p, hc_stop_fn stop,
        void *user, uint64_t *ret_ns) {
	struct hc_clear_opts opts = {
	        .size = sizeof(opts),
	        .method = tune->methods[method]->name,
	        .intent = cell->intent,
	};
	/* Nothing comes between two extents for later: one call, without the cost of many. */
	uint64_t each = cell->intent == HC_INTENT_LATER ? cell->sample_bytes : cell->extent;
	if (each != cell->extent)
		opts.extent = cell->extent;
	if (each > STEP_BYTES) {
		opts.chunk = STEP_BYTES;
		opts.stop = stop;
		opts.user = user;
	}

	uint64_t start = hc_clock_ns();
	for (uint64_t i = 0; i < cell->sample_bytes; i += each) {
		int r = hc_clear_with(p + i, each, &opts, NULL);
		if (r < 0)
			return r;
		if (cell->intent == HC_INTENT_SOON)
			for (uint64_t k = 0; k < each; k += LINE_BYTES)
				*(volatile char *)(p + i + k) = 1;
	}
	uint64_t ns = hc_clock_ns() - start;
	*ret_ns = ns ? ns : 1;
	return 0;
}

int tune_measure(struct tune *tune, void *start, uint64_t size, uint64_t budget_ns, hc_stop_fn stop,
        hc_progress_fn progress, void *user) {
	struct walk walk = {start, size, 0};
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15), began = hc_clock_ns();

	for (unsigned round = 0; round < TUNE_ROUNDS_MAX; round++) {
		for (unsigned c = 0; c < tune->nr_cells; c++) {
			struct tune_cell *cell = &tune->cells[c];
			unsigned order[TUNE_METHODS_MAX], n = 0;
			for (unsigned m = 0; m < tune->nr_methods; m++)
				if (!cell->dropped[m])
					order[n++] = m;

			for (unsigned i = 0; i < n; i++) {
				unsigned k = i + (unsigned)(hc_random_next(&random) % (n - i));
				unsigned method = order[k];
				order[k] = order[i];

				uint64_t passed = hc_clock_ns() - began;
				if (stop(user))
					return hc_fail(ECANCELED, "interrupted");
				if (passed >= budget_ns)
					return 0;
				if (progress)
					progress(user, passed, budget_ns);
				char *window = next_window(&walk, cell);
				int r = take_sample(tune, cell, method, window, stop, user, &cell->ns[method][round]);
				if (r < 0)
					return r;
			}
			cell->nr_rounds = round + 1;
			tune_drop(cell, tune->nr_methods);
		}
	}
	return 0;
}
