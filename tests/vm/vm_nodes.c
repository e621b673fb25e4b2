/*
 * Maps and nodes, on machines with two or three: runs in a virtual machine that machines.py describes. Where a
 * page lies is asked of the kernel here, by move_pages(2), not of the library.
 *
 * usage: vm_nodes two|memoryless|cpuless|three
 */
#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/arena.h>
#include <hugeclear/clear.h>
#include <hugeclear/map.h>
#include <hugeclear/sys.h>

#include "support/child.h"
#include "support/huge_pages.h"

#define OPTS(...) (&(struct hc_map_opts){.size = sizeof(struct hc_map_opts), __VA_ARGS__})
#define POPULATE HC_MAP_POPULATE
#define NODES 3 /* at most */
/* What machines.py reserves on each node. */
#define POOL 16

static size_t page; /* the default size of huge pages */

/* Pages of map on each node; every page has to be somewhere. */
static void count_pages(struct hc_map *map, size_t step, unsigned *on) {
	memset(on, 0, NODES * sizeof(*on));
	for (size_t at = 0; at < hc_map_length(map); at += step) {
		int node = node_of_page((char *)hc_map_address(map) + at);
		assert_in_range(node, 0, NODES - 1);
		on[node]++;
	}
}

/*
 * The library's own account is the kernel's. Where not all THP came and they are on several nodes, kernels before 6.7 don't
 * tell how many of each size are on which: then the sums have to be right.
 */
static void assert_parts(const struct hc_map *map, const unsigned *on, size_t step) {
	uint64_t told[NODES] = {0}, untold = 0, all = 0;
	const struct hc_map_part *part;
	for (unsigned i = 0; (part = hc_map_part(map, i)); i++) {
		if (part->node < 0 && hc_map_state(map)->kind == HC_PAGES_THP) {
			untold += part->bytes;
			continue;
		}
		assert_in_range(part->node, 0, NODES - 1);
		told[part->node] += part->bytes;
	}
	for (unsigned node = 0; node < NODES; node++) {
		all += on[node] * step;
		if (untold == 0)
			assert_int_equal(told[node], on[node] * step);
	}
	if (untold > 0)
		assert_int_equal(untold, all);
}

static void assert_all_on(struct hc_map *map, size_t step, int node) {
	unsigned on[NODES];
	count_pages(map, step, on);
	assert_int_equal(on[node], hc_map_length(map) / step);
	assert_parts(map, on, step);
}

/* Pages of node N= in the line of numa_maps(5) that address is in. */
static unsigned numa_maps_pages(const void *address, int node) {
	char line[1024], want[32], field[16];
	unsigned pages = 0;
	bool found = false;
	FILE *file = fopen("/proc/self/numa_maps", "re");
	assert_non_null(file);
	snprintf(want, sizeof(want), "%" PRIxPTR " ", (uintptr_t)address);
	snprintf(field, sizeof(field), " N%d=", node);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, want, strlen(want)) == 0) {
			found = true;
			const char *at = strstr(line, field);
			pages = at ? (unsigned)strtoul(at + strlen(field), NULL, 10) : 0;
		}
	fclose(file);
	assert_true(found);
	return pages;
}

static uint64_t node_free(int node) {
	char path[128], text[32];
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/hugepages/hugepages-%zukB/free_hugepages", node,
	        page >> 10);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	return strtoull(text, NULL, 10);
}

/* ---- Two nodes ----------------------------------------------------------- */

