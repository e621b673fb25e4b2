/* Processor features, from registers as hypervisors and kernels show them. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "sys/processor.h"

#define BIT(feature) HC_FEATURE_BIT(HC_FEATURE_##feature)

/* A processor made of leaves; everything else is zero. */
struct double_leaf {
	uint32_t leaf, subleaf, abcd[4];
};

struct processor_double {
	struct double_leaf leaves[24];
	unsigned nr_leaves;
	uint64_t xcr0;
	bool may_xgetbv;
	bool faulted; /* xgetbv was called where the instruction would fault */
};

static void cpuid_double(void *user, uint32_t leaf, uint32_t subleaf, uint32_t ret_abcd[4]) {
	const struct processor_double *cpu = user;
	memset(ret_abcd, 0, 4 * sizeof(ret_abcd[0]));
	for (unsigned i = 0; i < cpu->nr_leaves; i++)
		if (cpu->leaves[i].leaf == leaf && cpu->leaves[i].subleaf == subleaf)
			memcpy(ret_abcd, cpu->leaves[i].abcd, sizeof(cpu->leaves[i].abcd));
}

static uint64_t xgetbv_double(void *user, uint32_t index) {
	struct processor_double *cpu = user;
	cpu->faulted = cpu->faulted || !cpu->may_xgetbv || index != 0;
	return cpu->xcr0;
}

static uint32_t *leaf_of(struct processor_double *cpu, uint32_t leaf, uint32_t subleaf) {
	for (unsigned i = 0; i < cpu->nr_leaves; i++)
		if (cpu->leaves[i].leaf == leaf && cpu->leaves[i].subleaf == subleaf)
			return cpu->leaves[i].abcd;
	assert_true(cpu->nr_leaves < 24);
	cpu->leaves[cpu->nr_leaves] = (struct double_leaf){.leaf = leaf, .subleaf = subleaf};
	return cpu->leaves[cpu->nr_leaves++].abcd;
}

/* Leaves up to 7 and 0x80000008, SSE2, and the vendor's twelve letters in ebx, edx, ecx. */
static struct processor_double basic_cpu(const char *vendor) {
	struct processor_double cpu = {0};
	uint32_t *leaf0 = leaf_of(&cpu, 0, 0);
	leaf0[0] = 7;
	memcpy(&leaf0[1], vendor, 4);
	memcpy(&leaf0[3], vendor + 4, 4);
	memcpy(&leaf0[2], vendor + 8, 4);
	leaf_of(&cpu, 0x80000000u, 0)[0] = 0x80000008u;
	leaf_of(&cpu, 1, 0)[3] = 1u << 26;
	return cpu;
}

static struct hc_processor_id identified(struct processor_double *cpu, const char *mask) {
	struct hc_processor_source source = {.cpuid = cpuid_double, .xgetbv = xgetbv_double, .user = cpu};
	struct hc_processor_id id;
	hc_processor_identify(&source, mask, &id);
	assert_false(cpu->faulted);
	return id;
}

static bool skip_elsewhere(void) {
#if defined(__x86_64__)
	return false;
#else
	printf("CPUID and XCR0 are x86's\n");
	return true;
#endif
}

/* Bits as the manuals number them: register a..d and position. */
static const struct {
	const char *name;
	uint32_t leaf;
	unsigned reg, bit;
} row_bits[] = {
        {"OSXSAVE", 1, 2, 27},
        {"AVX", 1, 2, 28},
        {"AVX2", 7, 1, 5},
        {"ERMS", 7, 1, 9},
        {"AVX512F", 7, 1, 16},
        {"AVX512BW", 7, 1, 30},
        {"AVX512VL", 7, 1, 31},
        {"FSRM", 7, 3, 4},
        {"CLZERO", 0x80000008u, 1, 0},
};

