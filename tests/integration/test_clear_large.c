/* Clears of gigabytes: counters of 64 bits, and stopping within one chunk. */
#include "support/support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <hugeclear/clear.h>

#include "clear/methods.h"
#include "support/exact.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* ---- 4 GiB and more, over little memory ------------------------------------------ */

#define WINDOW (2 * MIB)

/* 4 GiB that are all the same 2 MiB, then a page of its own, then nothing. */
struct repeated {
	unsigned char *begin, *last_page;
	size_t page, mapping_len;
};

static void map_at(int fd, off_t offset, unsigned char *at, size_t len) {
	void *p = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset);
	assert_ptr_equal(p, at);
}

static struct repeated repeated_open(void) {
	struct repeated area = {.page = (size_t)sysconf(_SC_PAGESIZE)};
	area.mapping_len = 4 * GIB + 2 * area.page;
	area.begin = mmap(NULL, area.mapping_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(area.begin, MAP_FAILED);
	area.last_page = area.begin + 4 * GIB;

	int fd = memfd_create("repeated", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(WINDOW + area.page)), 0);
	for (size_t at = 0; at < 4 * GIB; at += WINDOW)
		map_at(fd, 0, area.begin + at, WINDOW);
	map_at(fd, (off_t)WINDOW, area.last_page, area.page);
	close(fd);
	return area;
}

static void check_repeated(const struct repeated *area, const char *what, void (*clear)(void *p, size_t len)) {
	/* A counter of 32 bits makes this 64 bytes, or 1 block, or turns without an end. */
	memset(area->begin, FILL, WINDOW);
	memset(area->last_page, FILL, area->page);
	clear(area->begin, 4 * GIB + 64);
	assert_memory_is(area->begin, WINDOW, 0, what);
	assert_memory_is(area->last_page, 64, 0, what);
	assert_memory_is(area->last_page + 64, area->page - 64, FILL, what);
}

static void clear_by_two(void *p, size_t len) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2, .chunk = 64 * MIB};
	struct hc_clear_report report = {.size = sizeof(report)};
	assert_ok(hc_clear_with(p, len, &opts, &report));
	assert_int_equal(report.done, len);
}

static void clear_default(void *p, size_t len) {
	assert_ok(hc_clear(p, len));
}

static void test_CE_02_four_gibibytes_and_a_line(void **state) {
	(void)state;
	struct repeated area = repeated_open();
	check_repeated(&area, "hc_clear", clear_default);
	if (under_sanitizer()) { /* counters count the same there, but each method takes minutes */
		munmap(area.begin, area.mapping_len);
		return;
	}
	for (unsigned i = 0; i < hc_nr_methods; i++)
		if (hc_clear_method(i)->available)
			check_repeated(&area, hc_methods[i].name, hc_methods[i].clear);
	check_repeated(&area, "two threads", clear_by_two);

	memset(area.last_page, 0, area.page);
	memset(area.begin, 0, WINDOW);
	assert_int_equal(hc_is_clear(area.begin, 4 * GIB + 64), 1);
	area.last_page[63] = 1;
	assert_int_equal(hc_is_clear(area.begin, 4 * GIB + 64), 0);
	assert_int_equal(hc_is_clear(area.begin, 4 * GIB + 63), 1);
	munmap(area.begin, area.mapping_len);
}

/* ---- Stopping in 1 GiB -------------------------------------------------------------- */

/* hugetlb pages where there are free ones, else transparent ones, else what there is. */
static unsigned char *map_gibibyte(void) {
	void *p = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED) {
		p = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED) {
			printf("1 GiB of memory: %s\n", strerror(errno));
			skip();
		}
		madvise(p, GIB, MADV_HUGEPAGE);
	}
	memset(p, FILL, GIB);
	return p;
}

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_nr) {
	(void)signal_nr;
	stop_requested = 1;
}

struct stopper {
	uint64_t last_told, largest_step;
	uint64_t request_at; /* bytes; the request comes in the middle of what follows */
};

static void told(void *user, uint64_t done, uint64_t total) {
	struct stopper *stopper = user;
	assert_int_equal(total, GIB);
	if (done - stopper->last_told > stopper->largest_step)
		stopper->largest_step = done - stopper->last_told;
	stopper->last_told = done;
	if (done >= stopper->request_at && !stop_requested) {
		stopper->request_at = UINT64_MAX;
		struct itimerval soon = {.it_value = {.tv_usec = 1}};
		setitimer(ITIMER_REAL, &soon, NULL);
	}
}

static int asked(void *user) {
	(void)user;
	return stop_requested;
}

static void test_stop_request_in_a_gibibyte(void **state) {
	(void)state;
	unsigned char *memory = map_gibibyte();
	signal(SIGALRM, request_stop);
	for (unsigned intent = 0; intent < 2; intent++) {
		memset(memory, FILL, GIB);
		stop_requested = 0;
		struct stopper stopper = {.request_at = 100 * MIB};
		struct hc_clear_opts opts = {.size = sizeof(opts),
		        .intent = (enum hc_intent)intent,
		        .chunk = 64 << 10,
		        .stop = asked,
		        .progress = told,
		        .user = &stopper};
		struct hc_clear_report report = {.size = sizeof(report)};
		assert_error(hc_clear_with(memory, GIB, &opts, &report), ECANCELED);
		/* It was told, asked, and nothing was done after that; what lay between two questions was a chunk. */
		assert_int_equal(report.done, stopper.last_told);
		assert_true(stopper.largest_step <= 64 << 10);
		assert_in_range(report.done, 100 * MIB, GIB - 1);
		assert_memory_is(memory, report.done, 0, "what was done");
		assert_memory_is(memory + report.done, GIB - report.done, FILL, "the rest");
	}
	signal(SIGALRM, SIG_DFL);
	munmap(memory, GIB);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_CE_02_four_gibibytes_and_a_line),
	        cmocka_unit_test(test_stop_request_in_a_gibibyte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