/* Frames so small that a section of them is a huge page, and huge pages by turns: each frame is of the node that the kernel says. */
static void test_frames_are_of_the_nodes_of_their_memory(void **state) {
	(void)state;
	struct hc_map *map;
	assert_ok(
	        hc_map_open(8 * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_INTERLEAVE, .nodes = "0-1"), &map));
	struct hc_arena *arena;
	struct hc_arena_opts opts = {.size = sizeof(opts),
	        .map = map,
	        .frame_size = page / 32768,
	        .largest = page,
	        .flags = HC_ARENA_CLEAN,
	        .threads = 2};
	assert_ok(hc_arena_open(&opts, &arena));
	struct hc_frame *frames[8], *none;
	for (int i = 0; i < 4; i++) {
		assert_ok(hc_arena_alloc(arena, 15, 1, HC_ZEROED | HC_STRICT, &frames[i]));
		assert_int_equal(hc_frame_node(frames[i]), 1);
		assert_int_equal(node_of_page(hc_frame_address(arena, frames[i])), 1);
	}
	assert_error(hc_arena_alloc(arena, 0, 1, HC_STRICT, &none), ENOMEM);
	assert_detail_has("on node 1");
	for (int i = 4; i < 8; i++) {
		assert_ok(hc_arena_alloc(arena, 15, 1, 0, &frames[i]));
		assert_int_equal(hc_frame_node(frames[i]), 0);
		assert_int_equal(node_of_page(hc_frame_address(arena, frames[i])), 0);
	}
	assert_ok(hc_arena_free(arena, frames[6], 15));
	assert_error(hc_arena_alloc(arena, 0, 1, HC_STRICT, &none), ENOMEM);
	assert_ok(hc_arena_check(arena));
	assert_null(hc_arena_close(arena));
	hc_map_close(map);
}

static void test_bound_pages_lie_on_their_node(void **state) {
	(void)state;
	for (int node = 0; node < 2; node++)
		for (unsigned memfd = 0; memfd < 2; memfd++) {
			struct hc_map *map;
			unsigned flags = POPULATE | (memfd ? HC_MAP_MEMFD : 0);
			assert_ok(hc_map_open(8 * page,
			        OPTS(.flags = flags, .placement = HC_PLACE_BIND, .nodes = node ? "1" : "0",
			                .threads = 2),
			        &map));
			assert_all_on(map, page, node);
			assert_int_equal(numa_maps_pages(hc_map_address(map), node), 8);
			hc_map_close(map);
		}
}

/* The thread that populates runs on the other node: the map's policy counts. */
static void test_binding_is_not_the_populating_threads_node(void **state) {
	(void)state;
	for (int node = 0; node < 2; node++) {
		struct hc_map *map;
		assert_ok(hc_map_open(4 * page,
		        OPTS(.flags = POPULATE | HC_MAP_MEMFD, .placement = HC_PLACE_BIND, .nodes = node ? "1" : "0",
		                .cpus = node ? "0" : "1"),
		        &map));
		assert_all_on(map, page, node);
		hc_map_close(map);
	}
}

static void test_interleaved_within_one_page_of_even(void **state) {
	(void)state;
	for (unsigned memfd = 0; memfd < 2; memfd++)
		for (unsigned pages = 7; pages <= 16; pages += 9)
			for (unsigned threads = 1; threads <= 2; threads++) {
				struct hc_map *map;
				unsigned on[NODES];
				assert_ok(hc_map_open(pages * page,
				        OPTS(.flags = POPULATE | (memfd ? HC_MAP_MEMFD : 0),
				                .placement = HC_PLACE_INTERLEAVE, .nodes = "0-1", .threads = threads,
				                .step = 3 * page),
				        &map));
				count_pages(map, page, on);
				assert_int_equal(on[0] + on[1], pages);
				assert_in_range(on[0], pages / 2, (pages + 1) / 2);
				assert_parts(map, on, page);
				hc_map_close(map);
			}
}

static void test_other_pages_are_bound_too(void **state) {
	(void)state;
	const enum hc_page_kind kinds[] = {HC_PAGES_THP, HC_PAGES_BASE};
	for (unsigned i = 0; i < 2; i++)
		for (int node = 0; node < 2; node++) {
			struct hc_map *map;
			assert_ok(hc_map_open(4 * page,
			        OPTS(.kind = kinds[i], .flags = POPULATE, .placement = HC_PLACE_BIND,
			                .nodes = node ? "1" : "0"),
			        &map));
			unsigned on[NODES];
			size_t base = (size_t)sysconf(_SC_PAGESIZE);
			count_pages(map, base, on);
			assert_int_equal(on[node], 4 * page / base);
			assert_parts(map, on, base);
			hc_map_close(map);
		}
}

