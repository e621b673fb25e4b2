#include "bench/kernel_clear.h"

#include <string.h>

static void clear_memset(void *p, size_t len) {
	memset(p, 0, len);
	/* Its result is used by nobody that the compiler sees. */
	__asm__ volatile("" : : "r"(p) : "memory");
}

void kernel_clear_choose(struct kernel_clear *kernel) {
	kernel->clear = clear_memset;
	kernel->name = "memset";
	kernel->batch = kernel->base_page;
}
