/* What maps say no to, and why: calls that are forbidden, nodes and CPUs that aren't there, limits; and who may have their pages. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hugeclear/map.h>

#include "support/child.h"
#include "support/huge_pages.h"
#include "support/seccomp.h"

#define OPTS(...) (&(struct hc_map_opts){.size = sizeof(struct hc_map_opts), __VA_ARGS__})

static uint64_t resident(const struct hc_map *map) {
	uint64_t bytes = 0;
	const struct hc_map_part *part;
	for (unsigned i = 0; (part = hc_map_part(map, i)); i++)
		bytes += part->bytes;
	return bytes;
}

static bool check_no_memfd(int err) {
	struct hc_map *map = NULL;
	int r = hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_MEMFD), &map);
	bool lacks = err != EMFILE && err != ENFILE;
	bool ok = r == (lacks ? -EOPNOTSUPP : -err) && strstr(hc_error_detail(), "memfd_create");
	/* Where something else is allowed, shared memory without a descriptor; out of descriptors is out of descriptors. */
	r = hc_map_open(1, OPTS(.backing = HC_BACKING_PREFER, .flags = HC_MAP_MEMFD | HC_MAP_POPULATE), &map);
	ok = ok && (lacks ? r == 0 && hc_map_fd(map) == -1 && hc_map_state(map)->shortfall &&
	                                   strstr(hc_map_state(map)->shortfall, "memfd_create")
	                  : r == -err);
	if (!ok)
		fprintf(stderr, "%d: %d: %s\n", err, r, hc_error_detail());
	hc_map_close(map);
	return ok;
}

static void test_DS_10_memfd_refused(void **state) {
	(void)state;
	static const int calls[] = {SYS_memfd_create},
	                 errors[] = {ENOENT, ENOSYS, EINVAL, ENODEV, EPERM, EMFILE, ENFILE};
	for (unsigned i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		with_calls_forbidden(calls, 1, errors[i], check_no_memfd);
}

/* Of pages that are there in part: hugetlb asks for a memfd in a way of its own. */
static bool check_no_huge_memfd(int err) {
	const size_t page = (size_t)default_huge_page_size();
	struct hc_map *map = NULL;
	bool lacks = err != EMFILE && err != ENFILE;
	int r = hc_map_open(1, OPTS(.flags = HC_MAP_MEMFD), &map);
	bool ok = r == (lacks ? -EOPNOTSUPP : -err) && !map && strstr(hc_error_detail(), "memfd_create");
	r = hc_map_open(page, OPTS(.backing = HC_BACKING_PREFER, .page_size = page, .flags = HC_MAP_MEMFD), &map);
	ok = ok && (lacks ? r == 0 && hc_map_fd(map) == -1 && hc_map_state(map)->shortfall : r == -err && !map);
	if (!ok)
		fprintf(stderr, "%d: %d: %s\n", err, r, hc_error_detail());
	hc_map_close(map);
	return ok;
}

static void test_DS_10_huge_memfd_refused(void **state) {
	(void)state;
	static const int calls[] = {SYS_memfd_create},
	                 errors[] = {ENOENT, ENOSYS, EINVAL, ENODEV, EPERM, EMFILE, ENFILE};
	if (default_huge_page_size() == 0) {
		print_message("this kernel has no hugetlb pages\n");
		skip();
	}
	for (unsigned i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		with_calls_forbidden(calls, 1, errors[i], check_no_huge_memfd);
}

/*
 * With so many descriptors left, all is as with enough, or the error says what lacks: "no hugetlb
 * pages" and smaller pages than there are were the answers.
 */
static int check_descriptors(void *arg) {
	(void)arg;
	static const struct hc_map_opts cases[] = {
	        {.size = sizeof(cases[0])},
	        {.size = sizeof(cases[0]), .flags = HC_MAP_MEMFD},
	        {.size = sizeof(cases[0]), .kind = HC_PAGES_THP},
	        {.size = sizeof(cases[0]), .backing = HC_BACKING_PREFER, .page_size = (uint64_t)1 << 30},
	        {.size = sizeof(cases[0]), .backing = HC_BACKING_PREFER, .flags = HC_MAP_MEMFD | HC_MAP_POPULATE},
	        {.size = sizeof(cases[0]), .backing = HC_BACKING_BASE, .flags = HC_MAP_MEMFD | HC_MAP_POPULATE},
	};
	const size_t len = (size_t)8 << 20;
	struct rlimit limit;
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	int first_free = dup(STDERR_FILENO);
	CHECK(first_free >= 0 && close(first_free) == 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct hc_map *map = NULL;
		int enough = hc_map_open(len, &cases[i], &map);
		enum hc_page_kind kind = map ? hc_map_state(map)->kind : HC_PAGES_BASE;
		hc_map_close(map);
		bool any = false;
		for (rlim_t left = 0; left <= 8; left++) {
			map = NULL;
			limit.rlim_cur = (rlim_t)first_free + left;
			CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
			int r = hc_map_open(len, &cases[i], &map);
			CHECK(r == -EMFILE || r == enough);
			CHECK(r != -EMFILE || (!any && strstr(hc_error_detail(), "descriptors")));
			CHECK(r < 0 || hc_map_state(map)->kind == kind);
			any = any || r != -EMFILE;
			hc_map_close(map);
		}
		CHECK(any);
	}
	return 0;
}

static void test_DS_10_out_of_descriptors(void **state) {
	(void)state;
	assert_int_equal(in_child(check_descriptors, NULL), 0);
}

static bool check_no_policy(int err) {
	struct hc_map *map = NULL;
	int r = hc_map_open(100000, OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE), &map);
	bool ok = r == 0 && resident(map) == hc_map_length(map);
	map = hc_map_close(map);
	for (int placement = HC_PLACE_BIND; placement <= HC_PLACE_INTERLEAVE; placement++) {
		r = hc_map_open(1,
		        OPTS(.backing = HC_BACKING_BASE, .placement = (enum hc_placement)placement, .nodes = "0"),
		        &map);
		ok = ok && r == -err && !map && strstr(hc_error_detail(), "policy was not applied");
	}
	if (!ok)
		fprintf(stderr, "%d: %d: %s\n", err, r, hc_error_detail());
	return ok;
}

static void test_NM_08_policies_refused(void **state) {
	(void)state;
	static const int calls[] = {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages};
	with_calls_forbidden(calls, 4, EPERM, check_no_policy);
	with_calls_forbidden(calls, 4, ENOSYS, check_no_policy);
}

/* mbind is allowed and move_pages isn't: then a binding can't be verified, and isn't claimed. */
static bool check_no_move_pages(int err) {
	struct hc_map *map = NULL;
	int r = hc_map_open(1,
	        OPTS(.backing = HC_BACKING_BASE, .placement = HC_PLACE_BIND, .nodes = "0", .flags = HC_MAP_POPULATE),
	        &map);
	/* On a machine with one node there is only one place. */
	bool ok = r == 0 ? hc_map_part(map, 0)->node == 0 : r == -err || r == -EINVAL;
	if (!ok)
		fprintf(stderr, "%d: %s\n", r, hc_error_detail());
	hc_map_close(map);
	return ok;
}

static void test_NM_08_placement_that_cannot_be_verified(void **state) {
	(void)state;
	static const int calls[] = {SYS_move_pages};
	with_calls_forbidden(calls, 1, EPERM, check_no_move_pages);
}

static void test_NM_06_nodes_that_are_not_there(void **state) {
	(void)state;
	static const char *const lists[] = {"1023", "0,1023", "512", "0-4294967295", "", "-1", "x"};
	const struct holdings before = holdings_now();
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct hc_map *map = NULL;
		assert_error(
		        hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .placement = HC_PLACE_BIND, .nodes = lists[i]),
		                &map),
		        EINVAL);
		assert_null(map);
	}
	struct hc_map *map = NULL;
	assert_error(
	        hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .placement = HC_PLACE_BIND, .nodes = "1023"), &map),
	        EINVAL);
	assert_detail_has("online");
	assert_holds_no_more(&before);
}