/* The second half is touched on the other node's CPU, where the kernel puts it. */
static int touch_on(int cpu, char *p, size_t len, size_t step) {
	cpu_set_t before, set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_getaffinity(0, sizeof(before), &before) < 0 || sched_setaffinity(0, sizeof(set), &set) < 0)
		return -1;
	for (size_t at = 0; at < len; at += step)
		((volatile char *)p)[at] = 1;
	return sched_setaffinity(0, sizeof(before), &before);
}

static void test_pages_of_maps_that_are_not_bound_are_where_numa_maps_has_them(void **state) {
	(void)state;
	size_t base = (size_t)sysconf(_SC_PAGESIZE);
	/* numa_maps(5) counts pages of a pool as one, of THP as base pages. DONTFORK keeps the kernel from merging it with others. */
	const struct {
		enum hc_page_kind kind;
		unsigned flags;
		size_t step;
	} rows[] = {{HC_PAGES_HUGETLB, 0, page}, {HC_PAGES_HUGETLB, HC_MAP_MEMFD, page}, {HC_PAGES_THP, 0, base},
	        {HC_PAGES_BASE, 0, base}, {HC_PAGES_BASE, HC_MAP_MEMFD, base}};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct hc_map *map;
		unsigned on[NODES];
		assert_ok(hc_map_open(
		        8 * page, OPTS(.kind = rows[i].kind, .flags = rows[i].flags | HC_MAP_DONTFORK), &map));
		char *p = hc_map_address(map);
		assert_int_equal(touch_on(0, p, 4 * page, base), 0);
		assert_int_equal(touch_on(1, p + 4 * page, 4 * page, base), 0);
		assert_ok(hc_map_verify(map));
		for (int node = 0; node < NODES; node++)
			on[node] = numa_maps_pages(p, node);
		assert_int_equal(on[0], 4 * page / rows[i].step);
		assert_int_equal(on[1], 4 * page / rows[i].step);
		assert_parts(map, on, rows[i].step);
		hc_map_close(map);
	}
}

/* All of node 1's pool. */
static struct hc_map *fill_node_1(void) {
	struct hc_map *all;
	assert_int_equal(node_free(1), POOL);
	assert_ok(hc_map_open(POOL * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_BIND, .nodes = "1"), &all));
	assert_int_equal(node_free(1), 0);
	return all;
}

static void test_NM_11_bind_to_a_full_node_names_it(void **state) {
	(void)state;
	struct hc_map *all = fill_node_1(), *map = NULL;
	/* The C library keeps the heap of a thread that has ended, for the next one: it is there after the first. */
	assert_int_equal(hc_map_open(4 * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_BIND, .nodes = "1"), &map),
	        -ENOMEM);
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct holdings before = holdings_now();
		/* The machine as a whole has enough. */
		assert_true(pool_counter(page, "free_hugepages") >= 4);
		assert_int_equal(hc_map_open(4 * page,
		                         OPTS(.flags = POPULATE | (memfd ? HC_MAP_MEMFD : 0),
		                                 .placement = HC_PLACE_BIND, .nodes = "1"),
		                         &map),
		        -ENOMEM);
		assert_non_null(strstr(hc_error_detail(), "node 1"));
		assert_non_null(strstr(hc_error_detail(), "hugeclear reserve 2M@1=+4"));
		assert_null(map);
		assert_holds_no_more(&before);
		assert_int_equal(pool_counter(page, "resv_hugepages"), 0);
		assert_int_equal(node_free(0), POOL);
	}
	hc_map_close(all);
	assert_int_equal(node_free(1), POOL);
}

