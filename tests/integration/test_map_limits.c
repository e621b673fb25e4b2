/*
 * Limits and races inside a control group of the test's own: errors that name the limit, never a signal, and
 * counters that are back afterwards.
 */
#include "support/support.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/clear.h>
#include <hugeclear/map.h>

#include "support/child.h"
#include "support/huge_pages.h"
#include "support/private_cgroup.h"

#define OPTS(...) (&(struct hc_map_opts){.size = sizeof(struct hc_map_opts), __VA_ARGS__})

#define RACES 1000

static struct private_cgroup group;
static uint64_t page;
static char size_name[16]; /* "2MB" */

static int close_group(void **state) {
	(void)state;
	return private_cgroup_close(&group) ? 0 : -1;
}

static void need(uint64_t pages) {
	page = default_huge_page_size();
	need_pages(page, pages);
	snprintf(size_name, sizeof(size_name), page >> 30 ? "%" PRIu64 "GB" : "%" PRIu64 "MB",
	        page >> 30 ? page >> 30 : page >> 20);
	if (group.path[0])
		return;
	const char *reason = private_cgroup_open(&group);
	if (reason) {
		print_message("%s\n", reason);
		skip();
	}
}

static void set_limit(const char *rsvd, int64_t pages) {
	char file[64], text[32] = "max";
	snprintf(file, sizeof(file), "hugetlb.%s%s.max", size_name, rsvd);
	if (pages >= 0)
		snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)pages * page);
	assert_true(private_cgroup_write(&group, file, text));
}

static uint64_t usage(const char *rsvd) {
	char path[4400];
	unsigned long long value = 1;
	snprintf(path, sizeof(path), "%s/hugetlb.%s%s.current", group.path, size_name, rsvd);
	FILE *f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu", &value) != 1)
			value = 1;
		fclose(f);
	}
	return value;
}

/* All of the group's pages and reservations are back, in a moment: the kernel frees some behind the scenes. */
static bool all_is_back(void) {
	for (unsigned tries = 0; tries < 200; tries++) {
		if (usage("") == 0 && usage(".rsvd") == 0)
			return true;
		usleep(10000);
	}
	return false;
}

struct expected {
	const char *detail, *not_in_detail;
	unsigned flags;
	uint64_t pages;
};

/* exact is an error that leaves nothing; prefer takes what is there. */
static int inside_limit(void *arg) {
	const struct expected *expected = arg;
	struct hc_map *map = NULL;
	CHECK(private_cgroup_enter(&group));
	CHECK(hc_map_open(expected->pages * page, OPTS(.flags = expected->flags), &map) == -ENOMEM && !map);
	CHECK(strstr(hc_error_detail(), expected->detail));
	CHECK(strstr(hc_error_detail(), group.path));
	CHECK(!strstr(hc_error_detail(), expected->not_in_detail));
	CHECK(usage("") == 0 && usage(".rsvd") == 0);

	CHECK(hc_map_open(expected->pages * page,
	              OPTS(.flags = expected->flags & ~HC_MAP_NORESERVE, .backing = HC_BACKING_PREFER,
	                      .page_size = page),
	              &map) == 0);
	CHECK(hc_map_state(map)->kind != HC_PAGES_HUGETLB);
	CHECK(strstr(hc_map_state(map)->shortfall, expected->detail));
	memset(hc_map_address(map), 1, hc_map_length(map));
	hc_map_close(map);
	return 0;
}

static void test_PL_05_fault_limit(void **state) {
	(void)state;
	need(3);
	for (int64_t limit = 0; limit <= 1; limit++) {
		set_limit("", limit);
		for (unsigned memfd = 0; memfd < 2; memfd++)
			for (unsigned populate = 0; populate <= HC_MAP_POPULATE; populate += HC_MAP_POPULATE) {
				struct expected expected = {
				        "cgroup fault limit", "hugeclear reserve", memfd | populate, 3};
				assert_int_equal(in_child(inside_limit, &expected), 0);
				assert_true(all_is_back());
			}
	}
	set_limit("", -1);
}

static void test_PL_06_reservation_limit(void **state) {
	(void)state;
	need(3);
	set_limit(".rsvd", 1);
	for (unsigned memfd = 0; memfd < 2; memfd++)
		for (unsigned populate = 0; populate <= HC_MAP_POPULATE; populate += HC_MAP_POPULATE) {
			struct expected expected = {
			        "cgroup reservation limit", "hugeclear reserve", memfd | populate, 3};
			assert_int_equal(in_child(inside_limit, &expected), 0);
			assert_true(all_is_back());
		}
	/* Without a reservation mmap succeeds, and the second page would be a SIGBUS. */
	struct expected expected = {
	        "cgroup reservation limit", "hugeclear reserve", HC_MAP_NORESERVE | HC_MAP_POPULATE, 3};
	assert_int_equal(in_child(inside_limit, &expected), 0);
	assert_true(all_is_back());
	set_limit(".rsvd", -1);
}

/* A discarded page isn't reserved any more; when it can't be had again, populating says so. */
static int discard_and_lose(void *arg) {
	(void)arg;
	struct hc_map *map;
	CHECK(private_cgroup_enter(&group));
	CHECK(hc_map_open(2 * page, OPTS(.flags = HC_MAP_POPULATE), &map) == 0);
	CHECK(hc_map_discard(map, 0, page, NULL) == 0);
	char *other = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	CHECK(other != MAP_FAILED);
	*(volatile char *)other = 1;
	CHECK(hc_map_populate(map, NULL, NULL) == -ENOMEM);
	CHECK(strstr(hc_error_detail(), "cgroup fault limit"));
	((char *)hc_map_address(map))[page] = 1;
	munmap(other, page);
	CHECK(hc_map_populate(map, NULL, NULL) == 0);
	hc_map_close(map);
	return 0;
}

