/* Which hugetlbfs mounts there are, in every spelling of their lines. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/mounts.h"
#include "sys/warnings.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct hc_warnings warnings;

static struct hc_hugetlbfs_list read_text(const char *text, uint64_t default_page_size) {
	char *tree = temp_folder();
	if (text)
		tree_write(tree, "proc/self/mounts", text);
	struct hc_root root;
	struct hc_hugetlbfs_list list;
	assert_ok(hc_root_open(tree, &root));
	hc_warnings_clear(&warnings);
	assert_ok(hc_hugetlbfs_read(&root, default_page_size, &warnings, &list));
	hc_root_close(&root);
	temp_folder_remove(tree);
	return list;
}

static struct hc_hugetlbfs_list read_fixture(const char *name) {
	char *text = fixture_read(name);
	struct hc_hugetlbfs_list list = read_text(text, 16 * MIB);
	free(text);
	return list;
}

static void expect(const struct hc_hugetlbfs_list *list, unsigned i, const char *path, uint64_t page_size,
        uint64_t size_limit, uint64_t min_size) {
	assert_true(i < list->nr_mounts);
	assert_string_equal(list->mounts[i].path, path);
	assert_true(list->mounts[i].page_size == page_size);
	assert_true(list->mounts[i].size_limit == size_limit);
	assert_true(list->mounts[i].min_size == min_size);
}

static void test_DS_07_long_line(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/overlay-line-over-4096.txt");
	assert_int_equal(list.nr_mounts, 1);
	expect(&list, 0, "/huge", GIB, 1073741824, 0);
	hc_hugetlbfs_free(&list);
}

static void test_DS_07_megabyte_line(void **state) {
	(void)state;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	assert_non_null(f);
	fputs("overlay /merged overlay rw,lowerdir=", f);
	for (unsigned i = 0; i < 1 << 17; i++)
		fputs("/layer/x", f);
	fputs(" 0 0\nnone /huge hugetlbfs rw,pagesize=2M 0 0\n", f);
	fclose(f);
	struct hc_hugetlbfs_list list = read_text(text, HC_UNKNOWN);
	assert_int_equal(list.nr_mounts, 1);
	expect(&list, 0, "/huge", 2 * MIB, HC_UNKNOWN, 0);
	hc_hugetlbfs_free(&list);
	free(text);
}

static void test_DS_08_two_sizes(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/two-sizes-1024M.txt");
	assert_int_equal(list.nr_mounts, 3);
	expect(&list, 0, "/dev/hugepages", 2 * MIB, HC_UNKNOWN, 0);
	expect(&list, 1, "/mnt/app/.huge", 2 * MIB, HC_UNKNOWN, 67108864);
	expect(&list, 2, "/mnt/app/.gigantic", GIB, HC_UNKNOWN, 0);
	hc_hugetlbfs_free(&list);
}

static void test_DS_08_bytes(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/pagesize-in-bytes.txt");
	assert_int_equal(list.nr_mounts, 2);
	expect(&list, 0, "/var/lib/hugetlbfs/global/pagesize-2MB", 2 * MIB, HC_UNKNOWN, 0);
	expect(&list, 1, "/var/lib/hugetlbfs/global/pagesize-1GB", GIB, HC_UNKNOWN, 0);
	hc_hugetlbfs_free(&list);
}

static void test_DS_08_no_page_size_is_the_default(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/no-pagesize-option.txt");
	assert_int_equal(list.nr_mounts, 1);
	expect(&list, 0, "/dev/hugepages", 16 * MIB, HC_UNKNOWN, 0);
	hc_hugetlbfs_free(&list);
	list = read_text("hugetlbfs /dev/hugepages hugetlbfs rw,relatime 0 0\n", HC_UNKNOWN);
	expect(&list, 0, "/dev/hugepages", HC_UNKNOWN, HC_UNKNOWN, 0);
	hc_hugetlbfs_free(&list);
}

static void test_DS_08_octal_escapes(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/octal-escapes.txt");
	assert_int_equal(list.nr_mounts, 2);
	expect(&list, 0, "/srv/mnt with space", 2 * MIB, HC_UNKNOWN, 0);
	expect(&list, 1, "/srv/tab\tand\\back", 2 * MIB, HC_UNKNOWN, 0);
	hc_hugetlbfs_free(&list);
}

static void test_DS_08_lookalikes(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/lookalikes.txt");
	assert_int_equal(list.nr_mounts, 0);
	hc_hugetlbfs_free(&list);
}

static void test_DS_08_covered_by_another_mount(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_text("none /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n"
	                                          "none /a hugetlbfs rw,pagesize=2M 0 0\n"
	                                          "none /a hugetlbfs rw,pagesize=1024M 0 0\n"
	                                          "tmpfs /dev/hugepages tmpfs rw 0 0\n",
	        HC_UNKNOWN);
	assert_int_equal(list.nr_mounts, 1);
	expect(&list, 0, "/a", GIB, HC_UNKNOWN, 0);
	hc_hugetlbfs_free(&list);
}

static void test_DS_09_none(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/none.txt");
	assert_int_equal(list.nr_mounts, 0);
	hc_hugetlbfs_free(&list);
	list = read_text(NULL, 2 * MIB); /* no /proc in this container */
	assert_int_equal(list.nr_mounts, 0);
	assert_null(hc_warnings_get(&warnings, 0));
	hc_hugetlbfs_free(&list);
}

static void test_PL_12_size_zero(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_fixture("mounts/size-zero.txt");
	assert_int_equal(list.nr_mounts, 1);
	expect(&list, 0, "/mnt/huge", 512 * MIB, 0, 0);
	hc_hugetlbfs_free(&list);
}

static void test_odd_lines(void **state) {
	(void)state;
	struct hc_hugetlbfs_list list = read_text(
	        "\n \nx\nnone\nnone relative hugetlbfs rw 0 0\n"
	        "none /a hugetlbfs\n"
	        "none /b hugetlbfs pagesize=3M,size=50%,min_size=-1,xpagesize=1,size\n"
	        "none /c hugetlbfs pagesize=,rw",
	        2 * MIB);
	assert_int_equal(list.nr_mounts, 3);
	expect(&list, 0, "/a", 2 * MIB, HC_UNKNOWN, 0);
	expect(&list, 1, "/b", HC_UNKNOWN, HC_UNKNOWN, 0);
	expect(&list, 2, "/c", HC_UNKNOWN, HC_UNKNOWN, 0);
	assert_contains(hc_warnings_get(&warnings, 0), "'3M'");
	assert_contains(hc_warnings_get(&warnings, 1), "'50%'");
	assert_contains(hc_warnings_get(&warnings, 2), "'-1'");
	assert_contains(hc_warnings_get(&warnings, 3), "'/c'");
	assert_null(hc_warnings_get(&warnings, 4));
	hc_hugetlbfs_free(&list);
	hc_warnings_clear(&warnings);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_DS_07_long_line),
	        cmocka_unit_test(test_DS_07_megabyte_line),
	        cmocka_unit_test(test_DS_08_two_sizes),
	        cmocka_unit_test(test_DS_08_bytes),
	        cmocka_unit_test(test_DS_08_no_page_size_is_the_default),
	        cmocka_unit_test(test_DS_08_octal_escapes),
	        cmocka_unit_test(test_DS_08_lookalikes),
	        cmocka_unit_test(test_DS_08_covered_by_another_mount),
	        cmocka_unit_test(test_DS_09_none),
	        cmocka_unit_test(test_PL_12_size_zero),
	        cmocka_unit_test(test_odd_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
