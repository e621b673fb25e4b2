/*
 * Models of how the kernel clears a folio when a page of it is touched, in user
 * space and independent of the library: what hugeclear compares itself with.
 *
 * base: Linux until 6.19 (mm/memory.c, folio_zero_user: process_huge_page and
 * clear_gigantic_page): one base page after another, each with the processor's
 * own string clear. Up to the largest buddy order from both ends towards the
 * touched page, which comes last; larger ones from the first page to the last.
 *
 * patched: the multi-page clearing series ("mm: folio_zero_user: clear page
 * ranges", versions 7 to 11, by Ankur Arora, merged for Linux 7.0): what is right of the
 * touched page's neighbourhood (two pages on either side), what is left of it,
 * and then the neighbourhood, each with one string clear, in batches where the
 * kernel doesn't preempt.
 */
#ifndef HC_BENCH_KERNEL_CLEAR_H
#define HC_BENCH_KERNEL_CLEAR_H

#include <stddef.h>
#include <stdint.h>

/* Zeroes [p, p + len). */
typedef void (*kernel_clear_fn)(void *p, size_t len);

struct kernel_clear {
	kernel_clear_fn clear;
	const char *name;   /* "rep stosb", "dc zva" ... */
	uint64_t base_page; /* bytes; a power of two */
	/* Folios above this are gigantic: the largest order of the buddy allocator. */
	uint64_t gigantic_above;
	/* PROCESS_PAGES_NON_PREEMPT_BATCH in bytes: the series' unit between two offers to reschedule. */
	uint64_t batch;
};

/* As the kernel would on this processor, from the processor's own registers. */
void kernel_clear_init(uint64_t base_page, struct kernel_clear *ret_kernel);

/*
 * Clears the folio [p, p + len), touched at offset touched. A len that isn't
 * whole pages ends in a shorter last one. pre: touched < len
 */
void kernel_clear_base(const struct kernel_clear *kernel, char *p, size_t len, size_t touched);

/*
 * batch: bytes between two offers to reschedule; 0: the series' own. longest_ns, unless NULL,
 * is raised to the longest time between two of them.
 */
void kernel_clear_patched(
        const struct kernel_clear *kernel, char *p, size_t len, size_t touched, uint64_t batch, uint64_t *longest_ns);

/* By architecture: kernel_clear_x86.c, kernel_clear_arm64.c, kernel_clear_other.c; fills clear, name and batch. */
void kernel_clear_choose(struct kernel_clear *kernel);

#endif
