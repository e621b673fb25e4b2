/* The public calls: what is asked for, what is refused, what is reported. */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/clear.h>

#include "support/exact.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static struct hc_clear_report new_report(void) {
	return (struct hc_clear_report){.size = sizeof(struct hc_clear_report), .done = 77};
}

/* ---- Ranges ---------------------------------------------------------------- */

static void test_CE_01_nothing_to_clear(void **state) {
	(void)state;
	struct guarded area = guarded_open(4096);
	struct hc_clear_report report = new_report();
	assert_ok(hc_clear(NULL, 0));
	assert_ok(hc_clear(area.end, 0));
	assert_ok(hc_clear_with(NULL, 0, NULL, &report));
	assert_int_equal(report.done, 0);
	assert_ok(hc_clear_around(NULL, 0, NULL, NULL, NULL));
	assert_int_equal(hc_is_clear(NULL, 0), 1);
	assert_int_equal(hc_is_clear(area.end, 0), 1);
	for (unsigned i = 0; hc_clear_method(i); i++) {
		struct hc_clear_opts opts = {.size = sizeof(opts), .method = hc_clear_method(i)->name};
		if (!hc_clear_method(i)->available)
			continue;
		assert_ok(hc_clear_with(NULL, 0, &opts, NULL));
		assert_ok(hc_clear_with(area.end - 1, 0, &opts, NULL));
		assert_error(hc_clear_with(NULL, 64, &opts, NULL), EINVAL);
	}
	assert_memory_is(area.begin, 4096, FILL, "after clears of nothing");
	guarded_close(&area);

	assert_error(hc_clear(NULL, 64), EINVAL);
	assert_detail_has("64 bytes at NULL");
	assert_error(hc_clear_around(NULL, 64, NULL, NULL, NULL), EINVAL);
	assert_error(hc_is_clear(NULL, 64), EINVAL);
}

static void test_CE_04_range_that_wraps(void **state) {
	(void)state;
	void *high = (void *)0xfffffffffffff000;
	char byte = 1;
	struct hc_clear_report report = new_report();
	assert_error(hc_clear(high, 8192), EOVERFLOW);
	assert_detail_has("wrap");
	assert_error(hc_clear(&byte, SIZE_MAX), EOVERFLOW);
	assert_error(hc_clear_with(&byte, SIZE_MAX, NULL, &report), EOVERFLOW);
	assert_int_equal(report.done, 0);
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2, .extent = SIZE_MAX, .chunk = SIZE_MAX};
	assert_error(hc_clear_with(&byte, SIZE_MAX, &opts, NULL), EOVERFLOW);
	assert_error(hc_clear_around(&byte, SIZE_MAX, &byte, NULL, NULL), EOVERFLOW);
	assert_error(hc_is_clear(high, 8192), EOVERFLOW);
	assert_int_equal(byte, 1);
}

static void clear_default(void *p, size_t len) {
	assert_ok(hc_clear(p, len));
}

static void clear_in_small_steps(void *p, size_t len) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .extent = 48, .chunk = 100};
	struct hc_clear_report report = new_report();
	assert_ok(hc_clear_with(p, len, &opts, &report));
	assert_int_equal(report.done, len);
}

static void clear_round_its_middle(void *p, size_t len) {
	assert_ok(hc_clear_around(p, len, (char *)p + len / 2, NULL, NULL));
}

static void clear_by_two(void *p, size_t len) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2};
	assert_ok(hc_clear_with(p, len, &opts, NULL));
}

static void clear_by_two_in_extents(void *p, size_t len) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2, .extent = 1000, .chunk = 10000};
	assert_ok(hc_clear_with(p, len, &opts, NULL));
}

static void test_clears_exactly_the_range(void **state) {
	(void)state;
	check_clears_exactly("hc_clear", clear_default, 256);
	check_clears_exactly("extents and chunks", clear_in_small_steps, 64);
	check_clears_exactly("around", clear_round_its_middle, 64);
	check_clears_exactly_long("around", clear_round_its_middle);
	check_clears_exactly_long("two threads", clear_by_two);
	check_clears_exactly_long("two threads, extents", clear_by_two_in_extents);
}

