/* A thread is where it shall be, which the kernel says, and what can't be is an error. */
#include "support/support.h"

#include <errno.h>
#include <sched.h>

#include "bench/pinning.h"

/* The only CPU that the calling thread may run on; -1 where there are several. */
static int only_cpu(void) {
	cpu_set_t set;
	int cpu = -1;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return -1;
	for (int i = 0; CPU_COUNT(&set) == 1 && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpu = i;
	return cpu;
}

static void *tell_cpu(void *ret_cpu) {
	*(int *)ret_cpu = only_cpu();
	return NULL;
}

static void *tell_count(void *ret_count) {
	cpu_set_t set;
	*(int *)ret_count = sched_getaffinity(0, sizeof(set), &set) < 0 ? -1 : CPU_COUNT(&set);
	return NULL;
}

static void *pin_and_tell(void *cpu) {
	int r = pin_to(*(int *)cpu);
	*(int *)cpu = r ? -r : only_cpu();
	return NULL;
}

static int told(int cpu, void *(*fn)(void *arg), int value) {
	pthread_t thread;
	assert_int_equal(pinned_start(cpu, &thread, fn, &value), 0);
	pthread_join(thread, NULL);
	return value;
}

static void test_on_every_cpu_of_this_process(void **state) {
	(void)state;
	cpu_set_t set;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		assert_int_equal(told(cpu, tell_cpu, -1), cpu);
		assert_int_equal(told(-1, pin_and_tell, cpu), cpu);
	}
	assert_int_equal(told(-1, tell_count, 0), CPU_COUNT(&set));
}

static void test_a_cpu_that_is_not_there(void **state) {
	(void)state;
	pthread_t thread;
	int value = 0;
	assert_int_equal(pinned_start(100000, &thread, tell_cpu, &value), EINVAL);
	assert_int_equal(told(-1, pin_and_tell, 100000), -EINVAL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_on_every_cpu_of_this_process),
	        cmocka_unit_test(test_a_cpu_that_is_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
