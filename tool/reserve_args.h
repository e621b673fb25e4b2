/* What `hugeclear reserve` is asked for: SIZE[@NODE]=[+|-]PAGES, or a size instead of pages. */
#ifndef HC_TOOL_RESERVE_ARGS_H
#define HC_TOOL_RESERVE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

struct reserve_request {
	uint64_t page_size; /* bytes, a power of 2 */
	int node;           /* -1: the whole machine */
	bool relative;      /* pages is a difference */
	int64_t pages;      /* negative only where relative */
};

/* The highest node number that can be asked for; the kernel's limit is far lower. */
#define RESERVE_NODE_MAX 65535

/*
 * Reads "2M=512", "1G@1=+4", "2M@0=-10", "2M=1GiB". Digits alone are pages; with a unit
 * they are a size, which has to be a multiple of the page size.
 *
 * Returns 0; -EINVAL for what isn't of this form, -ERANGE for numbers too large, with a
 * detail that says what to write instead.
 */
int reserve_args_parse(const char *text, struct reserve_request *ret_request);

struct reserve_pool_text {
	char s[64];
};

/* A pool for people: "2 MiB", "1 GiB on node 1". */
struct reserve_pool_text reserve_pool_text(uint64_t page_size, int node);

#endif
