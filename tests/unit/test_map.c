/* Maps that need no huge page: settings, rounding, base pages and THP where the machine gives them, refusals, forks. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/clear.h>
#include <hugeclear/map.h>

#include "support/child.h"
#include "support/huge_pages.h"
#include "support/seccomp.h"

#define OPTS(...) (&(struct hc_map_opts){.size = sizeof(struct hc_map_opts), __VA_ARGS__})

static size_t base_page(void) {
	return (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t resident(const struct hc_map *map) {
	uint64_t bytes = 0;
	const struct hc_map_part *part;
	for (unsigned i = 0; (part = hc_map_part(map, i)); i++)
		bytes += part->bytes;
	return bytes;
}

/* ---- Settings ------------------------------------------------------------------ */

static void test_settings_that_make_no_sense(void **state) {
	(void)state;
	const struct holdings before = holdings_now();
	struct hc_map *map = (void *)1;
	assert_error(hc_map_open(0, NULL, &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.backing = (enum hc_backing)3), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.flags = 1u << 20), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.kind = HC_PAGES_THP, .flags = HC_MAP_MEMFD), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .kind = HC_PAGES_THP), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.page_size = 3 << 20), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.page_size = 512), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.page_size = base_page()), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .page_size = 2 << 20), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .nodes = "0"), &map), EINVAL);
	assert_error(hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .placement = HC_PLACE_BIND), &map), EINVAL);
	assert_error(
	        hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .populate_by = HC_POPULATE_BY_MADVISE), &map), EINVAL);
	assert_error(hc_map_open(1,
	                     OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE,
	                             .populate_by = HC_POPULATE_BY_FALLOCATE),
	                     &map),
	        EINVAL);
	assert_error(
	        hc_map_open(1, OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE, .cpus = "x"), &map), EINVAL);
	struct {
		struct hc_map_opts opts;
		int tail;
	} newer = {.opts = {.size = sizeof(newer), .backing = HC_BACKING_BASE}, .tail = 1};
	assert_error(hc_map_open(1, &newer.opts, &map), E2BIG);
	assert_ptr_equal(map, (void *)1);
	assert_holds_no_more(&before);

	assert_null(hc_map_close(NULL));
	assert_null(hc_map_address(NULL));
	assert_null(hc_map_state(NULL));
	assert_null(hc_map_part(NULL, 0));
	assert_int_equal(hc_map_length(NULL), 0);
	assert_int_equal(hc_map_fd(NULL), -1);
	assert_error(hc_map_populate(NULL, NULL, NULL), EINVAL);
	assert_error(hc_map_reset(NULL, NULL, NULL), EINVAL);
	assert_error(hc_map_verify(NULL), EINVAL);
	assert_error(hc_map_discard(NULL, 0, 0, NULL), EINVAL);
}

static void test_SZ_03_CE_04_lengths_that_wrap(void **state) {
	(void)state;
	const struct holdings before = holdings_now();
	struct hc_map *map = NULL;
	for (int backing = HC_BACKING_EXACT; backing <= HC_BACKING_BASE; backing++)
		for (unsigned flags = 0; flags <= HC_MAP_MEMFD; flags += HC_MAP_MEMFD) {
			/* 2^64 - 1 rounded up would be 0; 16383P is the largest that people can write. */
			int r = hc_map_open(SIZE_MAX, OPTS(.backing = (enum hc_backing)backing, .flags = flags), &map);
			assert_true(r == -EINVAL || r == -EOPNOTSUPP);
			assert_true(hc_error_detail()[0] != '\0');
			r = hc_map_open(
			        (size_t)16383 << 50, OPTS(.backing = (enum hc_backing)backing, .flags = flags), &map);
			assert_true(r == -ENOMEM || r == -EINVAL || r == -EOPNOTSUPP);
			assert_detail_has("wanted");
		}
	int r = hc_map_open(SIZE_MAX - ((size_t)3 << 20), OPTS(.kind = HC_PAGES_THP), &map);
	assert_true(r == -ENOMEM || r == -EINVAL || r == -EOPNOTSUPP);
	assert_null(map);
	assert_holds_no_more(&before);

	assert_ok(hc_map_open(3 * base_page(), OPTS(.backing = HC_BACKING_BASE), &map));
	assert_error(hc_map_discard(map, SIZE_MAX, 2, NULL), EINVAL);
	assert_error(hc_map_discard(map, 1, SIZE_MAX, NULL), EINVAL);
	assert_error(hc_map_discard(map, 0, 3 * base_page() + 1, NULL), EINVAL);
	hc_map_close(map);
}

