/* The replaceable root: what is read through it, and that nothing outside of it can be. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "support/seccomp.h"
#include "sys/root.h"

struct tree {
	char *outer; /* root is a folder in it, with files beside */
	char root_path[4096];
	struct hc_root root;
};

static void tree_open(struct tree *tree) {
	tree->outer = temp_folder();
	snprintf(tree->root_path, sizeof(tree->root_path), "%s/root", tree->outer);
	tree_write(tree->outer, "secret", "outside\n");
	tree_write(tree->root_path, "proc/meminfo", "MemTotal: 1 kB\n");
	assert_ok(hc_root_open(tree->root_path, &tree->root));
	assert_false(tree->root.live);
}

static void tree_close(struct tree *tree) {
	hc_root_close(&tree->root);
	temp_folder_remove(tree->outer);
}

static void link_to(const struct tree *tree, const char *target, const char *name) {
	char path[8192];
	snprintf(path, sizeof(path), "%s/%s", tree->root_path, name);
	assert_int_equal(symlink(target, path), 0);
}

static void test_links_stay_inside(void **state) {
	(void)state;
	struct tree tree;
	tree_open(&tree);
	char secret[8192], buf[64];
	snprintf(secret, sizeof(secret), "%s/secret", tree.outer);
	link_to(&tree, secret, "absolute");
	link_to(&tree, "../secret", "up");
	link_to(&tree, "../../../../../../../../../../etc/hostname", "far");
	link_to(&tree, tree.outer, "folder");
	link_to(&tree, "/proc/meminfo", "inside");
	link_to(&tree, "loop", "loop");
	static const char *const out[] = {"absolute", "up", "far", "folder/secret", "../secret", "proc/../../secret"};
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		assert_error(hc_root_read(&tree.root, out[i], buf, sizeof(buf)), ENOENT);
		assert_error(hc_root_write(&tree.root, out[i], "overwritten"), ENOENT);
		assert_false(hc_root_exists(&tree.root, out[i]));
	}
	assert_error(hc_root_read(&tree.root, "loop", buf, sizeof(buf)), ELOOP);
	/* an absolute link is one from the root on */
	assert_true(hc_root_read(&tree.root, "inside", buf, sizeof(buf)) > 0);
	assert_string_equal(buf, "MemTotal: 1 kB\n");

	FILE *f = fopen(secret, "re");
	assert_non_null(f);
	assert_non_null(fgets(buf, sizeof(buf), f));
	fclose(f);
	assert_string_equal(buf, "outside\n");
	tree_close(&tree);
}

/* Old kernels lack openat2(2), and profiles may forbid it: nothing outside even then. */
static bool check_without_openat2(int err) {
	struct tree tree;
	tree_open(&tree);
	char buf[64];
	link_to(&tree, "../secret", "up");
	link_to(&tree, "..", "folder");
	bool ok = hc_root_read(&tree.root, "proc/meminfo", buf, sizeof(buf)) == 15 &&
	          hc_root_read(&tree.root, "proc//meminfo", buf, sizeof(buf)) == 15 &&
	          hc_root_exists(&tree.root, "proc/meminfo") && !hc_root_exists(&tree.root, "proc/nothing") &&
	          hc_root_read(&tree.root, "up", buf, sizeof(buf)) < 0 &&
	          hc_root_read(&tree.root, "folder/secret", buf, sizeof(buf)) < 0 &&
	          hc_root_read(&tree.root, "../secret", buf, sizeof(buf)) < 0 &&
	          hc_root_read(&tree.root, "proc/../../secret", buf, sizeof(buf)) < 0 &&
	          hc_root_write(&tree.root, "up", "x") < 0 && hc_root_write(&tree.root, "proc/meminfo", "x") == 0;
	if (!ok)
		fprintf(stderr, "with errno %d: %s\n", err, hc_error_detail());
	tree_close(&tree);
	return ok;
}

static void test_without_openat2(void **state) {
	(void)state;
	static const int calls[] = {SYS_openat2};
	with_calls_forbidden(calls, 1, ENOSYS, check_without_openat2);
	with_calls_forbidden(calls, 1, EPERM, check_without_openat2);
}