/* The kernel alone would run on those that are left, and say nothing. */
static void test_NM_10_cpus_that_are_not_there(void **state) {
	(void)state;
	static const char *const lists[] = {
	        "4095", "0-4095", "1023,1024", "65535", "65536", "0-4294967295", "", "-1", "x"};
	const struct holdings before = holdings_now();
	struct hc_map *map = NULL, *open_map;
	assert_ok(hc_map_open(1, OPTS(.backing = HC_BACKING_BASE), &open_map));
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (unsigned threads = 0; threads <= 2; threads++) {
			int r = hc_map_open(1,
			        OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE, .cpus = lists[i],
			                .threads = threads),
			        &map);
			assert_return(r, -EINVAL, lists[i]);
			assert_null(map);
			uint64_t done = 1;
			struct hc_map_work_opts work = {.size = sizeof(work), .cpus = lists[i], .threads = threads};
			assert_return(hc_map_populate(open_map, &work, &done), -EINVAL, lists[i]);
			assert_int_equal(done, 0);
		}
	assert_error(
	        hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE, .cpus = "4095", .threads = 2),
	                &map),
	        EINVAL);
	assert_detail_has("4095");
	assert_detail_has("may use");
	hc_map_close(open_map);
	assert_holds_no_more(&before);
}

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif

/* proc(5): "mg" of VmFlags is the mergeable advise flag. */
static bool is_mergeable(const void *p) {
	char line[1024], head[32];
	bool found = false, mergeable = false;
	FILE *f = fopen("/proc/self/smaps", "re");
	snprintf(head, sizeof(head), "%lx-", (unsigned long)(uintptr_t)p);
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, head, strlen(head)) == 0)
			found = true;
		else if (found && strncmp(line, "VmFlags:", 8) == 0) {
			mergeable = strstr(line, " mg") != NULL;
			break;
		}
	}
	if (f)
		fclose(f);
	return mergeable;
}

