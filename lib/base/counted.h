/* Numbers of things in words, for messages: "1 page", "512 pages". */
#ifndef HC_BASE_COUNTED_H
#define HC_BASE_COUNTED_H

#include <stdint.h>

struct hc_counted_text {
	char s[40];
};

/* n and the noun, which takes an s unless n is 1. pre: the noun has at most 16 bytes */
struct hc_counted_text hc_counted(uint64_t n, const char *noun);

#endif
