/* Cycles of the calling thread, and of the threads it starts from then on (not of those it has), by perf_event_open(2). */
#ifndef HC_BENCH_CYCLES_H
#define HC_BENCH_CYCLES_H

#include <stdbool.h>
#include <stdint.h>

struct cycles {
	uint64_t before;  /* what was counted when it was started */
	int fd;           /* -1: they aren't counted */
	bool user_only;   /* the kernel's aren't counted: perf_event_paranoid */
	char reason[160]; /* why they, or the kernel's, aren't; "" where all are */
};

/* Opens a stopped counter, or says why there is none. */
void cycles_open(struct cycles *cycles);

void cycles_start(struct cycles *cycles);

/* Since cycles_start(); 0 where they aren't counted. */
uint64_t cycles_stop(const struct cycles *cycles);

void cycles_close(struct cycles *cycles);

/* Any event of perf_event_open(2) in the place of cycles, and what an errno of it means for somebody who wants cycles: for tests. */
void cycles_open_event(struct cycles *cycles, uint32_t type, uint64_t config);
void cycles_explain(int err, char *text, int text_size);

#endif