/* ---- Options and report ----------------------------------------------------- */

static void test_CE_09_method_by_name(void **state) {
	(void)state;
	unsigned char memory[256];
	memset(memory, FILL, sizeof(memory));
	for (unsigned i = 0; hc_clear_method(i); i++) {
		const struct hc_clear_method *method = hc_clear_method(i);
		struct hc_clear_opts opts = {.size = sizeof(opts), .method = method->name};
		struct hc_clear_report report = new_report();
		int r = hc_clear_with(memory, sizeof(memory), &opts, &report);
		if (method->available) {
			assert_return(r, 0, method->name);
			assert_string_equal(report.method, method->name);
			assert_int_equal(report.threads, 1);
			assert_memory_is(memory, sizeof(memory), 0, method->name);
			memset(memory, FILL, sizeof(memory));
			continue;
		}
		assert_return(r, -EOPNOTSUPP, method->name);
		assert_detail_has(method->needs);
		assert_int_equal(report.done, 0);
		assert_string_equal(report.method, "");
		assert_memory_is(memory, sizeof(memory), FILL, method->name);
	}

	struct hc_clear_opts opts = {.size = sizeof(opts), .method = "avx1024"};
	assert_error(hc_clear_with(memory, sizeof(memory), &opts, NULL), EINVAL);
	assert_detail_has("memset"); /* the names that there are */
	assert_error(hc_clear_around(memory, sizeof(memory), memory, &opts, NULL), EINVAL);
	opts.method = "";
	assert_error(hc_clear_with(memory, sizeof(memory), &opts, NULL), EINVAL);
	assert_memory_is(memory, sizeof(memory), FILL, "after refused clears");
}

static void test_options_that_are_refused(void **state) {
	(void)state;
	unsigned char memory[256];
	memset(memory, FILL, sizeof(memory));
	struct hc_clear_report report = new_report();

	struct hc_clear_opts opts = {.size = sizeof(opts), .intent = (enum hc_intent)2};
	assert_error(hc_clear_with(memory, sizeof(memory), &opts, &report), EINVAL);
	assert_int_equal(report.done, 0);

	static const char *const lists[] = {"", "x", "0-", "65536", "-1", "999999999999", "60000"};
	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		opts = (struct hc_clear_opts){.size = sizeof(opts), .cpus = lists[i]};
		assert_error(hc_clear_with(memory, sizeof(memory), &opts, NULL), EINVAL);
	}

	opts = (struct hc_clear_opts){.size = 1};
	assert_error(hc_clear_with(memory, sizeof(memory), &opts, NULL), EINVAL);
	struct {
		struct hc_clear_opts known;
		uint64_t later;
	} newer = {.known = {.size = sizeof(newer)}, .later = 1};
	assert_error(hc_clear_with(memory, sizeof(memory), &newer.known, NULL), E2BIG);

	report.size = 3;
	assert_error(hc_clear_with(memory, sizeof(memory), NULL, &report), EINVAL);
	assert_memory_is(memory, sizeof(memory), FILL, "after refused clears");
}

static void test_report_of_an_older_caller(void **state) {
	(void)state;
	struct hc_clear_report report = new_report();
	report.longest_step_ns = 99;
	report.size = offsetof(struct hc_clear_report, threads);
	report.threads = 99;
	char memory[64];
	assert_ok(hc_clear_with(memory, sizeof(memory), NULL, &report));
	assert_int_equal(report.size, offsetof(struct hc_clear_report, threads));
	assert_int_equal(report.done, 64);
	assert_int_equal(report.threads, 99);
	assert_int_equal(report.longest_step_ns, 99);
}

