/* The team where the system is short of threads, and the default number of threads where its time is limited. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>

#include "support/child.h"
#include "sys/affinity.h"
#include "sys/cgroup.h"
#include "sys/quota.h"
#include "sys/team.h"

#define WANTED 8

static int count(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	(void)thread;
	atomic_fetch_add((atomic_ullong *)arg, end - begin);
	return 0;
}

/* Opens a team of WANTED that gets fewer: the work is done all the same, and what was short is told. */
static bool works_with_fewer(unsigned least, unsigned most, const struct hc_idset *cpus) {
	struct hc_team_opts opts = {.size = sizeof(opts), .threads = WANTED, .cpus = cpus};
	struct hc_team *team = NULL;
	if (hc_team_open(&opts, &team) < 0) {
		fprintf(stderr, "no team: %s\n", hc_error_detail());
		return false;
	}
	unsigned threads = hc_team_threads(team);
	const char *shortfall = hc_team_shortfall(team);
	atomic_ullong counted = 0;
	struct hc_team_work work = {.nr_items = 1000, .block = 7, .fn = count, .arg = &counted};
	uint64_t done = 0;
	int r = hc_team_run(team, &work, &done);
	bool ok = r == 0 && done == 1000 && counted == 1000 && threads >= least && threads <= most && shortfall &&
	          strstr(shortfall, "8 threads wanted");
	if (!ok)
		fprintf(stderr, "%u threads, returned %d, %llu done: %s\n", threads, r, (unsigned long long)done,
		        shortfall ? shortfall : "(no shortfall told)");
	hc_team_close(team);
	return ok;
}

/* 77 skips the test. */
static void expect_in_child(int (*check)(void *arg), void *arg) {
	int r = in_child(check, arg);
	if (r == 77)
		skip();
	assert_int_equal(r, 0);
}

static bool is_root(void) {
	if (geteuid() == 0)
		return true;
	printf("limits for another user need root\n");
	return false;
}

/* RLIMIT_NPROC counts the processes and threads of a user, and doesn't bind root: this one has only us. */
static int under_process_limit(void *arg) {
	const rlim_t *limit = arg;
	struct rlimit nproc = {.rlim_cur = *limit, .rlim_max = *limit};
	struct hc_idset *allowed = NULL;
	if (setrlimit(RLIMIT_NPROC, &nproc) < 0 || setgroups(0, NULL) < 0 || setgid(52345) < 0 || setuid(52345) < 0 ||
	        hc_affinity_get(&allowed) < 0)
		return 1;
	/* the process is one of them; a sanitizer's own threads may be others */
	unsigned most = *limit > 1 ? (unsigned)*limit - 1 : 1;
	bool ok = works_with_fewer(1, most, NULL) && works_with_fewer(1, most, allowed);
	/* and where the caller alone does the work, its affinity is as before */
	struct hc_idset *after = NULL;
	ok = ok && hc_affinity_get(&after) == 0 && hc_idset_is_subset(allowed, after);
	return ok ? 0 : 1;
}

static void test_PD_05_process_limit(void **state) {
	(void)state;
	if (!is_root())
		skip();
	rlim_t limits[] = {3, 1};
	for (size_t i = 0; i < 2; i++)
		expect_in_child(under_process_limit, &limits[i]);
}

/* ---- A cgroup below the present one ------------------------------------- */

struct test_group {
	const char *controller;
	char path[PATH_MAX];
	int version;
};

static int take_first(void *user, const char *folder, int version) {
	struct test_group *group = user;
	snprintf(group->path, sizeof(group->path), "/%s/hugeclear-test-%d", folder, (int)getpid());
	group->version = version;
	return 1;
}

static bool write_file(const struct test_group *group, const char *file, const char *text) {
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", group->path, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Makes the group with one limit; false with the reason printed where it can't be. */
static bool group_make(struct test_group *group, const char *controller, const char *v1_file, const char *v1_limit,
        const char *v2_file, const char *v2_limit) {
	struct hc_root root;
	*group = (struct test_group){.controller = controller};
	assert_ok(hc_root_open(NULL, &root));
	int r = hc_cgroup_folders(&root, controller, take_first, group);
	hc_root_close(&root);
	if (r != 1 || mkdir(group->path, 0755) < 0) {
		printf("no cgroup of %s can be made here\n", controller);
		return false;
	}
	if (!write_file(group, group->version == 1 ? v1_file : v2_file, group->version == 1 ? v1_limit : v2_limit)) {
		printf("%s has no limit of %s to set\n", group->path, controller);
		rmdir(group->path);
		return false;
	}
	return true;
}

static void group_remove(const struct test_group *group) {
	/* the child that was in it has been waited for, but the kernel may still be taking it out */
	for (int i = 0; rmdir(group->path) < 0 && errno == EBUSY && i < 100; i++)
		usleep(10000);
	assert_int_equal(access(group->path, F_OK), -1);
}

/* expect_in_child() that puts the group away before the test ends one way or the other. */
static void in_group(struct test_group *group, int (*check)(void *arg)) {
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(write_file(group, "cgroup.procs", "0") ? check(group) : 77);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	group_remove(group);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("no process can be put into %s\n", group->path);
		skip();
	}
	assert_int_equal(status, 0);
}

static int with_two_tasks(void *arg) {
	(void)arg;
	return works_with_fewer(1, 1, NULL) ? 0 : 1;
}

static void test_PD_05_pids_cgroup(void **state) {
	(void)state;
	struct test_group group;
	if (!is_root() || !group_make(&group, "pids", "pids.max", "2", "pids.max", "2"))
		skip();
	in_group(&group, with_two_tasks);
}

