/*
 * Comparing: matching, verdicts in the sense of the metric, what is refused, and how often verdicts are wrong.
 * Figures are from paper, from the mails, or from scipy (tests/fixtures/bench/student.tsv).
 */
#include "support/support.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "base/random.h"
#include "results/compare.h"

#define FILES_MAX 32

/* ---- Making sides ---------------------------------------------------------------------- */

struct made {
	struct compare_side sides[COMPARE_SIDES];
	struct results_document *documents[COMPARE_SIDES][FILES_MAX];
};

static void add_text(struct made *made, int side, const char *text) {
	struct compare_side *to = &made->sides[side];
	to->documents = made->documents[side];
	char name[32];
	snprintf(name, sizeof(name), "%s-%zu", side == COMPARE_BASE ? "base" : "patched", to->nr_documents);
	assert_true(to->nr_documents < FILES_MAX);
	assert_ok(results_read_text(text, strlen(text), name, &to->documents[to->nr_documents]));
	to->nr_documents++;
}

static void add_file(struct made *made, int side, const char *path) {
	struct compare_side *to = &made->sides[side];
	to->documents = made->documents[side];
	assert_ok(results_read(path, &to->documents[to->nr_documents]));
	to->nr_documents++;
}

/* A file with one run of one sample. */
static void add_sample(struct made *made, int side, const char *unit, const char *better, double sample) {
	char text[512];
	snprintf(text, sizeof(text),
	        "{\"schema\":\"hugeclear-results/"
	        "1\",\"host\":{\"kernel\":\"6\"},\"runs\":[{\"bench\":\"clear\",\"metric\":\"m\","
	        "\"case\":{\"size\":4096},\"unit\":\"%s\",\"better\":\"%s\",\"samples\":[%.17g]}]}",
	        unit, better, sample);
	add_text(made, side, text);
}

static void made_end(struct made *made) {
	for (int side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < made->sides[side].nr_documents; i++)
			results_document_free(made->documents[side][i]);
}

static struct comparison *compared(const struct made *made) {
	struct comparison *comparison = NULL;
	assert_ok(compare(made->sides, &(struct compare_opts){0}, &comparison));
	return comparison;
}

static struct comparison *compared_files(struct made *made, const char *base, const char *patched) {
	*made = (struct made){0};
	add_file(made, COMPARE_BASE, base);
	add_file(made, COMPARE_PATCHED, patched);
	return compared(made);
}

static struct comparison *compared_fixtures(struct made *made, const char *base, const char *patched) {
	char path[COMPARE_SIDES][4096], name[128];
	snprintf(name, sizeof(name), "bench/%s.json", base);
	snprintf(path[0], sizeof(path[0]), "%s", fixture_path(name));
	snprintf(name, sizeof(name), "bench/%s.json", patched);
	snprintf(path[1], sizeof(path[1]), "%s", fixture_path(name));
	return compared_files(made, path[0], path[1]);
}

static void expect_pct(const struct compare_row *row, double expected, double tolerance) {
	assert_true(row->has_change);
	if (!(fabs(row->change_pct - expected) <= tolerance))
		fail_msg("%.6f %% isn't %.6f %%", row->change_pct, expected);
}

static void end(struct made *made, struct comparison *comparison) {
	assert_null(comparison_free(comparison));
	made_end(made);
}

/* ---- Published tables ------------------------------------------------------------------------ */