static void test_SZ_04_rounding_is_kept(void **state) {
	(void)state;
	const struct holdings before = holdings_now();
	static const size_t lengths[] = {1, 4095, 4096, 4097, 100001, (3 << 20) + 1};
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (unsigned memfd = 0; memfd < 2; memfd++) {
			struct hc_map *map;
			size_t page = base_page(), rounded = (lengths[i] / page + (lengths[i] % page != 0)) * page;
			assert_ok(hc_map_open(lengths[i],
			        OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE | (memfd ? HC_MAP_MEMFD : 0)),
			        &map));
			assert_int_equal(hc_map_length(map), rounded);
			assert_int_equal(resident(map), rounded);
			assert_int_equal(hc_map_state(map)->kind, HC_PAGES_BASE);
			assert_int_equal(hc_map_state(map)->page_size, page);
			assert_true((hc_map_fd(map) >= 0) == (memfd == 1));
			((char *)hc_map_address(map))[rounded - 1] = 1;
			hc_map_close(map);
		}
	assert_holds_no_more(&before);
}

/* What is taken isn't taken away: a hint is a wish. */
static void test_hint_addresses(void **state) {
	(void)state;
	size_t len = 16 * base_page();
	char *taken = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(taken != MAP_FAILED);
	taken[0] = 7;
	struct hc_map *map, *thp;
	assert_ok(hc_map_open(len, OPTS(.backing = HC_BACKING_BASE, .hint = taken + 1), &map));
	assert_true((char *)hc_map_address(map) + len <= taken || (char *)hc_map_address(map) >= taken + len);
	if (hc_map_open((size_t)4 << 20, OPTS(.kind = HC_PAGES_THP, .hint = taken), &thp) == 0) {
		assert_int_equal((uintptr_t)hc_map_address(thp) % hc_map_state(thp)->page_size, 0);
		hc_map_close(thp);
	}
	assert_int_equal(taken[0], 7);
	hc_map_close(map);
	munmap(taken, len);
	assert_ok(hc_map_open(len, OPTS(.backing = HC_BACKING_BASE, .hint = taken), &map));
	assert_ptr_equal(hc_map_address(map), taken);
	hc_map_close(map);
}

/* ---- Work ------------------------------------------------------------------------ */

static const enum hc_populate_by ways[] = {
        HC_POPULATE_CHOSEN, HC_POPULATE_BY_MADVISE, HC_POPULATE_BY_FUTEX, HC_POPULATE_BY_FALLOCATE, HC_POPULATE_BY_MAP};

static void test_every_way_brings_in_all(void **state) {
	(void)state;
	const size_t len = 300 * base_page();
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (unsigned threads = 0; threads <= 2; threads += 2) {
			if (ways[i] == HC_POPULATE_BY_MAP && threads)
				continue;
			struct hc_map *map;
			int r = hc_map_open(len,
			        OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE | HC_MAP_MEMFD,
			                .threads = threads, .populate_by = ways[i], .step = 10 * base_page()),
			        &map);
			if (ways[i] == HC_POPULATE_BY_MADVISE && r == -EINVAL)
				continue; /* older than 5.14 */
			assert_return(r, 0, "hc_map_open");
			unsigned char there[300];
			assert_int_equal(mincore(hc_map_address(map), len, there), 0);
			for (size_t k = 0; k < 300; k++)
				assert_true(there[k] & 1);
			if (ways[i] != HC_POPULATE_CHOSEN)
				assert_int_equal(hc_map_state(map)->populated_by, ways[i]);
			assert_int_equal(hc_map_state(map)->threads, threads ? threads : 1);
			assert_int_equal(resident(map), len);
			assert_int_equal(hc_is_clear(hc_map_address(map), len), 1);
			hc_map_close(map);
		}
}

struct asked {
	unsigned questions, stop_at;
	uint64_t told, total;
};

static int stop_when_told(void *user) {
	struct asked *asked = user;
	return ++asked->questions == asked->stop_at;
}

