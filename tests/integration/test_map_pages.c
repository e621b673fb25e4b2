/* Maps of real huge pages: what was got is what the kernel shows, and all failures are errors that leave nothing. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/clear.h>
#include <hugeclear/map.h>

#include "support/child.h"
#include "support/huge_pages.h"

#define OPTS(...) (&(struct hc_map_opts){.size = sizeof(struct hc_map_opts), __VA_ARGS__})
#define WORK(...) (&(struct hc_map_work_opts){.size = sizeof(struct hc_map_work_opts), __VA_ARGS__})

static uint64_t page;

static void need(uint64_t pages) {
	page = default_huge_page_size();
	need_pages(page, pages);
}

static void assert_one_part_at(const struct hc_map *map, uint64_t bytes, size_t offset) {
	const struct hc_map_part *part = hc_map_part(map, 0);
	assert_non_null(part);
	assert_int_equal(part->kind, HC_PAGES_HUGETLB);
	assert_int_equal(part->page_size, page);
	assert_int_equal(part->bytes, bytes);
	assert_int_equal(part->node, node_of_page((char *)hc_map_address(map) + offset));
}

static void assert_one_part(const struct hc_map *map, uint64_t bytes) {
	assert_one_part_at(map, bytes, 0);
}

static void test_SZ_04_one_byte_and_a_part_of_a_page(void **state) {
	(void)state;
	need(2);
	const struct holdings before = holdings_now();
	const size_t lengths[] = {1, page - 1, page, page + 1, page + page / 2};
	for (unsigned i = 0; i < 5; i++)
		for (unsigned memfd = 0; memfd < 2; memfd++) {
			struct hc_map *map;
			assert_ok(hc_map_open(lengths[i], OPTS(.flags = HC_MAP_POPULATE | memfd), &map));
			assert_int_equal(hc_map_length(map), i < 3 ? page : 2 * page);
			assert_int_equal((uintptr_t)hc_map_address(map) % page, 0);
			assert_one_part(map, hc_map_length(map));
			hc_map_close(map);
			assert_holds_no_more(&before);
		}
}

static void test_what_was_got_against_smaps(void **state) {
	(void)state;
	need(4);
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		assert_ok(hc_map_open(
		        4 * page, OPTS(.flags = HC_MAP_POPULATE | memfd, .threads = 2, .step = page), &map));
		char *p = hc_map_address(map);
		assert_int_equal(smaps_sum(p, 4 * page, "KernelPageSize"), page);
		assert_int_equal(smaps_sum(p, 4 * page, memfd ? "Shared_Hugetlb" : "Private_Hugetlb") +
		                         smaps_sum(p, 4 * page, memfd ? "Private_Hugetlb" : "Shared_Hugetlb"),
		        4 * page);
		assert_one_part(map, 4 * page);
		assert_ok(hc_map_verify(map));
		if (memfd) {
			struct stat st;
			assert_int_equal(fstat(hc_map_fd(map), &st), 0);
			assert_int_equal(st.st_blksize, page);
			assert_true(ftruncate(hc_map_fd(map), 0) < 0 && errno == EPERM);
			assert_true(ftruncate(hc_map_fd(map), (off_t)(5 * page)) < 0 && errno == EPERM);
		}
		hc_map_close(map);
	}
}

/* DS-09: no hugetlbfs is mounted by these tests, and none is needed. */
static void test_DS_09_demand_needs_no_mount(void **state) {
	(void)state;
	need(2);
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		assert_ok(hc_map_open(2 * page, OPTS(.flags = memfd), &map));
		assert_true(pool_counter(page, "resv_hugepages") >= 2);
		assert_null(hc_map_part(map, 0));
		assert_error(hc_map_verify(map), ENODATA);
		((char *)hc_map_address(map))[page] = 3;
		assert_error(hc_map_verify(map), ENODATA);
		assert_one_part_at(map, page, page);
		uint64_t done = 0;
		assert_ok(hc_map_populate(map, NULL, &done));
		assert_int_equal(done, 2 * page);
		assert_int_equal(((char *)hc_map_address(map))[page], 3);
		assert_one_part(map, 2 * page);
		hc_map_close(map);
	}
}

