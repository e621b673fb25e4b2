/* The harness, with benchmarks made up for it: what runs when, and what ends up in the results. */
#include "support/support.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/error.h"
#include "bench/harness.h"
#include "cli.h"

#define CASES 4
#define LOG_MAX 4096

/* One made-up benchmark: sample i is worth i + 1 and takes ns_a_repeat. */
static struct {
	char log[LOG_MAX]; /* "s0" sample, "c0" check of case 0 ... */
	uint64_t ns_a_repeat;
	unsigned samples;
	unsigned interrupt_at, fail_at, late_at; /* sample numbers; 0: never */
	int fail_with;                           /* 0: EIO */
	int opened, closed;
	unsigned long long option;
} fake;

static int fake_state;

static void note(char what, size_t i) {
	size_t at = strlen(fake.log);
	snprintf(fake.log + at, sizeof(fake.log) - at, "%c%zu ", what, i);
}

static void *create(void) {
	fake.opened++;
	return &fake_state;
}

static void destroy(void *state) {
	assert_ptr_equal(state, &fake_state);
	fake.closed++;
}

static int option(void *state, const char *verb, int c, const char *value) {
	(void)state, (void)verb;
	assert_int_equal(c, 'x');
	fake.option = strtoull(value, NULL, 10);
	return 0;
}

static int set_up(void *state, struct bench_run *run) {
	(void)state;
	assert_non_null(run->machine);
	for (int i = 0; i < CASES; i++)
		assert_ok(bench_add_case(run, json_pack("{s:i}", "number", i), NULL));
	bench_note(run, "a note with %d", 17);
	return 0;
}

static int sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample) {
	(void)state;
	note('s', i);
	fake.samples++;
	if (fake.samples == fake.interrupt_at)
		raise(SIGTERM);
	if (fake.samples == fake.fail_at)
		return hc_fail(fake.fail_with ? fake.fail_with : EIO, "the sample broke");
	ret_sample->ns = fake.ns_a_repeat * repeats + (fake.samples == fake.late_at ? 5000000 : 0);
	ret_sample->values[0] = (double)i + 1;
	ret_sample->values[1] = i == 0 ? 0.5 : NAN;
	return 0;
}

static int check(void *state, size_t i) {
	(void)state;
	note('c', i);
	return 0;
}

static void print(const void *state, const struct bench_run *run, FILE *out) {
	(void)state;
	struct statistics s;
	for (size_t i = 0; i < run->nr_cases; i++)
		if (bench_statistics(run, i, 0, &s))
			fprintf(out, "case %zu: %g of %zu\n", i, s.mean, s.n);
}

static const struct option options[] = {{"extra", required_argument, NULL, 'x'}, {0}};

static const struct bench bench = {
        .name = "fake",
        .title = "made up",
        .summary = "Made up.",
        .help = "",
        .metrics = {{"throughput", "GiB/s", true}, {"seconds", "s", false}},
        .nr_metrics = 2,
        .short_options = "x:",
        .long_options = options,
        .create = create,
        .option = option,
        .set_up = set_up,
        .sample = sample,
        .check = check,
        .print = print,
        .destroy = destroy,
};

static char *folder;

static int begin(void **state) {
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.ns_a_repeat = 100000000;
	folder = temp_folder();
	return 0;
}

static int end(void **state) {
	(void)state;
	temp_folder_remove(folder);
	assert_int_equal(fake.opened, fake.closed);
	return 0;
}

static const char *results_path(void) {
	static char path[4096];
	snprintf(path, sizeof(path), "%s/results.json", folder);
	return path;
}

/* Runs it with these words and -o; what it prints goes away. */
static int run(const char *words) {
	char copy[256], *argv[16] = {(char[]){"fake"}};
	int argc = 1;
	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc++] = (char[]){"-o"};
	argv[argc++] = (char[]){"?"};
	char path[4096];
	snprintf(path, sizeof(path), "%s", results_path());
	argv[argc - 1] = path;
	argv[argc] = NULL;
	fflush(stdout);
	int kept = dup(STDOUT_FILENO), kept_err = dup(STDERR_FILENO);
	assert_true(freopen("/dev/null", "we", stdout) && freopen("/dev/null", "we", stderr));
	int code = bench_main(&bench, argc, argv);
	fflush(stdout);
	fflush(stderr);
	dup2(kept, STDOUT_FILENO);
	dup2(kept_err, STDERR_FILENO);
	close(kept);
	close(kept_err);
	return code;
}

