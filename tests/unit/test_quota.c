/* CPU quotas of cgroups, and the number of threads that follows. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "sys/quota.h"

static struct hc_quota read_folder(const char *folder, struct hc_warnings *sink) {
	struct hc_root root;
	struct hc_quota quota;
	assert_ok(hc_root_open(folder, &root));
	hc_quota_read(&root, sink, &quota);
	hc_root_close(&root);
	return quota;
}

/* A machine with version 2 alone, whose process is in /a/b. */
static char *v2_tree(void) {
	char *root = temp_folder();
	tree_write(root, "proc/self/cgroup", "0::/a/b\n");
	tree_write(root, "proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
	return root;
}

/* The table of PD-06: what cpu.max says, and the threads for a machine of 8 CPUs. */
static void test_PD_06_cpu_max(void **state) {
	(void)state;
	static const struct {
		const char *cpu_max; /* NULL: absent */
		uint64_t quota, period;
		unsigned threads;
		const char *why;
		bool warning;
	} rows[] = {
	        {"max 100000\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", false},
	        {"150000 100000\n", 150000, 100000, 2, "cgroup quota 1.5 CPUs (", false},
	        {"50000 100000\n", 50000, 100000, 1, "cgroup quota 0.5 CPUs (", false},
	        {"100000 100000\n", 100000, 100000, 1, "cgroup quota 1 CPU (", false},
	        {"233333 100000\n", 233333, 100000, 3, "cgroup quota 2.33 CPUs (", false},
	        {"800000 100000\n", 800000, 100000, 8, "affinity (8 CPUs)", false},
	        {"1 18446744073709551615\n", 1, UINT64_MAX, 1, "cgroup quota under 0.01 CPUs (", false},
	        {"18446744073709551615 1\n", HC_UNKNOWN, 1, 8, "affinity (8 CPUs)", false},
	        {NULL, HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", false},
	        {"garbage\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"150000\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"150000 0\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"0 100000\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"-1 100000\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"150000 100000 1\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"maximum 100000\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	        {"99999999999999999999 100000\n", HC_UNKNOWN, HC_UNKNOWN, 8, "affinity (8 CPUs)", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *root = v2_tree();
		struct hc_warnings sink = {0};
		if (rows[i].cpu_max)
			tree_write(root, "sys/fs/cgroup/a/b/cpu.max", rows[i].cpu_max);
		struct hc_quota quota = read_folder(root, &sink);
		struct hc_default_threads by_default;
		hc_default_threads(8, "affinity", &quota, &by_default);
		if (by_default.threads != rows[i].threads || !strstr(by_default.why, rows[i].why) ||
		        quota.quota_us != rows[i].quota ||
		        (rows[i].quota != HC_UNKNOWN && quota.period_us != rows[i].period))
			fail_msg("%s: %u threads, %s", rows[i].cpu_max, by_default.threads, by_default.why);
		assert_int_equal(sink.nr, rows[i].warning);
		if (by_default.threads < 8)
			assert_contains(by_default.why, "/sys/fs/cgroup/a/b/cpu.max)");
		hc_warnings_clear(&sink);
		temp_folder_remove(root);
	}
}

static void test_PD_06_tightest_ancestor(void **state) {
	(void)state;
	char *root = v2_tree();
	tree_write(root, "sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
	tree_write(root, "sys/fs/cgroup/a/cpu.max", "30000 10000\n"); /* 3 CPUs, though the numbers are smaller */
	struct hc_quota quota = read_folder(root, NULL);
	assert_true(quota.quota_us == 30000 && quota.period_us == 10000);
	assert_contains(quota.file, "/sys/fs/cgroup/a/cpu.max");
	/* another branch binds nobody here */
	tree_write(root, "sys/fs/cgroup/c/cpu.max", "1000 100000\n");
	quota = read_folder(root, NULL);
	assert_true(quota.quota_us == 30000);
	tree_write(root, "sys/fs/cgroup/a/b/cpu.max", "299999 100000\n");
	quota = read_folder(root, NULL);
	assert_true(quota.quota_us == 299999);
	/* products beyond 64 bits: (2^63 / 2^62) = 2 < 3, and 2^64 - 1 periods of 10 are less */
	tree_write(root, "sys/fs/cgroup/a/b/cpu.max", "9223372036854775808 4611686018427387904\n");
	quota = read_folder(root, NULL);
	assert_true(quota.quota_us == UINT64_C(1) << 63);
	temp_folder_remove(root);
}

static void test_PD_06_version_1_and_hybrid(void **state) {
	(void)state;
	char *root = temp_folder();
	tree_write(root, "proc/self/cgroup", "2:cpu,cpuacct:/a\n1:memory:/\n0::/\n");
	tree_write(root, "proc/self/mountinfo",
	        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	        "38 31 0:35 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	struct hc_warnings sink = {0};
	struct hc_quota quota = read_folder(root, &sink);
	assert_true(quota.quota_us == HC_UNKNOWN && sink.nr == 0);

	tree_write(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
	tree_write(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
	quota = read_folder(root, &sink);
	assert_true(quota.quota_us == HC_UNKNOWN && sink.nr == 0);

	tree_write(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
	tree_write(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	quota = read_folder(root, &sink);
	assert_true(quota.quota_us == 250000 && quota.period_us == 100000 && sink.nr == 0);

	static const char *const odd[] = {"-2\n", "", "1.5\n", "0\n"};
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		tree_write(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", odd[i]);
		quota = read_folder(root, &sink);
		assert_true(quota.quota_us == 250000);
		assert_int_equal(sink.nr, 1);
		assert_contains(hc_warnings_get(&sink, 0), "cpu.cfs_quota_us");
		hc_warnings_clear(&sink);
	}
	/* the quota without its period */
	tree_write(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
	tree_write(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "\n");
	quota = read_folder(root, &sink);
	assert_true(quota.quota_us == 250000 && sink.nr == 1);
	hc_warnings_clear(&sink);
	temp_folder_remove(root);
}

static void test_never_below_one(void **state) {
	(void)state;
	struct hc_quota none = {.quota_us = HC_UNKNOWN, .period_us = HC_UNKNOWN};
	struct hc_default_threads by_default;
	hc_default_threads(0, "online", &none, &by_default);
	assert_int_equal(by_default.threads, 1);
	assert_string_equal(by_default.why, "online (1 CPU)");
	assert_ok(hc_default_threads_here(&by_default));
	assert_true(by_default.threads >= 1 && by_default.why[0] != '\0');
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_PD_06_cpu_max),
	        cmocka_unit_test(test_PD_06_tightest_ancestor),
	        cmocka_unit_test(test_PD_06_version_1_and_hybrid),
	        cmocka_unit_test(test_never_below_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