static void test_PL_01_more_than_the_pool_has(void **state) {
	(void)state;
	need(1);
	const struct holdings before = holdings_now();
	struct hc_map *map = NULL;
	const uint64_t wanted = pool_counter(page, "nr_hugepages") + pool_counter(page, "nr_overcommit_hugepages") + 1;
	char text[64];
	for (unsigned flags = 0; flags < 4; flags++) { /* memfd, populate, both */
		assert_error(hc_map_open(wanted * page, OPTS(.flags = flags), &map), ENOMEM);
		snprintf(text, sizeof(text), "%" PRIu64 " pages of ", wanted);
		assert_detail_has(text);
		assert_detail_has("available");
		assert_detail_has("hugeclear reserve ");
		assert_null(map);
		assert_holds_no_more(&before);
	}
	/* prefer goes on with less, and says why. */
	assert_ok(hc_map_open(wanted * page, OPTS(.backing = HC_BACKING_PREFER, .page_size = page), &map));
	assert_int_not_equal(hc_map_state(map)->page_size == page && hc_map_state(map)->kind == HC_PAGES_HUGETLB, 1);
	assert_non_null(hc_map_state(map)->shortfall);
	assert_contains(hc_map_state(map)->shortfall, text);
	hc_map_close(map);
	assert_holds_no_more(&before);
}

static void test_PL_02_reserved_pages_are_not_available(void **state) {
	(void)state;
	need(3);
	struct hc_map *promised, *map = NULL;
	assert_ok(hc_map_open(2 * page, NULL, &promised));
	assert_error(hc_map_open(pool_counter(page, "free_hugepages") * page, NULL, &map), ENOMEM);
	assert_detail_has("reserved by others");
	assert_null(map);
	hc_map_close(promised);
}

/* Without a reservation nothing is sure: populating is, or fails, and touches nothing. */
static void test_PL_03_PL_04_without_a_reservation(void **state) {
	(void)state;
	need(1);
	const struct holdings before = holdings_now();
	const uint64_t wanted = pool_counter(page, "nr_hugepages") + pool_counter(page, "nr_overcommit_hugepages") + 1;
	if (wanted > 4096) {
		print_message("the pool is large: taking all of it takes too long\n");
		skip();
	}
	static const enum hc_populate_by ways[] = {
	        HC_POPULATE_CHOSEN, HC_POPULATE_BY_FUTEX, HC_POPULATE_BY_MAP, HC_POPULATE_BY_FALLOCATE};
	for (unsigned i = 0; i < 4; i++)
		for (unsigned memfd = ways[i] == HC_POPULATE_BY_FALLOCATE; memfd < 2; memfd++) {
			struct hc_map *map = NULL;
			assert_error(hc_map_open(wanted * page,
			                     OPTS(.flags = HC_MAP_NORESERVE | HC_MAP_POPULATE | memfd,
			                             .populate_by = ways[i]),
			                     &map),
			        ENOMEM);
			assert_null(map);
			assert_holds_no_more(&before);
		}
	/* Opened first and populated later: the pages that came stay until it is closed. */
	struct hc_map *map;
	uint64_t done = 1;
	assert_ok(hc_map_open(wanted * page, OPTS(.flags = HC_MAP_NORESERVE), &map));
	assert_error(hc_map_populate(map, WORK(.step = page), &done), ENOMEM);
	assert_detail_has(" came");
	assert_detail_has("hugeclear reserve ");
	assert_true(done < wanted * page);
	hc_map_close(map);
	assert_holds_no_more(&before);
}

static void test_page_size_that_is_not_there(void **state) {
	(void)state;
	need(0);
	struct hc_map *map = NULL;
	uint64_t absent = page;
	char path[128];
	do {
		absent *= 2;
		snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB", absent >> 10);
	} while (access(path, F_OK) == 0);
	assert_error(hc_map_open(1, OPTS(.page_size = absent), &map), ENODEV);
	assert_detail_has("only of");
	assert_error(hc_map_open(1, OPTS(.page_size = absent, .flags = HC_MAP_MEMFD), &map), ENODEV);
	assert_null(map);
}

static void test_gigantic_pages(void **state) {
	(void)state;
	const uint64_t gigantic = UINT64_C(1) << 30;
	need_pages(gigantic, 1);
	const struct holdings before = holdings_now();
	page = gigantic;
	struct hc_map *map;
	assert_ok(hc_map_open(3, OPTS(.page_size = gigantic, .flags = HC_MAP_POPULATE), &map));
	assert_int_equal(hc_map_length(map), gigantic);
	assert_one_part(map, gigantic);
	memset(hc_map_address(map), 1, 1 << 20);
	assert_ok(hc_map_reset(map, NULL, NULL));
	assert_int_equal(hc_is_clear(hc_map_address(map), gigantic), 1);
	hc_map_close(map);
	/* A page more than there are. */
	assert_error(
	        hc_map_open((pool_counter(gigantic, "nr_hugepages") + 1) * gigantic, OPTS(.page_size = gigantic), &map),
	        ENOMEM);
	assert_holds_no_more(&before);
}

