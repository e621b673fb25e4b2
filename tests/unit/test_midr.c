/* What an arm64 processor is, from its MIDR_EL1 or from /proc/cpuinfo. */
#include "support/support.h"

#include "sys/midr.h"

/* Of a machine with four Neoverse N1 r3p1, in the form of Linux' arch/arm64/kernel/cpuinfo.c. */
static const char n1[] = "processor\t: 0\n"
                         "BogoMIPS\t: 50.00\n"
                         "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid\n"
                         "CPU implementer\t: 0x41\n"
                         "CPU architecture: 8\n"
                         "CPU variant\t: 0x3\n"
                         "CPU part\t: 0xd0c\n"
                         "CPU revision\t: 1\n"
                         "\n"
                         "processor\t: 1\n"
                         "CPU implementer\t: 0x48\n"
                         "CPU variant\t: 0x1\n"
                         "CPU part\t: 0xd01\n"
                         "CPU revision\t: 0\n";

/* MIDR_EL1 of Neoverse N1 r3p1 is 0x413FD0C1: its Technical Reference Manual, B2.93. */
static void test_cpuinfo_gives_the_register_of_the_first_processor(void **state) {
	(void)state;
	uint32_t midr = 0;
	assert_true(hc_midr_from_cpuinfo(n1, &midr));
	assert_int_equal(midr, 0x413fd0c1);
}

static void test_cpuinfo_of_another_architecture_gives_nothing(void **state) {
	(void)state;
	static const char *const texts[] = {
	        "",
	        "\n",
	        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nstepping\t: 1\n",
	        /* a field that is missing, empty, no number, negative, too large, or has a tail */
	        "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n",
	        "CPU implementer\t: 0x41\nCPU variant\t: \nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
	        "CPU implementer\t: 0x41\nCPU variant\t:",
	        "CPU implementer\t: Arm\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
	        "CPU implementer\t: -1\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
	        "CPU implementer\t: 0x141\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
	        "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0x1d0c\nCPU revision\t: 1\n",
	        "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0cz\nCPU revision\t: 1\n",
	        "CPU implementer\t: 99999999999999999999\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
	        "NoCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint32_t midr = 7;
		if (hc_midr_from_cpuinfo(texts[i], &midr) || midr != 7)
			fail_msg("text %zu was read as %#x", i, midr);
	}
}

static void check(uint32_t midr, const char *vendor, const char *model_name, unsigned part, unsigned stepping) {
	struct hc_processor_id id = {.vendor = "old", .model_name = "old"};
	hc_midr_describe(midr, &id);
	assert_string_equal(id.vendor, vendor);
	assert_string_equal(id.model_name, model_name);
	assert_int_equal(id.family, midr >> 24);
	assert_int_equal(id.model, part);
	assert_int_equal(id.stepping, stepping);
}

static void test_processors_are_named(void **state) {
	(void)state;
	check(0x413fd0c1, "Arm", "Neoverse-N1", 0xd0c, 0x31);
	check(0x411fd070, "Arm", "Cortex-A57", 0xd07, 0x10); /* as qemu plays it */
	check(0x461f0010, "Fujitsu", "A64FX", 0x001, 0x10);
	check(0xc00fac30, "Ampere", "Ampere-1", 0xac3, 0x00);
}

/* Its numbers still tell it from others. */
static void test_unknown_processors_have_no_name(void **state) {
	(void)state;
	check(0x410fffff, "Arm", "", 0xfff, 0x0f);
	check(0x000f0510, "", "", 0x051, 0x00); /* qemu's "max" */
	check(0xffffffff, "", "", 0xfff, 0xff);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_cpuinfo_gives_the_register_of_the_first_processor),
	        cmocka_unit_test(test_cpuinfo_of_another_architecture_gives_nothing),
	        cmocka_unit_test(test_processors_are_named),
	        cmocka_unit_test(test_unknown_processors_have_no_name),
	};
	return cmocka_run_group_tests_name("midr", tests, NULL, NULL);
}