static void test_published_tables(void **state) {
	(void)state;
	static const struct {
		const char *base, *patched;
		double pct[2], tolerance;
	} tables[] = {
	        /* The second is 129.9 in the mail; 40.03 / 17.51 is 2.2861. */
	        {"milan-demand-base", "milan-demand-patched", {39.4, 128.6}, 0.05},
	        {"genoa-populate-base", "genoa-populate-patched", {106.6, 133.2}, 0.05},
	        {"bergamo-seconds-base", "bergamo-seconds-patched", {-50.64, -59.6}, 0.05},
	        {"sparc-boot-base", "sparc-boot-patched", {-52.1, NAN}, 0.05},
	        {"hugetlbfs-read-base", "hugetlbfs-read-patch1", {-4.2, -0.15}, 0.05},
	        {"hugetlbfs-read-base", "hugetlbfs-read-rerun", {-0.1, NAN}, 0.05},
	};
	const char *source = getenv("HC_TEST_SOURCE");
	assert_non_null(source);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char base[4096], patched[4096];
		snprintf(base, sizeof(base), "%s/examples/published/%s.json", source, tables[i].base);
		snprintf(patched, sizeof(patched), "%s/examples/published/%s.json", source, tables[i].patched);
		struct made made;
		struct comparison *comparison = compared_files(&made, base, patched);
		assert_int_equal(comparison->nr_rows, isnan(tables[i].pct[1]) ? 1 : 2);
		for (size_t k = 0; k < comparison->nr_rows; k++) {
			const struct compare_row *row = &comparison->rows[k];
			expect_pct(row, tables[i].pct[k], tables[i].tolerance);
			/* In its own direction: less time is faster, less throughput slower. */
			bool time = strcmp(row->unit, "s") == 0;
			assert_int_equal(row->speedup > 1, time ? row->change_pct < 0 : row->change_pct > 0);
			assert_int_equal(row->verdict, COMPARE_NO_VERDICT);
			assert_non_null(made.documents[0][0]->source);
		}
		end(&made, comparison);
	}
}

/* ---- Cases BN ------------------------------------------------------------------------------------ */

static void test_BN_01_one_sample(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "n1-a", "n1-b");
	const struct compare_row *row = &comparison->rows[0];
	expect_pct(row, 3.32, 0.005);
	assert_false(row->values[0].has_stdev || row->has_interval || row->has_test);
	assert_int_equal(row->verdict, COMPARE_NO_VERDICT);
	assert_contains(row->why, "one sample");
	end(&made, comparison);
}

static void test_BN_02_a_base_of_zero(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "zero-a", "zero-b");
	assert_false(comparison->rows[0].has_change || comparison->rows[0].has_interval);
	assert_contains(comparison->rows[0].why, "base is 0");
	end(&made, comparison);
}

static void test_BN_04_one_wild_value(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "outlier-a", "outlier-b");
	const struct compare_row *row = &comparison->rows[0];
	expect_pct(row, -28.50, 0.005);
	assert_true(fabs(row->t - -0.997) < 0.0005 && fabs(row->df - 4.00) < 0.005 && fabs(row->p - 0.375) < 0.0005);
	assert_true(row->low_pct < 0 && row->high_pct > 0);
	assert_int_equal(row->values[0].nr_far, 1);
	assert_true(row->values[0].farthest == 30.0 && row->values[0].median == 10.0);
	assert_true(fabs(row->values[1].median - 10.0) < 0.05);
	assert_contains(row->why, "don't differ");
	end(&made, comparison);
}

static void test_BN_05_units(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "unit-gb-a", "unit-gib-b");
	expect_pct(&comparison->rows[0], 0, 0.005);
	assert_string_equal(comparison->rows[0].converted_from, "GiB/s");
	end(&made, comparison);

	comparison = compared_fixtures(&made, "unit-unknown", "unit-unknown");
	expect_pct(&comparison->rows[0], 0, 0);
	end(&made, comparison);

	comparison = compared_fixtures(&made, "unit-unknown", "unit-gb-a");
	assert_int_equal(comparison->nr_rows, 0);
	assert_int_equal(comparison->nr_refused, 1);
	assert_contains(comparison->refused[0], "furlong/s");
	assert_contains(comparison->refused[0], "GB/s");
	end(&made, comparison);

	/* 1500 us are 1.5 ms. */
	made = (struct made){0};
	add_sample(&made, COMPARE_BASE, "ms", "lower", 1.5);
	add_sample(&made, COMPARE_PATCHED, "us", "lower", 1500);
	comparison = compared(&made);
	expect_pct(&comparison->rows[0], 0, 1e-9);
	end(&made, comparison);
}

static void test_BN_06_directions(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "seconds-a", "seconds-b");
	expect_pct(&comparison->rows[0], -50.64, 0.005);
	assert_true(fabs(comparison->rows[0].speedup - 2.026) < 0.0005);
	assert_true(compare_loss_pct(&comparison->rows[0]) == 0);
	end(&made, comparison);

	comparison = compared_fixtures(&made, "throughput-a", "throughput-b");
	expect_pct(&comparison->rows[0], 102.61, 0.005);
	end(&made, comparison);

	comparison = compared_fixtures(&made, "seconds-a", "direction-conflict");
	assert_int_equal(comparison->nr_rows, 0);
	assert_int_equal(comparison->nr_refused, 1);
	assert_contains(comparison->refused[0], "lower is better");
	end(&made, comparison);
}

