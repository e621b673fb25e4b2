/* The measuring itself: the cold loop, then the loops, interleaved. Used by the harness alone. */
#ifndef HC_BENCH_MEASURE_H
#define HC_BENCH_MEASURE_H

#include "bench/harness.h"

/* Runs all cases of run->loops loops. 0; -ECANCELED when interrupted, and what there is stays; another negative errno. */
int bench_measure(struct bench_run *run, void *state);

/* Takes the progress line away, before anything else is printed. */
void bench_end_progress(struct bench_run *run);

#endif