static void test_part_of_a_node_is_given_back(void **state) {
	(void)state;
	struct hc_map *most, *map = NULL;
	assert_ok(hc_map_open(
	        (POOL - 3) * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_BIND, .nodes = "1"), &most));
	assert_int_equal(hc_map_open(4 * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_BIND, .nodes = "1"), &map),
	        -ENOMEM);
	assert_int_equal(node_free(1), 3);
	hc_map_close(most);
}

static void test_preferred_says_what_it_got(void **state) {
	(void)state;
	struct hc_map *map;
	unsigned on[NODES];
	assert_ok(hc_map_open(4 * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_PREFERRED, .nodes = "1"), &map));
	assert_all_on(map, page, 1);
	hc_map_close(map);

	struct hc_map *most;
	assert_ok(hc_map_open(
	        (POOL - 3) * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_BIND, .nodes = "1"), &most));
	assert_ok(hc_map_open(4 * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_PREFERRED, .nodes = "1"), &map));
	count_pages(map, page, on);
	assert_int_equal(on[1], 3);
	assert_int_equal(on[0], 1);
	assert_parts(map, on, page);
	hc_map_close(map);
	hc_map_close(most);
}

static void test_prefer_goes_on_with_smaller_pages_on_the_node(void **state) {
	(void)state;
	struct hc_map *all = fill_node_1(), *map;
	assert_ok(hc_map_open(4 * page,
	        OPTS(.backing = HC_BACKING_PREFER, .page_size = page, .flags = POPULATE, .placement = HC_PLACE_BIND,
	                .nodes = "1"),
	        &map));
	assert_int_not_equal(hc_map_state(map)->kind, HC_PAGES_HUGETLB);
	assert_non_null(hc_map_state(map)->shortfall);
	assert_non_null(strstr(hc_map_state(map)->shortfall, "node 1"));
	unsigned on[NODES];
	size_t base = (size_t)sysconf(_SC_PAGESIZE);
	count_pages(map, base, on);
	assert_int_equal(on[0], 0);
	hc_map_close(map);
	hc_map_close(all);
}

/* Reservations are machine-wide: another process takes the node's pages between reserving and populating. */
static void test_node_is_drained_before_populating(void **state) {
	(void)state;
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		assert_ok(hc_map_open(4 * page,
		        OPTS(.flags = memfd ? HC_MAP_MEMFD : 0, .placement = HC_PLACE_BIND, .nodes = "1"), &map));
		int ready[2], done[2];
		assert_int_equal(pipe(ready), 0);
		assert_int_equal(pipe(done), 0);
		pid_t pid = fork();
		if (pid == 0) {
			struct hc_map *all;
			int r = hc_map_open(
			        POOL * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_BIND, .nodes = "1"), &all);
			char c = r == 0 ? 1 : 0;
			close(done[1]);
			(void)!write(ready[1], &c, 1);
			(void)!read(done[0], &c, 1);
			_exit(0);
		}
		char taken = 0;
		close(done[0]);
		assert_int_equal(read(ready[0], &taken, 1), 1);
		assert_int_equal(taken, 1);
		uint64_t bytes = 1;
		assert_int_equal(hc_map_populate(map, NULL, &bytes), -ENOMEM);
		assert_non_null(strstr(hc_error_detail(), "node 1"));
		close(done[1]);
		close(ready[0]);
		close(ready[1]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		/* Now they are there. */
		assert_ok(hc_map_populate(map, NULL, &bytes));
		assert_all_on(map, page, 1);
		hc_map_close(map);
		assert_int_equal(node_free(1), POOL);
	}
}

