/* The team of threads: blocks, errors, stopping, forks. */
#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "sys/affinity.h"
#include "sys/team.h"

static struct hc_team *open_team(unsigned threads) {
	struct hc_team_opts opts = {.size = sizeof(opts), .threads = threads};
	struct hc_team *team = NULL;
	assert_ok(hc_team_open(&opts, &team));
	assert_int_equal(hc_team_threads(team), threads);
	assert_null(hc_team_shortfall(team));
	return team;
}

/* What was done to every item, and whether a block began or ended where it may not. */
struct record {
	uint64_t nr_items, align;
	atomic_uchar *times;
	atomic_uint blocks, misaligned;
};

static int record_block(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	struct record *record = arg;
	(void)thread;
	atomic_fetch_add(&record->blocks, 1);
	if (begin >= end || begin % record->align != 0 || (end % record->align != 0 && end != record->nr_items))
		atomic_fetch_add(&record->misaligned, 1);
	for (uint64_t i = begin; i < end; i++)
		atomic_fetch_add(&record->times[i], 1);
	return 0;
}

static unsigned run_recorded(struct hc_team *team, uint64_t nr_items, uint64_t align, uint64_t block) {
	struct record record = {.nr_items = nr_items, .align = align ? align : 1, .times = calloc(nr_items + 1, 1)};
	struct hc_team_work work = {
	        .nr_items = nr_items, .align = align, .block = block, .fn = record_block, .arg = &record};
	uint64_t done = 99;
	assert_ok(hc_team_run(team, &work, &done));
	assert_int_equal(done, nr_items);
	assert_int_equal(record.misaligned, 0);
	for (uint64_t i = 0; i < nr_items; i++)
		assert_int_equal(record.times[i], 1);
	free(record.times);
	return record.blocks;
}

static void test_PD_02_blocks_stay_aligned(void **state) {
	(void)state;
	struct hc_team *team = open_team(7);
	static const uint64_t counts[] = {0, 1, 63, 64, 65, 127, 128, 129, 1000, 64 * 7, 64 * 7 + 1};
	static const uint64_t blocks[] = {0, 1, 63, 64, 65, 200, UINT64_MAX};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (size_t j = 0; j < sizeof(blocks) / sizeof(blocks[0]); j++) {
			run_recorded(team, counts[i], 64, blocks[j]);
			run_recorded(team, counts[i], 0, blocks[j]);
			run_recorded(team, counts[i], 48, blocks[j]);
		}
	/* 129 items in units of 64 are 3 units: 3 blocks of 7 shares; a block of 65 holds 2 units */
	assert_int_equal(run_recorded(team, 129, 64, 0), 3);
	assert_int_equal(run_recorded(team, 129, 64, 65), 2);
	assert_int_equal(run_recorded(team, 0, 64, 0), 0);
	hc_team_close(team);
}

struct extremes {
	atomic_ullong highest;
};

static int note_highest(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	struct extremes *extremes = arg;
	(void)thread;
	unsigned long long seen = extremes->highest;
	while (end > seen && !atomic_compare_exchange_weak(&extremes->highest, &seen, end))
		;
	return begin < end ? 0 : hc_fail(ERANGE, "wrapped");
}

static void test_counts_that_nearly_wrap(void **state) {
	(void)state;
	struct hc_team *team = open_team(3);
	struct extremes extremes = {0};
	struct hc_team_work work = {
	        .nr_items = UINT64_MAX, .align = UINT64_C(1) << 63, .fn = note_highest, .arg = &extremes};
	uint64_t done;
	assert_ok(hc_team_run(team, &work, &done));
	assert_true(done == UINT64_MAX && extremes.highest == UINT64_MAX);
	work.align = 4096;
	work.block = UINT64_MAX / 2;
	assert_ok(hc_team_run(team, &work, &done));
	assert_true(done == UINT64_MAX);
	hc_team_close(team);
}

static unsigned threads_of_this_process(void) {
	FILE *f = fopen("/proc/self/status", "re");
	assert_non_null(f);
	char line[256];
	unsigned threads = 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %u", &threads) == 1)
			break;
	fclose(f);
	return threads;
}

