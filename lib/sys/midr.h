/*
 * The Main ID Register of an arm64 processor: who made it and what it is called.
 * Plain functions, built on every architecture, so that every architecture tests them.
 */
#ifndef HC_SYS_MIDR_H
#define HC_SYS_MIDR_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/processor.h"

/*
 * The register as the first processor of an arm64 /proc/cpuinfo shows it in
 * parts ("CPU implementer", "CPU variant", "CPU architecture", "CPU part", "CPU
 * revision"). False, and nothing written, where one of implementer, part,
 * variant and revision is missing or doesn't fit its field.
 */
bool hc_midr_from_cpuinfo(const char *text, uint32_t *ret_midr);

/*
 * Sets vendor and model_name ("" where unknown), and the numbers that tell two
 * processors apart: family is the implementer, model the part, stepping the
 * variant and revision, major * 16 + minor.
 */
void hc_midr_describe(uint32_t midr, struct hc_processor_id *id);

#endif