static void test_BN_07_different_work_and_hosts(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "pg2m", "pg1g");
	assert_int_equal(comparison->nr_rows, 0);
	assert_int_equal(comparison->nr_unmatched, 2);
	assert_contains(comparison->unmatched[0], "page_size: 2M in base, 1G in patched");
	end(&made, comparison);

	comparison = compared_fixtures(&made, "pg2m", "pg2m-other-host");
	assert_int_equal(comparison->nr_rows, 1);
	assert_int_equal(comparison->nr_notes, 3);
	assert_contains(comparison->notes[0], "kernel: 6.18.0 in base, 6.1.0 in patched");
	assert_contains(comparison->notes[1], "processor: ");
	assert_contains(comparison->notes[2], "thp: madvise in base, never in patched");
	end(&made, comparison);
}

static void test_BN_10_fractions_of_nanoseconds(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "subns-a", "subns-b");
	expect_pct(&comparison->rows[0], 22.22, 0.005);
	end(&made, comparison);
}

static void test_BN_15_two_samples(void **state) {
	(void)state;
	struct made made;
	struct comparison *comparison = compared_fixtures(&made, "two-reps-a", "two-reps-b");
	const struct compare_row *row = &comparison->rows[0];
	expect_pct(row, 9.90, 0.005);
	assert_true(fabs(row->t - 7.07) < 0.005 && fabs(row->df - 2) < 0.005 && fabs(row->p - 0.0194) < 0.00005);
	/* Fieller's, by scipy. */
	assert_true(fabs(row->low_pct - 3.7620) < 0.0001 && fabs(row->high_pct - 16.4396) < 0.0001);
	assert_contains(row->why, "only 2 samples");
	end(&made, comparison);
}

/* ---- Pooling and verdicts ------------------------------------------------------------------------------ */

static struct comparison *of_runs(struct made *made, const char *better, const double *base, size_t nr_base,
        const double *patched, size_t nr_patched) {
	*made = (struct made){0};
	for (size_t i = 0; i < nr_base; i++)
		add_sample(made, COMPARE_BASE, "x", better, base[i]);
	for (size_t i = 0; i < nr_patched; i++)
		add_sample(made, COMPARE_PATCHED, "x", better, patched[i]);
	return compared(made);
}

static void test_verdicts_follow_what_is_better(void **state) {
	(void)state;
	const double low[] = {10, 10.1, 9.9, 10}, high[] = {11, 11.1, 10.9, 11};
	static const struct {
		const char *better;
		bool rises;
		enum compare_verdict verdict;
		double loss;
	} cases[] = {
	        {"higher", true, COMPARE_FASTER, 0},
	        {"higher", false, COMPARE_SLOWER, 9.0909},
	        {"lower", true, COMPARE_SLOWER, 10},
	        {"lower", false, COMPARE_FASTER, 0},
	};
	for (size_t i = 0; i < 4; i++) {
		struct made made;
		struct comparison *comparison = cases[i].rises ? of_runs(&made, cases[i].better, low, 4, high, 4)
		                                               : of_runs(&made, cases[i].better, high, 4, low, 4);
		assert_int_equal(comparison->rows[0].verdict, cases[i].verdict);
		assert_true(fabs(compare_loss_pct(&comparison->rows[0]) - cases[i].loss) < 0.001);
		assert_int_equal(comparison->rows[0].values[0].n, 4);
		end(&made, comparison);
	}
}