static json_t *read_results(void) {
	json_error_t error;
	json_t *document = json_load_file(results_path(), 0, &error);
	if (!document)
		fail_msg("%s", error.text);
	return document;
}

static void test_warm_up_then_every_case_once_a_loop_in_changing_order(void **state) {
	(void)state;
	assert_int_equal(run("-l 6 -x 42"), 0);
	assert_int_equal(fake.option, 42);
	const char *warm_up = "s0 c0 s1 c1 s2 c2 s3 c3 ";
	assert_int_equal(strncmp(fake.log, warm_up, strlen(warm_up)), 0);

	const char *loops = fake.log + strlen(warm_up);
	assert_int_equal(strlen(loops), 6 * CASES * 3);
	bool changes = false;
	for (int loop = 0; loop < 6; loop++) {
		const char *this_loop = loops + loop * CASES * 3;
		for (int i = '0'; i < '0' + CASES; i++) {
			unsigned found = 0;
			for (int k = 0; k < CASES; k++)
				found += this_loop[k * 3] == 's' && this_loop[k * 3 + 1] == i;
			assert_int_equal(found, 1);
		}
		changes = changes || strncmp(this_loop, loops, CASES * 3) != 0;
	}
	assert_true(changes);

	/* The same seed gives the same order, another one another. */
	char first[LOG_MAX];
	snprintf(first, sizeof(first), "%s", fake.log);
	fake.log[0] = '\0';
	assert_int_equal(run("-l 6"), 0);
	assert_string_equal(fake.log, first);
	fake.log[0] = '\0';
	assert_int_equal(run("-l 6 --seed 2"), 0);
	assert_string_not_equal(fake.log, first);
}

static void test_results_hold_loops_and_the_cold_one_apart(void **state) {
	(void)state;
	assert_int_equal(run("-l 3"), 0);
	json_t *document = read_results(), *runs = json_object_get(document, "runs"), *one;
	assert_int_equal(json_array_size(runs), CASES + 1); /* one case has a second metric */
	size_t i;
	json_array_foreach(runs, i, one) {
		assert_int_equal(json_array_size(json_object_get(one, "samples")), 3);
		assert_int_equal(json_array_size(json_object_get(one, "warmup")), 1);
		assert_string_equal(json_string_value(json_object_get(one, "bench")), "fake");
		assert_null(json_object_get(json_object_get(one, "case"), "loops"));
	}
	one = json_array_get(runs, 1);
	assert_string_equal(json_string_value(json_object_get(one, "metric")), "seconds");
	assert_string_equal(json_string_value(json_object_get(one, "better")), "lower");
	assert_non_null(json_object_get(document, "host"));
	assert_null(json_object_get(document, "interrupted"));
	assert_string_equal(
	        json_string_value(json_array_get(json_object_get(document, "notes"), 0)), "fake: a note with 17");
	json_decref(document);
}

static void test_BN_14_short_work_is_repeated_in_one_sample(void **state) {
	(void)state;
	fake.ns_a_repeat = 10;
	assert_int_equal(run("-l 2"), 0);
	json_t *document = read_results(), *one = json_array_get(json_object_get(document, "runs"), 0);
	/* 1 ms a sample. */
	assert_true(json_integer_value(json_object_get(json_object_get(one, "got"), "repeats")) >= 100000);
	assert_null(json_object_get(one, "below_clock_resolution"));
	json_decref(document);
}

/* A thread that lost its CPU for 5 ms once, at any time of the calibration: 0.5 us of work looked like long work. */
static void test_BN_02_a_late_sample_is_no_long_work(void **state) {
	(void)state;
	for (fake.late_at = 1; fake.late_at <= 6; fake.late_at++) {
		fake.ns_a_repeat = 500;
		fake.samples = 0;
		assert_int_equal(run("-l 1"), 0);
		json_t *document = read_results(), *one = json_array_get(json_object_get(document, "runs"), 0);
		/* 1 ms of it. */
		assert_true(json_integer_value(json_object_get(json_object_get(one, "got"), "repeats")) >= 2000);
		json_decref(document);
	}
	fake.late_at = 0;
}