static void count_progress(void *user, uint64_t done, uint64_t total) {
	struct asked *asked = user;
	assert_true(done >= asked->told && done <= total);
	asked->told = done;
	asked->total = total;
}

/* Content stays, absent pages come: by each way, and with the last one written through the futex too. */
static void test_populate_keeps_what_is_there(void **state) {
	(void)state;
	const size_t len = 64 * base_page();
	for (unsigned i = 0; i < 4; i++) {
		struct hc_map *map;
		assert_ok(hc_map_open(len, OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_MEMFD), &map));
		assert_null(hc_map_part(map, 0));
		unsigned char *p = hc_map_address(map);
		p[5 * base_page()] = 0x81;
		p[5 * base_page() + 1] = 0x82;
		p[5 * base_page() + 3] = 0xff;
		struct asked asked = {0};
		uint64_t done = 1;
		int r = hc_map_populate(map,
		        &(struct hc_map_work_opts){.size = sizeof(struct hc_map_work_opts),
		                .populate_by = ways[i],
		                .step = base_page(),
		                .progress = count_progress,
		                .stop = stop_when_told,
		                .user = &asked},
		        &done);
		if (r == -EINVAL && ways[i] == HC_POPULATE_BY_MADVISE) {
			hc_map_close(map);
			continue;
		}
		assert_return(r, 0, "hc_map_populate");
		assert_int_equal(done, len);
		assert_true(asked.questions == 64 && asked.told == len && asked.total == len);
		assert_true(
		        p[5 * base_page()] == 0x81 && p[5 * base_page() + 1] == 0x82 && p[5 * base_page() + 3] == 0xff);
		assert_int_equal(resident(map), len);
		assert_ok(hc_map_verify(map));
		hc_map_close(map);
	}
}

static void test_stop(void **state) {
	(void)state;
	const size_t len = 64 * base_page();
	const struct holdings before = holdings_now();
	struct hc_map *map = NULL;
	struct asked asked = {.stop_at = 3};
	/* Opening leaves nothing ... */
	assert_error(hc_map_open(len,
	                     OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE, .step = base_page(),
	                             .stop = stop_when_told, .user = &asked),
	                     &map),
	        ECANCELED);
	assert_null(map);
	assert_holds_no_more(&before);
	/* ... populating later keeps what came: two steps before the third question. */
	assert_ok(hc_map_open(len, OPTS(.backing = HC_BACKING_BASE), &map));
	struct hc_map_work_opts work = {
	        .size = sizeof(work), .step = base_page(), .stop = stop_when_told, .user = &asked};
	uint64_t done = 0;
	asked.questions = 0;
	assert_error(hc_map_populate(map, &work, &done), ECANCELED);
	assert_int_equal(done, 2 * base_page());
	assert_error(hc_map_verify(map), ENODATA);
	assert_int_equal(resident(map), 2 * base_page());
	work.threads = 2;
	asked = (struct asked){.stop_at = 1};
	assert_error(hc_map_populate(map, &work, &done), ECANCELED);

	memset(hc_map_address(map), 1, len);
	work.threads = 1;
	work.stop = stop_when_told;
	asked = (struct asked){.stop_at = 4};
	assert_error(hc_map_reset(map, &work, &done), ECANCELED);
	assert_true(done < len && done % base_page() == 0 && done > 0);
	assert_int_equal(hc_is_clear(hc_map_address(map), done), 1);
	assert_int_equal(((char *)hc_map_address(map))[done], 1);
	hc_map_close(map);
}

