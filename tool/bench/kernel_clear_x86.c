/* arch/x86/lib/clear_page_64.S: rep stosb where the processor has ERMS, else rep stosq. */
#include "bench/kernel_clear.h"

#include <cpuid.h>
#include <stdbool.h>

#define CPUID_7_EBX_ERMS (1u << 9)

static void clear_stosb(void *p, size_t len) {
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(len) : "a"(0) : "memory");
}

static void clear_stosq(void *p, size_t len) {
	size_t words = len / 8, rest = len % 8;
	__asm__ volatile("rep stosq" : "+D"(p), "+c"(words) : "a"(0) : "memory");
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(rest) : "a"(0) : "memory");
}

void kernel_clear_choose(struct kernel_clear *kernel) {
	unsigned eax, ebx = 0, ecx, edx;
	bool erms = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & CPUID_7_EBX_ERMS);
	kernel->clear = erms ? clear_stosb : clear_stosq;
	kernel->name = erms ? "rep stosb" : "rep stosq";
	/* x86 has clear_pages() of its own: 32 MiB. */
	kernel->batch = UINT64_C(32) << 20;
}
