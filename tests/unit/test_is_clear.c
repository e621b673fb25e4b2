/* hc_is_clear() sees every byte of its range and none outside. */
#include "support/support.h"

#include <stdlib.h>

#include <hugeclear/clear.h>

#include "support/exact.h"

/* Every length, at both guard pages: what is outside is FILL, or can't be read at all. */
static void test_every_byte_counts(void **state) {
	(void)state;
	struct guarded area = guarded_open(4096);
	for (size_t len = 1; len <= 1100; len++)
		for (unsigned side = 0; side < 2; side++)
			for (size_t offset = 0; offset < 17; offset++) {
				unsigned char *p = side == 0 ? area.begin + offset : area.end - offset - len;
				memset(p, 0, len);
				assert_int_equal(hc_is_clear(p, len), 1);
				/* Each place once for some offset, and both ends for all. */
				size_t places[] = {0, len - 1, (len * offset + offset) % len, len / 2};
				for (unsigned i = 0; i < 4; i++) {
					p[places[i]] = (unsigned char)(1u << offset % 8);
					assert_int_equal(hc_is_clear(p, len), 0);
					p[places[i]] = 0;
				}
				memset(p, FILL, len);
			}
	guarded_close(&area);
}

static void test_each_place_of_a_block(void **state) {
	(void)state;
	struct guarded area = guarded_open(4096);
	memset(area.begin, 0, 4096);
	for (size_t i = 0; i < 4096; i++) {
		area.begin[i] = 0x80;
		assert_int_equal(hc_is_clear(area.begin, 4096), 0);
		assert_int_equal(hc_is_clear(area.begin, i), 1);
		assert_int_equal(hc_is_clear(area.begin + i + 1, 4095 - i), 1);
		area.begin[i] = 0;
	}
	guarded_close(&area);
}

static void test_large(void **state) {
	(void)state;
	size_t len = (16 << 20) + 3;
	unsigned char *p = calloc(1, len);
	assert_non_null(p);
	assert_int_equal(hc_is_clear(p, len), 1);
	p[len - 1] = 1;
	assert_int_equal(hc_is_clear(p, len), 0);
	free(p);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_every_byte_counts),
	        cmocka_unit_test(test_each_place_of_a_block),
	        cmocka_unit_test(test_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
