/*
 * Processor features that clearing methods need, checked together with the
 * state that the operating system keeps for their registers, and cache sizes.
 *
 * One file an architecture (processor_x86.c, processor_arm64.c,
 * processor_other.c) fills the same struct; the build chooses.
 */
#ifndef HC_SYS_PROCESSOR_H
#define HC_SYS_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/features.h"
#include "sys/root.h"
#include "sys/warnings.h"

struct hc_processor_id {
	char vendor[16];
	char model_name[64]; /* from the processor's own brand string; "" where it has none */
	unsigned family, model, stepping;
	uint32_t features;        /* HC_FEATURE_BIT()s that may be used */
	uint32_t features_no_os;  /* the processor has them, the operating system doesn't keep their state */
	uint32_t features_masked; /* taken away by HUGECLEAR_PROCESSOR_MASK */
	unsigned dc_zva_bytes;    /* arm64: what one dc zva clears; 0 elsewhere */
	bool hypervisor;          /* runs under one, as far as the processor says */
	char hypervisor_name[16];
};

/*
 * Where the registers come from: the processor, or a test. xgetbv is only called
 * where leaf 1 has OSXSAVE (it faults otherwise).
 */
struct hc_processor_source {
	void (*cpuid)(void *user, uint32_t leaf, uint32_t subleaf, uint32_t ret_abcd[4]);
	uint64_t (*xgetbv)(void *user, uint32_t index);
	void *user;
};

/* The processor itself; x86 only. */
const struct hc_processor_source *hc_processor_source_here(void);

/*
 * Asks the processor itself (source NULL), or the source; x86 only for the
 * latter. mask: as hc_feature_mask() reads it.
 */
void hc_processor_identify(const struct hc_processor_source *source, const char *mask, struct hc_processor_id *ret_id);

/*
 * What the architecture's file provides: fills in all but features_masked.
 * pre: *ret_id is zeroed
 */
void hc_processor_ask(const struct hc_processor_source *source, struct hc_processor_id *ret_id);

/*
 * This machine's, asked once and kept, masked by the environment variable
 * HUGECLEAR_PROCESSOR_MASK (which can only take features away). Thread-safe;
 * async-signal-safe after the first call. Never NULL: without memory to keep it in, a processor without features.
 */
const struct hc_processor_id *hc_processor_here(void);

/* Bytes of one instance, as the first online CPU sees it; 0 unknown. */
struct hc_caches {
	uint64_t l1d, l2, l3;
};

/*
 * From sys/devices/system/cpu below root, and for a live root from the processor
 * itself what isn't told there. What makes no sense is unknown, with a warning.
 */
void hc_caches_read_warn(const struct hc_root *root, struct hc_warnings *sink, struct hc_caches *ret_caches);
void hc_caches_read(const struct hc_root *root, struct hc_caches *ret_caches);

/* What the architecture's file provides: the processor's own word, from it (source NULL) or a test. 0 unknown. */
void hc_caches_ask(const struct hc_processor_source *source, struct hc_caches *ret_caches);

/*
 * Up to this many bytes, memory cleared for somebody who touches it next is best
 * left in the cache: twice the L2, within [HC_CACHED_MIN, HC_CACHED_MAX], for
 * measurements put the break-even there (between 2 and 8 MiB on a processor with
 * 2 MiB of L2). The L3 isn't asked: it is shared, and hypervisors show none, or a whole
 * socket's. HC_CACHED_MIN where the L2 isn't known; never 0.
 */
#define HC_CACHED_MIN (UINT64_C(2) << 20)
#define HC_CACHED_MAX (UINT64_C(8) << 20)

uint64_t hc_cached_up_to(const struct hc_caches *caches);

#endif