static int with_one_task(void *arg) {
	(void)arg;
	struct hc_team_opts opts = {.size = sizeof(opts), .threads = WANTED};
	struct hc_team *team = NULL;
	bool ok = works_with_fewer(1, 1, NULL) && hc_team_open(&opts, &team) == 0 &&
	          strstr(hc_team_shortfall(team), "none could be started");
	hc_team_close(team);
	return ok ? 0 : 1;
}

static void test_PD_05_no_thread_at_all(void **state) {
	(void)state;
	struct test_group group;
	if (!is_root() || !group_make(&group, "pids", "pids.max", "1", "pids.max", "1"))
		skip();
	in_group(&group, with_one_task);
}

static void count_calls(void *user, uint64_t done, uint64_t total) {
	(void)done, (void)total;
	++*(unsigned *)user;
}

/* 2 MiB for each thread that runs, not for each of the 200: 32 chunks of 64 MiB, done by the caller alone. */
static int clear_with_one_task(void *arg) {
	(void)arg;
	size_t len = (size_t)64 << 20;
	void *memory = aligned_alloc(4096, len);
	unsigned told = 0;
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 200, .progress = count_calls, .user = &told};
	struct hc_clear_report report = {.size = sizeof(report)};
	int r = memory ? hc_clear_with(memory, len, &opts, &report) : -ENOMEM;
	free(memory);
	if (r == 0 && report.threads == 1 && told == 32)
		return 0;
	fprintf(stderr, "returned %d, %u threads, told %u times\n", r, report.threads, told);
	return 1;
}

static void test_default_chunk_by_threads_that_run(void **state) {
	(void)state;
	struct test_group group;
	if (!is_root() || !group_make(&group, "pids", "pids.max", "1", "pids.max", "1"))
		skip();
	in_group(&group, clear_with_one_task);
}

/* In parallel by the caller alone, deferred at first use, and no scrubber, which is said. */
static int arena_with_one_task(void *arg) {
	(void)arg;
	static const enum hc_arena_init ways[] = {HC_ARENA_PARALLEL, HC_ARENA_DEFERRED, HC_ARENA_MEMSET_THEN_INIT};
	size_t len = (size_t)1 << 30;
	void *space = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct hc_arena_opts opts = {
		        .size = sizeof(opts), .memory = space, .length = len, .init = ways[i], .threads = 8};
		struct hc_arena *arena = NULL;
		struct hc_arena_stats stats = {.size = sizeof(stats)};
		bool ok = hc_arena_open(&opts, &arena) == 0 && hc_arena_wait(arena) == 0 &&
		          hc_arena_check(arena) == 0 && hc_arena_stats(arena, HC_NODE_HERE, &stats) == 0 &&
		          stats.ready == stats.frames && hc_arena_scrubber_start(arena, NULL) == -EAGAIN &&
		          strstr(hc_error_detail(), "pids.max");
		hc_arena_close(arena);
		if (!ok) {
			fprintf(stderr, "way %zu: %s\n", i, hc_error_detail());
			return 1;
		}
	}
	return 0;
}

static void test_PD_05_arena_without_threads(void **state) {
	(void)state;
	struct test_group group;
	if (!is_root() || !group_make(&group, "pids", "pids.max", "1", "pids.max", "1"))
		skip();
	in_group(&group, arena_with_one_task);
}

static int at_half_a_cpu(void *arg) {
	const struct test_group *group = arg;
	struct hc_default_threads by_default;
	bool ok = hc_default_threads_here(&by_default) == 0 && by_default.threads == 1;
	if (ok && sysconf(_SC_NPROCESSORS_ONLN) > 1)
		ok = strstr(by_default.why, "cgroup quota 0.5 CPUs (") && strstr(by_default.why, group->path);
	struct hc_team *team = NULL;
	ok = ok && hc_team_open(NULL, &team) == 0 && hc_team_threads(team) == 1;
	hc_team_close(team);
	if (!ok)
		fprintf(stderr, "%s\n", by_default.why);
	return ok ? 0 : 1;
}

static void test_PD_06_quota_of_half_a_cpu(void **state) {
	(void)state;
	struct test_group group;
	if (!is_root() || !group_make(&group, "cpu", "cpu.cfs_quota_us", "50000", "cpu.max", "50000 100000"))
		skip();
	in_group(&group, at_half_a_cpu);
}

static int on_one_cpu(void *arg) {
	(void)arg;
	struct hc_idset *allowed = NULL, *first = hc_idset_new();
	struct hc_default_threads by_default = {0};
	bool ok = first && hc_affinity_get(&allowed) == 0 &&
	          hc_idset_add(first, (unsigned)hc_idset_next(allowed, 0)) == 0 && hc_affinity_pin(first) == 0 &&
	          hc_default_threads_here(&by_default) == 0 && by_default.threads == 1;
	struct hc_team *team = NULL;
	ok = ok && hc_team_open(NULL, &team) == 0 && hc_team_threads(team) == 1;
	hc_team_close(team);
	if (!ok)
		fprintf(stderr, "%s: %s\n", by_default.why, hc_error_detail());
	return ok ? 0 : 1;
}

static void test_PD_06_affinity_of_one_cpu(void **state) {
	(void)state;
	expect_in_child(on_one_cpu, NULL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_PD_05_process_limit),
	        cmocka_unit_test(test_PD_05_pids_cgroup),
	        cmocka_unit_test(test_PD_05_no_thread_at_all),
	        cmocka_unit_test(test_PD_05_arena_without_threads),
	        cmocka_unit_test(test_default_chunk_by_threads_that_run),
	        cmocka_unit_test(test_PD_06_quota_of_half_a_cpu),
	        cmocka_unit_test(test_PD_06_affinity_of_one_cpu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