static void test_odd_files(void **state) {
	(void)state;
	struct tree tree;
	tree_open(&tree);
	char path[8192], buf[16];
	snprintf(path, sizeof(path), "%s/fifo", tree.root_path);
	assert_int_equal(mkfifo(path, 0600), 0);
	/* neither blocks */
	assert_error(hc_root_read(&tree.root, "fifo", buf, sizeof(buf)), EBADMSG);
	assert_error(hc_root_write(&tree.root, "fifo", "x"), ENXIO);
	assert_error(hc_root_read(&tree.root, "proc", buf, sizeof(buf)), EBADMSG);

	snprintf(path, sizeof(path), "%s/nul", tree.root_path);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd,
	                         "12\0"
	                         "3\n",
	                         5),
	        5);
	close(fd);
	uint64_t value = 77;
	assert_error(hc_root_read(&tree.root, "nul", buf, sizeof(buf)), EBADMSG);
	assert_error(hc_root_read_u64(&tree.root, "nul", &value), EBADMSG);
	assert_int_equal(value, 77);
	tree_close(&tree);
}

static void test_lengths(void **state) {
	(void)state;
	struct tree tree;
	tree_open(&tree);
	char buf[16];
	tree_write(tree.root_path, "fifteen", "123456789012345");
	tree_write(tree.root_path, "sixteen", "1234567890123456");
	assert_int_equal(hc_root_read(&tree.root, "fifteen", buf, sizeof(buf)), 15);
	assert_string_equal(buf, "123456789012345");
	assert_error(hc_root_read(&tree.root, "sixteen", buf, sizeof(buf)), EFBIG);
	assert_detail_has("/sixteen");

	/* longer than the first buffers of read_all, and read whole */
	size_t len = 100000, got = 0;
	char *text = malloc(len + 1), *all = NULL;
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + i % 26);
	text[len] = '\0';
	tree_write(tree.root_path, "long", text);
	assert_ok(hc_root_read_all(&tree.root, "long", &all, &got));
	assert_int_equal(got, len);
	assert_string_equal(all, text);
	free(all);
	free(text);

	char path[8192];
	snprintf(path, sizeof(path), "%s/huge", tree.root_path);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	close(fd);
	all = NULL;
	/* holes are NUL bytes, which are noticed before the length is */
	int r = hc_root_read_all(&tree.root, "huge", &all, &got);
	assert_true((r == -EBADMSG || r == -EFBIG) && !all);
	tree_close(&tree);
}

static void test_numbers(void **state) {
	(void)state;
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} rows[] = {
	        {"0\n", 0, 0},
	        {"512", 0, 512},
	        {"512 \t\n", 0, 512},
	        {"18446744073709551615\n", 0, UINT64_MAX},
	        {"18446744073709551616\n", -ERANGE, 0},
	        {"99999999999999999999999999\n", -ERANGE, 0},
	        {"", -EBADMSG, 0},
	        {"\n", -EBADMSG, 0},
	        {"-1\n", -EBADMSG, 0},
	        {"+1\n", -EBADMSG, 0},
	        {" 1\n", -EBADMSG, 0},
	        {"1 2\n", -EBADMSG, 0},
	        {"0x10\n", -EBADMSG, 0},
	        {"max\n", -EBADMSG, 0},
	        {"00000000000000000000000000000000000000000000000000000000000000000000001", -EBADMSG, 0},
	};
	struct tree tree;
	tree_open(&tree);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tree_write(tree.root_path, "number", rows[i].text);
		uint64_t value = 0;
		assert_return(hc_root_read_u64(&tree.root, "number", &value), rows[i].r, rows[i].text);
		assert_true(value == rows[i].value);
	}
	tree_write(tree.root_path, "number", "\x1b[31m\n");
	uint64_t value;
	assert_error(hc_root_read_u64(&tree.root, "number", &value), EBADMSG);
	assert_null(strchr(hc_error_detail(), '\x1b'));
	tree_close(&tree);
}

