/* Every method that can run here clears exactly its range, wherever it starts and ends. */
#include "support/support.h"

#include <errno.h>
#include <stdlib.h>

#include <hugeclear/clear.h>

#include "clear/methods.h"
#include "support/exact.h"
#include "sys/processor.h"

/* Calls fn for each method that this processor can run. */
static void for_each_method(void (*fn)(const struct hc_method *method)) {
	unsigned tried = 0;
	for (unsigned i = 0; i < hc_nr_methods; i++) {
		if (!hc_clear_method(i)->available)
			continue;
		fn(&hc_methods[i]);
		tried++;
	}
	assert_true(tried >= 1);
}

static void exact(const struct hc_method *method) {
	check_clears_exactly(method->name, method->clear, method->block);
}

static void test_clears_exactly_its_range(void **state) {
	(void)state;
	for_each_method(exact);
}

static void exact_long(const struct hc_method *method) {
	check_clears_exactly_long(method->name, method->clear);
}

static void test_CE_02_long_and_odd_lengths(void **state) {
	(void)state;
	for_each_method(exact_long);
}

static void nothing(const struct hc_method *method) {
	/* A loop that does before it tests would fault on each of these. */
	struct guarded area = guarded_open(4096);
	method->clear(area.begin, 0);
	method->clear(area.end, 0);
	method->clear(area.end - 1, 0);
	assert_memory_is(area.begin, 4096, FILL, method->name);
	guarded_close(&area);
}

static void test_CE_01_length_0_touches_nothing(void **state) {
	(void)state;
	for_each_method(nothing);
}

/* The rules that methods.h gives for the table itself. */
static void test_table_is_sound(void **state) {
	(void)state;
	assert_true(hc_nr_methods <= HC_METHODS_MAX);
	for (unsigned i = 0; i < hc_nr_methods; i++) {
		const struct hc_method *method = &hc_methods[i];
		const struct hc_clear_method *shown = hc_clear_method(i);
		assert_ptr_equal(hc_method_by_name(method->name), method);
		assert_string_equal(shown->name, method->name);
		assert_int_equal(method->features == 0, method->needs[0] == '\0');
		assert_int_equal(shown->available, (method->features & ~hc_processor_here()->features) == 0);
		assert_int_equal(shown->available, shown->lacks == NULL);
		assert_int_equal(shown->streaming, method->streaming);
	}
	assert_null(hc_clear_method(hc_nr_methods));
	assert_null(hc_method_by_name("stos"));

	const struct hc_preference *lists[] = {
	        hc_method_preferences.few, hc_method_preferences.cached, hc_method_preferences.streaming};
	for (unsigned l = 0; l < 3; l++) {
		unsigned last = 0;
		for (unsigned i = 0; i < HC_PREFERENCES_MAX && lists[l][i].name; i++) {
			assert_non_null(hc_method_by_name(lists[l][i].name));
			last = i;
		}
		assert_int_equal(hc_method_by_name(lists[l][last].name)->features | lists[l][last].where, 0);
	}
	assert_true(hc_method_preferences.few_up_to > 0 && hc_method_preferences.streams_from > 1);
}

static void test_CE_09_wanted_by_name(void **state) {
	(void)state;
	const struct hc_method *method = NULL;
	assert_ok(hc_method_wanted("memset", &method));
	assert_string_equal(method->name, "memset");

	assert_error(hc_method_wanted("avx1024", &method), EINVAL);
	assert_detail_has("'avx1024'");
	for (unsigned i = 0; i < hc_nr_methods; i++)
		assert_detail_has(hc_methods[i].name);

	for (unsigned i = 0; i < hc_nr_methods; i++) {
		const struct hc_clear_method *shown = hc_clear_method(i);
		if (shown->available) {
			assert_ok(hc_method_wanted(shown->name, &method));
			continue;
		}
		assert_error(hc_method_wanted(shown->name, &method), EOPNOTSUPP);
		assert_detail_has(shown->needs);
		assert_detail_has("available: ");
		assert_detail_has("memset");
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_table_is_sound),
	        cmocka_unit_test(test_clears_exactly_its_range),
	        cmocka_unit_test(test_CE_01_length_0_touches_nothing),
	        cmocka_unit_test(test_CE_02_long_and_odd_lengths),
	        cmocka_unit_test(test_CE_09_wanted_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
