/* Result files read: the good ones to the last digit, every other kind refused with its place. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "results/results_read.h"
#include "results/results_write.h"

#define RUN_HEAD                                                                                                       \
	"{\"bench\":\"clear\",\"metric\":\"throughput\",\"case\":{\"size\":4096},\"unit\":\"GiB/"                      \
	"s\",\"better\":\"higher\""
#define FILE_OF(run) "{\"schema\":\"hugeclear-results/1\",\"runs\":[" run "]}"

static struct results_document *read_fixture(const char *name) {
	char path[256];
	snprintf(path, sizeof(path), "bench/%s.json", name);
	struct results_document *document = NULL;
	assert_ok(results_read(fixture_path(path), &document));
	return document;
}

static void refuse_fixture(const char *name, int err, const char *text) {
	char path[256];
	snprintf(path, sizeof(path), "bench/%s.json", name);
	struct results_document *document = NULL;
	assert_error(results_read(fixture_path(path), &document), err);
	/* The name of the file, and what is wrong. */
	snprintf(path, sizeof(path), "%s.json", name);
	assert_detail_has(path);
	assert_detail_has(text);
	assert_null(document);
}

static void refuse_text(const char *text, int err, const char *detail) {
	struct results_document *document = NULL;
	assert_error(results_read_text(text, strlen(text), "x", &document), err);
	assert_detail_has(detail);
}

static void test_what_a_file_says(void **state) {
	(void)state;
	struct results_document *document = read_fixture("outlier-a");
	assert_int_equal(document->nr_runs, 1);
	const struct results_measured *run = &document->runs[0];
	assert_string_equal(run->bench, "map");
	assert_string_equal(run->metric, "");
	assert_int_equal(run->nr_samples, 5);
	assert_true(run->mean == 14.0 && run->median == 10.0);
	results_document_free(document);
	assert_null(results_document_free(NULL));
}

static void test_numbers_of_a_case_match_however_they_are_written(void **state) {
	(void)state;
	struct results_document *a = NULL, *b = NULL;
	const char *one = FILE_OF("{\"bench\":\"b\",\"case\":{\"threads\":1,\"size\":4096},\"unit\":\"s\",\"better\":"
	                          "\"lower\",\"mean\":2}");
	const char *two = FILE_OF("{\"bench\":\"b\",\"case\":{\"size\":4.096e3,\"threads\":1.0},\"unit\":\"s\","
	                          "\"better\":\"lower\",\"mean\":2}");
	assert_ok(results_read_text(one, strlen(one), "one", &a));
	assert_ok(results_read_text(two, strlen(two), "two", &b));
	assert_string_equal(a->runs[0].key, b->runs[0].key);
	results_document_free(a);
	results_document_free(b);
}

static void test_published_tables_have_no_samples(void **state) {
	(void)state;
	struct results_document *document = NULL;
	const char *text = FILE_OF(RUN_HEAD ",\"mean\":11.82,\"stdev_pct\":0.67,\"n\":5}");
	assert_ok(results_read_text(text, strlen(text), "x", &document));
	const struct results_measured *run = &document->runs[0];
	assert_int_equal(run->nr_samples, 0);
	assert_int_equal(run->n, 5);
	assert_true(run->has_stdev);
	/* 11.82 * 0.0067 = 0.079194 */
	assert_true(run->stdev > 0.0791939 && run->stdev < 0.0791941);
	results_document_free(document);

	text = FILE_OF(RUN_HEAD ",\"mean\":12.731939}");
	assert_ok(results_read_text(text, strlen(text), "x", &document));
	assert_false(document->runs[0].has_stdev);
	assert_int_equal(document->runs[0].n, 0);
	results_document_free(document);
}

static void test_BN_08_other_schemas(void **state) {
	(void)state;
	refuse_fixture("future-schema", EPROTONOSUPPORT, "written by a newer version (99, this one reads 1)");
	refuse_fixture("no-schema", EPROTONOSUPPORT, "not a results file");
	refuse_fixture("other-schema", EPROTONOSUPPORT, "somebody-else/1");
	results_document_free(read_fixture("unknown-field-same-schema"));
	refuse_text("{\"schema\":1}", EPROTONOSUPPORT, "no string");
	refuse_text("{\"schema\":\"hugeclear-results/x\"}", EPROTONOSUPPORT, "another program's");
	refuse_text("{\"schema\":\"hugeclear-results/0\"}", EPROTONOSUPPORT, "another program's");
}

static void test_BN_08_broken_files(void **state) {
	(void)state;
	refuse_fixture("truncated", EBADMSG, "line 2, column 0");
	refuse_fixture("empty-samples", EBADMSG, "runs[0]: 'samples' is empty");
	refuse_text("", EBADMSG, "empty");
	refuse_text("[]", EBADMSG, "not a results file");
	refuse_text("\"x\"", EBADMSG, "");
	struct results_document *document = NULL;
	assert_error(results_read("/dev/null", &document), EBADMSG);
	assert_detail_has("/dev/null: empty");
	assert_error(results_read("/", &document), EISDIR);
	assert_error(results_read("/nowhere/x.json", &document), ENOENT);
	assert_detail_has("/nowhere/x.json: ");
}