static void test_reset_is_zero_and_keeps_pages(void **state) {
	(void)state;
	const size_t len = 1000 * base_page();
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		assert_ok(hc_map_open(len, OPTS(.backing = HC_BACKING_BASE, .flags = memfd ? HC_MAP_MEMFD : 0), &map));
		char *p = hc_map_address(map);
		/* A third of it is there, in runs. */
		for (size_t i = 0; i < 1000; i++)
			if (i / 7 % 3 == 1)
				memset(p + i * base_page(), 0x5a, base_page());
		struct asked asked = {0};
		uint64_t done = 0;
		assert_ok(hc_map_reset(map,
		        &(struct hc_map_work_opts){.size = sizeof(struct hc_map_work_opts),
		                .threads = 2,
		                .progress = count_progress,
		                .user = &asked},
		        &done));
		assert_true(done == len && asked.told == len && asked.total == len);
		unsigned char there[1000];
		assert_int_equal(mincore(p, len, there), 0);
		for (size_t i = 0; i < 1000; i++)
			assert_int_equal(there[i] & 1, i / 7 % 3 == 1);
		assert_int_equal(hc_is_clear(p, len), 1);
		assert_error(hc_map_reset(map,
		                     &(struct hc_map_work_opts){.size = sizeof(struct hc_map_work_opts),
		                             .populate_by = HC_POPULATE_BY_FUTEX},
		                     NULL),
		        EINVAL);
		hc_map_close(map);
	}
}

static void test_TH_05_discard_whole_pages(void **state) {
	(void)state;
	const size_t page = base_page(), len = 8 * page;
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		assert_ok(hc_map_open(len,
		        OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE | (memfd ? HC_MAP_MEMFD : 0)), &map));
		char *p = hc_map_address(map);
		memset(p, 9, len);
		uint64_t done = 1;
		assert_ok(hc_map_discard(map, 1, page, &done)); /* no whole page in it */
		assert_int_equal(done, 0);
		assert_int_equal(p[page], 9);
		assert_ok(hc_map_discard(map, 1, 3 * page, &done));
		assert_int_equal(done, 2 * page);
		unsigned char there[8];
		assert_int_equal(mincore(p, len, there), 0);
		for (size_t i = 0; i < 8; i++)
			assert_int_equal(there[i] & 1, i != 1 && i != 2);
		assert_int_equal(hc_is_clear(p + page, 2 * page), 1);
		assert_true(p[page - 1] == 9 && p[3 * page] == 9);
		assert_ok(hc_map_discard(map, 0, 0, &done));
		assert_int_equal(done, 0);
		hc_map_close(map);
	}
}

static void test_TH_05_locked_pages_stay(void **state) {
	(void)state;
	struct hc_map *map;
	uint64_t done = 1;
	assert_ok(hc_map_open(2 * base_page(), OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE), &map));
	if (syscall(SYS_mlock, hc_map_address(map), base_page()) == 0) { /* the sanitizers leave mlock() out */
		assert_error(hc_map_discard(map, 0, base_page(), &done), EBUSY);
		assert_detail_has("locked");
		assert_int_equal(done, 0);
	}
	hc_map_close(map);
}

/* ---- THP ------------------------------------------------------------------------- */

static bool thp_is_on(void) {
	char text[128] = "";
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	return text[0] && !strstr(text, "[never]") && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0;
}

static void need_thp(void) {
	if (!thp_is_on()) {
		print_message("THP are off here\n");
		skip();
	}
}

