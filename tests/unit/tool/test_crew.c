/* Threads of benchmarks: how many, where, and what they hand back. */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/hugeclear.h>

#include "base/error.h"
#include "bench/crew.h"

static struct hc_machine *machine;

static int read_machine(void **state) {
	(void)state;
	return hc_machine_read(NULL, &machine);
}

static int free_machine(void **state) {
	(void)state;
	machine = hc_machine_free(machine);
	return 0;
}

struct seen {
	atomic_uint calls[8];
	atomic_uint nr;
	int cpus[8];
};

static int note_call(void *arg, unsigned thread, unsigned nr) {
	struct seen *seen = arg;
	cpu_set_t set;
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	seen->cpus[thread] = CPU_COUNT(&set) == 1 ? sched_getcpu() : -1;
	atomic_fetch_add(&seen->calls[thread], 1);
	atomic_store(&seen->nr, nr);
	return 0;
}

static void test_each_member_is_called_once_a_run(void **state) {
	(void)state;
	struct crew *crew;
	static struct seen seen;
	assert_ok(crew_open(machine, 4, NULL, &crew));
	assert_int_equal(crew_threads(crew), 4);
	for (int i = 0; i < 100; i++)
		assert_ok(crew_run(crew, 4, note_call, &seen));
	for (int i = 0; i < 50; i++)
		assert_ok(crew_run(crew, 2, note_call, &seen));
	assert_int_equal(seen.nr, 2);
	assert_int_equal(seen.calls[0], 150);
	assert_int_equal(seen.calls[1], 150);
	assert_int_equal(seen.calls[2], 100);
	assert_int_equal(seen.calls[3], 100);
	/* More than there are: all of them. */
	assert_ok(crew_run(crew, 8, note_call, &seen));
	assert_int_equal(seen.nr, 4);
	assert_null(crew_close(crew));
	assert_null(crew_close(NULL));
}

static void test_members_are_pinned_one_after_another(void **state) {
	(void)state;
	const struct hc_idset *allowed = hc_machine_cpus(machine)->allowed;
	int first = hc_idset_next(allowed, 0), second = hc_idset_next(allowed, first + 1);
	if (second < 0) {
		print_message("only one CPU is allowed here\n");
		skip();
	}
	char list[64];
	snprintf(list, sizeof(list), "%d,%d,%d", second, first, second);
	struct crew *crew;
	static struct seen seen;
	assert_ok(crew_open(machine, 3, list, &crew));
	assert_ok(crew_run(crew, 3, note_call, &seen));
	/* The lowest first, however it is written: as the library does, see test_team. */
	assert_int_equal(seen.cpus[0], first);
	assert_int_equal(seen.cpus[1], second);
	assert_int_equal(seen.cpus[2], first);
	crew_close(crew);
}

static int look_at_signals(void *arg, unsigned thread, unsigned nr) {
	(void)thread, (void)nr;
	atomic_uint *wrong = arg;
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t now;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		*wrong += (unsigned)sigismember(&now, own[i]);
	*wrong += !sigismember(&now, SIGINT);
	return 0;
}

/* ^C is the caller's; a fault is the thread's own, and a handler for it runs. */
static void test_signals_of_members(void **state) {
	(void)state;
	struct crew *crew;
	atomic_uint wrong = 0;
	assert_ok(crew_open(machine, 2, NULL, &crew));
	assert_ok(crew_run(crew, 2, look_at_signals, &wrong));
	assert_int_equal(wrong, 0);
	crew_close(crew);
}

static int fail_in_one(void *arg, unsigned thread, unsigned nr) {
	(void)arg, (void)nr;
	return thread == 1 ? hc_fail(EIO, "thread %u failed", thread) : 0;
}

static void test_the_first_error_is_the_callers(void **state) {
	(void)state;
	struct crew *crew;
	static struct seen seen;
	assert_ok(crew_open(machine, 3, NULL, &crew));
	assert_error(crew_run(crew, 3, fail_in_one, NULL), EIO);
	assert_detail_has("thread 1 failed");
	/* And it isn't kept for the next run. */
	assert_ok(crew_run(crew, 3, note_call, &seen));
	crew_close(crew);
}

static void test_NM_09_lists_of_cpus(void **state) {
	(void)state;
	static const char *const bad[] = {
	        "", "-", "1-", "-1", "0,", ",0", "0-99999", "99999999999", "0 ", "a", "0-0-0", "+0"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (crew_check_cpus(machine, bad[i]) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
	assert_ok(crew_check_cpus(machine, hc_idset_text(hc_machine_cpus(machine)->allowed)));
	/* And the kernel's groups, as hc_clear_with() takes them: of every number the first. */
	char grouped[64];
	int first = hc_idset_next(hc_machine_cpus(machine)->allowed, 0);
	snprintf(grouped, sizeof(grouped), "%d-%d:1/2", first, first + 1);
	assert_ok(crew_check_cpus(machine, grouped));
	assert_error(crew_check_cpus(machine, "4095"), EINVAL);
	assert_detail_has("CPU 4095 is not one this process may use: it may use ");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_each_member_is_called_once_a_run),
	        cmocka_unit_test(test_members_are_pinned_one_after_another),
	        cmocka_unit_test(test_signals_of_members),
	        cmocka_unit_test(test_the_first_error_is_the_callers),
	        cmocka_unit_test(test_NM_09_lists_of_cpus),
	};
	return cmocka_run_group_tests(tests, read_machine, free_machine);
}