static void test_NM_05_placements(void **state) {
	(void)state;
	need(4);
	static const enum hc_placement placements[] = {HC_PLACE_BIND, HC_PLACE_PREFERRED, HC_PLACE_INTERLEAVE};
	for (unsigned i = 0; i < 3; i++)
		for (unsigned memfd = 0; memfd < 2; memfd++) {
			struct hc_map *map = NULL;
			int r = hc_map_open(4 * page,
			        OPTS(.flags = HC_MAP_POPULATE | memfd, .placement = placements[i], .nodes = "0",
			                .threads = 2),
			        &map);
			if (r == -EPERM || r == -ENOSYS) {
				print_message("%s\n", hc_error_detail());
				skip();
			}
			assert_return(r, 0, "hc_map_open");
			for (unsigned k = 0; k < 4; k++)
				assert_int_equal(node_of_page((char *)hc_map_address(map) + k * page), 0);
			assert_int_equal(hc_map_part(map, 0)->node, 0);
			hc_map_close(map);
		}
	struct hc_map *map = NULL;
	assert_error(hc_map_open(page,
	                     OPTS(.flags = HC_MAP_POPULATE | HC_MAP_MEMFD, .placement = HC_PLACE_BIND, .nodes = "0",
	                             .populate_by = HC_POPULATE_BY_FALLOCATE),
	                     &map),
	        EINVAL);
}

static void test_reset_dirty(void **state) {
	(void)state;
	need(6);
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		uint64_t done;
		assert_ok(hc_map_open(6 * page, OPTS(.flags = HC_MAP_POPULATE | memfd), &map));
		memset(hc_map_address(map), 0xa5, 6 * page);
		assert_ok(hc_map_reset(map, WORK(.threads = 2, .step = page), &done));
		assert_int_equal(done, 6 * page);
		assert_int_equal(hc_is_clear(hc_map_address(map), 6 * page), 1);
		assert_ok(hc_map_verify(map)); /* no page was given back */
		hc_map_close(map);
	}
}

/* Reset of a private map brings nothing in; of a memfd it finds what was written through another mapping. */
static void test_reset_of_demand_maps(void **state) {
	(void)state;
	need(4);
	struct hc_map *map;
	assert_ok(hc_map_open(4 * page, NULL, &map));
	((char *)hc_map_address(map))[2 * page + 5] = 1;
	assert_ok(hc_map_reset(map, NULL, NULL));
	assert_error(hc_map_verify(map), ENODATA);
	assert_one_part_at(map, page, 2 * page);
	hc_map_close(map);

	assert_ok(hc_map_open(4 * page, OPTS(.flags = HC_MAP_MEMFD), &map));
	char *other = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, hc_map_fd(map), 0);
	assert_true(other != MAP_FAILED);
	other[3 * page + 7] = 1;
	assert_ok(hc_map_reset(map, NULL, NULL));
	assert_int_equal(other[3 * page + 7], 0);
	munmap(other, 4 * page);
	hc_map_close(map);
}

static void test_TH_05_discard(void **state) {
	(void)state;
	need(4);
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		uint64_t done = 1;
		assert_ok(hc_map_open(4 * page, OPTS(.flags = HC_MAP_POPULATE | memfd), &map));
		char *p = hc_map_address(map);
		memset(p, 9, 4 * page);
		assert_ok(hc_map_discard(map, 0, 4096, &done)); /* the kernel says 0 to this, and drops nothing */
		assert_int_equal(done, 0);
		assert_int_equal(p[0], 9);
		assert_ok(hc_map_discard(map, 4096, 2 * page, &done));
		assert_int_equal(done, page);
		assert_error(hc_map_verify(map), ENODATA);
		assert_one_part(map, 3 * page);
		assert_ok(hc_map_populate(map, NULL, NULL));
		assert_int_equal(hc_is_clear(p + page, page), 1);
		assert_true(p[0] == 9 && p[2 * page] == 9);
		hc_map_close(map);
	}
}

