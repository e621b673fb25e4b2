/*
 * x86: caches from CPUID, for machines whose kernel doesn't show them. Leaf 4
 * (Intel SDM vol. 2A, CPUID) and AMD's leaf 0x8000001d (APM vol. 3, appendix E)
 * have the same layout.
 */
#include <string.h>

#include "base/arith.h"
#include "sys/processor.h"

#define LEAF_INTEL 4u
#define LEAF_AMD 0x8000001du
#define LEAF_EXTENDED 0x80000000u
#define TOPOLOGY_EXTENSIONS 22 /* bit of ecx in leaf 0x80000001: leaf 0x8000001d is there */
#define SUBLEAF_MAX 16         /* a hypervisor may never show the end of the list */

enum { EAX, EBX, ECX, EDX };
enum { TYPE_NONE, TYPE_DATA, TYPE_INSTRUCTION, TYPE_UNIFIED };

/* The leaf that this processor lists its caches in, or 0. */
static uint32_t find_leaf(const struct hc_processor_source *source) {
	uint32_t r[4];
	source->cpuid(source->user, LEAF_EXTENDED, 0, r);
	if ((r[EAX] & 0xffff0000u) == LEAF_EXTENDED && r[EAX] >= LEAF_AMD) {
		source->cpuid(source->user, LEAF_EXTENDED + 1, 0, r);
		if (r[ECX] >> TOPOLOGY_EXTENSIONS & 1)
			return LEAF_AMD;
	}
	source->cpuid(source->user, 0, 0, r);
	return r[EAX] >= LEAF_INTEL ? LEAF_INTEL : 0;
}

/* ways * partitions * line * sets, each given less one; the product of the widths is below 2^64. */
static uint64_t cache_size(const uint32_t r[4]) {
	uint64_t size = (uint64_t)((r[EBX] >> 22) + 1) * ((r[EBX] >> 12 & 0x3ff) + 1) * ((r[EBX] & 0xfff) + 1);
	uint64_t product;
	/* A leaf that a hypervisor filled with zeros shows caches of one byte. */
	return hc_mul_ok(size, (uint64_t)r[ECX] + 1, &product) && product >= 1024 ? product : 0;
}

void hc_caches_ask(const struct hc_processor_source *source, struct hc_caches *ret_caches) {
	struct hc_caches caches = {0};
	if (!source)
		source = hc_processor_source_here();
	uint32_t leaf = find_leaf(source);
	for (uint32_t i = 0; leaf != 0 && i < SUBLEAF_MAX; i++) {
		uint32_t r[4];
		source->cpuid(source->user, leaf, i, r);
		uint32_t type = r[EAX] & 0x1f, level = r[EAX] >> 5 & 7;
		if (type == TYPE_NONE)
			break;
		if (type == TYPE_INSTRUCTION)
			continue;
		if (level == 1)
			caches.l1d = cache_size(r);
		else if (level == 2)
			caches.l2 = cache_size(r);
		else if (level == 3)
			caches.l3 = cache_size(r);
	}
	*ret_caches = caches;
}