static void set_bits(struct processor_double *cpu, const char *names) {
	if (strcmp(names, "-") == 0)
		return;
	for (const char *p = names; *p;) {
		size_t len = strcspn(p, "|");
		bool known = false;
		for (size_t i = 0; i < sizeof(row_bits) / sizeof(row_bits[0]); i++)
			if (strlen(row_bits[i].name) == len && memcmp(row_bits[i].name, p, len) == 0) {
				leaf_of(cpu, row_bits[i].leaf, 0)[row_bits[i].reg] |= 1u << row_bits[i].bit;
				known = true;
			}
		assert_true(known);
		p += len + (p[len] == '|');
	}
}

static bool has_word(const char *words, const char *word) {
	const char *p = strstr(words, word);
	return p && (p[strlen(word)] == ' ' || p[strlen(word)] == '\0') && (p == words || p[-1] == ' ');
}

static void feature_row(void *user, char **fields, unsigned nr_fields) {
	unsigned *rows = user;
	(*rows)++;
	assert_true(nr_fields == 8);
	struct processor_double cpu = basic_cpu("GenuineIntel");
	for (int i = 1; i <= 4; i++)
		set_bits(&cpu, fields[i]);
	char *end;
	cpu.xcr0 = strtoull(fields[5], &end, 16);
	cpu.may_xgetbv = end != fields[5] && strstr(fields[1], "OSXSAVE") != NULL;

	struct hc_processor_id id = identified(&cpu, NULL);
	static const struct {
		const char *engine;
		uint32_t bit;
		const char *cpuid_name;
	} engines[] = {
	        {"avx2", BIT(AVX2), "AVX2"},
	        {"avx512", BIT(AVX512F), "AVX512F"},
	        {"erms", BIT(ERMS), NULL},
	        {"clzero", BIT(CLZERO), NULL},
	};
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		bool allowed = has_word(fields[6], engines[i].engine);
		if (allowed != ((id.features & engines[i].bit) != 0))
			fail_msg("%s: %s is %sallowed", fields[0], engines[i].engine, allowed ? "" : "not ");
		/* what is there but not kept by the operating system is told apart from what isn't there */
		const char *there = engines[i].cpuid_name ? strstr(fields[2], engines[i].cpuid_name) : NULL;
		assert_int_equal((id.features_no_os & engines[i].bit) != 0, there && !allowed);
	}
	assert_true(id.features & BIT(SSE2));
}

static void test_CE_06_state_of_the_operating_system(void **state) {
	(void)state;
	if (skip_elsewhere())
		skip();
	unsigned rows = 0;
	fixture_rows("cpuid/features.tsv", feature_row, &rows);
	assert_int_equal(rows, 8);
}

/* Each single bit of XCR0 that AVX-512 needs, missing. */
static void test_CE_06_each_bit_of_xcr0(void **state) {
	(void)state;
	if (skip_elsewhere())
		skip();
	static const unsigned needed[] = {1, 2, 5, 6, 7};
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		struct processor_double cpu = basic_cpu("GenuineIntel");
		set_bits(&cpu, "OSXSAVE|AVX|AVX2|AVX512F");
		cpu.may_xgetbv = true;
		cpu.xcr0 = 0xe7u & ~(1u << needed[i]);
		struct hc_processor_id id = identified(&cpu, NULL);
		assert_false(id.features & BIT(AVX512F));
		assert_true(id.features_no_os & BIT(AVX512F));
		assert_int_equal((id.features & BIT(AVX2)) != 0, needed[i] > 2);
	}
}

