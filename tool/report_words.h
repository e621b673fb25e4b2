/* Cases and metrics in words. */
#ifndef HC_TOOL_REPORT_WORDS_H
#define HC_TOOL_REPORT_WORDS_H

#include <jansson.h>

/*
 * What parameters say, as people write it: "64 MiB, 2 MiB THP pages, 1 thread, seed=3". Freed by the caller;
 * NULL: no memory.
 */
char *report_words_of(json_t *params);

/* What a metric of bench map's victims is about, as the title of its table; "" for all others. */
const char *report_metric_place(const char *metric);

/* "throughput" for it, "fault, p99" for fault_p99, "mmap max" for victim_same_cpu_mmap_max; belongs to the caller, NULL: no memory. */
char *report_metric_words(const char *metric);

#endif
