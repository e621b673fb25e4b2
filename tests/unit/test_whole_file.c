/* The old file or the new one, never something between, and nothing beside it. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/whole_file.h"
#include "support/child.h"

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

static const char *in_folder(const char *name) {
	static char path[4500];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static bool holds(const char *path, const char *text) {
	char read_text[256] = "";
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(read_text, 1, sizeof(read_text) - 1, f);
	fclose(f);
	return n == strlen(text) && memcmp(read_text, text, n) == 0;
}

static int write_text(const char *path, const char *text) {
	return hc_whole_file_write(path, text, strlen(text));
}

static void test_writes_and_replaces(void **state) {
	(void)state;
	mode_t before = umask(027);
	assert_ok(write_text(in_folder("file"), "first"));
	umask(before);
	struct stat st;
	assert_int_equal(stat(in_folder("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640); /* 0666 & ~027 */
	assert_true(holds(in_folder("file"), "first"));

	assert_int_equal(chmod(in_folder("file"), 0604), 0);
	assert_ok(write_text(in_folder("file"), "the second, longer"));
	assert_int_equal(stat(in_folder("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
	assert_true(holds(in_folder("file"), "the second, longer"));
	assert_ok(hc_whole_file_write(in_folder("file"), NULL, 0));
	assert_true(holds(in_folder("file"), ""));
	assert_int_equal(count_files(folder), 1);
}

static void test_in_the_working_folder_and_with_the_longest_name(void **state) {
	(void)state;
	char name[256], back[4096];
	memset(name, 'x', 255);
	name[255] = '\0';
	assert_non_null(getcwd(back, sizeof(back)));
	assert_int_equal(chdir(folder), 0);
	assert_ok(write_text(name, "text"));
	assert_ok(write_text(name, "again"));
	assert_ok(hc_whole_file_check(name));
	assert_int_equal(count_files("."), 1);
	assert_true(holds(name, "again"));
	assert_int_equal(chdir(back), 0);
}

static void test_an_owner_stays(void **state) {
	(void)state;
	if (geteuid() != 0) {
		print_message("only root gives files away\n");
		skip();
	}
	tree_write(folder, "file", "old");
	if (chown(in_folder("file"), 65534, 65533) < 0) {
		print_message("files can't be given away here\n");
		skip();
	}
	assert_ok(write_text(in_folder("file"), "new"));
	struct stat st;
	assert_int_equal(stat(in_folder("file"), &st), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(st.st_gid, 65533);
}

static void test_links(void **state) {
	(void)state;
	tree_write(folder, "sub/file", "old");
	char link[4500];
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(symlink("sub/file", link), 0);
	assert_ok(hc_whole_file_check(link));
	assert_ok(write_text(link, "new"));
	struct stat st;
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_true(holds(in_folder("sub/file"), "new"));

	assert_int_equal(unlink(in_folder("sub/file")), 0);
	/* A link to itself. */
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("link", link), 0);
	assert_error(write_text(link, "new"), ELOOP);
}

/* open(2) with O_CREAT makes the file that a link names: where this does, it does. */
static void test_links_to_what_is_not_there_yet(void **state) {
	(void)state;
	char link[4500], whole[5000];
	assert_int_equal(mkdir(in_folder("sub"), 0755), 0);
	snprintf(whole, sizeof(whole), "%s/sub/absolute", folder);
	const struct {
		const char *to;
		const char *file; /* NULL: err */
		int err;
	} rows[] = {{"sub/file", "sub/file", 0}, {"sub/../file", "file", 0}, {whole, "sub/absolute", 0},
	        {"sub/second", "other/deep", 0}, {"none/file", NULL, ENOENT}, {"none/", NULL, ENOENT},
	        {"circle", NULL, ELOOP}};
	assert_int_equal(mkdir(in_folder("other"), 0755), 0);
	assert_int_equal(symlink("../other/deep", in_folder("sub/second")), 0);
	assert_int_equal(symlink("link", in_folder("circle")), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(link, sizeof(link), "%s/link", folder);
		assert_int_equal(symlink(rows[i].to, link), 0);
		int fd = open(link, O_WRONLY | O_CREAT | O_CLOEXEC, 0666), err = errno;
		/* open(2) says EISDIR for a name with a slash behind it. */
		assert_true(rows[i].file ? fd >= 0 : fd < 0 && (err == rows[i].err || err == EISDIR));
		if (fd >= 0)
			close(fd);
		if (rows[i].file)
			assert_int_equal(unlink(in_folder(rows[i].file)), 0);

		assert_return(hc_whole_file_check(link), -rows[i].err, rows[i].to);
		assert_return(write_text(link, "new"), -rows[i].err, rows[i].to);
		if (rows[i].file)
			assert_true(holds(in_folder(rows[i].file), "new"));
		struct stat st;
		assert_int_equal(lstat(link, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		assert_int_equal(unlink(link), 0);
	}
}

static bool protect_links(const char *word, char before[8]) {
	int fd = open("/proc/sys/fs/protected_symlinks", O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && (!before || pread(fd, before, 1, 0) == 1) && pwrite(fd, word, 1, 0) == 1;
	if (fd >= 0)
		close(fd);
	return ok;
}

static int write_through_links(void) {
	CHECK(hc_whole_file_check(in_folder("shared/link")) == -EACCES);
	CHECK(write_text(in_folder("shared/link"), "new") == -EACCES);
	CHECK(write_text(in_folder("shared/dangling"), "new") == -EACCES);
	return 0;
}

/* In /tmp anybody may put a link where root is about to write. */
static int through_somebody_elses_link(void *unused) {
	(void)unused;
	char before[8] = "";
	if (geteuid() != 0 || !protect_links("1", before))
		return 77;
	tree_write(folder, "mine/file", "old");
	bool made = mkdir(in_folder("shared"), 0700) == 0 && chmod(in_folder("shared"), 01777) == 0 &&
	            symlink("../mine/file", in_folder("shared/link")) == 0 &&
	            symlink("../mine/new", in_folder("shared/dangling")) == 0 &&
	            lchown(in_folder("shared/link"), 65534, 65534) == 0 &&
	            lchown(in_folder("shared/dangling"), 65534, 65534) == 0;
	int r = write_through_links();
	CHECK(protect_links(before, NULL));
	CHECK(made && r == 0);
	CHECK(holds(in_folder("mine/file"), "old"));
	CHECK(count_files(in_folder("mine")) == 1);
	return 0;
}

static void test_somebody_elses_links_are_not_followed(void **state) {
	(void)state;
	int r = in_child(through_somebody_elses_link, NULL);
	if (r == 77) {
		print_message("needs root, and a /proc/sys/fs/protected_symlinks that may be written\n");
		skip();
	}
	assert_int_equal(r, 0);
}

static void test_what_is_no_regular_file(void **state) {
	(void)state;
	tree_write(folder, "file", "old");
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	static const struct {
		const char *path;
		int err;
	} rows[] = {{"", EISDIR}, {"fifo", EINVAL}, {"none/file", ENOENT}, {"none/", ENOENT}, {"file/x", ENOTDIR},
	        {"file/", ENOTDIR}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_return(hc_whole_file_check(in_folder(rows[i].path)), -rows[i].err, rows[i].path);
		assert_return(write_text(in_folder(rows[i].path), "new"), -rows[i].err, rows[i].path);
	}
	assert_error(write_text("", "new"), ENOENT);
	assert_error(write_text("/dev/null", "new"), EINVAL);
	assert_error(write_text("/proc/file", "new"), ENOENT);
	char *long_path = malloc(8192);
	memset(long_path, 'x', 8191);
	long_path[8191] = '\0';
	assert_error(write_text(long_path, "new"), ENAMETOOLONG);
	free(long_path);
	assert_true(holds(in_folder("file"), "old"));
	assert_int_equal(count_files(folder), 2);
}

/* ---- In a process of its own ---------------------------------------------------- */

/* 77: it can't be tried here. */
static void expect_in_child(int (*fn)(void *unused)) {
	int r = in_child(fn, NULL);
	if (r == 77) {
		print_message("needs mounts of its own (unshare)\n");
		skip();
	}
	assert_int_equal(r, 0);
}

/* A file system of so many bytes at folder, that only this process sees. */
static bool own_mount(const char *options) {
	return own_mounts() && mount("none", folder, "tmpfs", 0, options) == 0;
}

static int on_a_full_disk(void *unused) {
	(void)unused;
	if (!own_mount("size=64k"))
		return 77;
	static char much[256 << 10];
	memset(much, 'n', sizeof(much));
	CHECK(write_text(in_folder("file"), "old") == 0);
	CHECK(hc_whole_file_write(in_folder("file"), much, sizeof(much)) == -ENOSPC);
	CHECK(strstr(hc_error_detail(), "No space left"));
	CHECK(holds(in_folder("file"), "old"));
	CHECK(hc_whole_file_write(in_folder("other"), much, sizeof(much)) == -ENOSPC);
	CHECK(count_files(folder) == 1);
	/* There is room again: what was tried is gone. */
	CHECK(hc_whole_file_write(in_folder("file"), much, 40 << 10) == 0);
	return 0;
}

static void test_a_full_disk(void **state) {
	(void)state;
	expect_in_child(on_a_full_disk);
}

static int without_room_for_names(void *unused) {
	(void)unused;
	/* Of the three inodes the folder has one. */
	if (!own_mount("nr_inodes=3"))
		return 77;
	CHECK(write_text(in_folder("file"), "old") == 0);
	CHECK(write_text(in_folder("second"), "old") == 0);
	CHECK(hc_whole_file_check(in_folder("file")) == -ENOSPC);
	CHECK(write_text(in_folder("file"), "new") == -ENOSPC);
	CHECK(strstr(hc_error_detail(), "folder"));
	CHECK(holds(in_folder("file"), "old"));
	return 0;
}

static void test_no_more_files(void **state) {
	(void)state;
	expect_in_child(without_room_for_names);
}

static int on_a_read_only_mount(void *unused) {
	(void)unused;
	if (!own_mount("size=64k"))
		return 77;
	CHECK(write_text(in_folder("file"), "old") == 0);
	CHECK(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	CHECK(hc_whole_file_check(in_folder("file")) == -EROFS);
	CHECK(write_text(in_folder("file"), "new") == -EROFS);
	CHECK(write_text(in_folder("other"), "new") == -EROFS);
	CHECK(holds(in_folder("file"), "old"));
	CHECK(count_files(folder) == 1);
	return 0;
}

static void test_a_read_only_mount(void **state) {
	(void)state;
	expect_in_child(on_a_read_only_mount);
}

static int in_a_locked_folder(void *unused) {
	(void)unused;
	tree_write(folder, "file", "old");
	CHECK(chmod(folder, 0555) == 0);
	if (geteuid() == 0)
		CHECK(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
		        setresuid(65534, 65534, 65534) == 0);
	/* Others' folders on the way may keep it out of this one already: the same error. */
	CHECK(hc_whole_file_check(in_folder("file")) == -EACCES);
	CHECK(write_text(in_folder("file"), "new") == -EACCES);
	CHECK(write_text(in_folder("other"), "new") == -EACCES);
	return 0;
}

static void test_a_folder_that_is_not_writable(void **state) {
	(void)state;
	expect_in_child(in_a_locked_folder);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_true(holds(in_folder("file"), "old"));
	assert_int_equal(count_files(folder), 1);
}

#define LARGE (UINT64_C(1) << 20)
#define KILLS 25

static void write_for_ever(void) {
	static char text[LARGE];
	for (int i = 0;; i++) {
		memset(text, 'a' + i % 26, LARGE);
		hc_whole_file_write(in_folder("file"), text, LARGE);
	}
}

/* What is there is one of the texts, from the first byte to the last. */
static void expect_one_whole_text(void) {
	char *text = malloc(LARGE + 1);
	assert_non_null(text);
	FILE *f = fopen(in_folder("file"), "re");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, LARGE + 1, f), LARGE);
	fclose(f);
	for (size_t i = 1; i < LARGE; i++)
		if (text[i] != text[0])
			fail_msg("byte %zu is %c, the first %c", i, text[i], text[0]);
	free(text);
}

static void test_killed_in_between(void **state) {
	(void)state;
	char *first = malloc(LARGE);
	assert_non_null(first);
	memset(first, 'A', LARGE);
	assert_ok(hc_whole_file_write(in_folder("file"), first, LARGE));
	free(first);
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			write_for_ever();
			_exit(1);
		}
		usleep(500 + 331 * i);
		kill(child, SIGKILL);
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		expect_one_whole_text();
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_writes_and_replaces, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(
	                test_in_the_working_folder_and_with_the_longest_name, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_an_owner_stays, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_links, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_links_to_what_is_not_there_yet, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_somebody_elses_links_are_not_followed, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_what_is_no_regular_file, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_a_full_disk, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_no_more_files, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_a_read_only_mount, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_a_folder_that_is_not_writable, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_killed_in_between, make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
