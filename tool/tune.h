/*
 * Measuring methods against the built-in choice, and what to make of it.
 *
 * A cell is an intent and an extent. In each round every method of a cell is sampled
 * once, next to each other, so that methods are compared within a round: what slows the
 * machine down for a while slows all of them down.
 */
#ifndef HC_TOOL_TUNE_H
#define HC_TOOL_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hugeclear/clear.h>

#define TUNE_METHODS_MAX 24
#define TUNE_CELLS_MAX 24
#define TUNE_ROUNDS_MAX 64
/* With fewer rounds nothing can be said with confidence: 2^-6 is above 1 %, 2^-7 below. */
#define TUNE_ROUNDS_LEAST 7

struct tune_cell {
	enum hc_intent intent;
	uint64_t extent;       /* bytes */
	uint64_t sample_bytes; /* cleared in one sample; a multiple of extent */
	unsigned builtin;      /* the method that is taken without a profile; is sampled in every round */
	unsigned nr_rounds;
	/* By method and round, in nanoseconds a sample; 0: not sampled in that round. */
	uint64_t ns[TUNE_METHODS_MAX][TUNE_ROUNDS_MAX];
	bool dropped[TUNE_METHODS_MAX]; /* not sampled any more: far behind */
};

struct tune {
	/* Those that are available. */
	const struct hc_clear_method *methods[TUNE_METHODS_MAX];
	unsigned nr_methods;
	/* Intent by intent, in the order of their extents. */
	struct tune_cell cells[TUNE_CELLS_MAX];
	unsigned nr_cells;
};

/* ---- tune_measure.c ------------------------------------------------------- */

/* Fills in methods and cells for this processor: the extents up to size, and size. */
void tune_plan(struct tune *tune, uint64_t size);

/*
 * Samples on size bytes from start, which are resident, round after round until so many nanoseconds
 * have passed or there are TUNE_ROUNDS_MAX; -ECANCELED where stop said so. progress is told nanoseconds.
 */
int tune_measure(struct tune *tune, void *start, uint64_t size, uint64_t budget_ns, hc_stop_fn stop,
        hc_progress_fn progress, void *user);

/* ---- tune_decide.c -------------------------------------------------------- */

/* A method compared with the built-in one over the rounds that have both. */
struct tune_comparison {
	unsigned nr_rounds;
	double ratio;    /* median of built-in time / its time: above 1 is faster; 0 without a round */
	double at_least; /* the median is above that with 99 % confidence; 0 where rounds are too few to say */
};

/* pre: method < TUNE_METHODS_MAX */
struct tune_comparison tune_compare(const struct tune_cell *cell, unsigned method);

/* Median of a method's samples in GiB/s; 0 where it has none. */
double tune_speed(const struct tune_cell *cell, unsigned method);

/* Drops the methods that are too far behind to be chosen, once there are some rounds. */
void tune_drop(struct tune_cell *cell, unsigned nr_methods);

/*
 * The method for a cell: the built-in one unless another is faster beyond the margin and
 * the noise. Of several that are about as fast, preferred (the choice of the cell before; any number for none).
 */
unsigned tune_choose(const struct tune_cell *cell, unsigned nr_methods, unsigned preferred);

/*
 * The steps of a profile for one intent: the built-in ones, but for lengths about the extents of
 * the cells whose choice (by cell, a method) is another. Returns their number: 0 where all
 * is left to the built-in choice.
 */
unsigned tune_steps(const struct tune *tune, enum hc_intent intent, const unsigned *choices,
        const struct hc_clear_profile_step *builtin, unsigned nr_builtin,
        struct hc_clear_profile_step ret_steps[HC_CLEAR_PROFILE_STEPS_MAX]);

#endif