/* One page less than aligned, over and over: the neighbour decides where the kernel maps, the library has to align. */
static void test_TH_01_aligned_and_as_smaps_says(void **state) {
	(void)state;
	need_thp();
	for (unsigned i = 1; i <= 4; i++) {
		void *neighbour = mmap(NULL, i * base_page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct hc_map *map;
		int r = hc_map_open((size_t)3 << 20, OPTS(.kind = HC_PAGES_THP, .flags = HC_MAP_POPULATE), &map);
		if (r == -ENOMEM || r == -EIO) {
			print_message("%s\n", hc_error_detail());
			munmap(neighbour, i * base_page());
			skip();
		}
		assert_return(r, 0, "hc_map_open");
		char *p = hc_map_address(map);
		uint64_t huge = hc_map_state(map)->page_size;
		assert_int_equal((uintptr_t)p % huge, 0);
		assert_int_equal(hc_map_length(map) % huge, 0);
		assert_int_equal(smaps_sum(p, hc_map_length(map), "AnonHugePages"), hc_map_length(map));
		const struct hc_map_part *part = hc_map_part(map, 0);
		assert_true(part && part->kind == HC_PAGES_THP && part->page_size == huge &&
		            part->bytes == hc_map_length(map));
		assert_int_equal(part->node, node_of_page(p));
		assert_null(hc_map_part(map, 1));
		/* Split one: what was got follows. */
		assert_int_equal(madvise(p, huge, MADV_NOHUGEPAGE), 0); /* or the kernel may make it one again */
		assert_int_equal(madvise(p, base_page(), MADV_DONTNEED), 0);
		p[0] = 1;
		assert_error(hc_map_verify(map), EIO);
		assert_int_equal(hc_map_part(map, 0)->bytes, smaps_sum(p, hc_map_length(map), "AnonHugePages"));
		hc_map_close(map);
		munmap(neighbour, i * base_page());
	}
}

static void test_prefer_gives_a_tail_of_base_pages(void **state) {
	(void)state;
	need_thp();
	struct hc_map *map;
	/* Hugetlb pages waste too much on it, whatever the pools have. */
	const size_t len = ((size_t)3 << 20) + 1;
	assert_ok(hc_map_open(len, OPTS(.backing = HC_BACKING_PREFER, .flags = HC_MAP_POPULATE), &map));
	if (hc_map_state(map)->kind == HC_PAGES_THP) {
		assert_int_equal(hc_map_length(map), ((size_t)3 << 20) + base_page());
		uint64_t huge = smaps_sum(hc_map_address(map), hc_map_length(map), "AnonHugePages");
		const struct hc_map_part *part;
		uint64_t in_huge = 0;
		for (unsigned i = 0; (part = hc_map_part(map, i)); i++)
			if (part->kind == HC_PAGES_THP)
				in_huge += part->bytes;
		assert_int_equal(in_huge, huge);
		assert_int_equal(resident(map), hc_map_length(map));
	}
	hc_map_close(map);
}

static int check_thp_off(void *arg) {
	(void)arg;
	struct hc_map *map = NULL;
	const size_t len = (size_t)4 << 20;
	CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
	CHECK(hc_map_open(len, OPTS(.kind = HC_PAGES_THP, .flags = HC_MAP_POPULATE), &map) == -EOPNOTSUPP);
	CHECK(strstr(hc_error_detail(), "PR_SET_THP_DISABLE") || strstr(hc_error_detail(), "/sys/kernel/mm"));
	CHECK(hc_map_open(len + base_page(),
	              OPTS(.backing = HC_BACKING_PREFER, .page_size = 1 << 20, .flags = HC_MAP_POPULATE), &map) == 0);
	CHECK(hc_map_state(map)->kind == HC_PAGES_BASE);
	const struct hc_map_part *part = hc_map_part(map, 0);
	CHECK(part && part->kind == HC_PAGES_BASE && part->bytes == hc_map_length(map) && !hc_map_part(map, 1));
	hc_map_close(map);
	return 0;
}

static void test_TH_02_off_for_the_process(void **state) {
	(void)state;
	assert_int_equal(in_child(check_thp_off, NULL), 0);
}

/* madvise says EINVAL to everything, as it does to MADV_HUGEPAGE in a kernel without THP and to what is newer than it. */
static bool check_no_madvise(int err) {
	(void)err;
	struct hc_map *map = NULL;
	const size_t len = (size_t)4 << 20;
	int r = hc_map_open(len, OPTS(.kind = HC_PAGES_THP), &map);
	bool ok = r == -EOPNOTSUPP && strstr(hc_error_detail(), "THP");
	r = hc_map_open(len + base_page(),
	        OPTS(.backing = HC_BACKING_PREFER, .page_size = 1 << 20, .flags = HC_MAP_POPULATE), &map);
	ok = ok && r == 0 && hc_map_state(map)->kind == HC_PAGES_BASE && resident(map) == hc_map_length(map) &&
	     hc_map_state(map)->populated_by == HC_POPULATE_BY_FUTEX;
	if (!ok)
		fprintf(stderr, "%d: %s\n", r, hc_error_detail());
	hc_map_close(map);
	return ok;
}

static void test_TH_03_kernel_without_thp(void **state) {
	(void)state;
	static const int calls[] = {SYS_madvise};
	with_calls_forbidden(calls, 1, EINVAL, check_no_madvise);
}

/* ---- Fork ------------------------------------------------------------------------ */

static int use_inherited(void *arg) {
	struct hc_map *map = arg;
	uint64_t done = 1;
	CHECK(hc_map_populate(map, NULL, &done) == -ECHILD && done == 0);
	CHECK(strstr(hc_error_detail(), "child"));
	CHECK(hc_map_reset(map, NULL, &done) == -ECHILD);
	CHECK(hc_map_verify(map) == -ECHILD);
	CHECK(hc_map_discard(map, 0, hc_map_length(map), &done) == -ECHILD);
	CHECK(hc_map_close(map) == NULL);
	/* Closed nothing: what isn't MADV_DONTFORK is still there. */
	unsigned char there;
	CHECK(mincore(hc_map_address(map), base_page(), &there) == 0);
	*(char *)hc_map_address(map) = 2;
	return 0;
}

static int touch_absent(void *arg) {
	const struct hc_map *map = arg;
	unsigned char there;
	CHECK(mincore(hc_map_address(map), base_page(), &there) < 0 && errno == ENOMEM);
	CHECK(hc_map_verify((struct hc_map *)(uintptr_t)map) == -ECHILD);
	return 0;
}

static void test_IO_13_fork(void **state) {
	(void)state;
	const unsigned kinds[] = {0, HC_MAP_MEMFD, HC_MAP_DONTFORK, HC_MAP_DONTFORK | HC_MAP_MEMFD | HC_MAP_DONTDUMP};
	for (unsigned i = 0; i < 4; i++) {
		struct hc_map *map;
		assert_ok(hc_map_open(
		        4 * base_page(), OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_POPULATE | kinds[i]), &map));
		char *p = hc_map_address(map);
		p[0] = 1;
		assert_int_equal(in_child(kinds[i] & HC_MAP_DONTFORK ? touch_absent : use_inherited, map), 0);
		/* A child's store is seen in shared memory alone, and the parent goes on. */
		assert_int_equal(p[0], kinds[i] == HC_MAP_MEMFD ? 2 : 1);
		assert_ok(hc_map_reset(map, NULL, NULL));
		assert_ok(hc_map_verify(map));
		assert_null(hc_map_close(map));
	}
}