/* The choice goes by all that is touched afterwards for "soon", by what the method gets at once for "later". */
static void test_report_of_a_newer_caller(void **state) {
	(void)state;
	unsigned char memory[64];
	struct {
		struct hc_clear_report known;
		uint64_t later;
	} newer = {.known = new_report(), .later = 99};
	newer.known.size = sizeof(newer);
	assert_ok(hc_clear_with(memory, sizeof(memory), NULL, &newer.known));
	assert_int_equal(newer.known.size, sizeof(newer));
	assert_int_equal(newer.known.done, 64);
	assert_int_equal(newer.later, 0);
	newer.later = 99;
	assert_ok(hc_clear_around(memory, sizeof(memory), memory, NULL, &newer.known));
	assert_int_equal(newer.later, 0);
	newer.known.size = SIZE_MAX;
	assert_error(hc_clear_with(memory, sizeof(memory), NULL, &newer.known), EINVAL);
	assert_error(hc_clear_around(memory, sizeof(memory), memory, NULL, &newer.known), EINVAL);
}

static void test_choice_that_is_taken(void **state) {
	(void)state;
	size_t len = 16 * MIB;
	char *memory = malloc(len);
	struct hc_clear_report report = new_report();
	struct hc_clear_opts opts = {.size = sizeof(opts), .extent = 64};
	assert_ok(hc_clear_with(memory, len, &opts, &report));
	assert_string_equal(report.method, hc_clear_choice(len, HC_INTENT_SOON)->name);
	opts.intent = HC_INTENT_LATER;
	assert_ok(hc_clear_with(memory, len, &opts, &report));
	assert_string_equal(report.method, hc_clear_choice(64, HC_INTENT_LATER)->name);
	opts.extent = 0;
	assert_ok(hc_clear_with(memory, len, &opts, &report));
	assert_string_equal(report.method, hc_clear_choice(len, HC_INTENT_LATER)->name);
	assert_int_equal(report.longest_step_ns, 0);
	free(memory);
}

/* ---- Steps ------------------------------------------------------------------- */

struct watched {
	unsigned char *memory;
	size_t len;
	unsigned stop_after; /* questions; 0: never */
	unsigned asked, told;
	uint64_t last_told;
	pthread_t caller;
};

static int watch_stop(void *user) {
	struct watched *watched = user;
	assert_true(pthread_equal(watched->caller, pthread_self()));
	watched->asked++;
	return watched->stop_after != 0 && watched->asked >= watched->stop_after;
}

static void watch_progress(void *user, uint64_t done, uint64_t total) {
	struct watched *watched = user;
	assert_true(pthread_equal(watched->caller, pthread_self()));
	assert_int_equal(total, watched->len);
	assert_true(done >= watched->last_told && done <= total);
	watched->last_told = done;
	watched->told++;
}

static struct watched watch(size_t len) {
	struct watched watched = {.memory = malloc(len), .len = len, .caller = pthread_self()};
	assert_non_null(watched.memory);
	memset(watched.memory, FILL, len);
	return watched;
}

static void test_progress_of_one_thread(void **state) {
	(void)state;
	struct watched watched = watch(10 * MIB + 5);
	struct hc_clear_opts opts = {
	        .size = sizeof(opts), .progress = watch_progress, .stop = watch_stop, .user = &watched};
	struct hc_clear_report report = new_report();
	assert_ok(hc_clear_with(watched.memory, watched.len, &opts, &report));
	assert_int_equal(watched.last_told, watched.len);
	assert_true(watched.told >= 6); /* 2 MiB a step, and the rest */
	assert_true(report.longest_step_ns > 0);
	assert_memory_is(watched.memory, watched.len, 0, "all of it");
	free(watched.memory);
}