static void test_PL_03_pages_lost_after_a_discard(void **state) {
	(void)state;
	need(3);
	set_limit("", 2);
	assert_int_equal(in_child(discard_and_lose, NULL), 0);
	assert_true(all_is_back());
	set_limit("", -1);
}

/* ---- Races ------------------------------------------------------------------------ */

/* Takes and gives back the pages that the group may have, over and over, until it is killed. */
static void take_pages(void) {
	for (;;) {
		char *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
		        MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			continue;
		madvise(p, page, 23 /* MADV_POPULATE_WRITE: an error, not a signal, where there is none */);
		munmap(p, page);
	}
}

/* Each round maps, reserves, and races for the pages: it gets all and uses them, or an error; this process never dies. */
static int race(void *arg) {
	const unsigned flags = *(const unsigned *)arg;
	CHECK(private_cgroup_enter(&group));
	pid_t taker = fork();
	CHECK(taker >= 0);
	if (taker == 0)
		take_pages();
	unsigned got = 0, lost = 0;
	int result = 0;
	for (unsigned i = 0; i < RACES && result == 0; i++) {
		struct hc_map *map = NULL;
		int r = hc_map_open(2 * page,
		        OPTS(.flags = flags | HC_MAP_POPULATE, .threads = i % 8 == 0 ? 2 : 1, .step = page,
		                .populate_by = i % 3 == 0 ? HC_POPULATE_BY_FUTEX : HC_POPULATE_CHOSEN),
		        &map);
		if (r == 0) {
			got++;
			char *p = hc_map_address(map);
			p[0] = p[page] = 1;
			if (hc_map_reset(map, NULL, NULL) < 0 || p[0] || p[page])
				result = 2;
		} else {
			lost++;
			if (r != -ENOMEM || map)
				result = 3;
		}
		hc_map_close(map);
	}
	kill(taker, SIGKILL);
	waitpid(taker, NULL, 0);
	fprintf(stderr, "flags %u: %u rounds got their pages, %u didn't\n", flags, got, lost);
	if (result != 0)
		fprintf(stderr, "%d: %s\n", result, hc_error_detail());
	return result;
}

static void race_with(unsigned flags) {
	need(4);
	set_limit("", 2);
	assert_int_equal(in_child(race, &flags), 0);
	assert_true(all_is_back());
	set_limit("", -1);
}

static void test_PL_03_races_private(void **state) {
	(void)state;
	race_with(0);
}

static void test_PL_03_races_memfd(void **state) {
	(void)state;
	race_with(HC_MAP_MEMFD);
}

static void test_PL_03_races_without_reservation(void **state) {
	(void)state;
	race_with(HC_MAP_NORESERVE);
	race_with(HC_MAP_NORESERVE | HC_MAP_MEMFD);
}

/* The sanitizers leave mlockall() out. */
#ifdef __SANITIZE_THREAD__
#define HAS_MLOCKALL 0
#elif defined(__has_feature)
#define HAS_MLOCKALL !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HAS_MLOCKALL 1
#endif

/* Huge pages stay where they are without mlock(2): a small limit is in nobody's way, until all has to be locked. */
static int as_nobody_with_small_limit(void *unused) {
	(void)unused;
	struct hc_map *map = NULL;
	const size_t len = 3 * page;
	CHECK(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
	CHECK(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){4 << 20, 4 << 20}) == 0);
	for (unsigned memfd = 0; memfd <= HC_MAP_MEMFD; memfd += HC_MAP_MEMFD) {
		CHECK(hc_map_open(len, OPTS(.flags = HC_MAP_POPULATE | memfd), &map) == 0);
		CHECK(hc_map_verify(map) == 0);
		map = hc_map_close(map);
	}
#if HAS_MLOCKALL
	CHECK(mlockall(MCL_FUTURE) == 0);
	for (unsigned memfd = 0; memfd <= HC_MAP_MEMFD; memfd += HC_MAP_MEMFD) {
		CHECK(hc_map_open(len, OPTS(.flags = HC_MAP_POPULATE | memfd), &map) == -EAGAIN && !map);
		CHECK(strstr(hc_error_detail(), "locked memory limit is 4 MiB"));
		/* Smaller pages would be locked too: it isn't a lack of huge ones. */
		CHECK(hc_map_open(len, OPTS(.backing = HC_BACKING_PREFER, .page_size = page, .flags = memfd), &map) ==
		                -EAGAIN &&
		        !map);
	}
#endif
	return 0;
}

static void test_TH_07_locked_memory_limit(void **state) {
	(void)state;
	need(3);
	assert_int_equal(in_child(as_nobody_with_small_limit, NULL), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_PL_05_fault_limit),
	        cmocka_unit_test(test_PL_06_reservation_limit),
	        cmocka_unit_test(test_PL_03_pages_lost_after_a_discard),
	        cmocka_unit_test(test_TH_07_locked_memory_limit),
	        cmocka_unit_test(test_PL_03_races_private),
	        cmocka_unit_test(test_PL_03_races_memfd),
	        cmocka_unit_test(test_PL_03_races_without_reservation),
	};
	return cmocka_run_group_tests(tests, NULL, close_group);
}