static void test_reset_leaves_pages_where_they_are(void **state) {
	(void)state;
	struct hc_map *map;
	assert_ok(hc_map_open(8 * page,
	        OPTS(.flags = POPULATE | HC_MAP_MEMFD, .placement = HC_PLACE_INTERLEAVE, .nodes = "0-1"), &map));
	unsigned before[NODES], after[NODES];
	count_pages(map, page, before);
	memset(hc_map_address(map), 0xa5, hc_map_length(map));
	assert_ok(hc_map_reset(map, NULL, NULL));
	assert_int_equal(hc_is_clear(hc_map_address(map), hc_map_length(map)), 1);
	count_pages(map, page, after);
	assert_memory_equal(before, after, sizeof(before));
	hc_map_close(map);
}

static bool write_text(const char *path, const char *text) {
	FILE *file = fopen(path, "we");
	if (!file)
		return false;
	bool ok = fputs(text, file) >= 0;
	return fclose(file) == 0 && ok;
}

/* Of nodes 0-1 the kernel takes what the cpuset leaves, and says nothing. */
static int inside_cpuset(void *unused) {
	(void)unused;
	struct hc_map *map = NULL;
	CHECK((mkdir("/cgroup", 0755) == 0 || errno == EEXIST) && mount("none", "/cgroup", "cgroup2", 0, NULL) == 0);
	CHECK(write_text("/cgroup/cgroup.subtree_control", "+cpuset"));
	CHECK((mkdir("/cgroup/one", 0755) == 0 || errno == EEXIST) && write_text("/cgroup/one/cpuset.mems", "0"));
	CHECK(write_text("/cgroup/one/cgroup.procs", "0"));
	static const enum hc_placement placements[] = {HC_PLACE_BIND, HC_PLACE_INTERLEAVE};
	for (unsigned i = 0; i < 2; i++) {
		CHECK(hc_map_open(2 * page, OPTS(.flags = POPULATE, .placement = placements[i], .nodes = "0-1"),
		              &map) == -EINVAL &&
		        !map);
		CHECK(strstr(hc_error_detail(), "node 1") && strstr(hc_error_detail(), "cpuset"));
	}
	CHECK(hc_map_open(2 * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_PREFERRED, .nodes = "1"), &map) ==
	        -EINVAL);
	CHECK(hc_map_open(2 * page, OPTS(.flags = POPULATE, .placement = HC_PLACE_BIND, .nodes = "0"), &map) == 0);
	CHECK(node_of_page(hc_map_address(map)) == 0);
	hc_map_close(map);
	return 0;
}

static void test_NM_06_a_cpuset_that_takes_a_node_away(void **state) {
	(void)state;
	assert_int_equal(in_child(inside_cpuset, NULL), 0);
}

/* ---- A node without memory ----------------------------------------------- */

static void test_NM_03_memory_of_a_node_without_memory(void **state) {
	(void)state;
	const enum hc_placement placements[] = {HC_PLACE_BIND, HC_PLACE_PREFERRED, HC_PLACE_INTERLEAVE};
	for (unsigned i = 0; i < 3; i++) {
		struct hc_map *map = NULL;
		assert_int_equal(
		        hc_map_open(page, OPTS(.flags = POPULATE, .placement = placements[i], .nodes = "1"), &map),
		        -EINVAL);
		assert_non_null(strstr(hc_error_detail(), "node 1 has no memory"));
		assert_non_null(strstr(hc_error_detail(), "nodes with memory: 0"));
	}
}

static void test_NM_03_its_processors_are_used(void **state) {
	(void)state;
	struct hc_map *map;
	assert_ok(hc_map_open(4 * page, OPTS(.flags = POPULATE, .cpus = "1"), &map));
	assert_all_on(map, page, 0);
	hc_map_close(map);
	assert_ok(hc_map_open(
	        4 * page, OPTS(.flags = POPULATE, .cpus = "1", .placement = HC_PLACE_BIND, .nodes = "0"), &map));
	assert_all_on(map, page, 0);
	hc_map_close(map);
}

/* ---- A node without processors ------------------------------------------- */