static void test_what_cannot_be_said(void **state) {
	(void)state;
	const double a[] = {10, 10.1, 9.9, 10}, b[] = {11, 11.1, 10.9}, still[] = {10, 10, 10}, other[] = {12, 12, 12};
	struct made made;
	struct comparison *comparison = of_runs(&made, "lower", a, 4, b, 2);
	assert_int_equal(comparison->rows[0].verdict, COMPARE_CANNOT_SAY);
	assert_contains(comparison->rows[0].why, "only 2 runs of patched");
	end(&made, comparison);

	comparison = of_runs(&made, "lower", a, 1, b, 3);
	assert_int_equal(comparison->rows[0].verdict, COMPARE_NO_VERDICT);
	assert_contains(comparison->rows[0].why, "one run of base");
	assert_false(comparison->rows[0].values[0].has_stdev_pct);
	assert_true(comparison->rows[0].values[1].has_stdev_pct);
	assert_false(comparison->rows[0].has_interval);
	end(&made, comparison);

	comparison = of_runs(&made, "lower", still, 3, other, 3);
	assert_int_equal(comparison->rows[0].verdict, COMPARE_CANNOT_SAY);
	end(&made, comparison);
	comparison = of_runs(&made, "lower", still, 3, still, 3);
	assert_int_equal(comparison->rows[0].verdict, COMPARE_NO_DIFFERENCE);
	end(&made, comparison);

	/* A mean that isn't told from 0 has no percentage of it. */
	const double around_zero[] = {-1, 1, 0.1};
	comparison = of_runs(&made, "lower", around_zero, 3, a, 4);
	assert_int_equal(comparison->rows[0].verdict, COMPARE_CANNOT_SAY);
	assert_contains(comparison->rows[0].why, "can't be told from 0");
	end(&made, comparison);
}

static void test_a_run_counts_once(void **state) {
	(void)state;
	/* The 3 of each run are one value, its median: 10, 20, 30, whose mean is 20 and deviation 10. */
	struct made made = {0};
	for (int side = 0; side < COMPARE_SIDES; side++) {
		for (int i = 1; i <= 3; i++) {
			char text[512];
			snprintf(text, sizeof(text),
			        "{\"schema\":\"hugeclear-results/"
			        "1\",\"runs\":[{\"bench\":\"b\",\"metric\":\"m\",\"case\":{},\"unit\":\"s\","
			        "\"better\":\"lower\",\"samples\":[%d,%d,900]}]}",
			        i * 10 - 1, i * 10);
			add_text(&made, side, text);
		}
	}
	struct comparison *comparison = compared(&made);
	const struct compare_value *value = &comparison->rows[0].values[0];
	assert_true(value->value == 20 && value->stdev == 10 && value->n == 3 && value->nr_runs == 3);
	assert_false(comparison->rows[0].within_run);
	end(&made, comparison);
}

static void add_cases(struct made *made, int side, const char *method, double first, double second) {
	char text[768];
	snprintf(text, sizeof(text),
	        "{\"schema\":\"hugeclear-results/1\",\"runs\":["
	        "{\"bench\":\"b\",\"metric\":\"one\",\"case\":{\"method\":\"%s\"},\"unit\":\"s\",\"better\":\"lower\","
	        "\"samples\":[%g]},"
	        "{\"bench\":\"b\",\"metric\":\"two\",\"case\":{\"method\":\"%s\"},\"unit\":\"s\",\"better\":\"lower\","
	        "\"samples\":[%g]}]}",
	        method, first, method, second);
	add_text(made, side, text);
}

static void test_settings_that_differ_from_run_to_run_are_no_difference(void **state) {
	(void)state;
	struct made made = {0};
	for (int side = 0; side < COMPARE_SIDES; side++) {
		char text[768];
		snprintf(text, sizeof(text),
		        "{\"schema\":\"hugeclear-results/"
		        "1\",\"host\":{\"boot_id\":\"%d\",\"cgroup\":{\"memory_left\":%d,\"cpu_quota_us\":%d},"
		        "\"pools\":[{\"page_size\":2097152,\"total\":%d,\"free\":%d}]},"
		        "\"runs\":[{\"bench\":\"b\",\"case\":{},\"unit\":\"s\",\"better\":\"lower\",\"mean\":1}]}",
		        side, side, 7 + side, 512 + side, side);
		add_text(&made, side, text);
	}
	struct comparison *comparison = compared(&made);
	assert_int_equal(comparison->nr_notes, 2);
	assert_string_equal(comparison->notes[0], "cgroup cpu_quota_us: 7 in base, 8 in patched");
	assert_string_equal(comparison->notes[1], "pools 2M total: 512 in base, 513 in patched");
	end(&made, comparison);
}

static void test_what_is_too_short_for_the_clock_has_no_verdict(void **state) {
	(void)state;
	struct made made = {0};
	for (int side = 0; side < COMPARE_SIDES; side++) {
		for (int i = 0; i < 4; i++) {
			char text[512];
			snprintf(text, sizeof(text),
			        "{\"schema\":\"hugeclear-results/"
			        "1\",\"runs\":[{\"bench\":\"b\",\"case\":{},\"unit\":\"s\",\"better\":\"lower\","
			        "\"below_clock_resolution\":true,\"samples\":[%d]}]}",
			        10 + side * 100 + i);
			add_text(&made, side, text);
		}
	}
	struct comparison *comparison = compared(&made);
	assert_int_equal(comparison->rows[0].verdict, COMPARE_CANNOT_SAY);
	assert_contains(comparison->rows[0].why, "clock");
	end(&made, comparison);
}