static int write_and_leave(void *arg) {
	const struct hc_map *map = arg;
	if (hc_map_reset((struct hc_map *)(uintptr_t)map, NULL, NULL) != -ECHILD)
		return 1;
	*(char *)hc_map_address(map) = 2;
	return 0;
}

static int absent_here(void *arg) {
	unsigned char there[1];
	return mincore(hc_map_address(arg), 4096, there) < 0 && errno == ENOMEM ? 0 : 1;
}

/* A child's store into private huge pages copies one: with DONTFORK nothing is inherited, and nothing is copied. */
static void test_IO_13_fork_of_huge_pages(void **state) {
	(void)state;
	need(4);
	const unsigned flags[] = {HC_MAP_MEMFD, HC_MAP_DONTFORK, HC_MAP_DONTFORK | HC_MAP_MEMFD};
	for (unsigned i = 0; i < 3; i++) {
		struct hc_map *map;
		assert_ok(hc_map_open(2 * page, OPTS(.flags = HC_MAP_POPULATE | flags[i]), &map));
		char *p = hc_map_address(map);
		p[0] = 1;
		int node = node_of_page(p);
		assert_int_equal(in_child(flags[i] & HC_MAP_DONTFORK ? absent_here : write_and_leave, map), 0);
		assert_int_equal(p[0], flags[i] == HC_MAP_MEMFD ? 2 : 1);
		assert_int_equal(node_of_page(p), node);
		assert_ok(hc_map_verify(map));
		hc_map_close(map);
	}
}

/* ---- Multi-size THP -------------------------------------------------------------- */

static bool write_text(const char *path, const char *text) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

static bool read_word(const char *path, char *word) {
	char text[128] = "";
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	char *open = fgets(text, sizeof(text), f) ? strchr(text, '[') : NULL;
	fclose(f);
	return open && sscanf(open, "[%31[^]]", word) == 1;
}

#define THP "/sys/kernel/mm/transparent_hugepage/hugepages-"

static void test_multi_size_thp(void **state) {
	(void)state;
	char small_was[32], large_was[32];
	if (geteuid() != 0 || !read_word(THP "64kB/enabled", small_was) ||
	        !read_word(THP "2048kB/enabled", large_was)) {
		print_message("needs root and a kernel with THP of 64 KiB and 2 MiB\n");
		skip();
	}
	const size_t len = (size_t)3 << 20, small = 65536;
	struct hc_map *map = NULL;
	uint64_t as_asked = 0;
	const struct hc_map_part *part;
	bool set = write_text(THP "64kB/enabled", "madvise") && write_text(THP "2048kB/enabled", "never");
	int r = hc_map_open(len, OPTS(.kind = HC_PAGES_THP, .page_size = small, .flags = HC_MAP_POPULATE), &map);
	write_text(THP "64kB/enabled", small_was);
	write_text(THP "2048kB/enabled", large_was);
	assert_true(set);
	if (r == -EOPNOTSUPP || r == -EPERM || r == -EIO) { /* another size is on, or the frames are hidden */
		print_message("%s\n", hc_error_detail());
		skip();
	}
	assert_return(r, 0, "hc_map_open");
	for (unsigned i = 0; (part = hc_map_part(map, i)); i++)
		if (part->kind == HC_PAGES_THP && part->page_size == small)
			as_asked += part->bytes;
	assert_int_equal(as_asked, len);
	assert_int_equal(smaps_sum(hc_map_address(map), len, "AnonHugePages"), 0);
	hc_map_close(map);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_SZ_04_one_byte_and_a_part_of_a_page),
	        cmocka_unit_test(test_what_was_got_against_smaps),
	        cmocka_unit_test(test_DS_09_demand_needs_no_mount),
	        cmocka_unit_test(test_PL_01_more_than_the_pool_has),
	        cmocka_unit_test(test_PL_02_reserved_pages_are_not_available),
	        cmocka_unit_test(test_PL_03_PL_04_without_a_reservation),
	        cmocka_unit_test(test_page_size_that_is_not_there),
	        cmocka_unit_test(test_gigantic_pages),
	        cmocka_unit_test(test_NM_05_placements),
	        cmocka_unit_test(test_reset_dirty),
	        cmocka_unit_test(test_reset_of_demand_maps),
	        cmocka_unit_test(test_TH_05_discard),
	        cmocka_unit_test(test_IO_13_fork_of_huge_pages),
	        cmocka_unit_test(test_multi_size_thp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