static void test_BN_02_work_that_takes_no_time_ends_and_is_flagged(void **state) {
	(void)state;
	fake.ns_a_repeat = 0;
	assert_int_equal(run("-l 1"), 0);
	json_t *document = read_results(), *one = json_array_get(json_object_get(document, "runs"), 0);
	assert_true(json_is_true(json_object_get(one, "below_clock_resolution")));
	assert_true(json_is_null(json_object_get(one, "stdev_pct"))); /* BN-01 */
	json_decref(document);
}

static void test_a_failure_writes_nothing(void **state) {
	(void)state;
	fake.fail_at = CASES + 3;
	assert_int_equal(run("-l 3"), HC_EXIT_FAILED);
	assert_int_equal(access(results_path(), F_OK), -1);
}

/* As where another program takes a pool's pages. Sample 10 is in the second loop: one of 4 cases, and 4, and 1 are before it. */
static void test_memory_that_goes_leaves_what_was_measured(void **state) {
	(void)state;
	fake.fail_at = 10;
	fake.fail_with = ENOMEM;
	assert_int_equal(run("-l 3"), HC_EXIT_LESS);
	json_t *document = json_load_file(results_path(), 0, NULL);
	assert_non_null(document);
	assert_true(json_is_true(json_object_get(document, "interrupted")));
	size_t samples = 0, i;
	json_t *one;
	json_array_foreach(json_object_get(document, "runs"), i,
	        one) if (strcmp(json_string_value(json_object_get(one, "metric")), "throughput") == 0)
	        samples += json_array_size(json_object_get(one, "samples"));
	assert_int_equal(samples, 5);
	json_t *notes = json_object_get(document, "notes");
	assert_string_equal(json_string_value(json_array_get(notes, json_array_size(notes) - 1)),
	        "fake: not all was measured: the sample broke");
	json_decref(document);

	/* Nothing yet: the warm-up isn't a result. */
	assert_int_equal(unlink(results_path()), 0);
	fake.samples = 0;
	fake.fail_at = 4;
	assert_int_equal(run("-l 3"), HC_EXIT_LESS);
	assert_int_equal(access(results_path(), F_OK), -1);
}

static void test_usage_errors_touch_nothing(void **state) {
	(void)state;
	assert_int_equal(run("-l 0"), HC_EXIT_USAGE);
	assert_int_equal(run("-l -1"), HC_EXIT_USAGE);
	assert_int_equal(run("--frobnicate"), HC_EXIT_USAGE);
	assert_int_equal(run("--format xml"), HC_EXIT_USAGE);
	assert_int_equal(fake.samples, 0);
	assert_int_equal(access(results_path(), F_OK), -1);
}

/* Last, as the interrupt stays noted. */
static void test_interrupted_runs_keep_what_they_have(void **state) {
	(void)state;
	fake.interrupt_at = 3 * CASES; /* the last sample of the second loop */
	assert_int_equal(run("-l 9"), HC_EXIT_INTERRUPTED);
	assert_int_equal(fake.samples, 3 * CASES);
	json_t *document = read_results();
	assert_true(json_is_true(json_object_get(document, "interrupted")));
	json_t *one = json_array_get(json_object_get(document, "runs"), 0);
	assert_int_equal(json_array_size(json_object_get(one, "samples")), 2);
	json_decref(document);

	assert_int_equal(unlink(results_path()), 0);
	assert_int_equal(run("-l 9"), HC_EXIT_INTERRUPTED);
	assert_int_equal(access(results_path(), F_OK), -1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_warm_up_then_every_case_once_a_loop_in_changing_order, begin, end),
	        cmocka_unit_test_setup_teardown(test_results_hold_loops_and_the_cold_one_apart, begin, end),
	        cmocka_unit_test_setup_teardown(test_BN_14_short_work_is_repeated_in_one_sample, begin, end),
	        cmocka_unit_test_setup_teardown(test_BN_02_a_late_sample_is_no_long_work, begin, end),
	        cmocka_unit_test_setup_teardown(test_BN_02_work_that_takes_no_time_ends_and_is_flagged, begin, end),
	        cmocka_unit_test_setup_teardown(test_a_failure_writes_nothing, begin, end),
	        cmocka_unit_test_setup_teardown(test_memory_that_goes_leaves_what_was_measured, begin, end),
	        cmocka_unit_test_setup_teardown(test_usage_errors_touch_nothing, begin, end),
	        cmocka_unit_test_setup_teardown(test_interrupted_runs_keep_what_they_have, begin, end),
	};
	opterr = 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
