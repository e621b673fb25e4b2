/* What proc/self/smaps says about the mappings in a range: proc_pid_smaps(5). */
#ifndef HC_MAP_SMAPS_RANGE_H
#define HC_MAP_SMAPS_RANGE_H

#include <stdint.h>

struct hc_smaps {
	uint64_t kernel_page_size; /* bytes, the smallest of the mappings; HC_UNKNOWN where there is none */
	uint64_t anon_huge;        /* bytes in transparent huge pages of the PMD's size */
};

/*
 * Adds up the mappings that lie within [begin, end). The text ends with a NUL. Lines that make
 * no sense count for nothing.
 */
void hc_smaps_parse(const char *text, uint64_t begin, uint64_t end, struct hc_smaps *ret_smaps);

#endif
