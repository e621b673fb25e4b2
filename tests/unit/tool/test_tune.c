/* What `hugeclear tune` makes of its samples. The right values are counted by hand. */
#include "support/support.h"

#include <stdlib.h>

#include "tune.h"

static const struct hc_clear_method methods[] = {
        {.name = "plain", .available = 1},
        {.name = "fast", .available = 1},
        {.name = "nearly", .available = 1},
};

static struct tune *new_tune(unsigned nr_cells) {
	struct tune *tune = calloc(1, sizeof(*tune));
	assert_non_null(tune);
	tune->nr_methods = 3;
	for (unsigned i = 0; i < 3; i++)
		tune->methods[i] = &methods[i];
	tune->nr_cells = nr_cells;
	for (unsigned i = 0; i < nr_cells; i++)
		tune->cells[i] = (struct tune_cell){
		        .intent = HC_INTENT_LATER, .extent = UINT64_C(4096) << (2 * i), .sample_bytes = 1 << 30};
	return tune;
}

/* So many rounds of steady samples. */
static void fill(struct tune_cell *cell, unsigned rounds, uint64_t plain, uint64_t fast, uint64_t nearly) {
	cell->nr_rounds = rounds;
	for (unsigned i = 0; i < rounds; i++) {
		cell->ns[0][i] = plain;
		cell->ns[1][i] = fast;
		cell->ns[2][i] = nearly;
	}
}

static void test_a_clear_gain_is_taken(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	fill(&tune->cells[0], 9, 1000, 500, 900);
	assert_int_equal(tune_choose(&tune->cells[0], 3, 99), 1);
	struct tune_comparison comparison = tune_compare(&tune->cells[0], 1);
	assert_int_equal(comparison.nr_rounds, 9);
	assert_true(comparison.ratio == 2.0 && comparison.at_least == 2.0);
	/* 1 GiB in 1000 ns */
	assert_true(tune_speed(&tune->cells[0], 0) > 999999.9 && tune_speed(&tune->cells[0], 0) < 1000000.1);
	free(tune);
}

static void test_a_gain_within_the_margin_is_not(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	fill(&tune->cells[0], 20, 1030, 1001, 1000); /* 2.9 %, and exactly 3 % */
	assert_int_equal(tune_choose(&tune->cells[0], 3, 99), 0);
	fill(&tune->cells[0], 20, 1031, 1001, 1000); /* just below 3 %, and 3.1 % */
	assert_int_equal(tune_choose(&tune->cells[0], 3, 99), 2);
	free(tune);
}

/* Six rounds that agree happen by chance in 1 of 64 cases, seven in 1 of 128: below 1 %. */
static void test_too_few_rounds_change_nothing(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	fill(&tune->cells[0], 6, 1000, 100, 1000);
	assert_int_equal(tune_choose(&tune->cells[0], 3, 99), 0);
	assert_true(tune_compare(&tune->cells[0], 1).at_least == 0);
	fill(&tune->cells[0], 7, 1000, 100, 1000);
	assert_int_equal(tune_choose(&tune->cells[0], 3, 99), 1);
	fill(&tune->cells[0], 0, 0, 0, 0);
	assert_int_equal(tune_choose(&tune->cells[0], 3, 99), 0);
	assert_true(tune_speed(&tune->cells[0], 0) == 0);
	free(tune);
}

/* Faster by a fifth in the median of 9 rounds, but slower in two of them. */
static void test_noise_changes_nothing(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	struct tune_cell *cell = &tune->cells[0];
	fill(cell, 9, 1200, 1000, 1200);
	cell->ns[1][2] = cell->ns[1][5] = 1300;
	assert_true(tune_compare(cell, 1).ratio == 1.2);
	assert_true(tune_compare(cell, 1).at_least < 1);
	assert_int_equal(tune_choose(cell, 3, 99), 0);
	free(tune);
}

/*
 * P(Binomial(12, 1/2) <= 1) = 13/4096 = 0.3 %, <= 2 is 79/4096 = 1.9 %: of 12 rounds one
 * may be odd, two not.
 */
static void test_one_odd_round_of_twelve_is_forgiven(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	struct tune_cell *cell = &tune->cells[0];
	fill(cell, 12, 1200, 1000, 1200);
	cell->ns[1][4] = 5000;
	assert_int_equal(tune_choose(cell, 3, 99), 1);
	cell->ns[1][5] = 5000;
	assert_int_equal(tune_choose(cell, 3, 99), 0);
	free(tune);
}

/* A stretch in which everything takes ten times as long doesn't count: rounds are compared in themselves. */
static void test_a_slow_stretch_hits_all(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	struct tune_cell *cell = &tune->cells[0];
	fill(cell, 9, 1200, 1000, 1200);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned m = 0; m < 3; m++)
			cell->ns[m][i] *= 10;
	assert_true(tune_compare(cell, 1).at_least == 1.2);
	assert_int_equal(tune_choose(cell, 3, 99), 1);
	free(tune);
}