static void test_stop_of_one_thread(void **state) {
	(void)state;
	static const size_t chunks[] = {1, 100, 4096, 10000, 1 << 20};
	for (unsigned c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++)
		for (unsigned stop_after = 1; stop_after < 4; stop_after++) {
			struct watched watched = watch(4 * MIB);
			watched.stop_after = stop_after;
			struct hc_clear_opts opts = {
			        .size = sizeof(opts), .stop = watch_stop, .user = &watched, .chunk = chunks[c]};
			struct hc_clear_report report = new_report();
			assert_error(hc_clear_with(watched.memory, watched.len, &opts, &report), ECANCELED);
			assert_int_equal(watched.asked, stop_after);
			/* Asked before the first chunk too. The first may be shorter, to end at a line. */
			assert_true(report.done <= (stop_after - 1) * chunks[c]);
			assert_true(stop_after < 3 || report.done > (stop_after - 2) * chunks[c]);
			assert_memory_is(watched.memory, report.done, 0, "what was done");
			assert_memory_is(watched.memory + report.done, watched.len - report.done, FILL, "the rest");
			free(watched.memory);
		}
}

static void test_chunks_hold_whole_extents(void **state) {
	(void)state;
	struct watched watched = watch(MIB);
	watched.stop_after = 2;
	struct hc_clear_opts opts = {
	        .size = sizeof(opts), .stop = watch_stop, .user = &watched, .extent = 3000, .chunk = 4000};
	struct hc_clear_report report = new_report();
	assert_error(hc_clear_with(watched.memory, watched.len, &opts, &report), ECANCELED);
	assert_int_equal(report.done, 6000);
	free(watched.memory);
}

static size_t count(const unsigned char *p, size_t len, unsigned char value) {
	size_t n = 0;
	for (size_t i = 0; i < len; i++)
		n += p[i] == value;
	return n;
}

static void test_two_threads(void **state) {
	(void)state;
	struct watched watched = watch(32 * MIB + 4097);
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2, .progress = watch_progress, .user = &watched};
	struct hc_clear_report report = new_report();
	/* Not from a page's start, so that the first block is cut. */
	watched.len -= 13;
	assert_ok(hc_clear_with(watched.memory + 13, watched.len, &opts, &report));
	assert_int_equal(watched.last_told, watched.len);
	assert_int_equal(report.done, watched.len);
	assert_in_range(report.threads, 1, 2);
	assert_memory_is(watched.memory, 13, FILL, "in front");
	assert_memory_is(watched.memory + 13, watched.len, 0, "all of it");

	free(watched.memory);
}

static void test_stop_of_two_threads(void **state) {
	(void)state;
	struct watched watched = watch(32 * MIB);
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2, .stop = watch_stop, .user = &watched};
	struct hc_clear_report report = new_report();

	watched.stop_after = 1;
	assert_error(hc_clear_with(watched.memory, watched.len, &opts, &report), ECANCELED);
	assert_int_equal(report.done, 0);
	assert_memory_is(watched.memory, watched.len, FILL, "stopped before the first block");

	/* In the middle. On a busy machine the others may be ready before the thread that asks gets a CPU: again, then. */
	int r = 0;
	opts.chunk = 64 * KIB;
	watched.stop_after = 2;
	for (unsigned i = 0; i < 1000 && r == 0; i++) {
		memset(watched.memory, FILL, watched.len);
		watched.asked = 0;
		r = hc_clear_with(watched.memory, watched.len, &opts, &report);
		assert_int_equal(count(watched.memory, watched.len, 0), report.done);
		assert_int_equal(count(watched.memory, watched.len, FILL), watched.len - report.done);
	}
	assert_return(r, -ECANCELED, "a clear that was asked to stop");
	assert_in_range(report.done, 1, watched.len - 1);
	free(watched.memory);
}

