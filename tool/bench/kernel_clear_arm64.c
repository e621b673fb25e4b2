/* arch/arm64/lib/clear_page.S: dc zva; pairs of non-temporal stores where that is prohibited. */
#include "bench/kernel_clear.h"

#include <stdbool.h>
#include <string.h>

/* DCZID_EL0: bit 4 prohibits dc zva, bits 0 to 3 are the log2 of its block in words of 4 bytes. */
static uint64_t dczid(void) {
	uint64_t value;
	__asm__("mrs %0, dczid_el0" : "=r"(value));
	return value;
}

static void clear_zva(void *p, size_t len) {
	char *begin = p, *end = begin + len;
	uint64_t block = UINT64_C(4) << (dczid() & 15);
	char *first = (char *)(((uintptr_t)begin + block - 1) & ~(uintptr_t)(block - 1));
	if (first > end)
		first = end;
	memset(begin, 0, (size_t)(first - begin));
	for (; (size_t)(end - first) >= block; first += block)
		__asm__ volatile("dc zva, %0" : : "r"(first) : "memory");
	memset(first, 0, (size_t)(end - first));
}

static void clear_stnp(void *p, size_t len) {
	char *at = p;
	for (; len >= 16; at += 16, len -= 16)
		__asm__ volatile("stnp xzr, xzr, [%0]" : : "r"(at) : "memory");
	memset(at, 0, len);
}

void kernel_clear_choose(struct kernel_clear *kernel) {
	bool prohibited = dczid() & 16;
	kernel->clear = prohibited ? clear_stnp : clear_zva;
	kernel->name = prohibited ? "stnp" : "dc zva";
	/* arm64 has no clear_pages() of its own: one page. */
	kernel->batch = kernel->base_page;
}