static void test_writing(void **state) {
	(void)state;
	struct tree tree;
	tree_open(&tree);
	char buf[64];
	tree_write(tree.root_path, "nr_hugepages", "512\n");
	assert_ok(hc_root_write(&tree.root, "nr_hugepages", "7"));
	assert_int_equal(hc_root_read(&tree.root, "nr_hugepages", buf, sizeof(buf)), 1);
	assert_string_equal(buf, "7"); /* nothing is left of the longer text */
	assert_error(hc_root_write(&tree.root, "not-there", "7"), ENOENT);
	assert_detail_has("/not-there");
	assert_false(hc_root_exists(&tree.root, "not-there"));
	tree_close(&tree);
}

static int collect(void *user, const char *name) {
	strcat(user, name);
	return strcmp(name, "stop") == 0 ? 42 : 0;
}

static void test_listing(void **state) {
	(void)state;
	struct tree tree;
	tree_open(&tree);
	char names[256] = "";
	tree_write(tree.root_path, "sys/one", "");
	assert_ok(hc_root_list(&tree.root, "sys", collect, names));
	assert_string_equal(names, "one");
	tree_write(tree.root_path, "other/stop", "");
	assert_int_equal(hc_root_list(&tree.root, "other", collect, names), 42);
	assert_error(hc_root_list(&tree.root, "nowhere", collect, names), ENOENT);
	assert_error(hc_root_list(&tree.root, "sys/one", collect, names), ENOTDIR);
	tree_close(&tree);
}

static void test_opening(void **state) {
	(void)state;
	struct hc_root root = {.fd = -1};
	assert_error(hc_root_open("/no/such/folder", &root), ENOENT);
	assert_detail_has("/no/such/folder");
	assert_error(hc_root_open("/proc/version", &root), ENOTDIR);
	assert_ok(hc_root_open("", &root));
	assert_true(root.live);
	assert_int_equal(fcntl(root.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	char buf[4096];
	assert_string_equal(hc_root_name(&root, "proc/meminfo", buf, sizeof(buf)), "/proc/meminfo");
	assert_true(hc_root_read(&root, "proc/self/status", buf, sizeof(buf)) > 0);
	hc_root_close(&root);
	assert_int_equal(root.fd, -1);
	hc_root_close(&root);

	root.path = "/tmp/tree//";
	assert_string_equal(hc_root_name(&root, "proc/meminfo", buf, sizeof(buf)), "/tmp/tree/proc/meminfo");
	assert_string_equal(hc_root_name(&root, "proc/meminfo", buf, 8), "/tmp/tr");
}

static int read_double(void *user, const char *path, char *buf, size_t buf_size) {
	(void)user;
	if (strcmp(path, "sys/doubled") != 0)
		return -ENOSYS;
	return snprintf(buf, buf_size, "3738\n");
}

static int write_double(void *user, const char *path, const char *text) {
	snprintf(user, 64, "%s=%s", path, text);
	return 0;
}

static void test_doubles(void **state) {
	(void)state;
	struct tree tree;
	tree_open(&tree);
	char written[64] = "", *text = NULL;
	size_t len;
	tree.root.read = read_double;
	tree.root.write = write_double;
	tree.root.user = written;
	uint64_t value = 0;
	assert_ok(hc_root_read_u64(&tree.root, "sys/doubled", &value));
	assert_int_equal(value, 3738);
	assert_ok(hc_root_read_all(&tree.root, "sys/doubled", &text, &len));
	assert_string_equal(text, "3738\n");
	free(text);
	/* not one of the double's: the file system's */
	assert_ok(hc_root_read_all(&tree.root, "proc/meminfo", &text, &len));
	assert_int_equal(len, 15);
	free(text);
	assert_ok(hc_root_write(&tree.root, "sys/nr", "4096"));
	assert_string_equal(written, "sys/nr=4096");
	tree_close(&tree);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_links_stay_inside),
	        cmocka_unit_test(test_without_openat2),
	        cmocka_unit_test(test_odd_files),
	        cmocka_unit_test(test_lengths),
	        cmocka_unit_test(test_numbers),
	        cmocka_unit_test(test_writing),
	        cmocka_unit_test(test_listing),
	        cmocka_unit_test(test_opening),
	        cmocka_unit_test(test_doubles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