/* Threads that have come so far as to take their name. */
static unsigned members_that_run(void) {
	DIR *tasks = opendir("/proc/self/task");
	assert_non_null(tasks);
	unsigned members = 0;
	for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
		char path[320], name[32] = "";
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		FILE *f = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (f && fgets(name, sizeof(name), f) && strcmp(name, "hc-team\n") == 0)
			members++;
		if (f)
			fclose(f);
	}
	closedir(tasks);
	return members;
}

/* Created isn't running: on one CPU most wait for their turn when the last has been created. */
static void test_members_run_before_open_returns(void **state) {
	(void)state;
	struct hc_idset *allowed = NULL, *first = hc_idset_new();
	assert_ok(hc_affinity_get(&allowed));
	assert_ok(hc_idset_add(first, (unsigned)hc_idset_next(allowed, 0)));
	assert_ok(hc_affinity_set(first));
	for (int round = 0; round < 20; round++) {
		struct hc_team *team = open_team(32);
		assert_int_equal(members_that_run(), 32);
		hc_team_close(team);
	}
	assert_ok(hc_affinity_set(allowed));
	hc_idset_free(first);
	hc_idset_free(allowed);
}

struct signals {
	atomic_uint unblocked;
	atomic_uint own_blocked; /* that a thread brings on itself */
};

static int look_at_signals(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	struct signals *signals = arg;
	(void)begin, (void)end, (void)thread;
	sigset_t now;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	if (!sigismember(&now, SIGINT) || !sigismember(&now, SIGTERM) || !sigismember(&now, SIGUSR1))
		signals->unblocked++;
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		signals->own_blocked += (unsigned)sigismember(&now, own[i]);
	return 0;
}

static void test_all_run_before_the_first_item_and_end(void **state) {
	(void)state;
	unsigned before = threads_of_this_process();
	struct hc_team *team = open_team(5);
	assert_int_equal(threads_of_this_process(), before + 5);
	sigset_t now;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_false(sigismember(&now, SIGINT)); /* the caller's own mask is as before */
	struct signals signals = {0};
	struct hc_team_work work = {.nr_items = 100, .block = 1, .fn = look_at_signals, .arg = &signals};
	assert_ok(hc_team_run(team, &work, NULL));
	assert_int_equal(signals.unblocked, 0);
	assert_int_equal(signals.own_blocked, 0);
	assert_null(hc_team_close(team));
	assert_int_equal(threads_of_this_process(), before);
	assert_null(hc_team_close(NULL));
}

static int fail_at(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	const uint64_t *at = arg;
	(void)thread;
	return begin <= *at && *at < end ? hc_fail(EIO, "item %llu is bad", (unsigned long long)*at) : 0;
}

static void test_error_of_a_member_is_the_callers(void **state) {
	(void)state;
	struct hc_team *team = open_team(2);
	uint64_t at = 500, done = 0;
	struct hc_team_work work = {.nr_items = 1000000, .block = 10, .fn = fail_at, .arg = &at};
	hc_fail(EPERM, "something older");
	assert_error(hc_team_run(team, &work, &done), EIO);
	assert_string_equal(hc_error_detail(), "item 500 is bad");
	/* 50 blocks precede it, and the other member may have gone on, but neither takes up the rest */
	assert_true(done >= 490 && done < 1000000);
	assert_int_equal(done % 10, 0);
	/* and the team is good for the next work */
	assert_int_equal(run_recorded(team, 100, 0, 10), 10);
	hc_team_close(team);
}

struct watcher {
	pthread_t caller;
	unsigned asked, stop_after, told;
	uint64_t last;
	bool fell, elsewhere;
};

static int ask(void *user) {
	struct watcher *watcher = user;
	watcher->elsewhere = watcher->elsewhere || !pthread_equal(watcher->caller, pthread_self());
	return watcher->asked++ >= watcher->stop_after;
}