static void test_NM_04_memory_of_a_node_without_processors(void **state) {
	(void)state;
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct hc_map *map;
		assert_ok(hc_map_open(8 * page,
		        OPTS(.flags = POPULATE | (memfd ? HC_MAP_MEMFD : 0), .placement = HC_PLACE_BIND, .nodes = "1",
		                .threads = 2),
		        &map));
		assert_all_on(map, page, 1);
		assert_true(hc_map_state(map)->threads >= 1);
		hc_map_close(map);
	}
}

static void test_NM_04_node_is_shown_without_processors(void **state) {
	(void)state;
	struct hc_machine *machine;
	assert_ok(hc_machine_read(NULL, &machine));
	const struct hc_node *node = hc_machine_node_by_id(machine, 1);
	assert_non_null(node);
	assert_int_equal(hc_idset_count(node->cpus), 0);
	hc_machine_free(machine);
}

/* ---- Three nodes, of which the last has no processor and is nearer to the second --------------------- */

struct helpers {
	const char *cpus; /* where all threads but this one may run */
	unsigned seen, elsewhere;
};

/* hc_stop_fn: looks at every other thread of this process. */
static int look_at_helpers(void *user) {
	struct helpers *helpers = user;
	DIR *folder = opendir("/proc/self/task");
	const struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		char path[300], line[256];
		if (atoi(entry->d_name) <= 0 || atoi(entry->d_name) == gettid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		FILE *status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status)) {
			char list[64] = "";
			if (sscanf(line, "Cpus_allowed_list: %63s", list) != 1)
				continue;
			helpers->seen++;
			helpers->elsewhere += strcmp(list, helpers->cpus) != 0;
		}
		if (status)
			fclose(status);
	}
	if (folder)
		closedir(folder);
	return 0;
}

/* Where there is a helper at all it has to be there; also where its node's number is the higher one. */
static void expect_helpers(const char *nodes, enum hc_placement placement, unsigned threads, const char *cpus) {
	for (unsigned memfd = 0; memfd < 2; memfd++) {
		struct helpers helpers = {.cpus = cpus};
		struct hc_map *map;
		assert_ok(hc_map_open(4 * page,
		        OPTS(.flags = memfd ? HC_MAP_MEMFD : 0, .placement = placement, .nodes = nodes), &map));
		struct hc_map_work_opts work = {
		        .size = sizeof(work), .threads = threads, .stop = look_at_helpers, .user = &helpers};
		assert_ok(hc_map_populate(map, &work, NULL));
		assert_true(helpers.seen > 0);
		assert_int_equal(helpers.elsewhere, 0);
		if (threads > 1) {
			helpers.seen = 0;
			memset(hc_map_address(map), 0xa5, hc_map_length(map));
			assert_ok(hc_map_reset(map, &work, NULL));
			assert_int_equal(hc_is_clear(hc_map_address(map), hc_map_length(map)), 1);
			assert_true(helpers.seen > 0);
			assert_int_equal(helpers.elsewhere, 0);
		}
		hc_map_close(map);
	}
}

static void test_NM_04_threads_run_on_the_nearest_processors(void **state) {
	(void)state;
	for (unsigned threads = 1; threads <= 2; threads++) {
		expect_helpers("2", HC_PLACE_BIND, threads, "1");
		expect_helpers("2", HC_PLACE_PREFERRED, threads, "1");
		expect_helpers("1", HC_PLACE_BIND, threads, "1");
		expect_helpers("0", HC_PLACE_BIND, threads, "0");
		expect_helpers("1-2", HC_PLACE_INTERLEAVE, threads, "1");
	}
}

