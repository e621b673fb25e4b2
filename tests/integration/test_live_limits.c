/* Limits that were set for real are what the reader shows: hugetlb and memory cgroups, namespaces. */
#include "support/support.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/sys.h>

#include "support/child.h"
#include "support/private_cgroup.h"

static struct private_cgroup group;

static int open_group(void **state) {
	(void)state;
	const char *reason = private_cgroup_open(&group);
	if (reason)
		print_message("%s\n", reason);
	return 0;
}

static int close_group(void **state) {
	(void)state;
	return private_cgroup_close(&group) ? 0 : -1;
}

static void need_group(void) {
	if (!group.path[0]) {
		const char *reason = private_cgroup_open(&group);
		if (!reason)
			return;
		print_message("%s\n", reason);
		skip();
	}
}

/* The smallest page size there is a limit file for; 0 where none. */
static uint64_t smallest_limited(char *name, size_t name_size) {
	static const struct {
		uint64_t bytes;
		const char *name;
	} sizes[] = {{UINT64_C(64) << 10, "64KB"}, {UINT64_C(1) << 20, "1MB"}, {UINT64_C(2) << 20, "2MB"},
	        {UINT64_C(16) << 20, "16MB"}, {UINT64_C(32) << 20, "32MB"}, {UINT64_C(512) << 20, "512MB"}};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char path[4400];
		snprintf(path, sizeof(path), "%s/hugetlb.%s.max", group.path, sizes[i].name);
		if (access(path, F_OK) == 0) {
			snprintf(name, name_size, "%s", sizes[i].name);
			return sizes[i].bytes;
		}
	}
	return 0;
}

struct expected {
	uint64_t page_size;
	uint64_t bytes_left;
	bool is_reservation;
	char file[4400];
	unsigned map_pages, touch_pages;
	bool with_namespace;
};

static void set_limit(const char *size_name, const char *rsvd, const char *text) {
	char file[64];
	snprintf(file, sizeof(file), "hugetlb.%s%s.max", size_name, rsvd);
	if (!private_cgroup_write(&group, file, text))
		fail_msg("%s/%s: %s", group.path, file, strerror(errno));
}

static int compare_pool(const struct expected *expected) {
	struct hc_machine *machine;
	CHECK(hc_machine_read(NULL, &machine) == 0);
	const struct hc_pool *pool = hc_machine_pool_by_size(machine, expected->page_size);
	CHECK(pool);
	if (pool->cgroup_bytes_left != expected->bytes_left)
		fprintf(stderr, "%llu left, not %llu\n", (unsigned long long)pool->cgroup_bytes_left,
		        (unsigned long long)expected->bytes_left);
	CHECK(pool->cgroup_bytes_left == expected->bytes_left);
	if (expected->bytes_left == HC_UNKNOWN) {
		CHECK(pool->cgroup_limit_file == NULL);
	} else {
		CHECK(strcmp(pool->cgroup_limit_file, expected->file) == 0);
		CHECK(pool->cgroup_limit_is_reservation == expected->is_reservation);
	}
	hc_machine_free(machine);
	return 0;
}

/* In a namespace of its own, with version 2 mounted anew: the group is the top of what is seen, and called "/". */
static int enter_namespace(void) {
	CHECK(unshare(CLONE_NEWCGROUP | CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(umount2(group.top, MNT_DETACH) == 0); /* the same file system twice at one place is EBUSY */
	CHECK(mount("cgroup2", group.top, "cgroup2", 0, NULL) == 0);
	return 0;
}

static int compare_inside(void *arg) {
	const struct expected *expected = arg;
	CHECK(private_cgroup_enter(&group));
	if (expected->with_namespace && enter_namespace() != 0)
		return 1;
	char *p = NULL;
	if (expected->map_pages) {
		p = mmap(NULL, expected->map_pages * expected->page_size, PROT_READ | PROT_WRITE,
		        MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB |
		                __builtin_ctzll(expected->page_size) << MAP_HUGE_SHIFT,
		        -1, 0);
		CHECK(p != MAP_FAILED);
		for (unsigned i = 0; i < expected->touch_pages; i++)
			p[i * expected->page_size] = 1;
	}
	return compare_pool(expected);
}

static void expect_limit(struct expected expected, const char *size_name) {
	snprintf(expected.file, sizeof(expected.file), "%s/hugetlb.%s%s.max",
	        expected.with_namespace ? group.top : group.path, size_name, expected.is_reservation ? ".rsvd" : "");
	assert_int_equal(in_child(compare_inside, &expected), 0);
}

static void test_hugetlb_limits_as_set(void **state) {
	(void)state;
	need_group();
	char name[16];
	uint64_t size = smallest_limited(name, sizeof(name));
	assert_true(size > 0);
	char bytes[32];

	expect_limit((struct expected){.page_size = size, .bytes_left = HC_UNKNOWN}, name);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size * 3);
	set_limit(name, "", bytes);
	expect_limit((struct expected){.page_size = size, .bytes_left = size * 3}, name);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size * 2);
	set_limit(name, ".rsvd", bytes);
	expect_limit((struct expected){.page_size = size, .bytes_left = size * 2, .is_reservation = true}, name);
	set_limit(name, "", "0");
	expect_limit((struct expected){.page_size = size, .bytes_left = 0}, name);
	set_limit(name, "", "max");
	set_limit(name, ".rsvd", "max");
	expect_limit((struct expected){.page_size = size, .bytes_left = HC_UNKNOWN}, name);
}

