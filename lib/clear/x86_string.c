/* String instructions: the processor's own loop, through the cache. */
#include "clear/methods.h"
#include "clear/x86.h"

#include <stdint.h>

void hc_x86_stosb(void *p, size_t len) {
	void *at = p;
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(0) : "memory");
}

void hc_x86_stosq(void *p, size_t len) {
	char *at = p;

	size_t head = HC_X86_HEAD(at, len, 8);
	hc_x86_clear_edge(at, head);
	at += head;
	len -= head;

	size_t words = len / 8;
	__asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(UINT64_C(0)) : "memory");

	hc_x86_clear_edge(at, len % 8);
}
