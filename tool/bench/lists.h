/* Options of benchmarks that take lists of numbers. */
#ifndef HC_BENCH_LISTS_H
#define HC_BENCH_LISTS_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_THREADS_MAX 1024

/* A list of numbers being read into values; what is there twice is taken once. */
struct bench_list {
	const char *verb, *option;
	uint64_t *values;
	size_t *nr, max;
	int (*read)(const struct bench_list *list, const char *item, uint64_t *ret_value);
	uint64_t most; /* for bench_read_count() */
};

/* Replaces the values by those of text, "a,b,c". 0, or an exit code after a message. */
int bench_read_list(struct bench_list list, const char *text);

/* Readers of items. */
int bench_read_size_or_0(const struct bench_list *list, const char *item, uint64_t *ret_value);
int bench_read_count(const struct bench_list *list, const char *item, uint64_t *ret_value); /* 1 to most */

#endif