/* For "later" the method goes by what a thread is given at once: a share, not all that the threads are given together. */
static void test_choice_by_what_a_thread_is_given(void **state) {
	(void)state;
	const char *small = NULL;
	for (unsigned i = 0; hc_clear_method(i); i++)
		if (hc_clear_method(i)->available && strcmp(hc_clear_method(i)->name, "memset") != 0)
			small = hc_clear_method(i)->name;
	assert_non_null(small);
	const struct hc_clear_profile_step steps[] = {
	        {HC_INTENT_LATER, small, 4 * MIB},
	        {HC_INTENT_LATER, "memset", HC_UNKNOWN},
	};
	char *folder = temp_folder();
	char path[512];
	snprintf(path, sizeof(path), "%s/profile", folder);
	assert_ok(hc_clear_profile_save(path, NULL, steps, 2));
	assert_ok(hc_clear_profile_load(path));

	static const struct {
		size_t chunk, extent;
		unsigned threads;
		bool small;
	} rows[] = {
	        {0, 0, 1, false},           /* all 64 MiB */
	        {0, 0, 2, true},            /* 64 / 2 / 16 = 2 MiB */
	        {6 * MIB, 0, 1, false},     /* a chunk */
	        {6 * MIB, 0, 2, true},      /* half of one */
	        {10 * MIB, 0, 2, false},    /* 5 MiB */
	        {8 * MIB - 2, 0, 2, true},  /* rounded up to pages: 4 MiB */
	        {8 * MIB + 2, 0, 2, false}, /* and 4 MiB and a page */
	        {10 * MIB, 64, 2, true},    /* an extent */
	};
	size_t len = 64 * MIB;
	char *memory = malloc(len);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hc_clear_opts opts = {.size = sizeof(opts),
		        .intent = HC_INTENT_LATER,
		        .chunk = rows[i].chunk,
		        .extent = rows[i].extent,
		        .threads = rows[i].threads};
		struct hc_clear_report report = new_report();
		assert_ok(hc_clear_with(memory, len, &opts, &report));
		if (report.threads == rows[i].threads)
			assert_string_equal(report.method, rows[i].small ? small : "memset");
	}
	free(memory);
	assert_ok(hc_clear_profile_load(NULL));
	temp_folder_remove(folder);
}

static char *read_only;
static size_t page_size;

/* Makes the page that was written to writable, and the store is done again. */
static void make_writable(int signal, siginfo_t *info, void *context) {
	(void)signal, (void)context;
	uintptr_t page = (uintptr_t)info->si_addr / page_size * page_size;
	if (page != (uintptr_t)read_only || mprotect(read_only, page_size, PROT_READ | PROT_WRITE) < 0)
		_exit(2);
}

/* A program that handles its faults handles those of a clear by threads too. */
static void test_fault_in_a_thread_reaches_the_handler(void **state) {
	(void)state;
	size_t len = 4 * MIB;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct sigaction action = {.sa_sigaction = make_writable, .sa_flags = SA_SIGINFO};
		char *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) < 0)
			_exit(3);
		memset(memory, FILL, len);
		read_only = memory + 3 * MIB;
		struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2};
		bool ok = mprotect(read_only, page_size, PROT_READ) == 0 &&
		          hc_clear_with(memory, len, &opts, NULL) == 0 && hc_is_clear(memory, len) == 1;
		_exit(ok ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_threads_for_less_than_a_page(void **state) {
	(void)state;
	unsigned char memory[100];
	memset(memory, FILL, sizeof(memory));
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = UINT32_MAX};
	struct hc_clear_report report = new_report();
	assert_ok(hc_clear_with(memory + 1, 98, &opts, &report));
	assert_in_range(report.threads, 1, 2);
	assert_int_equal(report.done, 98);
	assert_memory_is(memory + 1, 98, 0, "98 bytes");
	assert_int_equal(memory[0], FILL);
	assert_int_equal(memory[99], FILL);
}

/* ---- Around an address -------------------------------------------------------- */

struct order {
	unsigned char *memory;
	size_t len, page;
	size_t next; /* in seen */
	size_t seen[64];
};

/* Keeps which page became clear since the last call. */
static void note_order(void *user, uint64_t done, uint64_t total) {
	(void)done, (void)total;
	struct order *order = user;
	for (size_t page = 0; page < order->len / order->page; page++) {
		unsigned char *at = order->memory + page * order->page;
		if (*at == FILL || *at == 1)
			continue;
		assert_memory_is(at, order->page, 0, "a page");
		order->seen[order->next++] = page;
		*at = 1; /* noted */
	}
}

