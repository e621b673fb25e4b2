/* Result files: whole or not at all, and numbers that every JSON reader takes. */
#include "support/support.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <signal.h>

#include <hugeclear/hugeclear.h>

#include "results/results_write.h"

static char *folder;

static int make_folder(void **state) {
	(void)state;
	folder = temp_folder();
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	temp_folder_remove(folder);
	return 0;
}

static char *in_folder(const char *name) {
	static char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static json_t *document_of(const double *samples, size_t n) {
	json_t *document = results_new(json_pack("{s:s}", "kernel", "6.18.0"));
	json_t *params = json_pack("{s:I}", "size", (json_int_t)4096);
	assert_non_null(document);
	assert_ok(results_add(document,
	        &(struct results_run){.bench = "clear",
	                .metric = "throughput",
	                .unit = "GiB/s",
	                .higher_is_better = true,
	                .params = params,
	                .samples = samples,
	                .nr_samples = n},
	        0));
	json_decref(params);
	return document;
}

static void write_to(const char *path, const json_t *document) {
	struct results_file *file;
	assert_ok(results_file_open(path, &file));
	assert_ok(results_file_commit(file, document));
	assert_null(results_file_close(file));
}

static char *text_of(const char *path) {
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	char *text = calloc(1, 65536);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

static json_t *read_back(const char *path) {
	json_error_t error;
	json_t *document = json_load_file(path, 0, &error);
	if (!document)
		fail_msg("%s:%d: %s", path, error.line, error.text);
	return document;
}

static void test_BN_09_seventeen_digits_come_back(void **state) {
	(void)state;
	const double samples[] = {0.1, 1.0 / 3, 12.603635361, 5e-324, 9007199254740993.0, 1e100};
	json_t *document = document_of(samples, 6);
	write_to(in_folder("results.json"), document);
	json_decref(document);

	document = read_back(in_folder("results.json"));
	assert_string_equal(json_string_value(json_object_get(document, "schema")), "hugeclear-results/1");
	json_t *run = json_array_get(json_object_get(document, "runs"), 0);
	for (size_t i = 0; i < 6; i++)
		assert_true(json_real_value(json_array_get(json_object_get(run, "samples"), i)) == samples[i]);
	assert_string_equal(json_string_value(json_object_get(run, "better")), "higher");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "case"), "size")), 4096);
	json_decref(document);
}

static void test_BN_09_null_instead_of_nan_and_inf(void **state) {
	(void)state;
	json_t *document = document_of((double[]){2.5}, 1);
	json_t *host = json_object_get(document, "host");
	json_object_set_new(host, "a", results_number(NAN));
	json_object_set_new(host, "b", results_number(-INFINITY));
	write_to(in_folder("results.json"), document);
	json_decref(document);

	document = read_back(in_folder("results.json"));
	json_t *run = json_array_get(json_object_get(document, "runs"), 0);
	assert_true(json_is_null(json_object_get(run, "stdev_pct")));
	assert_true(json_is_null(json_object_get(json_object_get(document, "host"), "a")));
	assert_true(json_is_null(json_object_get(json_object_get(document, "host"), "b")));
	json_decref(document);

	/* Samples that aren't numbers are refused: they are measurements, not unknowns. */
	document = results_new(json_object());
	json_t *params = json_object();
	assert_error(results_add(document,
	                     &(struct results_run){.bench = "clear",
	                             .metric = "throughput",
	                             .unit = "GiB/s",
	                             .params = params,
	                             .samples = (double[]){INFINITY},
	                             .nr_samples = 1},
	                     0),
	        EINVAL);
	assert_error(results_add(document,
	                     &(struct results_run){
	                             .bench = "clear", .metric = "throughput", .unit = "GiB/s", .params = params},
	                     0),
	        EINVAL);
	json_decref(params);
	json_decref(document);
}