static void test_BN_09_numbers_that_are_none(void **state) {
	(void)state;
	refuse_fixture("nan", EBADMSG, "line 1, column");
	refuse_fixture("minus-nan-inf", EBADMSG, "line 1, column");
	refuse_fixture("overflow-number", EBADMSG, "line 1, column");
	/* Formally four samples: only a writer can prevent it. */
	struct results_document *document = read_fixture("locale-comma");
	assert_int_equal(document->runs[0].nr_samples, 4);
	results_document_free(document);
	refuse_text(FILE_OF(RUN_HEAD ",\"samples\":[1,null]}"), EBADMSG, "sample 1 is no number");
	refuse_text(FILE_OF(RUN_HEAD ",\"samples\":[1e308,-1e308,1e308]}"), EBADMSG, "too large");
}

static void test_BN_09_seventeen_digits_are_read(void **state) {
	(void)state;
	struct results_document *document = NULL;
	const char *text = FILE_OF(
	        RUN_HEAD ",\"samples\":[0.10000000000000001,12.731939000000001,4.9406564584124654e-324]}");
	assert_ok(results_read_text(text, strlen(text), "x", &document));
	assert_true(document->runs[0].samples[0] == 0.1);
	assert_true(document->runs[0].samples[1] == 12.731939000000001);
	assert_true(document->runs[0].samples[2] == 4.9406564584124654e-324);
	results_document_free(document);
}

static void test_runs_that_lack_or_mix_something(void **state) {
	(void)state;
	refuse_text(FILE_OF(""), EBADMSG, "'runs' is empty");
	refuse_text("{\"schema\":\"hugeclear-results/1\"}", EBADMSG, "'runs' is missing");
	refuse_text("{\"schema\":\"hugeclear-results/1\",\"host\":[],\"runs\":[]}", EBADMSG, "'host' is no object");
	refuse_text(FILE_OF("1"), EBADMSG, "runs[0]: is no object");
	refuse_text(FILE_OF("{}"), EBADMSG, "'bench' is missing");
	refuse_text(
	        FILE_OF("{\"bench\":\"a\\u0007b\",\"unit\":\"s\",\"better\":\"lower\"}"), EBADMSG, "control character");
	refuse_text(FILE_OF("{\"bench\":\"b\",\"unit\":\"s\",\"better\":\"less\"}"), EBADMSG, "'less'");
	refuse_text(FILE_OF("{\"bench\":\"b\",\"unit\":\"s\",\"better\":\"lower\"}"), EBADMSG, "'case' is missing");
	refuse_text(
	        FILE_OF("{\"bench\":\"b\",\"unit\":\"s\",\"better\":\"lower\",\"case\":{\"a\":[]}}"), EBADMSG, "'a'");
	refuse_text(FILE_OF(RUN_HEAD "}"), EBADMSG, "neither 'samples' nor a 'mean'");
	refuse_text(FILE_OF(RUN_HEAD ",\"samples\":5}"), EBADMSG, "no array");
	refuse_text(FILE_OF(RUN_HEAD ",\"mean\":5,\"stdev_pct\":-1}"), EBADMSG, "'stdev_pct'");
	refuse_text(FILE_OF(RUN_HEAD ",\"mean\":5,\"n\":0}"), EBADMSG, "'n'");
	refuse_text(FILE_OF(RUN_HEAD ",\"mean\":5,\"n\":1,\"stdev_pct\":1}"), EBADMSG, "one sample");
	refuse_text(
	        FILE_OF(RUN_HEAD ",\"mean\":5}," RUN_HEAD ",\"mean\":6}"), EBADMSG, "runs[0] and runs[1] are the same");
	refuse_text("{\"schema\":\"hugeclear-results/1\",\"runs\":[],\"runs\":[]}", EBADMSG, "duplicate");
}

static void test_what_is_written_is_read(void **state) {
	(void)state;
	char *folder = temp_folder(), path[4096];
	snprintf(path, sizeof(path), "%s/r.json", folder);
	json_t *written = results_new(json_pack("{s:s}", "kernel", "6.18.0")),
	       *params = json_pack("{s:I}", "size", (json_int_t)4096);
	const double samples[] = {0.1, 1.0 / 3};
	assert_ok(results_add(written,
	        &(struct results_run){.bench = "clear",
	                .metric = "seconds",
	                .unit = "s",
	                .params = params,
	                .samples = samples,
	                .nr_samples = 2},
	        0));
	struct results_file *file;
	assert_ok(results_file_open(path, &file));
	assert_ok(results_file_commit(file, written));
	results_file_close(file);
	struct results_document *document = NULL;
	assert_ok(results_read(path, &document));
	assert_true(document->runs[0].samples[1] == 1.0 / 3);
	assert_false(document->runs[0].higher_is_better);
	assert_string_equal(json_string_value(json_object_get(document->host, "kernel")), "6.18.0");
	results_document_free(document);
	json_decref(params);
	json_decref(written);
	temp_folder_remove(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_what_a_file_says),
	        cmocka_unit_test(test_numbers_of_a_case_match_however_they_are_written),
	        cmocka_unit_test(test_published_tables_have_no_samples),
	        cmocka_unit_test(test_BN_08_other_schemas),
	        cmocka_unit_test(test_BN_08_broken_files),
	        cmocka_unit_test(test_BN_09_numbers_that_are_none),
	        cmocka_unit_test(test_BN_09_seventeen_digits_are_read),
	        cmocka_unit_test(test_runs_that_lack_or_mix_something),
	        cmocka_unit_test(test_what_is_written_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