/* What the group uses comes off: a mapping its reservation at once, a touched page its fault. */
static void test_hugetlb_usage_comes_off(void **state) {
	(void)state;
	need_group();
	char name[16], bytes[32];
	uint64_t size = smallest_limited(name, sizeof(name));
	struct hc_machine *machine;
	assert_ok(hc_machine_read(NULL, &machine));
	const struct hc_pool *pool = hc_machine_pool_by_size(machine, size);
	bool enough = pool && pool->available != HC_UNKNOWN && pool->available >= 2;
	hc_machine_free(machine);
	if (!enough) {
		print_message("needs 2 free huge pages of %s\n", name);
		skip();
	}

	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size * 4);
	set_limit(name, "", bytes);
	expect_limit((struct expected){.page_size = size, .bytes_left = size * 4, .map_pages = 2}, name);
	expect_limit(
	        (struct expected){.page_size = size, .bytes_left = size * 3, .map_pages = 2, .touch_pages = 1}, name);
	set_limit(name, ".rsvd", bytes);
	expect_limit((struct expected){.page_size = size,
	                     .bytes_left = size * 2,
	                     .is_reservation = true,
	                     .map_pages = 2,
	                     .touch_pages = 1},
	        name);
	set_limit(name, "", "max");
	set_limit(name, ".rsvd", "max");
}

static void test_hugetlb_limit_in_a_cgroup_namespace(void **state) {
	(void)state;
	need_group();
	char name[16], bytes[32];
	uint64_t size = smallest_limited(name, sizeof(name));
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size);
	set_limit(name, "", bytes);
	expect_limit((struct expected){.page_size = size, .bytes_left = size, .with_namespace = true}, name);
	set_limit(name, "", "max");
}

/* ---- Memory -------------------------------------------------------------- */

static bool write_text(const char *folder, const char *file, const char *text) {
	char path[4400];
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	FILE *f = fopen(path, "we");
	if (!f)
		return false;
	fputs(text, f);
	return fclose(f) == 0;
}

static int compare_memory(void *arg) {
	const char *folder = arg;
	CHECK(write_text(folder, "cgroup.procs", "0"));
	struct hc_machine *machine;
	CHECK(hc_machine_read(NULL, &machine) == 0);
	const struct hc_limits *limits = hc_machine_limits(machine);
	/* This process uses some of the 512 MiB itself, but not all. */
	CHECK(limits->memory_cgroup_left > UINT64_C(256) << 20);
	CHECK(limits->memory_cgroup_left <= UINT64_C(512) << 20);
	CHECK(limits->memory_cgroup_file && strncmp(limits->memory_cgroup_file, folder, strlen(folder)) == 0);
	hc_machine_free(machine);
	return 0;
}

static void test_memory_limit_as_set(void **state) {
	(void)state;
	char folder[256];
	if (geteuid() != 0 || access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) < 0) {
		print_message("needs root and the memory controller in cgroup version 1\n");
		skip();
	}
	snprintf(folder, sizeof(folder), "/sys/fs/cgroup/memory/hugeclear-test-%d", getpid());
	assert_int_equal(mkdir(folder, 0755), 0);
	bool set = write_text(folder, "memory.limit_in_bytes", "512M");
	int result = set ? in_child(compare_memory, folder) : -1;
	for (unsigned tries = 0; rmdir(folder) < 0 && tries < 200; tries++)
		usleep(10000);
	assert_true(set);
	assert_int_equal(result, 0);
	assert_int_equal(access(folder, F_OK), -1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_hugetlb_limits_as_set),
	        cmocka_unit_test(test_hugetlb_usage_comes_off),
	        cmocka_unit_test(test_hugetlb_limit_in_a_cgroup_namespace),
	        cmocka_unit_test(test_memory_limit_as_set),
	};
	return cmocka_run_group_tests(tests, open_group, close_group);
}