static void test_of_two_about_as_fast_the_one_before(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	fill(&tune->cells[0], 9, 1000, 500, 504);
	assert_int_equal(tune_choose(&tune->cells[0], 3, 99), 1);
	assert_int_equal(tune_choose(&tune->cells[0], 3, 2), 2);
	fill(&tune->cells[0], 9, 1000, 500, 510); /* 2 % behind is more than as good */
	assert_int_equal(tune_choose(&tune->cells[0], 3, 2), 1);
	/* A departure isn't undone because the cell before had the built-in choice. */
	assert_int_equal(tune_choose(&tune->cells[0], 3, 0), 1);
	free(tune);
}

static void test_far_behind_is_dropped_but_never_the_built_in(void **state) {
	(void)state;
	struct tune *tune = new_tune(1);
	struct tune_cell *cell = &tune->cells[0];
	fill(cell, 2, 1000, 5000, 1100);
	tune_drop(cell, 3);
	assert_false(cell->dropped[1]);
	fill(cell, 3, 1000, 5000, 1100);
	tune_drop(cell, 3);
	assert_true(cell->dropped[1]);
	assert_false(cell->dropped[2] || cell->dropped[0]);
	cell->builtin = 1;
	cell->dropped[1] = false;
	tune_drop(cell, 3);
	assert_false(cell->dropped[1]);
	free(tune);
}

static const struct hc_clear_profile_step builtin[] = {
        {HC_INTENT_LATER, "plain", 100},
        {HC_INTENT_LATER, "nearly", HC_UNKNOWN},
};

static void test_no_departure_has_no_steps(void **state) {
	(void)state;
	struct tune *tune = new_tune(3);
	const unsigned choices[] = {0, 0, 0};
	struct hc_clear_profile_step steps[HC_CLEAR_PROFILE_STEPS_MAX];
	assert_int_equal(tune_steps(tune, HC_INTENT_LATER, choices, builtin, 2, steps), 0);
	assert_int_equal(tune_steps(tune, HC_INTENT_SOON, choices, builtin, 2, steps), 0);
	free(tune);
}

static void assert_step(const struct hc_clear_profile_step *step, const char *method, uint64_t up_to) {
	assert_int_equal(step->intent, HC_INTENT_LATER);
	assert_string_equal(step->method, method);
	assert_true(step->up_to == up_to);
}

/* Extents 4 KiB, 16 KiB, 64 KiB: half way are 8 KiB and 32 KiB. */
static void test_steps_about_the_extents(void **state) {
	(void)state;
	struct tune *tune = new_tune(3);
	struct hc_clear_profile_step steps[HC_CLEAR_PROFILE_STEPS_MAX];

	tune->cells[1].builtin = tune->cells[2].builtin = 2;
	const unsigned middle[] = {0, 1, 2};
	/* The first cell keeps the built-in steps: "plain" to 100 bytes, "nearly" from there on. */
	assert_int_equal(tune_steps(tune, HC_INTENT_LATER, middle, builtin, 2, steps), 4);
	assert_step(&steps[0], "plain", 100);
	assert_step(&steps[1], "nearly", 8192);
	assert_step(&steps[2], "fast", 32768);
	assert_step(&steps[3], "nearly", HC_UNKNOWN);

	const unsigned from_the_middle[] = {0, 1, 1};
	assert_int_equal(tune_steps(tune, HC_INTENT_LATER, from_the_middle, builtin, 2, steps), 3);
	assert_step(&steps[2], "fast", HC_UNKNOWN);

	const unsigned all[] = {1, 1, 1};
	/* Up to half of the first extent nothing was measured. */
	assert_int_equal(tune_steps(tune, HC_INTENT_LATER, all, builtin, 2, steps), 3);
	assert_step(&steps[0], "plain", 100);
	assert_step(&steps[1], "nearly", 2048);
	assert_step(&steps[2], "fast", HC_UNKNOWN);
	free(tune);
}

/* Neighbours less than two powers apart, as 1 MiB and 2 MiB: what is between them is the upper one's. */
static void test_steps_of_close_extents_rise(void **state) {
	(void)state;
	struct tune *tune = new_tune(3);
	struct hc_clear_profile_step steps[HC_CLEAR_PROFILE_STEPS_MAX];
	tune->cells[0].extent = 1 << 20;
	tune->cells[1].extent = 2 << 20;
	tune->cells[2].extent = (2 << 20) + 1;
	const unsigned choices[] = {1, 0, 1};
	assert_int_equal(tune_steps(tune, HC_INTENT_LATER, choices, builtin, 2, steps), 5);
	assert_step(&steps[1], "nearly", 512 << 10);
	assert_step(&steps[2], "fast", 1 << 20);
	assert_step(&steps[3], "nearly", 2 << 20);
	assert_step(&steps[4], "fast", HC_UNKNOWN);
	free(tune);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_clear_gain_is_taken),
	        cmocka_unit_test(test_a_gain_within_the_margin_is_not),
	        cmocka_unit_test(test_too_few_rounds_change_nothing),
	        cmocka_unit_test(test_noise_changes_nothing),
	        cmocka_unit_test(test_one_odd_round_of_twelve_is_forgiven),
	        cmocka_unit_test(test_a_slow_stretch_hits_all),
	        cmocka_unit_test(test_of_two_about_as_fast_the_one_before),
	        cmocka_unit_test(test_far_behind_is_dropped_but_never_the_built_in),
	        cmocka_unit_test(test_no_departure_has_no_steps),
	        cmocka_unit_test(test_steps_about_the_extents),
	        cmocka_unit_test(test_steps_of_close_extents_rise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
