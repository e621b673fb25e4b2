/*
 * x86: CPUID and XCR0. Leaves and bits: Intel SDM vol. 2A, CPUID, and vol. 1,
 * 13.3 and 14.3 (which order to check in), AMD APM vol. 3, appendix E.
 */
#include <cpuid.h>
#include <string.h>

#include "sys/processor.h"

#define XCR0_YMM 0x06u /* XMM, and the upper halves of YMM */
#define XCR0_ZMM 0xe6u /* and the opmasks, the upper halves of ZMM0-15, and ZMM16-31 */
#define LEAF_EXTENDED 0x80000000u
#define LEAF_HYPERVISOR 0x40000000u

enum { EAX, EBX, ECX, EDX };

/* NOLINTNEXTLINE(readability-non-const-parameter): the assembly writes them */
static void cpuid_here(void *user, uint32_t leaf, uint32_t subleaf, uint32_t ret_abcd[4]) {
	(void)user;
	__cpuid_count(leaf, subleaf, ret_abcd[EAX], ret_abcd[EBX], ret_abcd[ECX], ret_abcd[EDX]);
}

static uint64_t xgetbv_here(void *user, uint32_t index) {
	(void)user;
	uint32_t low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}

const struct hc_processor_source *hc_processor_source_here(void) {
	static const struct hc_processor_source here = {.cpuid = cpuid_here, .xgetbv = xgetbv_here};
	return &here;
}

static bool bit(uint32_t reg, unsigned n) {
	return (reg >> n & 1) != 0;
}

/* Keeps of a text from registers what is printable, without spaces at its ends. */
static void copy_text(char *to, size_t to_size, const char *from, size_t from_size) {
	size_t len = 0;
	for (size_t i = 0; i < from_size && from[i] != '\0' && len < to_size - 1; i++)
		if (from[i] > ' ' ? from[i] < 0x7f : from[i] == ' ' && len > 0)
			to[len++] = from[i];
	while (len > 0 && to[len - 1] == ' ')
		len--;
	to[len] = '\0';
}

/* Family, model and stepping as leaf 1 spreads them. */
static void ask_version(uint32_t eax, struct hc_processor_id *id) {
	id->stepping = eax & 0xf;
	id->family = eax >> 8 & 0xf;
	id->model = eax >> 4 & 0xf;
	if (id->family == 0x6 || id->family == 0xf)
		id->model |= (eax >> 16 & 0xf) << 4;
	if (id->family == 0xf)
		id->family += eax >> 20 & 0xff;
}

static void ask_model_name(
        const struct hc_processor_source *source, uint32_t max_extended, struct hc_processor_id *id) {
	if (max_extended < LEAF_EXTENDED + 4)
		return;
	uint32_t brand[12];
	for (uint32_t i = 0; i < 3; i++)
		source->cpuid(source->user, LEAF_EXTENDED + 2 + i, 0, brand + (size_t)4 * i);
	char text[sizeof(brand)];
	memcpy(text, brand, sizeof(text));
	copy_text(id->model_name, sizeof(id->model_name), text, sizeof(text));
}

static void hypervisor_signature(const struct hc_processor_source *source, uint32_t leaf, char ret_signature[13]) {
	uint32_t r[4];
	source->cpuid(source->user, leaf, 0, r);
	memcpy(ret_signature, &r[EBX], 12);
	ret_signature[12] = '\0';
}

/* The signatures are what the hypervisors' own documents give, as collected in the kernel's arch/x86/kernel/cpu. */
static void ask_hypervisor(const struct hc_processor_source *source, struct hc_processor_id *id) {
	static const struct {
		char signature[13];
		char name[16];
	} known[] = {
	        {"KVMKVMKVM", "KVM"},
	        {"Linux KVM Hv", "KVM"},
	        {"Microsoft Hv", "Hyper-V"},
	        {"VMwareVMware", "VMware"},
	        {"XenVMMXenVMM", "Xen"},
	        {"TCGTCGTCGTCG", "QEMU"},
	        {"bhyve bhyve ", "bhyve"},
	        {"ACRNACRNACRN", "ACRN"},
	        {"Jailhouse", "Jailhouse"},
	        {" lrpepyh  vr", "Parallels"},
	};

	char signature[13];
	hypervisor_signature(source, LEAF_HYPERVISOR, signature);
	/* KVM and Xen may play Hyper-V to please Windows, and then show themselves a block higher. */
	if (strcmp(signature, "Microsoft Hv") == 0) {
		char behind[13];
		hypervisor_signature(source, LEAF_HYPERVISOR + 0x100, behind);
		if (strcmp(behind, "KVMKVMKVM") == 0 || strcmp(behind, "XenVMMXenVMM") == 0)
			memcpy(signature, behind, sizeof(signature));
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(signature, known[i].signature) == 0)
			memcpy(id->hypervisor_name, known[i].name, sizeof(known[i].name));
	if (id->hypervisor_name[0] == '\0')
		copy_text(id->hypervisor_name, sizeof(id->hypervisor_name), signature, 12);
}