/* A processor answers leaves beyond its last with those of its last (Intel) or with anything. */
static void test_leaves_beyond_the_last(void **state) {
	(void)state;
	if (skip_elsewhere())
		skip();
	struct processor_double cpu = basic_cpu("GenuineIntel");
	set_bits(&cpu, "OSXSAVE|AVX|AVX2|ERMS|CLZERO");
	cpu.may_xgetbv = true;
	cpu.xcr0 = 7;
	leaf_of(&cpu, 7, 1)[0] = 1u << 11; /* leaf 7 doesn't say that it has a subleaf 1 */
	assert_false(identified(&cpu, NULL).features & BIT(FSRS));
	leaf_of(&cpu, 7, 0)[0] = 1;
	leaf_of(&cpu, 7, 0)[2] |= 1u << 28;
	assert_int_equal(identified(&cpu, NULL).features,
	        BIT(SSE2) | BIT(AVX2) | BIT(ERMS) | BIT(FSRS) | BIT(MOVDIR64B) | BIT(CLZERO));

	leaf_of(&cpu, 0x80000000u, 0)[0] = 0x80000007u;
	leaf_of(&cpu, 0, 0)[0] = 6;
	assert_int_equal(identified(&cpu, NULL).features, BIT(SSE2));
	leaf_of(&cpu, 0x80000000u, 0)[0] = 0xffffffffu; /* no number of a leaf */
	leaf_of(&cpu, 0, 0)[0] = 0;
	assert_int_equal(identified(&cpu, NULL).features, 0);
}

static void test_names_and_numbers(void **state) {
	(void)state;
	if (skip_elsewhere())
		skip();
	struct processor_double cpu = basic_cpu("AuthenticAMD");
	/* 0x00a00f11: family 0xf + 0xa = 25, model 1, stepping 1 (Milan); 0x000806f8: family 6, model 0x8f, stepping 8 */
	leaf_of(&cpu, 1, 0)[0] = 0x00a00f11u;
	struct hc_processor_id id = identified(&cpu, NULL);
	assert_string_equal(id.vendor, "AuthenticAMD");
	assert_true(id.family == 25 && id.model == 1 && id.stepping == 1);
	leaf_of(&cpu, 1, 0)[0] = 0x000806f8u;
	id = identified(&cpu, NULL);
	assert_true(id.family == 6 && id.model == 0x8f && id.stepping == 8);
	assert_false(id.hypervisor);
	assert_string_equal(id.hypervisor_name, "");

	char brand[48] = "  AMD EPYC 7B13\t64-Core Processor      ";
	for (uint32_t i = 0; i < 3; i++)
		memcpy(leaf_of(&cpu, 0x80000002u + i, 0), brand + (size_t)16 * i, 16);
	assert_string_equal(identified(&cpu, NULL).model_name, "AMD EPYC 7B1364-Core Processor");
	memset(leaf_of(&cpu, 0x80000002u, 0), 'x', 16);
	memset(leaf_of(&cpu, 0x80000003u, 0), 'x', 16);
	memset(leaf_of(&cpu, 0x80000004u, 0), 'x', 16); /* all 48 bytes, no NUL */
	assert_int_equal(strlen(identified(&cpu, NULL).model_name), 48);

	static const struct {
		const char *signature, *behind, *name;
	} hypervisors[] = {
	        {"KVMKVMKVM\0\0\0", NULL, "KVM"},
	        {"Microsoft Hv", NULL, "Hyper-V"},
	        {"Microsoft Hv", "KVMKVMKVM\0\0\0", "KVM"},
	        {"VMwareVMware", NULL, "VMware"},
	        {"SomethingNew", NULL, "SomethingNew"},
	};
	leaf_of(&cpu, 1, 0)[2] |= 1u << 31;
	for (size_t i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++) {
		memcpy(leaf_of(&cpu, 0x40000000u, 0) + 1, hypervisors[i].signature, 12);
		memset(leaf_of(&cpu, 0x40000100u, 0), 0, 16);
		if (hypervisors[i].behind)
			memcpy(leaf_of(&cpu, 0x40000100u, 0) + 1, hypervisors[i].behind, 12);
		id = identified(&cpu, NULL);
		assert_true(id.hypervisor);
		assert_string_equal(id.hypervisor_name, hypervisors[i].name);
	}
}