/* Of the nearest processors none is allowed: those that are. Nobody is moved then. */
static int on_cpu_0_alone(void *unused) {
	(void)unused;
	struct helpers helpers = {.cpus = "0"};
	struct hc_map *map;
	cpu_set_t set, after;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	CHECK(hc_map_open(4 * page,
	              OPTS(.flags = POPULATE, .threads = 2, .placement = HC_PLACE_BIND, .nodes = "2",
	                      .stop = look_at_helpers, .user = &helpers),
	              &map) == 0);
	CHECK(helpers.seen > 0 && helpers.elsewhere == 0);
	CHECK(sched_getaffinity(0, sizeof(after), &after) == 0 && CPU_EQUAL(&set, &after));
	hc_map_close(map);
	return 0;
}

static void test_NM_04_processors_that_are_not_allowed_are_not_used(void **state) {
	(void)state;
	assert_int_equal(in_child(on_cpu_0_alone, NULL), 0);
}

/* A list that was given is obeyed, however far it is. */
static void test_NM_04_a_list_counts_more_than_nearness(void **state) {
	(void)state;
	struct helpers helpers = {.cpus = "0"};
	struct hc_map *map;
	assert_ok(hc_map_open(4 * page,
	        OPTS(.flags = POPULATE, .cpus = "0", .placement = HC_PLACE_BIND, .nodes = "2", .stop = look_at_helpers,
	                .user = &helpers),
	        &map));
	assert_true(helpers.seen > 0);
	assert_int_equal(helpers.elsewhere, 0);
	assert_all_on(map, page, 2);
	hc_map_close(map);
}

int main(int argc, char **argv) {
	const struct CMUnitTest two[] = {
	        cmocka_unit_test(test_bound_pages_lie_on_their_node),
	        cmocka_unit_test(test_binding_is_not_the_populating_threads_node),
	        cmocka_unit_test(test_interleaved_within_one_page_of_even),
	        cmocka_unit_test(test_other_pages_are_bound_too),
	        cmocka_unit_test(test_pages_of_maps_that_are_not_bound_are_where_numa_maps_has_them),
	        cmocka_unit_test(test_NM_11_bind_to_a_full_node_names_it),
	        cmocka_unit_test(test_part_of_a_node_is_given_back),
	        cmocka_unit_test(test_preferred_says_what_it_got),
	        cmocka_unit_test(test_prefer_goes_on_with_smaller_pages_on_the_node),
	        cmocka_unit_test(test_node_is_drained_before_populating),
	        cmocka_unit_test(test_reset_leaves_pages_where_they_are),
	        cmocka_unit_test(test_NM_06_a_cpuset_that_takes_a_node_away),
	        cmocka_unit_test(test_frames_are_of_the_nodes_of_their_memory),
	};
	const struct CMUnitTest memoryless[] = {
	        cmocka_unit_test(test_NM_03_memory_of_a_node_without_memory),
	        cmocka_unit_test(test_NM_03_its_processors_are_used),
	};
	const struct CMUnitTest cpuless[] = {
	        cmocka_unit_test(test_NM_04_memory_of_a_node_without_processors),
	        cmocka_unit_test(test_NM_04_node_is_shown_without_processors),
	};
	const struct CMUnitTest three[] = {
	        cmocka_unit_test(test_NM_04_threads_run_on_the_nearest_processors),
	        cmocka_unit_test(test_NM_04_processors_that_are_not_allowed_are_not_used),
	        cmocka_unit_test(test_NM_04_a_list_counts_more_than_nearness),
	};
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	page = (size_t)default_huge_page_size();
	const char *machine = argc == 2 ? argv[1] : "";
	if (strcmp(machine, "two") == 0)
		return cmocka_run_group_tests(two, NULL, NULL);
	if (strcmp(machine, "memoryless") == 0)
		return cmocka_run_group_tests(memoryless, NULL, NULL);
	if (strcmp(machine, "cpuless") == 0)
		return cmocka_run_group_tests(cpuless, NULL, NULL);
	if (strcmp(machine, "three") == 0)
		return cmocka_run_group_tests(three, NULL, NULL);
	fprintf(stderr, "usage: vm_nodes two|memoryless|cpuless|three\n");
	return 64;
}
