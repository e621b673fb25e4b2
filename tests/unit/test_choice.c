/* Which method is taken: by features, caches, length and intent. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/clear.h>

#include "clear/choice.h"
#include "clear/methods.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static const struct hc_caches usual = {.l1d = 32 * KIB, .l2 = 1 * MIB, .l3 = 36 * MIB};

/* As clears look it up. */
static unsigned look_up(const struct hc_ladder *ladder, uint64_t len) {
	struct hc_packed_ladder packed;
	hc_ladder_pack(ladder, &packed);
	return hc_ladder_method(&packed, len);
}

#if defined(__x86_64__)

#define SSE2 HC_FEATURE_BIT(HC_FEATURE_SSE2)
#define AVX2 HC_FEATURE_BIT(HC_FEATURE_AVX2)
#define AVX512F HC_FEATURE_BIT(HC_FEATURE_AVX512F)
#define ERMS HC_FEATURE_BIT(HC_FEATURE_ERMS)
#define CLZERO HC_FEATURE_BIT(HC_FEATURE_CLZERO)

/*
 * The rows of cpuid/features.tsv, by the features that are left of them. What
 * the processor test proves is not proved again: here the question is what the
 * choice makes of them.
 */
static const struct {
	const char *row;
	uint32_t features;
	const char *few, *cached, *streaming;
} processors[] = {
        {"icelake-bare", SSE2 | AVX2 | AVX512F | ERMS, "avx2", "stosb", "avx512-nt"},
        {"avx512-cpuid-yes-os-no", SSE2 | AVX2 | ERMS, "avx2", "stosb", "avx2-nt"},
        {"only-opmask-enabled", SSE2 | AVX2, "avx2", "avx2", "avx2-nt"},
        {"avx-cpuid-yes-osxsave-no", SSE2 | ERMS, "sse2", "stosb", "sse2-nt"},
        {"ymm-disabled", SSE2 | ERMS, "sse2", "stosb", "sse2-nt"},
        {"zen4-azure-masked", SSE2 | AVX2 | ERMS | CLZERO, "avx2", "sse2", "clzero"},
        {"erms-masked", SSE2 | AVX2, "avx2", "avx2", "avx2-nt"},
        {"qemu64", SSE2, "sse2", "sse2", "sse2-nt"},
        {"no features at all", 0, "sse2", "sse2", "sse2-nt"},
};

static const char *chosen(const struct hc_choice *choice, enum hc_intent intent, uint64_t len) {
	return hc_methods[look_up(&choice->ladders[intent], len)].name;
}

static void test_CE_06_choice_by_processor(void **state) {
	(void)state;
	for (unsigned i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
		struct hc_choice choice;
		hc_choice_built_in(processors[i].features, &usual, &choice);
		const char *streaming = processors[i].streaming;
		assert_string_equal(chosen(&choice, HC_INTENT_SOON, 1), processors[i].few);
		assert_string_equal(chosen(&choice, HC_INTENT_SOON, 64 * KIB), processors[i].cached);
		assert_string_equal(chosen(&choice, HC_INTENT_SOON, 2 * MIB), processors[i].cached);
		assert_string_equal(chosen(&choice, HC_INTENT_SOON, UINT64_MAX), streaming);
		assert_string_equal(chosen(&choice, HC_INTENT_LATER, 1), processors[i].few);
		assert_string_equal(chosen(&choice, HC_INTENT_LATER, 4 * KIB), streaming);
		assert_string_equal(chosen(&choice, HC_INTENT_LATER, UINT64_MAX), streaming);
	}
}

#endif

/* Whatever a processor has: all it is given can run there, for any length. */
static void test_never_takes_what_is_not_there(void **state) {
	(void)state;
	for (uint32_t features = 0; features < HC_FEATURE_BIT(HC_NR_FEATURES); features++) {
		struct hc_choice choice;
		hc_choice_built_in(features, &usual, &choice);
		for (unsigned intent = 0; intent < HC_NR_INTENTS; intent++) {
			const struct hc_ladder *ladder = &choice.ladders[intent];
			assert_true(hc_ladder_is_whole(ladder));
			for (unsigned i = 0; i < ladder->nr_steps; i++) {
				const struct hc_method *method = &hc_methods[ladder->steps[i].method];
				assert_int_equal(method->features & ~features, 0);
				/* Works everywhere, but byte by byte. */
				if (strcmp(method->name, "stosb") == 0)
					assert_true(features & HC_FEATURE_BIT(HC_FEATURE_ERMS));
			}
		}
	}
}

/* The longest length that is still left in the cache for "soon". */
static uint64_t cached_up_to(uint64_t l2, uint64_t l3) {
	struct hc_caches caches = {.l2 = l2, .l3 = l3};
	struct hc_choice choice;
	hc_choice_built_in(UINT32_MAX, &caches, &choice);
	const struct hc_ladder *ladder = &choice.ladders[HC_INTENT_SOON];
	return ladder->steps[ladder->nr_steps - 2].up_to;
}

