/* `hugeclear bench arena`. */
#ifndef HC_BENCH_BENCH_ARENA_H
#define HC_BENCH_BENCH_ARENA_H

#include "bench/harness.h"

extern const struct bench bench_arena;

#endif
