/* Of what size pages are, from page tables and frames that a test writes: what isn't known is never taken for 4 KiB, nor frame 0 for an address. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "map/page_walk.h"
#include "support/child.h"
#include "sys/root.h"

/* pagemap.rst and kpageflags of the kernel's Documentation/admin-guide/mm. */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define HEAD (UINT64_C(1) << 15)
#define TAIL (UINT64_C(1) << 16)

#define BASE 4096
#define PAGES 32
/* An address whose entry stands at a place that a sparse file can have. */
#define ADDRESS (UINT64_C(1) << 40)

static char *folder;
static struct hc_root root;
static const struct hc_page_range range = {.p = (char *)(uintptr_t)ADDRESS, .pages = PAGES, .base_page = BASE};

static int open_root(void **state) {
	(void)state;
	folder = temp_folder();
	tree_write(folder, "proc/self/pagemap", "");
	tree_write(folder, "proc/kpageflags", "");
	return hc_root_open(folder, &root);
}

static int close_root(void **state) {
	(void)state;
	hc_root_close(&root);
	temp_folder_remove(folder);
	return 0;
}

static void put(const char *name, uint64_t index, uint64_t word) {
	char path[4200];
	snprintf(path, sizeof(path), "%s/proc/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &word, sizeof(word), (off_t)(index * sizeof(word))), sizeof(word));
	close(fd);
}

static void put_entry(unsigned page, uint64_t entry) {
	put("self/pagemap", ADDRESS / BASE + page, entry);
}

/* count pages from page on in frames that follow each other, one compound page. */
static void put_folio(unsigned page, unsigned count, uint64_t frame) {
	for (unsigned i = 0; i < count; i++) {
		put_entry(page + i, PRESENT | (frame + i));
		put("kpageflags", frame + i, count == 1 ? 0 : i == 0 ? HEAD : TAIL);
	}
}

/* Base pages in frames of their own, from page on. */
static void put_rest(unsigned page) {
	for (; page < PAGES; page++)
		put_folio(page, 1, 5000 + 2 * page);
}

static void expect_sizes(const uint64_t *sizes, unsigned page, unsigned count, uint64_t size) {
	for (unsigned i = page; i < page + count; i++)
		if (sizes[i] != size)
			fail_msg("page %u: %llu, not %llu", i, (unsigned long long)sizes[i], (unsigned long long)size);
}

static void test_TH_08_folios_by_frames_that_follow_each_other(void **state) {
	(void)state;
	uint64_t sizes[PAGES];
	put_folio(0, 16, 1000);
	put_folio(16, 4, 2000);
	put_rest(20);
	assert_ok(hc_page_walk_any(&root, &range, sizes));
	expect_sizes(sizes, 0, 16, 65536);
	expect_sizes(sizes, 16, 4, 16384);
	expect_sizes(sizes, 20, 12, BASE);
}

static void test_TH_08_frame_0_is_unknown(void **state) {
	(void)state;
	uint64_t sizes[PAGES];
	/* What an unprivileged reader sees, whatever is there: and kpageflags of frame 0 are those of something else. */
	for (unsigned i = 0; i < PAGES; i++)
		put_entry(i, PRESENT);
	put("kpageflags", 0, HEAD);
	for (unsigned i = 1; i < PAGES; i++)
		put("kpageflags", i, TAIL);
	assert_error(hc_page_walk_any(&root, &range, sizes), EPERM);
	assert_detail_has("CAP_SYS_ADMIN");
	/* One alone is enough. */
	put_folio(0, 16, 1000);
	put_rest(16);
	put_entry(31, PRESENT);
	assert_error(hc_page_walk_any(&root, &range, sizes), EPERM);
}

static void test_TH_08_not_all_of_a_folio(void **state) {
	(void)state;
	uint64_t sizes[PAGES];
	/* A gap in the frames, one that isn't there, and one that is swapped out: no page of a size any more. */
	put_folio(0, 16, 1000);
	put_entry(3, PRESENT | 4000);
	put("kpageflags", 4000, TAIL);
	put_folio(16, 4, 2000);
	put_entry(18, 0);
	put_folio(20, 4, 3000);
	put_entry(21, SWAPPED | 3001);
	put_rest(24);
	assert_ok(hc_page_walk_any(&root, &range, sizes));
	expect_sizes(sizes, 0, 16, BASE);
	expect_sizes(sizes, 16, 2, 8192); /* the kernel's folio is larger, but what is mapped in one piece is this */
	expect_sizes(sizes, 18, PAGES - 18, BASE);
}

static void test_TH_08_neighbours_are_two(void **state) {
	(void)state;
	uint64_t sizes[PAGES];
	/* Two folios whose frames follow each other, and a head whose neighbour is no tail. */
	put_folio(0, 8, 1000);
	put_folio(8, 8, 1008);
	put_folio(16, 1, 2000);
	put("kpageflags", 2000, HEAD);
	put_folio(17, 1, 2001);
	put_rest(18);
	assert_ok(hc_page_walk_any(&root, &range, sizes));
	expect_sizes(sizes, 0, 16, 32768);
	expect_sizes(sizes, 16, 2, BASE);
}

static void test_TH_08_files_that_end_early(void **state) {
	(void)state;
	uint64_t sizes[PAGES];
	put_entry(0, PRESENT | 1000);
	assert_error(hc_page_walk_any(&root, &range, sizes), EPERM);
	assert_detail_has("pagemap");
	put_rest(0);
	put_entry(0, PRESENT | 100000); /* behind the last of kpageflags: nothing is claimed */
	put("kpageflags", 1, HEAD);
	assert_ok(hc_page_walk_any(&root, &range, sizes));
	expect_sizes(sizes, 0, PAGES, BASE);
}

static void test_TH_08_files_that_are_not_there(void **state) {
	(void)state;
	uint64_t sizes[PAGES];
	char path[4200];
	snprintf(path, sizeof(path), "%s/proc/kpageflags", folder);
	put_rest(0);
	assert_int_equal(unlink(path), 0);
	assert_error(hc_page_walk_any(&root, &range, sizes), EPERM);
	assert_detail_has("kpageflags");
	snprintf(path, sizeof(path), "%s/proc/self/pagemap", folder);
	assert_int_equal(unlink(path), 0);
	assert_error(hc_page_walk_any(&root, &range, sizes), EPERM);
	assert_detail_has("pagemap");
	/* A file isn't the kernel's: it has no PAGEMAP_SCAN. */
	tree_write(folder, "proc/self/pagemap", "");
	assert_error(hc_page_walk_pmd(&root, &range, 2 << 20, sizes), EOPNOTSUPP);
}

/* ---- The kernel's own ------------------------------------------------------------ */

static int walk_here(int expected) {
	struct hc_root live;
	const size_t base = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t sizes[4];
	CHECK(hc_root_open(NULL, &live) == 0);
	char *p = mmap(NULL, 4 * base, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED && madvise(p, 4 * base, MADV_NOHUGEPAGE) == 0);
	p[0] = p[2 * base] = 1;
	int r = hc_page_walk_any(&live, &(struct hc_page_range){.p = p, .pages = 4, .base_page = base}, sizes);
	CHECK(r == expected);
	for (unsigned i = 0; i < 4 && r == 0; i++)
		CHECK(sizes[i] == base);
	return 0;
}

static int walk_as_root(void *unused) {
	(void)unused;
	return walk_here(0);
}

static int walk_without_capability(void *unused) {
	(void)unused;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];
	CHECK(syscall(SYS_capget, &head, caps) == 0);
	for (unsigned i = 0; i < 2; i++) {
		caps[i].effective &= i == 0 ? ~(1u << CAP_SYS_ADMIN) : ~0u;
		caps[i].permitted = caps[i].effective;
		caps[i].inheritable = 0;
	}
	CHECK(syscall(SYS_capset, &head, caps) == 0);
	CHECK(walk_here(-EPERM) == 0);
	CHECK(strstr(hc_error_detail(), "CAP_SYS_ADMIN") || strstr(hc_error_detail(), "kpageflags"));
	return 0;
}

static int walk_as_nobody(void *unused) {
	(void)unused;
	CHECK(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
	/* /proc/self belongs to root until a program is started, or this is said. */
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	return walk_here(-EPERM);
}

static void test_TH_08_with_and_without_privilege(void **state) {
	(void)state;
	if (geteuid() != 0 || access("/proc/kpageflags", R_OK) < 0) {
		print_message("needs root and /proc/kpageflags\n");
		skip();
	}
	assert_int_equal(in_child(walk_as_root, NULL), 0);
	assert_int_equal(in_child(walk_without_capability, NULL), 0);
	assert_int_equal(in_child(walk_as_nobody, NULL), 0);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, open_root, close_root)

int main(void) {
	const struct CMUnitTest tests[] = {
	        WITH_ROOT(test_TH_08_folios_by_frames_that_follow_each_other),
	        WITH_ROOT(test_TH_08_frame_0_is_unknown),
	        WITH_ROOT(test_TH_08_not_all_of_a_folio),
	        WITH_ROOT(test_TH_08_neighbours_are_two),
	        WITH_ROOT(test_TH_08_files_that_end_early),
	        WITH_ROOT(test_TH_08_files_that_are_not_there),
	        cmocka_unit_test(test_TH_08_with_and_without_privilege),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
