/*
 * arm64: registers that user space may read. DCZID_EL0 always; MIDR_EL1 where
 * the kernel plays it for user space (HWCAP_CPUID, Linux
 * Documentation/arch/arm64/cpu-feature-registers.rst).
 */
#include <stdlib.h>
#include <sys/auxv.h>

#include "sys/midr.h"
#include "sys/processor.h"
#include "sys/root.h"

/* From <asm/hwcap.h>, which a libc may lack. */
#define HWCAP_CPUID_BIT (UINT64_C(1) << 11)

/* Fields of DCZID_EL0: Arm Architecture Reference Manual, DCZID_EL0. */
#define DCZID_PROHIBITED (UINT64_C(1) << 4)
#define DCZID_LOG2_WORDS UINT64_C(0xf)

static bool midr_from_files(uint32_t *ret_midr) {
	struct hc_root root;
	if (hc_root_open(NULL, &root) < 0)
		return false;
	char *text;
	size_t len;
	bool found = false;
	if (hc_root_read_all(&root, "proc/cpuinfo", &text, &len) == 0) {
		found = hc_midr_from_cpuinfo(text, ret_midr);
		free(text);
	}
	hc_root_close(&root);
	return found;
}

void hc_processor_ask(const struct hc_processor_source *source, struct hc_processor_id *ret_id) {
	(void)source; /* x86 only */

	uint32_t midr = 0;
	bool known = true;
	if (getauxval(AT_HWCAP) & HWCAP_CPUID_BIT) {
		uint64_t reg;
		__asm__("mrs %0, midr_el1" : "=r"(reg));
		midr = (uint32_t)reg;
	} else {
		known = midr_from_files(&midr);
	}
	if (known)
		hc_midr_describe(midr, ret_id);

	uint64_t dczid;
	__asm__("mrs %0, dczid_el0" : "=r"(dczid));
	if (!(dczid & DCZID_PROHIBITED)) {
		ret_id->features |= HC_FEATURE_BIT(HC_FEATURE_DCZVA);
		ret_id->dc_zva_bytes = 4u << (dczid & DCZID_LOG2_WORDS);
	}
}
