/*
 * Who suffers while huge pages are brought in: threads of the same process that sleep, map a small
 * area, fault its pages and unmap it, again and again, and keep how late they woke up and how long
 * each call and fault took. One on the CPU of who brings the pages in, one on another.
 */
#ifndef HC_BENCH_VICTIM_H
#define HC_BENCH_VICTIM_H

#include <stdbool.h>

#include "bench/latency.h"

enum victim_what { VICTIM_WAKEUP, VICTIM_MMAP, VICTIM_FAULT, VICTIM_WHATS };
enum victim_where { VICTIM_SAME_CPU, VICTIM_OTHER_CPU, VICTIM_WHERES };

/* Shared by processes; one thread writes each row. */
struct victim_times {
	struct latency at[VICTIM_WHERES][VICTIM_WHATS];
};

struct victims;

/*
 * Starts them, pinned; cpu is the one of who brings in the pages, other another or -1: then there is only one
 * victim. 0 and an object for victims_stop(), which has the times written; a negative errno with a detail.
 */
int victims_start(int cpu, int other, struct victim_times *times, struct victims **ret_victims);

/* Ends and joins them, within one of their rounds. Takes and returns NULL. */
struct victims *victims_stop(struct victims *victims);

#endif
