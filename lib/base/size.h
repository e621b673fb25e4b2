/* Sizes in words, for messages: the one spelling people see. */
#ifndef HC_BASE_SIZE_H
#define HC_BASE_SIZE_H

#include <stdint.h>

struct hc_size_text {
	char s[32];
};

/* In the largest unit that divides bytes: "2 MiB", "1536 MiB", "4097 B". Nothing is lost. */
struct hc_size_text hc_size_exact(uint64_t bytes);

/* In the largest unit below it, with at most two decimals: "1.5 GiB", "23.54 GiB". */
struct hc_size_text hc_size_rounded(uint64_t bytes);

/* As an argument that the parser reads back: "2M", "1536M", "4097". */
struct hc_size_text hc_size_arg(uint64_t bytes);

#endif
