/*
 * Fields and implementers: Arm Architecture Reference Manual, MIDR_EL1. Parts:
 * the Technical Reference Manuals of the cores, as Linux gathers them in
 * arch/arm64/include/asm/cputype.h.
 */
#include "sys/midr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPLEMENTER_SHIFT 24
#define VARIANT_SHIFT 20
#define ARCHITECTURE_SHIFT 16
#define PART_SHIFT 4
/* "Identified by registers of their own": every ARMv8 and later processor. */
#define ARCHITECTURE_BY_REGISTERS 0xfu

struct maker {
	unsigned implementer;
	const char *name;
};

static const struct maker makers[] = {
        {0x41, "Arm"},
        {0x42, "Broadcom"},
        {0x43, "Cavium"},
        {0x46, "Fujitsu"},
        {0x48, "HiSilicon"},
        {0x4e, "NVIDIA"},
        {0x50, "APM"},
        {0x51, "Qualcomm"},
        {0x53, "Samsung"},
        {0x56, "Marvell"},
        {0x61, "Apple"},
        {0x6d, "Microsoft"},
        {0x70, "Phytium"},
        {0xc0, "Ampere"},
};

struct part {
	unsigned implementer, number;
	const char *name;
};

/* Those that servers and build machines have; another one is shown by its numbers. */
static const struct part parts[] = {
        {0x41, 0xd03, "Cortex-A53"},
        {0x41, 0xd05, "Cortex-A55"},
        {0x41, 0xd07, "Cortex-A57"},
        {0x41, 0xd08, "Cortex-A72"},
        {0x41, 0xd0b, "Cortex-A76"},
        {0x41, 0xd0c, "Neoverse-N1"},
        {0x41, 0xd40, "Neoverse-V1"},
        {0x41, 0xd49, "Neoverse-N2"},
        {0x41, 0xd4f, "Neoverse-V2"},
        {0x43, 0x0af, "ThunderX2"},
        {0x46, 0x001, "A64FX"},
        {0x48, 0xd01, "Kunpeng-920"},
        {0xc0, 0xac3, "Ampere-1"},
        {0xc0, 0xac4, "Ampere-1A"},
};

/* The value behind "key<white space>:" on the first line that starts with key, at most max. */
static bool cpuinfo_number(const char *text, const char *key, unsigned long max, unsigned long *ret_value) {
	size_t key_len = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, key_len) != 0)
			continue;
		const char *at = line + key_len;
		at += strspn(at, " \t");
		if (*at != ':')
			continue;
		at++;
		at += strspn(at, " \t");
		/* strtoul() would take a sign, and white space that ends the line. */
		if (*at < '0' || *at > '9')
			return false;
		char *end;
		errno = 0;
		unsigned long value = strtoul(at, &end, 0);
		if (errno != 0 || value > max || (*end != '\n' && *end != '\0' && *end != ' '))
			return false;
		*ret_value = value;
		return true;
	}
	return false;
}

bool hc_midr_from_cpuinfo(const char *text, uint32_t *ret_midr) {
	unsigned long implementer, variant, part, revision;
	if (!cpuinfo_number(text, "CPU implementer", 0xff, &implementer) ||
	        !cpuinfo_number(text, "CPU variant", 0xf, &variant) ||
	        !cpuinfo_number(text, "CPU part", 0xfff, &part) ||
	        !cpuinfo_number(text, "CPU revision", 0xf, &revision))
		return false;
	*ret_midr = (uint32_t)(implementer << IMPLEMENTER_SHIFT | variant << VARIANT_SHIFT |
	                       ARCHITECTURE_BY_REGISTERS << ARCHITECTURE_SHIFT | part << PART_SHIFT | revision);
	return true;
}

void hc_midr_describe(uint32_t midr, struct hc_processor_id *id) {
	id->family = midr >> IMPLEMENTER_SHIFT;
	id->model = midr >> PART_SHIFT & 0xfff;
	id->stepping = (midr >> VARIANT_SHIFT & 0xf) << 4 | (midr & 0xf);

	id->vendor[0] = id->model_name[0] = '\0';
	for (unsigned i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (makers[i].implementer == id->family)
			snprintf(id->vendor, sizeof(id->vendor), "%s", makers[i].name);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].implementer == id->family && parts[i].number == id->model)
			snprintf(id->model_name, sizeof(id->model_name), "%s", parts[i].name);
}
