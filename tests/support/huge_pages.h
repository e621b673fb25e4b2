/* Huge pages of the machine, and what a map leaves behind, as the tests see them: not by the library's readers. */
#ifndef HC_TEST_HUGE_PAGES_H
#define HC_TEST_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* The default size of hugetlb pages in bytes; 0 where the kernel has none. */
uint64_t default_huge_page_size(void);

/* A counter of the pool of this size, "free_hugepages"; 0 where there is none. */
uint64_t pool_counter(uint64_t page_size, const char *name);

/* Skips the test, with the reason, where fewer pages can be had. */
void need_pages(uint64_t page_size, uint64_t pages);

/* What this process holds. */
struct holdings {
	unsigned descriptors;
	uint64_t mapped_bytes, hugetlb_bytes;
};
struct holdings holdings_now(void);

/* Fails where more descriptors or huge pages are held than before, or 64 MiB more address space. */
void assert_holds_no_more(const struct holdings *before);

/* The sum, in bytes, of a field of proc/self/smaps over the mappings within [p, p + len): "AnonHugePages". */
uint64_t smaps_sum(const void *p, size_t len, const char *field);

/* The node that move_pages(2) tells for the page at p; negative: an errno. */
int node_of_page(void *p);

#endif