static void tell(void *user, uint64_t done, uint64_t total) {
	struct watcher *watcher = user;
	(void)total;
	watcher->elsewhere = watcher->elsewhere || !pthread_equal(watcher->caller, pthread_self());
	watcher->fell = watcher->fell || done <= watcher->last;
	watcher->last = done;
	watcher->told++;
}

static int nap(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	(void)thread;
	atomic_fetch_add((atomic_ullong *)arg, end - begin);
	usleep(1000);
	return 0;
}

static void test_stop_and_progress(void **state) {
	(void)state;
	struct hc_team *team = open_team(2);
	atomic_ullong worked = 0;
	struct watcher watcher = {.caller = pthread_self(), .stop_after = 3};
	struct hc_team_work work = {.nr_items = 10005,
	        .block = 10,
	        .fn = nap,
	        .arg = &worked,
	        .stop = ask,
	        .progress = tell,
	        .user = &watcher};
	uint64_t done = 0;
	assert_error(hc_team_run(team, &work, &done), ECANCELED);
	assert_int_equal(done, worked); /* every block that was begun is in done: they were finished */
	assert_true(done > 0 && done < work.nr_items);
	assert_int_equal(watcher.asked, 4);
	assert_int_equal(watcher.last, done);
	assert_false(watcher.fell || watcher.elsewhere);

	/* asked before the first block: nothing is begun */
	watcher = (struct watcher){.caller = pthread_self()};
	worked = 0;
	assert_error(hc_team_run(team, &work, &done), ECANCELED);
	assert_true(done == 0 && worked == 0 && watcher.told == 0);

	/* and to the end: the last thing told is the whole */
	watcher = (struct watcher){.caller = pthread_self(), .stop_after = UINT32_MAX};
	work.nr_items = 105;
	assert_ok(hc_team_run(team, &work, &done));
	assert_true(done == 105 && watcher.last == 105 && !watcher.fell && !watcher.elsewhere);
	hc_team_close(team);
}

