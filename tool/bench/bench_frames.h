/* `hugeclear bench frames`. */
#ifndef HC_BENCH_BENCH_FRAMES_H
#define HC_BENCH_BENCH_FRAMES_H

#include "bench/harness.h"

extern const struct bench bench_frames;

#endif
