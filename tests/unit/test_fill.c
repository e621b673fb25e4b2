/* Filling descriptors: every way writes what it is given, and nothing else. */
#include "support/support.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena/fill.h"
#include "sys/processor.h"

#define LINES 70

static void check_fill(hc_fill_fn fill) {
	unsigned char line[HC_FILL_LINE], *p = aligned_alloc(64, (LINES + 2) * (size_t)HC_FILL_LINE);
	assert_non_null(p);
	for (size_t i = 0; i < sizeof(line); i++)
		line[i] = (unsigned char)(i + 1);
	for (size_t nr = 0; nr <= LINES; nr++) {
		memset(p, 0xee, (LINES + 2) * (size_t)HC_FILL_LINE);
		fill(p + HC_FILL_LINE, nr, line);
		for (size_t i = 0; i < (LINES + 2) * (size_t)HC_FILL_LINE; i++) {
			bool within = i / HC_FILL_LINE >= 1 && i / HC_FILL_LINE <= nr;
			assert_int_equal(p[i], within ? i % HC_FILL_LINE + 1 : 0xee);
		}
	}
	free(p);
}

static void test_portable(void **state) {
	(void)state;
	check_fill(hc_fill_portable);
	check_fill(hc_fill);
	check_fill(hc_fill_choose());
}

#if defined(__x86_64__)
static void test_sse2(void **state) {
	(void)state;
	check_fill(hc_fill_sse2);
}

static void test_avx2(void **state) {
	(void)state;
	if (!(hc_processor_here()->features & HC_FEATURE_BIT(HC_FEATURE_AVX2))) {
		printf("this processor lacks avx2\n");
		skip();
	}
	check_fill(hc_fill_avx2);
}

static void test_avx512(void **state) {
	(void)state;
	if (!(hc_processor_here()->features & HC_FEATURE_BIT(HC_FEATURE_AVX512F))) {
		printf("this processor lacks avx512f\n");
		skip();
	}
	check_fill(hc_fill_avx512);
}
#endif

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_portable),
#if defined(__x86_64__)
		cmocka_unit_test(test_sse2),
		cmocka_unit_test(test_avx2),
		cmocka_unit_test(test_avx512),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
