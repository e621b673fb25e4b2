/* Settings of transparent huge pages: chosen words, sizes, and kernels or processes without them. */
#include "support/support.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/thp.h"
#include "sys/warnings.h"

#define FOLDER "sys/kernel/mm/transparent_hugepage"

static struct hc_warnings warnings;

static struct hc_thp_settings read_tree(char *tree) {
	struct hc_root root;
	struct hc_thp_settings settings;
	assert_ok(hc_root_open(tree, &root));
	hc_warnings_clear(&warnings);
	assert_ok(hc_thp_read(&root, &warnings, &settings));
	hc_root_close(&root);
	temp_folder_remove(tree);
	return settings;
}

static void test_settings(void **state) {
	(void)state;
	char *tree = temp_folder();
	tree_write(tree, FOLDER "/enabled", "always [madvise] never\n");
	tree_write(tree, FOLDER "/defrag", "always defer [defer+madvise] madvise never\n");
	tree_write(tree, FOLDER "/shmem_enabled", "always within_size advise [never] deny force\n");
	tree_write(tree, FOLDER "/use_zero_page", "0\n");
	tree_write(tree, FOLDER "/hpage_pmd_size", "536870912\n"); /* arm64 with base pages of 64 KiB */
	tree_write(tree, FOLDER "/khugepaged/defrag", "1\n");
	tree_write(tree, FOLDER "/hugepages-1024kB/enabled", "always inherit madvise [never]\n");
	tree_write(tree, FOLDER "/hugepages-64kB/enabled", "always [inherit] madvise never\n");
	tree_write(tree, FOLDER "/hugepages-128kB/stats/x", "1\n");
	tree_write(tree, FOLDER "/hugepages-odd/enabled", "[always]\n");
	struct hc_thp_settings settings = read_tree(tree);
	assert_int_equal(settings.thp.present, 1);
	assert_string_equal(settings.thp.enabled, "madvise");
	assert_string_equal(settings.thp.defrag, "defer+madvise");
	assert_string_equal(settings.thp.shmem_enabled, "never");
	assert_int_equal(settings.thp.use_zero_page, 0);
	assert_int_equal(settings.thp.pmd_size, 536870912);
	assert_int_equal(settings.thp.process_disabled, -1); /* of another machine */
	assert_int_equal(settings.nr_mthp, 3);
	assert_int_equal(settings.mthp[0].page_size, 65536);
	assert_string_equal(settings.mthp[0].enabled, "inherit");
	assert_int_equal(settings.mthp[1].page_size, 131072);
	assert_string_equal(settings.mthp[1].enabled, "");
	assert_int_equal(settings.mthp[2].page_size, 1048576);
	assert_string_equal(settings.mthp[2].enabled, "never");
	assert_contains(hc_warnings_get(&warnings, 0), "hugepages-odd");
	assert_null(hc_warnings_get(&warnings, 1));
	hc_thp_free(&settings);
}

static void test_TH_02_never(void **state) {
	(void)state;
	char *tree = temp_folder();
	tree_write(tree, FOLDER "/enabled", "always madvise [never]\n");
	struct hc_thp_settings settings = read_tree(tree);
	assert_int_equal(settings.thp.present, 1);
	assert_string_equal(settings.thp.enabled, "never");
	assert_string_equal(settings.thp.defrag, "");
	assert_int_equal(settings.thp.use_zero_page, -1);
	assert_true(settings.thp.pmd_size == HC_UNKNOWN);
	assert_int_equal(settings.nr_mthp, 0);
	hc_thp_free(&settings);
}

static void test_TH_03_kernel_without_thp(void **state) {
	(void)state;
	char *tree = temp_folder();
	tree_write(tree, "sys/kernel/mm/ksm/run", "0\n");
	struct hc_thp_settings settings = read_tree(tree);
	assert_int_equal(settings.thp.present, 0);
	assert_string_equal(settings.thp.enabled, "");
	assert_null(hc_warnings_get(&warnings, 0));
	hc_thp_free(&settings);

	settings = read_tree(temp_folder()); /* no /sys at all */
	assert_int_equal(settings.thp.present, -1);
	hc_thp_free(&settings);
}

static void test_odd_files(void **state) {
	(void)state;
	static const char *const texts[] = {
	        "", "always madvise never\n", "always [] never\n", "[always", "[two words]\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *tree = temp_folder();
		tree_write(tree, FOLDER "/enabled", texts[i]);
		tree_write(tree, FOLDER "/hpage_pmd_size", i % 2 ? "0\n" : "3000000\n");
		struct hc_thp_settings settings = read_tree(tree);
		assert_string_equal(settings.thp.enabled, "");
		assert_contains(hc_warnings_get(&warnings, 0), "enabled");
		assert_true(settings.thp.pmd_size == HC_UNKNOWN);
		hc_thp_free(&settings);
	}
	hc_warnings_clear(&warnings);
}

static int disabled_after_prctl(void) {
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0)
		return 77;
	struct hc_root root;
	struct hc_thp_settings settings;
	if (hc_root_open(NULL, &root) < 0 || hc_thp_read(&root, NULL, &settings) < 0)
		return 99;
	int disabled = settings.thp.process_disabled;
	hc_thp_free(&settings);
	hc_root_close(&root);
	return disabled;
}

static void test_TH_02_disabled_for_the_process(void **state) {
	(void)state;
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(disabled_after_prctl());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("PR_SET_THP_DISABLE can't be set here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_settings),
	        cmocka_unit_test(test_TH_02_never),
	        cmocka_unit_test(test_TH_03_kernel_without_thp),
	        cmocka_unit_test(test_odd_files),
	        cmocka_unit_test(test_TH_02_disabled_for_the_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