/* Rows of cpuid/cache.tsv. */
static void test_CE_08_caches_that_cannot_be(void **state) {
	(void)state;
	assert_int_equal(cached_up_to(0, 0), 2 * MIB);               /* zeroed-leaf, sysfs-missing: the default */
	assert_int_equal(cached_up_to(1 * MIB, 36 * MIB), 2 * MIB);  /* normal */
	assert_in_range(cached_up_to(4 * MIB, 0), 4 * MIB, 8 * MIB); /* no-l3 */
	assert_true(cached_up_to(2 * MIB, 260 * MIB) < 64 * MIB);    /* vm-huge-l3: 64 MiB can still stream */
	assert_true(cached_up_to(UINT64_MAX, UINT64_MAX) < 64 * MIB);
	assert_int_equal(cached_up_to(1, 1), 2 * MIB);
}

static void test_ladders(void **state) {
	(void)state;
	struct hc_ladder ladder = {0};
	assert_false(hc_ladder_is_whole(&ladder));
	assert_true(hc_ladder_add(&ladder, 10, 0));
	assert_false(hc_ladder_is_whole(&ladder));
	assert_false(hc_ladder_add(&ladder, 10, 0));
	assert_false(hc_ladder_add(&ladder, 9, 0));
	while (ladder.nr_steps < HC_CLEAR_PROFILE_STEPS_MAX - 1)
		assert_true(hc_ladder_add(&ladder, 10 + ladder.nr_steps, ladder.nr_steps));
	assert_true(hc_ladder_add(&ladder, UINT64_MAX, 99));
	assert_false(hc_ladder_add(&ladder, UINT64_MAX, 0));
	assert_true(hc_ladder_is_whole(&ladder));
	assert_int_equal(look_up(&ladder, 0), 0);
	assert_int_equal(look_up(&ladder, 10), 0);
	assert_int_equal(look_up(&ladder, 11), 1);
	assert_int_equal(look_up(&ladder, 24), 14);
	assert_int_equal(look_up(&ladder, 25), 99);
	assert_int_equal(look_up(&ladder, UINT64_MAX), 99);
}

/* What this very process does agrees with the pure function; this program again, with features taken away, does too. */
static void say_choice(void) {
	for (uint64_t len = 1; len <= 64 * MIB; len *= 2)
		printf("%s %s ", hc_clear_choice(len, HC_INTENT_SOON)->name,
		        hc_clear_choice(len, HC_INTENT_LATER)->name);
	for (unsigned i = 0; i < hc_nr_methods; i++)
		if (hc_clear_method(i)->available && hc_methods[i].features != 0)
			printf("available:%s ", hc_methods[i].name);
	char *memory = malloc(8 * MIB);
	memset(memory, 1, 8 * MIB);
	int r = hc_clear(memory, 8 * MIB);
	printf("cleared:%d", r == 0 && hc_is_clear(memory, 8 * MIB) == 1);
	free(memory);
}

static void masked(const char *mask, char *text, size_t text_size) {
	char command[256];
	setenv("HUGECLEAR_PROCESSOR_MASK", mask, 1);
	snprintf(command, sizeof(command), "/proc/%d/exe choice", (int)getpid());
	FILE *f = popen(command, "re");
	assert_non_null(f);
	size_t n = fread(text, 1, text_size - 1, f);
	text[n] = '\0';
	assert_int_equal(pclose(f), 0);
	unsetenv("HUGECLEAR_PROCESSOR_MASK");
}

static void test_CE_07_baseline_only(void **state) {
	(void)state;
	char text[4096];
	masked("all", text, sizeof(text));
	assert_contains(text, "cleared:1");
	assert_null(strstr(text, "avx"));
	assert_null(strstr(text, "clzero"));
	assert_null(strstr(text, "movdir64b"));
	assert_null(strstr(text, "stosb")); /* without ERMS never by itself */

	masked("avx512f,clzero", text, sizeof(text));
	assert_contains(text, "cleared:1");
	assert_null(strstr(text, "avx512"));
	assert_null(strstr(text, "clzero"));
}

static void test_choice_in_force(void **state) {
	(void)state;
	const char *error = "";
	assert_string_equal(hc_clear_profile(&error), "built-in");
	assert_null(error);
	for (unsigned shift = 0; shift < 48; shift++)
		for (int i = -1; i <= 1; i++)
			for (unsigned intent = 0; intent < HC_NR_INTENTS; intent++) {
				const struct hc_clear_method *method = hc_clear_choice(
				        (UINT64_C(1) << shift) + (uint64_t)i, (enum hc_intent)intent);
				assert_non_null(method);
				assert_true(method->available);
			}
	assert_non_null(hc_clear_choice(SIZE_MAX, HC_INTENT_LATER));
	assert_true(hc_clear_choice(4096, HC_INTENT_SOON)->streaming == 0);
	assert_ptr_equal(hc_clear_choice(1, (enum hc_intent)7), hc_clear_choice(1, HC_INTENT_SOON));
	assert_string_equal(hc_intent_name(HC_INTENT_SOON), "soon");
	assert_string_equal(hc_intent_name(HC_INTENT_LATER), "later");
	assert_null(hc_intent_name(HC_NR_INTENTS));
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "choice") == 0) {
		say_choice();
		return 0;
	}
	unsetenv("HUGECLEAR_PROFILE");
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(test_CE_06_choice_by_processor),
#endif
		cmocka_unit_test(test_never_takes_what_is_not_there),
		cmocka_unit_test(test_CE_08_caches_that_cannot_be),
		cmocka_unit_test(test_ladders),
		cmocka_unit_test(test_choice_in_force),
		cmocka_unit_test(test_CE_07_baseline_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
