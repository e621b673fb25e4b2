/* Mounts of hugetlbfs made for real, in a private mount namespace, are what the reader shows. */
#include "support/support.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/sys.h>

#include "support/child.h"

struct mounted {
	const char *folder; /* below the test's own */
	const char *options;
	uint64_t page_size, size_limit;
};

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* mount(8) has no say: what the kernel rounds and shows is in the cases from the field (PL-12, DS-08). */
static const struct mounted mounts[] = {
        {"plain", "pagesize=2M", 2 * MIB, HC_UNKNOWN},
        {"with space", "pagesize=2M,size=8M", 2 * MIB, 8 * MIB},
        {"tab\tand\\back", "pagesize=2048K", 2 * MIB, HC_UNKNOWN},
        {"too small", "pagesize=2M,size=1M", 2 * MIB, 0},
        {"rounded down", "pagesize=2M,size=3M", 2 * MIB, 2 * MIB},
        {"gigantic", "pagesize=1G", GIB, HC_UNKNOWN},
};
#define NR_MOUNTS (sizeof(mounts) / sizeof(mounts[0]))

static const struct hc_hugetlbfs *find(const struct hc_machine *machine, const char *path) {
	const struct hc_hugetlbfs *mount;
	for (unsigned i = 0; (mount = hc_machine_hugetlbfs(machine, i)) != NULL; i++)
		if (strcmp(mount->path, path) == 0)
			return mount;
	return NULL;
}

static int mount_and_compare(void *arg) {
	const char *folder = arg;
	char path[NR_MOUNTS][512];
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	for (size_t i = 0; i < NR_MOUNTS; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s", folder, mounts[i].folder);
		CHECK(mkdir(path[i], 0755) == 0);
		CHECK(mount("none", path[i], "hugetlbfs", 0, mounts[i].options) == 0);
	}

	struct hc_machine *machine;
	CHECK(hc_machine_read(NULL, &machine) == 0);
	for (size_t i = 0; i < NR_MOUNTS; i++) {
		const struct hc_hugetlbfs *mount = find(machine, path[i]);
		CHECK(mount);
		if (mount->page_size != mounts[i].page_size || mount->size_limit != mounts[i].size_limit)
			fprintf(stderr, "%s: page size %llu, size %llu\n", path[i],
			        (unsigned long long)mount->page_size, (unsigned long long)mount->size_limit);
		CHECK(mount->page_size == mounts[i].page_size);
		CHECK(mount->size_limit == mounts[i].size_limit);
		CHECK(mount->min_size == 0);
	}
	hc_machine_free(machine);

	/* A tmpfs over one of them, as in a container: it can't be reached any more. */
	CHECK(mount("none", path[0], "tmpfs", 0, NULL) == 0);
	CHECK(hc_machine_read(NULL, &machine) == 0);
	CHECK(find(machine, path[0]) == NULL);
	CHECK(find(machine, path[1]) != NULL);
	hc_machine_free(machine);
	return 0;
}

static void test_PL_12_DS_08_mounts_as_made(void **state) {
	(void)state;
	if (geteuid() != 0) {
		print_message("mounting needs root\n");
		skip();
	}
	if (access("/sys/kernel/mm/hugepages/hugepages-2048kB", F_OK) < 0 ||
	        access("/sys/kernel/mm/hugepages/hugepages-1048576kB", F_OK) < 0) {
		print_message("needs huge pages of 2 MiB and 1 GiB\n");
		skip();
	}
	char *folder = temp_folder();
	int result = in_child(mount_and_compare, folder); /* the mounts end with the child */
	temp_folder_remove(folder);
	assert_int_equal(result, 0);
}

/* min_size takes its pages out of the pool at once, so it needs one. */
static int mount_min_size(void *arg) {
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", arg, "hugetlbfs", 0, "pagesize=2M,min_size=2M,size=4M") == 0);
	struct hc_machine *machine;
	CHECK(hc_machine_read(NULL, &machine) == 0);
	const struct hc_hugetlbfs *mount = find(machine, arg);
	CHECK(mount);
	CHECK(mount->min_size == 2 * MIB);
	CHECK(mount->size_limit == 4 * MIB);
	hc_machine_free(machine);
	return 0;
}

static void test_DS_08_min_size(void **state) {
	(void)state;
	struct hc_machine *machine;
	assert_ok(hc_machine_read(NULL, &machine));
	const struct hc_pool *pool = hc_machine_pool_by_size(machine, 2 * MIB);
	bool enough = geteuid() == 0 && pool && pool->available != HC_UNKNOWN && pool->available >= 1;
	hc_machine_free(machine);
	if (!enough) {
		print_message("needs root and 1 free huge page of 2 MiB\n");
		skip();
	}
	char *folder = temp_folder();
	int result = in_child(mount_min_size, folder);
	temp_folder_remove(folder);
	assert_int_equal(result, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_PL_12_DS_08_mounts_as_made),
	        cmocka_unit_test(test_DS_08_min_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