static void test_across_and_metric(void **state) {
	(void)state;
	struct made made = {0};
	add_cases(&made, COMPARE_BASE, "stosb", 2, 4);
	add_cases(&made, COMPARE_PATCHED, "clzero", 1, 4);
	struct comparison *comparison = compared(&made);
	assert_int_equal(comparison->nr_rows, 0);
	comparison_free(comparison);

	char *across[] = {(char[]){"method"}, NULL}, *metrics[] = {(char[]){"one"}, NULL};
	assert_ok(compare(made.sides, &(struct compare_opts){.across = across, .metrics = metrics}, &comparison));
	assert_int_equal(comparison->nr_rows, 1);
	expect_pct(&comparison->rows[0], -50, 0);
	end(&made, comparison);

	/* Two of a file that differ in nothing else: which one is meant? */
	made = (struct made){0};
	add_text(&made, COMPARE_BASE,
	        "{\"schema\":\"hugeclear-results/1\",\"runs\":["
	        "{\"bench\":\"b\",\"case\":{\"method\":\"x\"},\"unit\":\"s\",\"better\":\"lower\",\"mean\":1},"
	        "{\"bench\":\"b\",\"case\":{\"method\":\"y\"},\"unit\":\"s\",\"better\":\"lower\",\"mean\":1}]}");
	add_sample(&made, COMPARE_PATCHED, "s", "lower", 1);
	assert_error(compare(made.sides, &(struct compare_opts){.across = across}, &comparison), EINVAL);
	assert_detail_has("base-0: two runs are the same work");
	made_end(&made);
}

/* ---- How often verdicts are wrong ------------------------------------------------------------------------- */

static uint64_t random_state;

static double uniform(void) {
	return ((double)(hc_random_next(&random_state) >> 11) + 0.5) / 9007199254740992.0;
}

/* By Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958. */
static double normal(void) {
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* 10 runs a side of 5 samples, runs scatter by 1.5 %, samples of a run by 1 %; rows that share nothing. */
#define SIMULATED_RUNS 10

/* What the machine was at in each round, as both sides met it, and whether the files say that they did. */
struct moments {
	double factors[SIMULATED_RUNS];
	bool told;
};

static void simulate_side(struct made *made, int side, unsigned rows, double factor, const struct moments *moments) {
	for (int run = 0; run < SIMULATED_RUNS; run++) {
		char text[8192], round[32] = "";
		if (moments->told)
			snprintf(round, sizeof(round), "\"round\":\"one/%d\",", run);
		size_t at = (size_t)snprintf(text, sizeof(text),
		        "{\"schema\":\"hugeclear-results/1\",%s\"host\":{\"kernel\":\"6\"},\"runs\":[", round);
		for (unsigned row = 0; row < rows; row++) {
			double mean = 10 * factor * (1 + 0.015 * normal()) * moments->factors[run];
			at += (size_t)snprintf(text + at, sizeof(text) - at,
			        "%s{\"bench\":\"b\",\"metric\":\"m\",\"case\":{\"row\":%u},\"unit\":\"GiB/"
			        "s\",\"better\":\"higher\",\"samples\":[",
			        row > 0 ? "," : "", row);
			for (int sample = 0; sample < 5; sample++)
				at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.17g", sample > 0 ? "," : "",
				        mean * (1 + 0.01 * normal()));
			at += (size_t)snprintf(text + at, sizeof(text) - at, "]}");
		}
		snprintf(text + at, sizeof(text) - at, "]}");
		add_text(made, side, text);
	}
}