/* The same work measured twice in a process: once in the file, with all samples, or nobody could read it again. */
static void test_work_that_is_measured_twice_is_there_once(void **state) {
	(void)state;
	json_t *document = document_of((double[]){1, 2}, 2), *same = json_pack("{s:I}", "size", (json_int_t)4096),
	       *other = json_pack("{s:I}", "size", (json_int_t)8192);
	struct results_run run = {.bench = "clear",
	        .metric = "throughput",
	        .unit = "GiB/s",
	        .higher_is_better = true,
	        .params = same,
	        .samples = (double[]){6},
	        .nr_samples = 1,
	        .warmup = (double[]){9},
	        .nr_warmup = 1};
	assert_ok(results_add(document, &run, 1));
	const json_t *runs = json_object_get(document, "runs"), *both = json_array_get(runs, 0);
	assert_int_equal(json_array_size(runs), 1);
	assert_int_equal(json_array_size(json_object_get(both, "samples")), 3);
	assert_true(json_number_value(json_object_get(both, "mean")) == 3);
	assert_int_equal(json_integer_value(json_object_get(both, "n")), 3);
	assert_int_equal(json_array_size(json_object_get(both, "warmup")), 1);
	/* Another case, another metric, or none before it. */
	run.params = other;
	assert_ok(results_add(document, &run, 1));
	run.metric = "seconds";
	assert_ok(results_add(document, &run, 2));
	assert_int_equal(json_array_size(runs), 3);
	assert_ok(results_add(document, &run, 0));
	assert_int_equal(json_array_size(runs), 4);
	json_decref(same);
	json_decref(other);
	json_decref(document);
}

static void test_BN_09_a_locale_with_a_decimal_comma(void **state) {
	(void)state;
	char command[4200];
	snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>&1", folder);
	if (system(command) != 0) {
		print_message("localedef can't make de_DE.UTF-8 here\n");
		skip();
	}
	setenv("LOCPATH", folder, 1);
	assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
	char comma[32];
	snprintf(comma, sizeof(comma), "%.1f", 12.5);
	assert_string_equal(comma, "12,5");

	json_t *document = document_of((double[]){12.5, 73.25}, 2);
	write_to(in_folder("results.json"), document);
	json_decref(document);
	setlocale(LC_ALL, "C");
	unsetenv("LOCPATH");

	char *text = text_of(in_folder("results.json"));
	assert_contains(text, "12.5");
	assert_null(strstr(text, "12,5"));
	free(text);
	json_decref(read_back(in_folder("results.json")));
}

static void test_BN_04_far_samples_are_named_not_dropped(void **state) {
	(void)state;
	json_t *document = document_of((double[]){10, 10.1, 9.9, 10, 30}, 5);
	json_t *run = json_array_get(json_object_get(document, "runs"), 0);
	assert_int_equal(json_array_size(json_object_get(run, "samples")), 5);
	assert_int_equal(json_array_size(json_object_get(run, "outliers")), 1);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(run, "outliers"), 0)), 4);
	assert_true(json_number_value(json_object_get(run, "median")) == 10);
	json_decref(document);
}

static void test_open_leaves_everything_as_it_was(void **state) {
	(void)state;
	struct results_file *file;
	assert_ok(results_file_open(in_folder("new.json"), &file));
	assert_int_equal(count_files(folder), 0);
	assert_null(results_file_close(file));
	assert_int_equal(count_files(folder), 0);

	tree_write(folder, "old.json", "old");
	assert_ok(results_file_open(in_folder("old.json"), &file));
	assert_null(results_file_close(file));
	char *text = text_of(in_folder("old.json"));
	assert_string_equal(text, "old");
	free(text);
	assert_null(results_file_close(NULL));
}

static void test_unwritable_paths_are_found_out_at_once(void **state) {
	(void)state;
	struct results_file *file;
	assert_error(results_file_open(folder, &file), EISDIR);
	assert_detail_has(folder);
	assert_error(results_file_open(in_folder("none/results.json"), &file), ENOENT);
	assert_detail_has("none/results.json");
	assert_error(results_file_open(in_folder("none/"), &file), ENOENT);
	assert_error(results_file_open("", &file), ENOENT);
	assert_error(results_file_open("/proc/results.json", &file), ENOENT);
	tree_write(folder, "file", "");
	assert_error(results_file_open(in_folder("file/results.json"), &file), ENOTDIR);
	assert_int_equal(symlink("none/results.json", in_folder("link")), 0);
	assert_error(results_file_open(in_folder("link"), &file), ENOENT);
}