static void test_around_clears_the_neighbourhood_last(void **state) {
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct order order = {.len = 12 * page, .page = page};
	order.memory = aligned_alloc(page, order.len);
	assert_non_null(order.memory);

	/* Two pages on either side, as in folio_zero_user(): right, left, and itself, each from its start. */
	static const struct {
		size_t touch;
		size_t pages[12];
	} orders[] = {
	        {5, {8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7}},
	        {0, {3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2}},
	        {11, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	        {1, {4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3}},
	};
	for (unsigned i = 0; i < 4; i++) {
		memset(order.memory, FILL, order.len);
		order.next = 0;
		struct hc_clear_opts opts = {
		        .size = sizeof(opts), .chunk = page, .progress = note_order, .user = &order};
		struct hc_clear_report report = new_report();
		assert_ok(hc_clear_around(
		        order.memory, order.len, order.memory + orders[i].touch * page + 17, &opts, &report));
		assert_int_equal(report.done, order.len);
		assert_int_equal(order.next, 12);
		for (unsigned k = 0; k < 12; k++)
			assert_int_equal(order.seen[k], orders[i].pages[k]);
	}
	free(order.memory);
}

static void test_around_stops_too(void **state) {
	(void)state;
	struct watched watched = watch(4 * MIB);
	watched.stop_after = 3;
	struct hc_clear_opts opts = {.size = sizeof(opts), .stop = watch_stop, .user = &watched, .chunk = 64 * KIB};
	struct hc_clear_report report = new_report();
	assert_error(hc_clear_around(watched.memory, watched.len, watched.memory + MIB, &opts, &report), ECANCELED);
	assert_int_equal(watched.asked, 3);
	assert_true(report.done <= 128 * KIB);
	assert_int_equal(count(watched.memory, watched.len, 0), report.done);
	free(watched.memory);
}

static void test_around_refuses(void **state) {
	(void)state;
	char memory[64] = {1};
	assert_error(hc_clear_around(memory, 64, memory + 64, NULL, NULL), EINVAL);
	assert_error(hc_clear_around(memory + 1, 63, memory, NULL, NULL), EINVAL);
	assert_error(hc_clear_around(memory, 64, NULL, NULL, NULL), EINVAL);
	struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 1};
	assert_error(hc_clear_around(memory, 64, memory, &opts, NULL), EINVAL);
	opts = (struct hc_clear_opts){.size = sizeof(opts), .intent = HC_INTENT_LATER};
	assert_error(hc_clear_around(memory, 64, memory, &opts, NULL), EINVAL);
	opts = (struct hc_clear_opts){.size = sizeof(opts), .cpus = "0"};
	assert_error(hc_clear_around(memory, 64, memory, &opts, NULL), EINVAL);
	assert_int_equal(memory[0], 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_CE_01_nothing_to_clear),
	        cmocka_unit_test(test_CE_04_range_that_wraps),
	        cmocka_unit_test(test_clears_exactly_the_range),
	        cmocka_unit_test(test_CE_09_method_by_name),
	        cmocka_unit_test(test_options_that_are_refused),
	        cmocka_unit_test(test_report_of_an_older_caller),
	        cmocka_unit_test(test_report_of_a_newer_caller),
	        cmocka_unit_test(test_choice_that_is_taken),
	        cmocka_unit_test(test_progress_of_one_thread),
	        cmocka_unit_test(test_stop_of_one_thread),
	        cmocka_unit_test(test_chunks_hold_whole_extents),
	        cmocka_unit_test(test_two_threads),
	        cmocka_unit_test(test_stop_of_two_threads),
	        cmocka_unit_test(test_choice_by_what_a_thread_is_given),
	        cmocka_unit_test(test_fault_in_a_thread_reaches_the_handler),
	        cmocka_unit_test(test_threads_for_less_than_a_page),
	        cmocka_unit_test(test_around_clears_the_neighbourhood_last),
	        cmocka_unit_test(test_around_stops_too),
	        cmocka_unit_test(test_around_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
