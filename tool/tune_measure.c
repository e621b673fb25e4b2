#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/size.h"
#include "tune.h"

/* So much is cleared in one sample, or one extent where that is more: some milliseconds. */
#define SAMPLE_BYTES (UINT64_C(16) << 20)

/* Extents beyond this are cleared in steps, so that ^C doesn't wait; a step costs nothing in comparison. */
#define STEP_BYTES (UINT64_C(256) << 20)

/* The next user writes to every line; 64 bytes are a line, or half of one. */
#define LINE_BYTES 64

/* ---- Memory --------------------------------------------------------------- */

/* Bytes of this process's memory in transparent huge pages. */
static uint64_t huge_bytes(void) {
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	if (!file)
		return HC_UNKNOWN;
	char line[256];
	unsigned long long kilobytes;
	uint64_t bytes = HC_UNKNOWN;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "AnonHugePages: %llu kB", &kilobytes) == 1)
			bytes = kilobytes * 1024;
	fclose(file);
	return bytes;
}

int tune_memory_map(
        uint64_t size, uint64_t huge_page_size, hc_stop_fn stop, void *user, struct tune_memory *ret_memory) {
	uint64_t align = huge_page_size == HC_UNKNOWN ? 0 : huge_page_size, mapping_size;
	if (!hc_add_ok(size, align, &mapping_size) || mapping_size > SIZE_MAX)
		return hc_fail(ENOMEM, "%s are more than a process can have", hc_size_exact(size).s);

	void *mapping = mmap(NULL, mapping_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return hc_fail_errno(errno, "no memory of %s: give a smaller --size", hc_size_exact(size).s);
	unsigned char *start = mapping;
	if (align)
		start += (align - (uintptr_t)start % align) % align;

	uint64_t huge_before = huge_bytes();
	/* Where it isn't possible the measurement is of base pages, and says so. */
	(void)madvise(start, size, MADV_HUGEPAGE);
	long page = sysconf(_SC_PAGESIZE);
	for (uint64_t i = 0; i < size; i += (uint64_t)page) {
		if (stop(user)) {
			munmap(mapping, mapping_size);
			return hc_fail(ECANCELED, "interrupted");
		}
		((volatile unsigned char *)start)[i] = 1;
	}

	uint64_t huge = huge_bytes();
	*ret_memory = (struct tune_memory){
	        .start = start,
	        .size = size,
	        .huge = huge == HC_UNKNOWN || huge_before == HC_UNKNOWN || huge < huge_before ? HC_UNKNOWN
	                                                                                      : huge - huge_before,
	        .mapping = mapping,
	        .mapping_size = mapping_size,
	};
	return 0;
}

void tune_memory_unmap(struct tune_memory *memory) {
	if (memory->mapping)
		munmap(memory->mapping, memory->mapping_size);
	*memory = (struct tune_memory){0};
}

/* ---- Samples -------------------------------------------------------------- */

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
	const struct tune_memory *memory;
	uint64_t offset;
};

static unsigned char *next_window(struct walk *walk, const struct tune_cell *cell) {
	uint64_t rest = walk->offset % cell->extent;
	uint64_t offset = rest ? walk->offset + cell->extent - rest : walk->offset;
	if (offset > walk->memory->size || walk->memory->size - offset < cell->sample_bytes)
		offset = 0;
	walk->offset = offset + cell->sample_bytes;
	return walk->memory->start + offset;
}

static int take_sample(const struct tune *tune, const struct tune_cell *cell, unsigned method, unsigned char *p,
        hc_stop_fn stop, void *user, uint64_t *ret_ns) {
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
				*(volatile unsigned char *)(p + i + k) = 1;
	}
	uint64_t ns = hc_clock_ns() - start;
	*ret_ns = ns ? ns : 1;
	return 0;
}

/* A fixed sequence (xorshift): the same order in each run, and no order that favours a method. */
static unsigned next_random(uint64_t *state, unsigned below) {
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (unsigned)(*state % below);
}

int tune_measure(struct tune *tune, const struct tune_memory *memory, uint64_t budget_ns, hc_stop_fn stop,
        hc_progress_fn progress, void *user) {
	struct walk walk = {memory, 0};
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15), start = hc_clock_ns();

	for (unsigned round = 0; round < TUNE_ROUNDS_MAX; round++) {
		for (unsigned c = 0; c < tune->nr_cells; c++) {
			struct tune_cell *cell = &tune->cells[c];
			unsigned order[TUNE_METHODS_MAX], n = 0;
			for (unsigned m = 0; m < tune->nr_methods; m++)
				if (!cell->dropped[m])
					order[n++] = m;

			for (unsigned i = 0; i < n; i++) {
				unsigned k = i + next_random(&random, n - i);
				unsigned method = order[k];
				order[k] = order[i];

				uint64_t passed = hc_clock_ns() - start;
				if (stop(user))
					return hc_fail(ECANCELED, "interrupted");
				if (passed >= budget_ns)
					return 0;
				if (progress)
					progress(user, passed, budget_ns);
				unsigned char *window = next_window(&walk, cell);
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