static void test_replaces_what_a_link_leads_to_and_keeps_its_mode(void **state) {
	(void)state;
	tree_write(folder, "sub/target.json", "old");
	assert_int_equal(chmod(in_folder("sub/target.json"), 0640), 0);
	assert_int_equal(symlink("sub/target.json", in_folder("link.json")), 0);
	json_t *document = document_of((double[]){1, 2}, 2);
	write_to(in_folder("link.json"), document);
	json_decref(document);

	struct stat st;
	assert_int_equal(lstat(in_folder("link.json"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(in_folder("sub/target.json"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	json_decref(read_back(in_folder("sub/target.json")));
}

static void test_makes_what_a_link_leads_to(void **state) {
	(void)state;
	tree_write(folder, "sub/other", "");
	assert_int_equal(symlink("sub/new.json", in_folder("link.json")), 0);
	json_t *document = document_of((double[]){1, 2}, 2);
	write_to(in_folder("link.json"), document);
	json_decref(document);
	struct stat st;
	assert_int_equal(lstat(in_folder("link.json"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	json_decref(read_back(in_folder("sub/new.json")));
}

static void test_devices_are_written_to_not_replaced(void **state) {
	(void)state;
	json_t *document = document_of((double[]){1, 2}, 2);
	write_to("/dev/null", document);
	struct stat st;
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));

	struct results_file *file;
	assert_ok(results_file_open("/dev/full", &file));
	assert_error(results_file_commit(file, document), ENOSPC);
	assert_detail_has("/dev/full");
	results_file_close(file);
	json_decref(document);
}

/* A file-size limit in the middle of the text stands for a disk that runs full. */
static void test_a_failed_write_leaves_the_old_file(void **state) {
	(void)state;
	tree_write(folder, "results.json", "old");
	json_t *document = document_of((double[]){1, 2}, 2);
	struct results_file *file;
	assert_ok(results_file_open(in_folder("results.json"), &file));

	struct rlimit before, small;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 100;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int r = results_file_commit(file, document);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r, -EFBIG);

	char *text = text_of(in_folder("results.json"));
	assert_string_equal(text, "old");
	free(text);
	assert_int_equal(count_files(folder), 1);

	/* The same object can try again. */
	assert_ok(results_file_commit(file, document));
	results_file_close(file);
	assert_int_equal(count_files(folder), 1);
	json_decref(read_back(in_folder("results.json")));
	json_decref(document);
}

static void test_a_failed_rename_leaves_nothing_beside(void **state) {
	(void)state;
	json_t *document = document_of((double[]){1, 2}, 2);
	struct results_file *file;
	assert_ok(results_file_open(in_folder("results.json"), &file));
	/* Somebody makes a folder of that name meanwhile. */
	assert_int_equal(mkdir(in_folder("results.json"), 0755), 0);
	assert_error(results_file_commit(file, document), EISDIR);
	results_file_close(file);
	json_decref(document);
	assert_int_equal(count_files(folder), 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_BN_09_seventeen_digits_come_back, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_BN_09_null_instead_of_nan_and_inf, make_folder, remove_folder),
	        cmocka_unit_test(test_work_that_is_measured_twice_is_there_once),
	        cmocka_unit_test_setup_teardown(test_BN_09_a_locale_with_a_decimal_comma, make_folder, remove_folder),
	        cmocka_unit_test(test_BN_04_far_samples_are_named_not_dropped),
	        cmocka_unit_test_setup_teardown(test_open_leaves_everything_as_it_was, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(
	                test_unwritable_paths_are_found_out_at_once, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(
	                test_replaces_what_a_link_leads_to_and_keeps_its_mode, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_makes_what_a_link_leads_to, make_folder, remove_folder),
	        cmocka_unit_test(test_devices_are_written_to_not_replaced),
	        cmocka_unit_test_setup_teardown(test_a_failed_write_leaves_the_old_file, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_a_failed_rename_leaves_nothing_beside, make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
