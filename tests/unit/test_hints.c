/* What is said about an errno that a limit of the process or a filter of system calls explains: bash's ulimit has the names. */
#include "support/child.h"
#include "support/seccomp.h"
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <hugeclear/map.h>

#include "base/error.h"
#include "base/hints.h"

/* 1 PiB: more than sanitizers reserve, so that the child runs on. */
#define MUCH ((rlim_t)1 << 50)

static bool detail_is(const char *text) {
	bool same = strcmp(hc_error_detail(), text) == 0;
	if (!same)
		fprintf(stderr, "not '%s' but '%s'\n", text, hc_error_detail());
	return same;
}

static bool set_limit(int resource, rlim_t soft) {
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return false;
	limit.rlim_cur = soft;
	return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

static int check_limits(void *arg) {
	(void)arg;
	bool ok = set_limit(RLIMIT_NOFILE, 17) && set_limit(RLIMIT_FSIZE, 10240) && set_limit(RLIMIT_AS, MUCH) &&
	          set_limit(RLIMIT_DATA, MUCH / 1024) && set_limit(RLIMIT_NPROC, 9);
	errno = ERANGE;
	ok = ok && hc_fail_errno(EMFILE, "%s", "a") == -EMFILE && errno == ERANGE &&
	     detail_is("a: Too many open files (the limit of open files is 17: raise it with ulimit -n)");
	ok = ok && hc_fail_errno(EFBIG, "b") == -EFBIG &&
	     detail_is("b: File too large (the limit of a file's size is 10 KiB: raise it with ulimit -f)");
	ok = ok && hc_fail_memory("no memory for %d", 3) == -ENOMEM &&
	     detail_is("no memory for 3 (the limit of address space is 1 PiB: raise it with ulimit -v; "
	               "the limit of private memory is 1 TiB: raise it with ulimit -d)");
	ok = ok && set_limit(RLIMIT_DATA, RLIM_INFINITY) && hc_fail_start(EAGAIN, "c") == -EAGAIN &&
	     detail_is("c: Resource temporarily unavailable (the limit of address space is 1 PiB: raise it with "
	               "ulimit -v; the limit of processes is 9: raise it with ulimit -u; or it is the cgroup's "
	               "pids.max)");
	/* Others have nothing to do with limits, and EAGAIN means many things elsewhere. */
	ok = ok && hc_fail_errno(EAGAIN, "d") == -EAGAIN && detail_is("d: Resource temporarily unavailable");
	ok = ok && hc_fail_errno(ENFILE, "e") == -ENFILE && detail_is("e: Too many open files in system");
	return ok ? 0 : 1;
}

static void test_limits_are_named(void **state) {
	(void)state;
	assert_int_equal(in_child(check_limits, NULL), 0);
}

static void test_nothing_is_said_without_limits(void **state) {
	(void)state;
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
		assert_string_equal(hc_hint_limit(EFBIG).s, "");
	assert_string_equal(hc_hint_limit(0).s, "");
	assert_string_equal(hc_hint_start(EINVAL).s, "");
	assert_string_equal(hc_hint_forbidden(EINVAL).s, "");
}

/* Docker's and others' profiles answer EPERM: the error was only "Operation not permitted". */
static bool check_forbidden(int err) {
	const struct hc_map_opts opts = {.size = sizeof(opts), .backing = HC_BACKING_BASE, .flags = HC_MAP_DONTFORK};
	struct hc_map *map = NULL;
	int r = hc_map_open(1, &opts, &map);
	bool ok = r == -err && strstr(hc_error_detail(), "madvise(MADV_DONTFORK)") &&
	          strstr(hc_error_detail(), "a seccomp filter is in force, as containers have, and probably forbids");
	if (!ok)
		fprintf(stderr, "%d: %s\n", r, hc_error_detail());
	return ok;
}

static void test_a_filter_is_named(void **state) {
	(void)state;
	static const int calls[] = {SYS_madvise};
	with_calls_forbidden(calls, 1, EPERM, check_forbidden);
	with_calls_forbidden(calls, 1, ENOSYS, check_forbidden);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_limits_are_named),
	        cmocka_unit_test(test_nothing_is_said_without_limits),
	        cmocka_unit_test(test_a_filter_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
