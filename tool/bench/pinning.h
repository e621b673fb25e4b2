/* One thread on one CPU, whatever its number: a cpu_set_t of fixed size ends at 1024. */
#ifndef HC_BENCH_PINNING_H
#define HC_BENCH_PINNING_H

#include <pthread.h>

/* Starts a thread that has been on this CPU from its first instruction on; cpu -1: on any. 0 or an errno. */
int pinned_start(int cpu, pthread_t *ret_thread, void *(*fn)(void *arg), void *arg);

/* Puts the calling thread on this CPU. 0 or an errno. */
int pin_to(int cpu);

#endif