static int check_not_mergeable(void *arg) {
	(void)arg;
	if (prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0) < 0)
		return 77;
	const size_t len = (size_t)4 << 20;
	char *own = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(own != MAP_FAILED);
	CHECK(is_mergeable(own)); /* what the process maps itself is offered */
	for (int i = 0; i < 4; i++) {
		static const struct hc_map_opts cases[] = {
		        {.size = sizeof(cases[0]), .backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE},
		        {.size = sizeof(cases[0]), .kind = HC_PAGES_THP},
		        {.size = sizeof(cases[0]), .backing = HC_BACKING_PREFER},
		        {.size = sizeof(cases[0]), .backing = HC_BACKING_BASE, .flags = HC_MAP_MEMFD},
		};
		struct hc_map *map = NULL;
		int r = hc_map_open(len, &cases[i], &map);
		if (r == -EOPNOTSUPP) /* THP are off */
			continue;
		CHECK(r == 0);
		CHECK(!is_mergeable(hc_map_address(map)));
		hc_map_close(map);
	}
	return 0;
}

static void test_TH_04_maps_are_not_offered_to_ksm(void **state) {
	(void)state;
	int r = in_child(check_not_mergeable, NULL);
	if (r == 77) {
		print_message("needs PR_SET_MEMORY_MERGE: Linux 6.4 with KSM, and CAP_SYS_RESOURCE\n");
		skip();
	}
	assert_int_equal(r, 0);
}

/* The sanitizers' own address space is above any limit, and they leave mlockall out. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_LIMITS 0
#elif defined(__has_feature)
#define HAS_LIMITS                                                                                                     \
	!(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer))
#else
#define HAS_LIMITS 1
#endif

#if HAS_LIMITS
static int check_address_space(void *arg) {
	(void)arg;
	struct hc_map *map = NULL;
	CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)1 << 30, (rlim_t)1 << 30}) == 0);
	CHECK(hc_map_open((size_t)2 << 30, OPTS(.backing = HC_BACKING_BASE), &map) == -ENOMEM && !map);
	CHECK(strstr(hc_error_detail(), "RLIMIT_AS") && strstr(hc_error_detail(), "1 GiB"));
	CHECK(hc_map_open((size_t)2 << 30, OPTS(.backing = HC_BACKING_PREFER), &map) == -ENOMEM && !map);
	CHECK(strstr(hc_error_detail(), "RLIMIT_AS"));
	return 0;
}

static int check_private_memory(void *arg) {
	(void)arg;
	struct hc_map *map = NULL;
	CHECK(setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)256 << 20, (rlim_t)256 << 20}) == 0);
	CHECK(hc_map_open((size_t)1 << 30, OPTS(.backing = HC_BACKING_BASE), &map) == -ENOMEM && !map);
	CHECK(strstr(hc_error_detail(), "RLIMIT_DATA") && strstr(hc_error_detail(), "256 MiB"));
	return 0;
}

static void test_limits_of_the_process(void **state) {
	(void)state;
	assert_int_equal(in_child(check_address_space, NULL), 0);
	assert_int_equal(in_child(check_private_memory, NULL), 0);
}

static int check_locked_memory(void *arg) {
	(void)arg;
	struct hc_map *map = NULL;
	/* An ordinary user's locked memory is limited, and all that is mapped from here on is to be locked. */
	if (geteuid() == 0)
		CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
	CHECK(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){4 << 20, 4 << 20}) == 0);
	if (mlockall(MCL_FUTURE) < 0)
		return 77;
	int r = hc_map_open((size_t)8 << 20, OPTS(.backing = HC_BACKING_BASE), &map);
	CHECK(r == -EAGAIN && !map);
	CHECK(strstr(hc_error_detail(), "locked memory limit is 4 MiB"));
	return 0;
}

static void test_TH_07_locked_memory_limit(void **state) {
	(void)state;
	int r = in_child(check_locked_memory, NULL);
	if (r == 77) {
		print_message("mlockall(MCL_FUTURE) isn't allowed here\n");
		skip();
	}
	assert_int_equal(r, 0);
}
#endif

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_DS_10_memfd_refused),
		cmocka_unit_test(test_DS_10_huge_memfd_refused),
		cmocka_unit_test(test_DS_10_out_of_descriptors),
		cmocka_unit_test(test_NM_10_cpus_that_are_not_there),
		cmocka_unit_test(test_TH_04_maps_are_not_offered_to_ksm),
		cmocka_unit_test(test_NM_08_policies_refused),
		cmocka_unit_test(test_NM_08_placement_that_cannot_be_verified),
		cmocka_unit_test(test_NM_06_nodes_that_are_not_there),
#if HAS_LIMITS
		cmocka_unit_test(test_limits_of_the_process),
		cmocka_unit_test(test_TH_07_locked_memory_limit),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