static void test_mask_only_takes_away(void **state) {
	(void)state;
	if (skip_elsewhere())
		skip();
	struct processor_double cpu = basic_cpu("GenuineIntel");
	set_bits(&cpu, "OSXSAVE|AVX|AVX2|ERMS|AVX512F");
	cpu.may_xgetbv = true;
	cpu.xcr0 = 7;
	struct hc_processor_id id = identified(&cpu, "avx2,clzero,nonsense,avx,,ERMS");
	assert_int_equal(id.features, BIT(SSE2) | BIT(ERMS)); /* "ERMS" isn't a name, and avx2 is gone */
	assert_int_equal(id.features_masked, BIT(AVX2));
	assert_int_equal(id.features_no_os, BIT(AVX512F));
	id = identified(&cpu, "all");
	assert_int_equal(id.features, BIT(SSE2));
	assert_int_equal(id.features_masked, BIT(AVX2) | BIT(ERMS));
	id = identified(&cpu, "sse2");
	assert_int_equal(id.features_masked, BIT(SSE2));
	id = identified(&cpu, "");
	assert_int_equal(id.features_masked, 0);
}

/* A word that is no feature was taken for nothing, and what was measured was the wrong thing. */
static void test_mask_words(void **state) {
	(void)state;
	static const char *const fine[] = {
	        NULL, "", "all", "avx2,,erms,", "sse2,avx2,avx512f,erms,fsrm,fsrs,movdir64b,clzero,dczva"};
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
		assert_int_equal(hc_feature_mask_check(fine[i]), 0);
	static const char *const wrong[] = {"avx", "avx2,ERMS", "avx2, erms", "allx", "al", "avx2 erms"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(hc_feature_mask_check(wrong[i]), -EINVAL);
	assert_int_equal(hc_feature_mask_check("erms,avx,clzro"), -EINVAL);
	assert_non_null(strstr(hc_error_detail(), "'avx' is no feature"));
	assert_non_null(
	        strstr(hc_error_detail(), "all, sse2, avx2, avx512f, erms, fsrm, fsrs, movdir64b, clzero, dczva"));
}

static void test_kept_identity(void **state) {
	(void)state;
	const struct hc_processor_id *id = hc_processor_here();
	assert_non_null(id);
	assert_ptr_equal(id, hc_processor_here());
	for (int i = 0; i < HC_NR_FEATURES; i++)
		assert_true(strlen(hc_feature_name((enum hc_feature)i)) > 0);
}

/* The kernel's own view is the oracle: a flag that /proc/cpuinfo shows is one that may be used. */
static void test_against_cpuinfo(void **state) {
	(void)state;
	if (skip_elsewhere())
		skip();
	FILE *f = fopen("/proc/cpuinfo", "re");
	char *line = NULL, *flags = NULL;
	size_t size = 0;
	while (f && !flags && getline(&line, &size, f) > 0)
		if (strncmp(line, "flags\t", 6) == 0)
			flags = strdup(strchr(line, ':'));
	free(line);
	if (f)
		fclose(f);
	if (!flags) {
		printf("/proc/cpuinfo shows no flags\n");
		skip();
	}
	flags[strcspn(flags, "\n")] = '\0';

	struct hc_processor_id id;
	hc_processor_identify(NULL, NULL, &id);
	/* fsrs has no flag of its own in kernels before 6.6, nor dczva on x86 */
	static const enum hc_feature shown[] = {HC_FEATURE_SSE2, HC_FEATURE_AVX2, HC_FEATURE_AVX512F, HC_FEATURE_ERMS,
	        HC_FEATURE_FSRM, HC_FEATURE_MOVDIR64B, HC_FEATURE_CLZERO};
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (has_word(flags, hc_feature_name(shown[i])) != ((id.features & HC_FEATURE_BIT(shown[i])) != 0))
			fail_msg("%s differs from /proc/cpuinfo", hc_feature_name(shown[i]));
	assert_int_equal(has_word(flags, "hypervisor"), id.hypervisor);
	free(flags);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_CE_06_state_of_the_operating_system),
	        cmocka_unit_test(test_CE_06_each_bit_of_xcr0),
	        cmocka_unit_test(test_leaves_beyond_the_last),
	        cmocka_unit_test(test_names_and_numbers),
	        cmocka_unit_test(test_mask_only_takes_away),
	        cmocka_unit_test(test_mask_words),
	        cmocka_unit_test(test_kept_identity),
	        cmocka_unit_test(test_against_cpuinfo),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
