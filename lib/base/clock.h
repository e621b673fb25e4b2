/* Time for measuring and for limits: monotonic nanoseconds since an arbitrary start. */
#ifndef HC_BASE_CLOCK_H
#define HC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define HC_NSEC_PER_SEC UINT64_C(1000000000)

static inline uint64_t hc_clock_ns(void) {
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * HC_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
