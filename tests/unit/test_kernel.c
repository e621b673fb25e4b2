/* The kernel's names and what it can do; a seccomp filter plays kernels that can't. */
#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/kernel.h"
#include "sys/limits.h"

static struct hc_kernel read_tree(char *tree) {
	struct hc_root root;
	struct hc_kernel kernel;
	assert_ok(hc_root_open(tree, &root));
	assert_ok(hc_kernel_read(&root, NULL, &kernel));
	hc_root_close(&root);
	temp_folder_remove(tree);
	return kernel;
}

static void expect_preemption(
        const char *debug, const char *realtime, const char *version, const char *cmdline, const char *expected) {
	char *tree = temp_folder();
	if (debug)
		tree_write(tree, "sys/kernel/debug/sched/preempt", debug);
	if (realtime)
		tree_write(tree, "sys/kernel/realtime", realtime);
	if (version)
		tree_write(tree, "proc/sys/kernel/version", version);
	if (cmdline)
		tree_write(tree, "proc/cmdline", cmdline);
	struct hc_kernel kernel = read_tree(tree);
	assert_string_equal(kernel.preemption, expected);
	hc_kernel_free(&kernel);
}

static void test_preemption(void **state) {
	(void)state;
	const char *dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.106-3 (2024-08-26)\n";
	expect_preemption("none voluntary (full)\n", NULL, dynamic, NULL, "full");
	expect_preemption("none voluntary full (lazy)\n", NULL, dynamic, "preempt=none\n", "lazy");
	expect_preemption("(none) voluntary full\n", NULL, dynamic, NULL, "none");
	expect_preemption("none voluntary full\n", NULL, dynamic, NULL, "dynamic");
	expect_preemption("(\n", NULL, NULL, NULL, "");
	expect_preemption(NULL, "1\n", "#1 SMP PREEMPT_RT x\n", NULL, "rt");
	expect_preemption(NULL, "0\n", "#1 SMP PREEMPT x\n", NULL, "preemptible");
	expect_preemption(NULL, NULL, "#1 SMP PREEMPT_RT Debian 6.1\n", NULL, "rt");
	expect_preemption(NULL, NULL, dynamic, NULL, "dynamic");
	expect_preemption(NULL, NULL, dynamic, "quiet preempt=none xpreempt=full preempt=voluntary\n", "voluntary");
	expect_preemption(NULL, NULL, dynamic, "preempt=voluntary preempt=bogus\n", "voluntary");
	expect_preemption(NULL, NULL, "#1 SMP Debian 5.10.0\n", "preempt=full\n", "");
	expect_preemption(NULL, NULL, "#1 SMP NOPREEMPT_RT PREEMPT_RTX\n", NULL, "");
	expect_preemption(NULL, NULL, NULL, NULL, "");

	char *tree = temp_folder();
	tree_write(tree, "proc/version", "Linux version 6.6.0 (a@b) (gcc) #1 SMP PREEMPT_DYNAMIC Mon Jan 1\n");
	struct hc_kernel kernel = read_tree(tree);
	assert_string_equal(kernel.preemption, "dynamic");
	assert_string_equal(kernel.release, "");
	assert_string_equal(kernel.boot_id, "");
	hc_kernel_free(&kernel);
}

static void test_live_names(void **state) {
	(void)state;
	struct hc_root root;
	struct hc_kernel kernel;
	assert_ok(hc_root_open(NULL, &root));
	assert_ok(hc_kernel_read(&root, NULL, &kernel));
	struct utsname uts;
	assert_int_equal(uname(&uts), 0);
	assert_string_equal(kernel.release, uts.release);
	assert_int_equal(strlen(kernel.boot_id), 36);
	hc_kernel_free(&kernel);
	hc_root_close(&root);
}

static const uint64_t sizes[] = {UINT64_C(2) << 20, UINT64_C(8) << 20};

static struct hc_kernel_features try_all(int try) {
	struct hc_root root;
	struct hc_kernel_features features;
	assert_ok(hc_root_open(NULL, &root));
	assert_ok(hc_kernel_features_read(&root, try, sizes, 2, &features));
	hc_root_close(&root);
	return features;
}

static const struct hc_kernel_feature *find(const struct hc_kernel_features *features, const char *name) {
	for (unsigned i = 0; i < features->nr_features; i++)
		if (strcmp(features->features[i].name, name) == 0)
			return &features->features[i];
	fail_msg("no feature '%s'", name);
	return NULL;
}

/* Open descriptors, and lines of the map of memory. */
static void count_resources(unsigned *ret_descriptors, unsigned *ret_mappings) {
	unsigned n = 0;
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	*ret_descriptors = n;
	n = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	for (int c; (c = fgetc(maps)) != EOF;)
		n += c == '\n';
	fclose(maps);
	*ret_mappings = n;
}

