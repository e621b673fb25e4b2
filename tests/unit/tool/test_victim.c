/* Victims take their times where they are meant to, and end when they are told to. */
#include "support/support.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "bench/victim.h"

static struct victim_times times;

/* The lowest two CPUs of this process; -1 where there are fewer. */
static int allowed_cpu(int nth) {
	cpu_set_t set;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && nth-- == 0)
			return cpu;
	return -1;
}

/* Lets victims be at work until each has done a round; they are gone then. other -1: only one. */
static void rounds_on(int cpu, int other) {
	memset(&times, 0, sizeof(times));
	do {
		struct victims *victims;
		assert_ok(victims_start(cpu, other, &times, &victims));
		usleep(5000);
		assert_null(victims_stop(victims));
	} while (times.at[VICTIM_SAME_CPU][VICTIM_FAULT].count == 0 ||
	         (other >= 0 && times.at[VICTIM_OTHER_CPU][VICTIM_FAULT].count == 0));
}

static void assert_rounds(enum victim_where where) {
	const struct latency *at = times.at[where];
	uint64_t rounds = at[VICTIM_WAKEUP].count;
	assert_true(rounds > 0);
	assert_int_equal(at[VICTIM_MMAP].count, rounds);
	assert_int_equal(at[VICTIM_FAULT].count, 16 * rounds);
	for (int what = 0; what < VICTIM_WHATS; what++)
		assert_true(latency_at(&at[what], 0.99) <= at[what].max);
	/* A call and a fault take some time on any machine. */
	assert_true(at[VICTIM_MMAP].max > 0);
	assert_true(at[VICTIM_FAULT].max > 0);
}

static void test_one_cpu_has_one_victim(void **state) {
	(void)state;
	rounds_on(allowed_cpu(0), -1);
	assert_rounds(VICTIM_SAME_CPU);
	assert_int_equal(times.at[VICTIM_OTHER_CPU][VICTIM_WAKEUP].count, 0);
}

static void test_two_cpus_have_two(void **state) {
	(void)state;
	if (allowed_cpu(1) < 0) {
		print_message("needs two CPUs\n");
		skip();
	}
	rounds_on(allowed_cpu(0), allowed_cpu(1));
	assert_rounds(VICTIM_SAME_CPU);
	assert_rounds(VICTIM_OTHER_CPU);
	/* Nobody adds to them any more. */
	static struct victim_times kept;
	kept = times;
	usleep(5000);
	assert_memory_equal(&kept, &times, sizeof(kept));
}

/* Who is told to stop at once does no more than the round it is in. */
static void test_stopped_at_once(void **state) {
	(void)state;
	memset(&times, 0, sizeof(times));
	for (int i = 0; i < 20; i++) {
		struct victims *victims;
		assert_ok(victims_start(allowed_cpu(0), -1, &times, &victims));
		victims_stop(victims);
	}
	assert_true(times.at[VICTIM_SAME_CPU][VICTIM_WAKEUP].count <= 20);
	assert_null(victims_stop(NULL));
}

static void test_a_cpu_that_is_not_there(void **state) {
	(void)state;
	struct victims *victims = NULL;
	assert_true(victims_start(100000, -1, &times, &victims) < 0);
	assert_non_null(strstr(hc_error_detail(), "CPU 100000"));
	assert_null(victims);
	/* The one that was started is ended again. */
	assert_true(victims_start(allowed_cpu(0), 100000, &times, &victims) < 0);
	assert_null(victims);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_one_cpu_has_one_victim),
	        cmocka_unit_test(test_two_cpus_have_two),
	        cmocka_unit_test(test_stopped_at_once),
	        cmocka_unit_test(test_a_cpu_that_is_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