static void test_forked_child(void **state) {
	(void)state;
	struct hc_team *team = open_team(2);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		atomic_ullong worked = 0;
		struct hc_team_work work = {.nr_items = 1, .fn = nap, .arg = &worked};
		uint64_t done = 7;
		int r = hc_team_run(team, &work, &done);
		bool ok = r == -ECHILD && done == 0 && worked == 0 && strstr(hc_error_detail(), "child") &&
		          hc_team_close(team) == NULL;
		_exit(ok ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(run_recorded(team, 10, 0, 1), 10);
	hc_team_close(team);
}

struct nested {
	struct hc_team *team;
	int r;
};

static int run_again(void *user) {
	struct nested *nested = user;
	atomic_ullong worked = 0;
	struct hc_team_work work = {.nr_items = 1, .fn = nap, .arg = &worked};
	nested->r = hc_team_run(nested->team, &work, NULL);
	return 0;
}

static void test_one_caller_at_a_time(void **state) {
	(void)state;
	struct nested nested = {.team = open_team(1)};
	atomic_ullong worked = 0;
	struct hc_team_work work = {.nr_items = 1, .fn = nap, .arg = &worked, .stop = run_again, .user = &nested};
	assert_ok(hc_team_run(nested.team, &work, NULL));
	assert_int_equal(nested.r, -EBUSY);
	hc_team_close(nested.team);
}

struct places {
	struct hc_idset *allowed;
	atomic_uint wrong;
};

/* The i-th thread may run on the (i modulo count)-th CPU and nowhere else. */
static int look_at_place(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	struct places *places = arg;
	(void)begin, (void)end;
	int cpu = -1;
	for (unsigned i = 0; i <= thread % hc_idset_count(places->allowed); i++)
		cpu = hc_idset_next(places->allowed, cpu + 1);
	struct hc_idset *mine = NULL;
	if (hc_affinity_get(&mine) < 0 || hc_idset_count(mine) != 1 || !hc_idset_has(mine, (unsigned)cpu))
		places->wrong++;
	hc_idset_free(mine);
	return 0;
}

static void test_threads_on_cpus(void **state) {
	(void)state;
	struct places places = {0};
	assert_ok(hc_affinity_get(&places.allowed));
	unsigned wanted = hc_idset_count(places.allowed) + 1;
	struct hc_team_opts opts = {.size = sizeof(opts), .threads = wanted, .cpus = places.allowed};
	struct hc_team *team = NULL;
	assert_ok(hc_team_open(&opts, &team));
	struct hc_team_work work = {.nr_items = 1000, .block = 1, .fn = look_at_place, .arg = &places};
	assert_ok(hc_team_run(team, &work, NULL));
	assert_int_equal(places.wrong, 0);
	hc_team_close(team);

	/* a CPU that isn't there is refused, together with one that is */
	struct hc_idset *more = NULL;
	assert_ok(hc_idset_copy(places.allowed, &more));
	assert_ok(hc_idset_add(more, HC_IDSET_MAX));
	opts.cpus = more;
	assert_error(hc_team_open(&opts, &team), EINVAL);
	assert_detail_has("65535");
	assert_detail_has(hc_idset_text(places.allowed));
	hc_idset_free(more);

	struct hc_idset *none = hc_idset_new();
	opts.cpus = none;
	assert_error(hc_team_open(&opts, &team), EINVAL);
	hc_idset_free(none);
	hc_idset_free(places.allowed);
}

static int look_within(void *arg, uint64_t begin, uint64_t end, unsigned thread) {
	struct places *places = arg;
	(void)begin, (void)end, (void)thread;
	struct hc_idset *mine = NULL;
	if (hc_affinity_get(&mine) < 0 || strcmp(hc_idset_text(mine), hc_idset_text(places->allowed)) != 0)
		places->wrong++;
	hc_idset_free(mine);
	return 0;
}

static void test_threads_within_a_set_of_cpus(void **state) {
	(void)state;
	struct hc_idset *allowed;
	assert_ok(hc_affinity_get(&allowed));
	/* All of them, and all but the first. */
	for (unsigned less = 0; less < 2 && less < hc_idset_count(allowed); less++) {
		struct places places = {0};
		struct hc_idset *first = hc_idset_new();
		assert_ok(hc_idset_copy(allowed, &places.allowed));
		if (less)
			assert_ok(hc_idset_add(first, (unsigned)hc_idset_next(allowed, 0)));
		hc_idset_subtract(places.allowed, first);
		struct hc_team_opts opts = {.size = sizeof(opts), .threads = 3, .within = places.allowed};
		struct hc_team *team = NULL;
		assert_ok(hc_team_open(&opts, &team));
		struct hc_team_work work = {.nr_items = 300, .block = 1, .fn = look_within, .arg = &places};
		assert_ok(hc_team_run(team, &work, NULL));
		assert_int_equal(places.wrong, 0);
		hc_team_close(team);
		hc_idset_free(first);
		hc_idset_free(places.allowed);
	}
	hc_idset_free(allowed);
}

static void test_options(void **state) {
	(void)state;
	struct hc_team *team = NULL;
	struct hc_team_opts opts = {.size = sizeof(opts), .threads = HC_TEAM_MAX + 1};
	assert_error(hc_team_open(&opts, &team), EINVAL);
	opts = (struct hc_team_opts){.size = 4};
	assert_error(hc_team_open(&opts, &team), EINVAL);
	assert_null(team);
	assert_ok(hc_team_open(NULL, &team));
	assert_true(hc_team_threads(team) >= 1);
	hc_team_close(team);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_PD_02_blocks_stay_aligned),
	        cmocka_unit_test(test_counts_that_nearly_wrap),
	        cmocka_unit_test(test_members_run_before_open_returns),
	        cmocka_unit_test(test_all_run_before_the_first_item_and_end),
	        cmocka_unit_test(test_error_of_a_member_is_the_callers),
	        cmocka_unit_test(test_stop_and_progress),
	        cmocka_unit_test(test_forked_child),
	        cmocka_unit_test(test_one_caller_at_a_time),
	        cmocka_unit_test(test_threads_on_cpus),
	        cmocka_unit_test(test_threads_within_a_set_of_cpus),
	        cmocka_unit_test(test_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