static void test_probes_leave_nothing_behind(void **state) {
	(void)state;
	struct hc_kernel_features features = try_all(1); /* the allocator's first growth isn't counted */
	hc_kernel_features_free(&features);
	unsigned descriptors, mappings, descriptors_after, mappings_after;
	count_resources(&descriptors, &mappings);
	for (unsigned i = 0; i < 20; i++) {
		features = try_all(1);
		hc_kernel_features_free(&features);
	}
	count_resources(&descriptors_after, &mappings_after);
	assert_int_equal(descriptors_after, descriptors);
	assert_int_equal(mappings_after, mappings);
}

static void test_every_probe_has_an_answer(void **state) {
	(void)state;
	struct hc_kernel_features features = try_all(1);
	assert_int_equal(features.nr_features, 9);
	for (unsigned i = 0; i < features.nr_features; i++) {
		const struct hc_kernel_feature *feature = &features.features[i];
		assert_in_range(feature->available + 1, 0, 2);
		assert_int_equal(feature->reason == NULL, feature->available == 1);
		/* The oracle for sizes is the kernel's list. */
		if (strcmp(feature->name, "memfd_create hugetlb 8 MiB") == 0 &&
		        access("/sys/kernel/mm/hugepages", F_OK) == 0)
			assert_int_equal(
			        feature->available, access("/sys/kernel/mm/hugepages/hugepages-8192kB", F_OK) == 0);
		if (strcmp(feature->name, "memfd_create hugetlb 2 MiB") == 0 &&
		        access("/sys/kernel/mm/hugepages/hugepages-2048kB", F_OK) == 0)
			assert_int_equal(feature->available, 1);
	}
	hc_kernel_features_free(&features);

	features = try_all(0);
	assert_int_equal(features.nr_features, 9);
	for (unsigned i = 0; i < features.nr_features; i++) {
		assert_int_equal(features.features[i].available, -1);
		assert_string_equal(features.features[i].reason, "not tried");
	}
	hc_kernel_features_free(&features);
}

static void test_replaced_root_is_not_tried(void **state) {
	(void)state;
	char *tree = temp_folder();
	struct hc_root root;
	struct hc_kernel_features features;
	struct hc_limits limits;
	assert_ok(hc_root_open(tree, &root));
	assert_ok(hc_kernel_features_read(&root, 1, sizes, 1, &features));
	for (unsigned i = 0; i < features.nr_features; i++)
		assert_int_equal(features.features[i].available, -1);
	hc_kernel_features_free(&features);
	hc_limits_read(&root, &limits);
	assert_true(limits.locked_memory_soft == HC_UNKNOWN);
	assert_true(limits.address_space == HC_UNKNOWN);
	assert_int_equal(limits.locked_memory_applies, -1);
	hc_root_close(&root);
	temp_folder_remove(tree);
}

/* ---- DS-10: the same calls under a filter that refuses one of them -------- */

static int install_filter(long nr, int err) {
	struct sock_filter code[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)err & SECCOMP_RET_DATA)),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

struct verdict {
	int available;
	char reason[256];
};

/* What the probe of this name says in a process in which system call nr fails with err. */
static struct verdict verdict_with(long nr, int err, const char *name) {
	struct verdict *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (install_filter(nr, err) < 0)
			_exit(77);
		struct hc_root root;
		struct hc_kernel_features features;
		if (hc_root_open(NULL, &root) < 0 || hc_kernel_features_read(&root, 1, sizes, 1, &features) < 0)
			_exit(1);
		for (unsigned i = 0; i < features.nr_features; i++) {
			if (strcmp(features.features[i].name, name) != 0)
				continue;
			shared->available = features.features[i].available;
			snprintf(shared->reason, sizeof(shared->reason), "%s",
			        features.features[i].reason ? features.features[i].reason : "");
			_exit(0);
		}
		_exit(2);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	struct verdict verdict = *shared;
	munmap(shared, sizeof(*shared));
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("seccomp filters can't be set here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return verdict;
}

static void test_DS_10_not_available(void **state) {
	(void)state;
	static const int errors[] = {ENOENT, ENOSYS, EINVAL, ENODEV, EPERM};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct verdict verdict = verdict_with(SYS_memfd_create, errors[i], "memfd_create hugetlb 2 MiB");
		assert_int_equal(verdict.available, 0);
		assert_contains(verdict.reason, strerrordesc_np(errors[i]));
		verdict = verdict_with(SYS_memfd_create, errors[i], "F_ADD_SEALS hugetlb 2 MiB");
		assert_int_equal(verdict.available, 0);
	}
}

static void test_DS_10_resource_errors(void **state) {
	(void)state;
	static const int errors[] = {EMFILE, ENFILE, ENOMEM};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct verdict verdict = verdict_with(SYS_memfd_create, errors[i], "memfd_create hugetlb 2 MiB");
		assert_int_equal(verdict.available, -1);
		assert_contains(verdict.reason, strerrordesc_np(errors[i]));
	}
}

