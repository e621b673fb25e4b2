/* The affinity: masks of any width, and CPUs that can't be had refused rather than dropped. */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/affinity.h"

/* A kernel for 65536 CPUs: refuses masks under 256 bytes, and the caller may use two of them. */
static long wide_kernel(size_t size, unsigned long *mask) {
	if (size < 256)
		return -EINVAL;
	((unsigned char *)mask)[0] = 1;
	((unsigned char *)mask)[255] = 0x80;
	return 256;
}

static long widest_kernel(size_t size, unsigned long *mask) {
	if (size < 8192)
		return -EINVAL;
	((unsigned char *)mask)[8191] = 0x80;
	return 8192;
}

static long broken_kernel(size_t size, unsigned long *mask) {
	(void)size, (void)mask;
	return -EINVAL;
}

static long empty_kernel(size_t size, unsigned long *mask) {
	(void)size, (void)mask;
	return 8;
}

static long forbidding_kernel(size_t size, unsigned long *mask) {
	(void)size, (void)mask;
	return -EPERM;
}

static void test_NM_10_mask_grows(void **state) {
	(void)state;
	struct hc_idset *set = NULL;
	assert_ok(hc_affinity_get_from(wide_kernel, &set));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	assert_string_equal(hc_idset_text(set), "0,2047");
#endif
	hc_idset_free(set);
	assert_ok(hc_affinity_get_from(widest_kernel, &set));
	assert_int_equal(hc_idset_count(set), 1);
	hc_idset_free(set);
	set = NULL;
	assert_error(hc_affinity_get_from(broken_kernel, &set), EINVAL);
	assert_error(hc_affinity_get_from(forbidding_kernel, &set), EPERM);
	assert_error(hc_affinity_get_from(empty_kernel, &set), ENODATA); /* never 0 CPUs */
	assert_null(set);
}

static void test_against_glibc(void **state) {
	(void)state;
	struct hc_idset *set = NULL;
	cpu_set_t mask;
	assert_ok(hc_affinity_get(&set));
	if (sched_getaffinity(0, sizeof(mask), &mask) < 0) {
		printf("this machine has more CPUs than cpu_set_t\n");
		hc_idset_free(set);
		skip();
	}
	assert_int_equal(hc_idset_count(set), CPU_COUNT(&mask));
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		assert_int_equal(hc_idset_has(set, cpu), CPU_ISSET(cpu, &mask) != 0);
	hc_idset_free(set);
}

static void check(const char *wanted, const char *allowed, int r, const char *detail) {
	struct hc_idset *w = NULL, *a = NULL;
	assert_ok(hc_idset_parse(wanted, &w));
	assert_ok(hc_idset_parse(allowed, &a));
	assert_return(hc_affinity_check(w, a), r, wanted);
	if (r < 0)
		assert_detail_has(detail);
	hc_idset_free(w);
	hc_idset_free(a);
}

static void test_NM_10_check_names_both(void **state) {
	(void)state;
	check("0-1", "0-1", 0, NULL);
	check("1", "0-1", 0, NULL);
	check("5", "0-1", -EINVAL, "CPUs 5 wanted, but 5 is not among those this process may use, 0-1");
	check("1,5", "0-1", -EINVAL, "CPUs 1,5 wanted, but 5 is not among those this process may use, 0-1");
	check("1,5-6", "0-1", -EINVAL, "5-6 are not among");
	check("", "0-1", -EINVAL, "0-1");
}

struct pinning {
	struct hc_idset *cpus;
	int r;
	bool same; /* afterwards the affinity is exactly cpus */
};

/* In a thread of its own: the affinity of the test stays. */
static void *pin(void *arg) {
	struct pinning *pinning = arg;
	struct hc_idset *now = NULL;
	pinning->r = hc_affinity_pin(pinning->cpus);
	if (hc_affinity_get(&now) == 0)
		pinning->same = hc_idset_is_subset(now, pinning->cpus) && hc_idset_is_subset(pinning->cpus, now);
	hc_idset_free(now);
	return NULL;
}

static struct pinning pin_in_thread(struct hc_idset *cpus) {
	struct pinning pinning = {.cpus = cpus};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, pin, &pinning), 0);
	pthread_join(thread, NULL);
	return pinning;
}

static void test_NM_10_pin(void **state) {
	(void)state;
	struct hc_idset *allowed = NULL, *cpus = hc_idset_new();
	assert_ok(hc_affinity_get(&allowed));
	int first = hc_idset_next(allowed, 0);
	assert_ok(hc_idset_add(cpus, (unsigned)first));
	struct pinning pinning = pin_in_thread(cpus);
	assert_true(pinning.r == 0 && pinning.same);

	/* the kernel alone would cut this to the first CPU and say nothing */
	unsigned beyond = 0;
	while (hc_idset_has(allowed, beyond))
		beyond++;
	assert_ok(hc_idset_add(cpus, beyond));
	pinning = pin_in_thread(cpus);
	assert_true(pinning.r == -EINVAL && !pinning.same);
	cpus = hc_idset_free(cpus);
	cpus = hc_idset_new();
	assert_ok(hc_idset_add(cpus, beyond));
	pinning = pin_in_thread(cpus);
	assert_true(pinning.r == -EINVAL && !pinning.same);
	hc_idset_free(cpus);
	hc_idset_free(allowed);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_NM_10_mask_grows),
	        cmocka_unit_test(test_against_glibc),
	        cmocka_unit_test(test_NM_10_check_names_both),
	        cmocka_unit_test(test_NM_10_pin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