/* Sorts a feature that needs register state into usable and not kept by the operating system. */
static void add_with_state(struct hc_processor_id *id, enum hc_feature feature, bool there, bool state_kept) {
	if (there && state_kept)
		id->features |= HC_FEATURE_BIT(feature);
	else if (there)
		id->features_no_os |= HC_FEATURE_BIT(feature);
}

void hc_processor_ask(const struct hc_processor_source *source, struct hc_processor_id *ret_id) {
	if (!source)
		source = hc_processor_source_here();

	uint32_t leaf0[4], leaf1[4], leaf7[4] = {0}, leaf7_1[4] = {0}, extended[4], extended8[4] = {0};
	source->cpuid(source->user, 0, 0, leaf0);
	char vendor[12];
	memcpy(vendor, &leaf0[EBX], 4);
	memcpy(vendor + 4, &leaf0[EDX], 4);
	memcpy(vendor + 8, &leaf0[ECX], 4);
	copy_text(ret_id->vendor, sizeof(ret_id->vendor), vendor, sizeof(vendor));
	if (leaf0[EAX] < 1)
		return;

	source->cpuid(source->user, 1, 0, leaf1);
	if (leaf0[EAX] >= 7) {
		source->cpuid(source->user, 7, 0, leaf7);
		if (leaf7[EAX] >= 1)
			source->cpuid(source->user, 7, 1, leaf7_1);
	}
	/* A processor without extended leaves answers with something else than a leaf number. */
	source->cpuid(source->user, LEAF_EXTENDED, 0, extended);
	uint32_t max_extended = (extended[EAX] & 0xffff0000u) == LEAF_EXTENDED ? extended[EAX] : 0;
	if (max_extended >= LEAF_EXTENDED + 8)
		source->cpuid(source->user, LEAF_EXTENDED + 8, 0, extended8);

	ask_version(leaf1[EAX], ret_id);
	ask_model_name(source, max_extended, ret_id);
	ret_id->hypervisor = bit(leaf1[ECX], 31);
	if (ret_id->hypervisor)
		ask_hypervisor(source, ret_id);

	/* Without OSXSAVE xgetbv is an invalid instruction, and the operating system keeps no AVX state. */
	bool osxsave = bit(leaf1[ECX], 27), avx = bit(leaf1[ECX], 28);
	uint64_t xcr0 = osxsave ? source->xgetbv(source->user, 0) : 0;
	add_with_state(ret_id, HC_FEATURE_AVX2, avx && bit(leaf7[EBX], 5), (xcr0 & XCR0_YMM) == XCR0_YMM);
	add_with_state(ret_id, HC_FEATURE_AVX512F, avx && bit(leaf7[EBX], 16), (xcr0 & XCR0_ZMM) == XCR0_ZMM);

	const struct {
		enum hc_feature feature;
		bool there;
	} stateless[] = {
	        {HC_FEATURE_SSE2, bit(leaf1[EDX], 26)},
	        {HC_FEATURE_ERMS, bit(leaf7[EBX], 9)},
	        {HC_FEATURE_FSRM, bit(leaf7[EDX], 4)},
	        {HC_FEATURE_FSRS, bit(leaf7_1[EAX], 11)},
	        {HC_FEATURE_MOVDIR64B, bit(leaf7[ECX], 28)},
	        {HC_FEATURE_CLZERO, bit(extended8[EBX], 0)},
	};
	for (size_t i = 0; i < sizeof(stateless) / sizeof(stateless[0]); i++)
		if (stateless[i].there)
			ret_id->features |= HC_FEATURE_BIT(stateless[i].feature);
}