static void test_dontdump_is_what_the_kernel_says(void **state) {
	(void)state;
	struct hc_map *map;
	assert_ok(hc_map_open(
	        base_page(), OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_DONTDUMP | HC_MAP_DONTFORK), &map));
	char line[1024];
	unsigned long from, to;
	bool inside = false, found = false;
	FILE *f = fopen("/proc/self/smaps", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = from == (uintptr_t)hc_map_address(map);
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " dd") && strstr(line, " dc");
	}
	fclose(f);
	assert_true(found);
	hc_map_close(map);
}

static void test_memfd_is_sealed(void **state) {
	(void)state;
	struct hc_map *map;
	assert_ok(hc_map_open(3 * base_page(), OPTS(.backing = HC_BACKING_BASE, .flags = HC_MAP_MEMFD), &map));
	int fd = hc_map_fd(map);
	int seals = fcntl(fd, F_GET_SEALS);
	assert_int_equal(
	        seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	assert_true(ftruncate(fd, 0) < 0 && errno == EPERM);
	assert_true(ftruncate(fd, (off_t)(100 * base_page())) < 0 && errno == EPERM);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	hc_map_close(map);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_settings_that_make_no_sense),
	        cmocka_unit_test(test_SZ_03_CE_04_lengths_that_wrap),
	        cmocka_unit_test(test_SZ_04_rounding_is_kept),
	        cmocka_unit_test(test_hint_addresses),
	        cmocka_unit_test(test_every_way_brings_in_all),
	        cmocka_unit_test(test_populate_keeps_what_is_there),
	        cmocka_unit_test(test_stop),
	        cmocka_unit_test(test_reset_is_zero_and_keeps_pages),
	        cmocka_unit_test(test_TH_05_discard_whole_pages),
	        cmocka_unit_test(test_TH_05_locked_pages_stay),
	        cmocka_unit_test(test_TH_01_aligned_and_as_smaps_says),
	        cmocka_unit_test(test_prefer_gives_a_tail_of_base_pages),
	        cmocka_unit_test(test_TH_02_off_for_the_process),
	        cmocka_unit_test(test_TH_03_kernel_without_thp),
	        cmocka_unit_test(test_IO_13_fork),
	        cmocka_unit_test(test_dontdump_is_what_the_kernel_says),
	        cmocka_unit_test(test_memfd_is_sealed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
