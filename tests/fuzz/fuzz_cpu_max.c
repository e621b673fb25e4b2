/* Any cpu.max, or pair of files of version 1, gives a quota above 0 or none, and at least one thread. */
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "fuzz/fuzz_root.h"
#include "sys/quota.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(struct fuzz_root *fuzz) {
	struct hc_root root = fuzz_root(fuzz);
	struct hc_warnings sink = {0};
	struct hc_quota quota;
	struct hc_default_threads by_default;
	hc_quota_read(&root, &sink, &quota);
	if (quota.quota_us == 0 || quota.period_us == 0 || (quota.quota_us != HC_UNKNOWN && quota.file[0] == '\0'))
		abort();
	hc_default_threads(64, "affinity", &quota, &by_default);
	if (by_default.threads < 1 || by_default.threads > 64 || by_default.why[0] == '\0')
		abort();
	hc_warnings_clear(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_root v2 = {
	        .bytes = bytes,
	        .len = len,
	        .names = {"a/b/cpu.max", "a/cpu.max"},
	        .fixed = {"proc/self/cgroup", "0::/a/b\n", "proc/self/mountinfo",
	                "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
	};
	check(&v2);
	struct fuzz_root v1 = {
	        .bytes = bytes,
	        .len = len,
	        .names = {"cpu.cfs_quota_us", "cpu.cfs_period_us"},
	        .fixed = {"proc/self/cgroup", "2:cpu,cpuacct:/a\n", "proc/self/mountinfo",
	                "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"},
	};
	check(&v1);
	return 0;
}
