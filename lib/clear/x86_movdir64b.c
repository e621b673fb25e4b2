/* movdir64b: a direct store of a whole line, ordered as a streaming store. Compiled with -mmovdir64b. */
#include "clear/methods.h"
#include "clear/x86.h"

#include <immintrin.h>
#include <stdint.h>

static const char zero_line[HC_X86_LINE] __attribute__((aligned(HC_X86_LINE)));

void hc_x86_movdir64b(void *p, size_t len) {
	char *at = p;

	size_t head = HC_X86_HEAD(at, len, HC_X86_LINE);
	hc_x86_clear_edge(at, head);
	at += head;
	len -= head;

	for (size_t lines = len / HC_X86_LINE; lines > 0; lines--, at += HC_X86_LINE)
		_movdir64b(at, zero_line);

	hc_x86_clear_edge(at, len % HC_X86_LINE);
	_mm_sfence();
	HC_STORES_ARE_SEEN(p);
}
