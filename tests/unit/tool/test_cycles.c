/* Cycles: counted, or the reason why not, whatever refuses them. */
#include "support/support.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/cycles.h"
#include "support/seccomp.h"

static void test_counted_or_why_not(void **state) {
	(void)state;
	struct cycles cycles;
	cycles_open(&cycles);
	cycles_start(&cycles);
	for (volatile unsigned i = 0; i < 1000000; i++)
		continue;
	uint64_t counted = cycles_stop(&cycles);
	if (cycles.fd < 0) {
		assert_int_equal(counted, 0);
		assert_true(strlen(cycles.reason) > 0);
	} else {
		/* A million rounds that each store are no fewer cycles than that. */
		assert_true(counted >= 1000000);
		assert_int_equal(cycles.user_only, strlen(cycles.reason) > 0);
	}
	cycles_close(&cycles);
	cycles_close(&cycles);
	assert_int_equal(cycles.fd, -1);
}

/* perf_event_open(2): what each error means, and what can be done about it. */
static void test_reasons(void **state) {
	(void)state;
	const struct {
		int err;
		const char *words;
	} rows[] = {{ENOENT, "no cycle counter"}, {EOPNOTSUPP, "no cycle counter"}, {EACCES, "perf_event_paranoid"},
	        {EPERM, "seccomp"}, {ENOSYS, "seccomp"}, {EMFILE, "Too many open files"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[160];
		cycles_explain(rows[i].err, text, sizeof(text));
		assert_non_null(strstr(text, rows[i].words));
	}
}

static bool refused(int err) {
	struct cycles cycles;
	char words[160];
	cycles_explain(err, words, sizeof(words));
	cycles_open(&cycles);
	cycles_start(&cycles);
	return cycles.fd == -1 && strcmp(cycles.reason, words) == 0 && cycles_stop(&cycles) == 0;
}

static void test_refused_by_a_filter(void **state) {
	(void)state;
	const int calls[] = {SYS_perf_event_open};
	const int errs[] = {EPERM, ENOSYS, EACCES, ENOENT};
	for (size_t i = 0; i < 4; i++)
		with_calls_forbidden(calls, 1, errs[i], refused);
}

#define PAGES 500

static void *touch(void *p) {
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)p)[i * (size_t)sysconf(_SC_PAGESIZE)] = 1;
	return NULL;
}

/*
 * Page faults are counted everywhere, and are known: a thread that touches PAGES new ones has that many (and a
 * sanitizer some for itself). Rounds don't add up: the fourth would have four times the first.
 */
static void test_threads_are_counted_once(void **state) {
	(void)state;
	struct cycles faults;
	size_t len = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	cycles_open_event(&faults, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	if (faults.fd < 0 || faults.user_only) {
		print_message("%s\n", faults.reason);
		skip();
	}
	uint64_t first = 0;
	for (int round = 0; round < 4; round++) {
		void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(p, MAP_FAILED);
		assert_int_equal(madvise(p, len, MADV_NOHUGEPAGE), 0);
		pthread_t thread;
		cycles_start(&faults);
		assert_int_equal(pthread_create(&thread, NULL, touch, p), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		uint64_t count = cycles_stop(&faults);
		if (round == 0)
			first = count;
		assert_in_range(count, PAGES, 2 * first);
		munmap(p, len);
	}
	cycles_close(&faults);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_counted_or_why_not),
	        cmocka_unit_test(test_reasons),
	        cmocka_unit_test(test_refused_by_a_filter),
	        cmocka_unit_test(test_threads_are_counted_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