/* Of so many comparisons of rows each, on a machine that drifts: how many have a row of that verdict. */
static unsigned simulate_drift(unsigned comparisons, unsigned rows, double factor, double drift, bool told,
        bool (*counts)(enum compare_verdict)) {
	unsigned found = 0;
	for (unsigned i = 0; i < comparisons; i++) {
		struct made made = {0};
		struct moments moments = {.told = told};
		for (int run = 0; run < SIMULATED_RUNS; run++)
			moments.factors[run] = drift > 0 ? exp(drift * normal()) : 1;
		simulate_side(&made, COMPARE_BASE, rows, 1, &moments);
		simulate_side(&made, COMPARE_PATCHED, rows, factor, &moments);
		struct comparison *comparison = compared(&made);
		assert_int_equal(comparison->nr_rows, rows);
		bool any = false;
		for (unsigned k = 0; k < rows; k++)
			any = any || counts(comparison->rows[k].verdict);
		found += any;
		end(&made, comparison);
	}
	return found;
}

static unsigned simulate(unsigned comparisons, unsigned rows, double factor, bool (*counts)(enum compare_verdict)) {
	return simulate_drift(comparisons, rows, factor, 0, false, counts);
}

static bool is_a_difference(enum compare_verdict verdict) {
	return verdict != COMPARE_NO_DIFFERENCE;
}

static bool is_slower(enum compare_verdict verdict) {
	return verdict == COMPARE_SLOWER;
}

static void test_equal_sides_seldom_differ(void **state) {
	(void)state;
	random_state = 1;
	unsigned found = simulate(40, 1, 1, is_a_difference);
	print_message("40 equal: %u\n", found);
	assert_true(found <= 4);
	/* The binomial of 1000 and 0.05 is between 30 and 72 in 998 of 1000; with 10 rows for the table as a whole. */
	/* What follows is arithmetic, and takes sanitizers long. */
	if (under_sanitizer())
		return;
	found = simulate(1000, 1, 1, is_a_difference);
	print_message("1000 equal: %u\n", found);
	assert_true(found >= 30 && found <= 72);
	found = simulate(200, 10, 1, is_a_difference);
	print_message("200 of 10 rows: %u\n", found);
	/* 200 and 0.05: at most 20 in 998 of 1000. Without allowing for the rows it would be 80. */
	assert_true(found <= 20);
}

static void test_a_slowdown_of_3_percent_is_found(void **state) {
	(void)state;
	random_state = 1;
	unsigned found = simulate(40, 1, 0.97, is_slower);
	print_message("40 slower by 3 %%: %u\n", found);
	assert_true(found >= 32);
}

/* Neighbours take a tenth of the memory's speed in one round and give it back in the next. */
static void test_rounds_see_through_drift(void **state) {
	(void)state;
	random_state = 1;
	unsigned found = simulate_drift(40, 1, 1, 0.1, true, is_a_difference);
	print_message("40 equal, in rounds: %u\n", found);
	assert_true(found <= 4);
	if (!under_sanitizer()) {
		found = simulate_drift(1000, 1, 1, 0.1, true, is_a_difference);
		print_message("1000 equal, in rounds: %u\n", found);
		assert_true(found >= 30 && found <= 72);
	}
	found = simulate_drift(40, 1, 0.97, 0.1, true, is_slower);
	print_message("40 slower by 3 %%, in rounds: %u\n", found);
	assert_true(found >= 32);
	/* Where the files don't say which runs were together, it is lost in the drift. */
	found = simulate_drift(40, 1, 0.97, 0.1, false, is_slower);
	print_message("40 slower by 3 %%, apart: %u\n", found);
	assert_true(found <= 8);
}

/* ---- Rounds ---------------------------------------------------------------------------- */

static void add_round(struct made *made, int side, const char *round, double sample) {
	char text[512];
	snprintf(text, sizeof(text),
	        "{\"schema\":\"hugeclear-results/1\",\"round\":\"%s\",\"runs\":[{\"bench\":\"clear\",\"metric\":\"m\","
	        "\"case\":{\"size\":4096},\"unit\":\"s\",\"better\":\"lower\",\"samples\":[%.17g]}]}",
	        round, sample);
	add_text(made, side, text);
}