static void test_DS_10_real_lack_of_descriptors(void **state) {
	(void)state;
	struct hc_root root;
	struct hc_kernel_features features;
	assert_ok(hc_root_open(NULL, &root));
	struct rlimit old, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int r = hc_kernel_features_read(&root, 1, sizes, 1, &features);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r, 0);
	assert_int_equal(find(&features, "memfd_create hugetlb 2 MiB")->available, -1);
	assert_int_equal(find(&features, "PAGEMAP_SCAN")->available, -1);
	hc_kernel_features_free(&features);
	hc_root_close(&root);
}

static void test_DS_10_other_calls_refused(void **state) {
	(void)state;
	assert_int_equal(verdict_with(SYS_io_uring_setup, ENOSYS, "io_uring").available, 0);
	assert_int_equal(verdict_with(SYS_io_uring_setup, EPERM, "io_uring").available, 0);
	assert_int_equal(verdict_with(SYS_io_uring_setup, ENOMEM, "io_uring").available, -1);
	assert_int_equal(verdict_with(SYS_ioctl, ENOTTY, "PAGEMAP_SCAN").available, 0);
}

/* TH-03: madvise gives EINVAL where THP isn't built in. */
static void test_TH_03_madvise_refused(void **state) {
	(void)state;
	assert_int_equal(verdict_with(SYS_madvise, EINVAL, "MADV_HUGEPAGE").available, 0);
	assert_int_equal(verdict_with(SYS_madvise, EINVAL, "MADV_POPULATE_WRITE").available, 0);
	assert_int_equal(verdict_with(SYS_madvise, EINVAL, "MADV_COLLAPSE").available, 0);
	/* An emulator that says yes to everything and does nothing must not be believed. */
	assert_int_equal(verdict_with(SYS_madvise, 0, "MADV_HUGEPAGE").available, -1);
	assert_int_equal(verdict_with(SYS_madvise, 0, "MADV_POPULATE_WRITE").available, 0);
}

/* The oracle for limits is the shell's ulimit, in KiB. */
static void test_live_limits(void **state) {
	(void)state;
	struct hc_root root;
	struct hc_limits limits;
	assert_ok(hc_root_open(NULL, &root));
	hc_limits_read(&root, &limits);
	hc_root_close(&root);
	static const char *const commands[] = {"ulimit -S -l", "ulimit -H -l", "ulimit -S -v"};
	const uint64_t values[] = {limits.locked_memory_soft, limits.locked_memory_hard, limits.address_space};
	for (size_t i = 0; i < 3; i++) {
		char line[64];
		FILE *shell = popen(commands[i], "re");
		assert_non_null(shell);
		assert_non_null(fgets(line, sizeof(line), shell));
		pclose(shell);
		if (strcmp(line, "unlimited\n") == 0)
			assert_true(values[i] == HC_UNKNOWN);
		else
			assert_true(values[i] / 1024 == strtoull(line, NULL, 10));
	}
}

/* Whether mlock(2) is limited, with a limit of 0 beside which nothing goes. */
static int lock_verdict(void) {
	struct rlimit none = {0};
	if (setrlimit(RLIMIT_MEMLOCK, &none) < 0)
		return 99;
	static char page[4096];
	/* Not through libc: sanitizers make its mlock() do nothing. */
	return syscall(SYS_mlock, page, sizeof(page)) < 0 ? 1 : 0;
}

static int compare_lock_verdict(bool as_nobody) {
	if (as_nobody && (setgid(65534) < 0 || setuid(65534) < 0))
		return 98;
	struct hc_root root;
	struct hc_limits limits;
	if (hc_root_open(NULL, &root) < 0)
		return 97;
	hc_limits_read(&root, &limits);
	return limits.locked_memory_applies == lock_verdict() ? 0 : 1;
}

static void test_locked_memory_applies_as_mlock_says(void **state) {
	(void)state;
	for (int as_nobody = 0; as_nobody <= (geteuid() == 0); as_nobody++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(compare_lock_verdict(as_nobody));
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_preemption),
	        cmocka_unit_test(test_live_names),
	        cmocka_unit_test(test_probes_leave_nothing_behind),
	        cmocka_unit_test(test_every_probe_has_an_answer),
	        cmocka_unit_test(test_replaced_root_is_not_tried),
	        cmocka_unit_test(test_DS_10_not_available),
	        cmocka_unit_test(test_DS_10_resource_errors),
	        cmocka_unit_test(test_DS_10_real_lack_of_descriptors),
	        cmocka_unit_test(test_DS_10_other_calls_refused),
	        cmocka_unit_test(test_TH_03_madvise_refused),
	        cmocka_unit_test(test_live_limits),
	        cmocka_unit_test(test_locked_memory_applies_as_mlock_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