/* Base 1, 2, 4 and 8; patched 10 % more, and a bit, whichever order the files are in. */
static void test_runs_of_a_round_are_compared(void **state) {
	(void)state;
	struct made made = {0};
	add_round(&made, COMPARE_BASE, "a/1", 1);
	add_round(&made, COMPARE_BASE, "a/2", 2);
	add_round(&made, COMPARE_BASE, "a/3", 4);
	add_round(&made, COMPARE_BASE, "b/1", 8);
	add_round(&made, COMPARE_PATCHED, "b/1", 8.8 * 1.01);
	add_round(&made, COMPARE_PATCHED, "a/3", 4.4 / 1.01);
	add_round(&made, COMPARE_PATCHED, "a/1", 1.1 * 1.01);
	add_round(&made, COMPARE_PATCHED, "a/2", 2.2 / 1.01);
	struct comparison *comparison = compared(&made);
	const struct compare_row *row = &comparison->rows[0];
	assert_true(row->paired && !row->within_run);
	expect_pct(row, 10, 1e-9);
	assert_true(row->df == 3 && row->low_pct > 7 && row->high_pct < 13 && fabs(row->speedup - 1 / 1.1) < 1e-9);
	assert_int_equal(row->verdict, COMPARE_SLOWER);
	/* The sides' own values stay what they are. */
	assert_true(row->values[COMPARE_BASE].value == 3.75);
	end(&made, comparison);
}

static void test_runs_without_a_partner_are_compared_as_sides(void **state) {
	(void)state;
	static const char *const rounds[][2][3] = {
	        {{"a/1", "a/2", "a/3"}, {"a/1", "a/2", "b/3"}},
	        {{"a/1", "a/2", "a/3"}, {"a/1", "a/1", "a/3"}},
	        {{"a/1", "a/1", "a/3"}, {"a/1", "a/2", "a/3"}},
	};
	for (size_t i = 0; i < sizeof(rounds) / sizeof(*rounds); i++) {
		struct made made = {0};
		for (int run = 0; run < 3; run++) {
			add_round(&made, COMPARE_BASE, rounds[i][0][run], 1 << run);
			add_round(&made, COMPARE_PATCHED, rounds[i][1][run], 1.1 * (1 << run));
		}
		struct comparison *comparison = compared(&made);
		assert_false(comparison->rows[0].paired);
		assert_int_not_equal(comparison->rows[0].verdict, COMPARE_SLOWER);
		end(&made, comparison);
	}
	/* More of one side; then values of which there is no ratio. */
	struct made made = {0};
	for (int run = 0; run < 4; run++)
		add_round(&made, COMPARE_BASE, (const char *[]){"a/1", "a/2", "a/3", "a/4"}[run], 1 << run);
	for (int run = 0; run < 3; run++)
		add_round(&made, COMPARE_PATCHED, (const char *[]){"a/1", "a/2", "a/3"}[run], 1 << run);
	struct comparison *comparison = compared(&made);
	assert_false(comparison->rows[0].paired);
	end(&made, comparison);
	made = (struct made){0};
	for (int run = 0; run < 3; run++) {
		add_round(&made, COMPARE_BASE, (const char *[]){"a/1", "a/2", "a/3"}[run], run - 5);
		add_round(&made, COMPARE_PATCHED, (const char *[]){"a/1", "a/2", "a/3"}[run], run - 5.5);
	}
	comparison = compared(&made);
	assert_false(comparison->rows[0].paired);
	assert_true(comparison->rows[0].has_test);
	end(&made, comparison);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_published_tables),
	        cmocka_unit_test(test_BN_01_one_sample),
	        cmocka_unit_test(test_BN_02_a_base_of_zero),
	        cmocka_unit_test(test_BN_04_one_wild_value),
	        cmocka_unit_test(test_BN_05_units),
	        cmocka_unit_test(test_BN_06_directions),
	        cmocka_unit_test(test_BN_07_different_work_and_hosts),
	        cmocka_unit_test(test_BN_10_fractions_of_nanoseconds),
	        cmocka_unit_test(test_BN_15_two_samples),
	        cmocka_unit_test(test_verdicts_follow_what_is_better),
	        cmocka_unit_test(test_what_cannot_be_said),
	        cmocka_unit_test(test_a_run_counts_once),
	        cmocka_unit_test(test_settings_that_differ_from_run_to_run_are_no_difference),
	        cmocka_unit_test(test_what_is_too_short_for_the_clock_has_no_verdict),
	        cmocka_unit_test(test_across_and_metric),
	        cmocka_unit_test(test_equal_sides_seldom_differ),
	        cmocka_unit_test(test_a_slowdown_of_3_percent_is_found),
	        cmocka_unit_test(test_rounds_see_through_drift),
	        cmocka_unit_test(test_runs_of_a_round_are_compared),
	        cmocka_unit_test(test_runs_without_a_partner_are_compared_as_sides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
