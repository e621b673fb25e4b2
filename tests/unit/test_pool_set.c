/*
 * Setting pools: on trees of plain files, which read back what was written, and with a double of the
 * kernel's file, which may not. The figures are those of the trees in tests/fixtures, reckoned by hand.
 */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/sys.h>

#include "base/error.h"
#include "sys/pool_lock.h"
#include "sys/pool_set.h"
#include "sys/root.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

#define POOL_2M "sys/kernel/mm/hugepages/hugepages-2048kB"
#define NODE_2M(node) "sys/devices/system/node/node" node "/hugepages/hugepages-2048kB"

static struct hc_pool_result result;

static int set(const char *root, uint64_t page_size, int node, int relative, int64_t pages, struct hc_pool_opts opts) {
	struct hc_pool_request request = {
	        .size = sizeof(request), .page_size = page_size, .node = node, .relative = relative, .pages = pages};
	opts.size = sizeof(opts);
	opts.root = root;
	result.size = sizeof(result);
	return hc_pool_set(&request, &opts, &result);
}

#define NO_OPTS ((struct hc_pool_opts){0})

static void assert_counts(uint64_t before, uint64_t wanted, uint64_t now) {
	assert_int_equal(result.before, before);
	assert_int_equal(result.wanted, wanted);
	assert_int_equal(result.now, now);
}

static void assert_file(const char *root, const char *path, const char *text) {
	char full[512], got[64] = "";
	snprintf(full, sizeof(full), "%s/%s", root, path);
	FILE *f = fopen(full, "re");
	assert_non_null(f);
	assert_true(fgets(got, sizeof(got), f) != NULL);
	fclose(f);
	assert_string_equal(got, text);
}

static bool is_there(const char *root, const char *path) {
	char full[512];
	snprintf(full, sizeof(full), "%s/%s", root, path);
	return access(full, F_OK) == 0;
}

/* ---- A double of the kernel's files of one pool ----------------------------- */

/* Like the kernel: the count is for persistent pages, used and reserved ones become surplus instead of going. */
struct kernel {
	uint64_t total, free, reserved, surplus;
	uint64_t room;    /* persistent pages that ever come */
	uint64_t per_try; /* pages that come at one write; 0: all */
	int write_error;  /* what every write of the count fails with */
	unsigned writes, compactions;
	uint64_t room_after_compaction;
	const char *folder;
	void (*after_write)(struct kernel *kernel);
};

static uint64_t *counter(struct kernel *kernel, const char *path) {
	size_t len = strlen(kernel->folder);
	if (strncmp(path, kernel->folder, len) != 0 || path[len] != '/')
		return NULL;
	const char *name = path + len + 1;
	return strcmp(name, "nr_hugepages") == 0        ? &kernel->total
	       : strcmp(name, "free_hugepages") == 0    ? &kernel->free
	       : strcmp(name, "resv_hugepages") == 0    ? &kernel->reserved
	       : strcmp(name, "surplus_hugepages") == 0 ? &kernel->surplus
	                                                : NULL;
}

static int kernel_read(void *user, const char *path, char *buf, size_t buf_size) {
	const uint64_t *value = counter(user, path);
	return value ? snprintf(buf, buf_size, "%llu\n", (unsigned long long)*value) : -ENOSYS;
}

static int kernel_write(void *user, const char *path, const char *text) {
	struct kernel *kernel = user;
	if (strcmp(path, "proc/sys/vm/compact_memory") == 0) {
		assert_string_equal(text, "1\n");
		kernel->compactions++;
		if (kernel->room_after_compaction)
			kernel->room = kernel->room_after_compaction;
		return 0;
	}
	if (counter(kernel, path) != &kernel->total)
		return -ENOSYS;
	kernel->writes++;
	if (kernel->write_error)
		return hc_fail_errno(kernel->write_error, "/%s", path);

	uint64_t wanted = strtoull(text, NULL, 10), persistent = kernel->total - kernel->surplus;
	uint64_t floor = kernel->total - kernel->free + kernel->reserved;
	uint64_t come = wanted < kernel->room ? wanted : kernel->room;
	while (kernel->surplus > 0 && persistent < wanted) {
		kernel->surplus--;
		persistent++;
	}
	for (uint64_t n = 0; persistent < come && (kernel->per_try == 0 || n < kernel->per_try); n++) {
		persistent++;
		kernel->total++;
		kernel->free++;
	}
	for (; persistent > wanted && persistent > floor; persistent--) {
		kernel->total--;
		kernel->free--;
	}
	for (; persistent > wanted; persistent--)
		kernel->surplus++;
	if (kernel->after_write)
		kernel->after_write(kernel);
	return 0;
}

static int set_kernel(struct kernel *kernel, const char *tree, int relative, int64_t pages, struct hc_pool_opts opts) {
	struct hc_root root;
	kernel->folder = kernel->folder ? kernel->folder : POOL_2M;
	assert_ok(hc_root_open(tree, &root));
	root.read = kernel_read;
	root.write = kernel_write;
	root.user = kernel;
	struct hc_pool_request request = {.size = sizeof(request),
	        .page_size = 2 * MIB,
	        .node = strstr(kernel->folder, "/node1/") ? 1 : -1,
	        .relative = relative,
	        .pages = pages};
	opts.size = sizeof(opts);
	result.size = sizeof(result);
	int r = hc_pool_set_at(&root, &request, &opts, &result);
	hc_root_close(&root);
	return r;
}

/* numa/one-node-empty-pool-on-node1: 791924736 kB of memory, 140600000 kB available; 2 MiB pages on two nodes */
static char *two_nodes(void) {
	return tree_unpack("numa/one-node-empty-pool-on-node1.tree");
}

/* ---- Fewer than wanted -------------------------------------------------------- */

static void test_PL_10_partial_resize(void **state) {
	(void)state;
	char *tree = two_nodes();
	struct kernel kernel = {.total = 1024, .free = 1024, .room = 3738};
	assert_return(
	        set_kernel(&kernel, tree, 0, 4096, (struct hc_pool_opts){.retries = 3}), -ENOMEM, "a partial resize");
	assert_counts(1024, 4096, 3738);
	assert_int_equal(kernel.writes, 4);
	assert_int_equal(kernel.compactions, 0);
	assert_detail_has("4096 pages of 2 MiB wanted, 3738 there (1024 before)");
	assert_detail_has("what came is kept");
	assert_int_equal(kernel.total, 3738);

	/* By difference it is the same: 3738 + 358 = 4096. */
	assert_return(set_kernel(&kernel, tree, 1, 358, NO_OPTS), -ENOMEM, "a partial resize by difference");
	assert_counts(3738, 4096, 3738);
	assert_int_equal(kernel.writes, 5);
	temp_folder_remove(tree);
}

static void test_PL_10_all_or_nothing(void **state) {
	(void)state;
	char *tree = two_nodes();
	struct kernel kernel = {.total = 1024, .free = 1024, .room = 3738};
	assert_return(set_kernel(&kernel, tree, 0, 4096, (struct hc_pool_opts){.all_or_nothing = 1}), -ENOMEM,
	        "all or nothing");
	assert_counts(1024, 4096, 1024);
	assert_detail_has("3738 there");
	assert_detail_has("the old count is put back");
	assert_int_equal(kernel.total, 1024);
	temp_folder_remove(tree);
}

static void use_2000(struct kernel *kernel) {
	kernel->free = kernel->total - 2000;
	kernel->after_write = NULL;
}

/* Somebody maps pages as soon as they are there: those stay theirs, also where the old count is put back. */
static void test_PL_10_put_back_leaves_pages_in_use(void **state) {
	(void)state;
	char *tree = two_nodes();
	struct kernel kernel = {.total = 1024, .free = 1024, .room = 3738, .after_write = use_2000};
	assert_return(set_kernel(&kernel, tree, 0, 4096, (struct hc_pool_opts){.all_or_nothing = 1}), -ENOMEM,
	        "all or nothing");
	assert_counts(1024, 4096, 2000);
	assert_detail_has("couldn't be put back: 2000 are there now");
	assert_int_equal(kernel.total, 2000);
	assert_int_equal(kernel.surplus, 0);
	temp_folder_remove(tree);
}

static void test_retries_until_there(void **state) {
	(void)state;
	char *tree = two_nodes();
	struct kernel kernel = {.room = 100, .per_try = 30};
	assert_ok(set_kernel(&kernel, tree, 0, 100, (struct hc_pool_opts){.retries = 5}));
	assert_counts(0, 100, 100);
	assert_int_equal(kernel.writes, 4);
	temp_folder_remove(tree);
}

static void test_compacts_only_when_asked(void **state) {
	(void)state;
	char *tree = two_nodes();
	struct kernel kernel = {.room = 50, .room_after_compaction = 100};
	assert_return(set_kernel(&kernel, tree, 0, 100, (struct hc_pool_opts){.retries = 1}), -ENOMEM, "not asked");
	assert_int_equal(kernel.compactions, 0);
	assert_detail_has("--compact");
	assert_ok(set_kernel(&kernel, tree, 0, 100, (struct hc_pool_opts){.compact = 1}));
	assert_int_equal(kernel.compactions, 1);
	assert_int_equal(kernel.total, 100);
	/* Enough there: nothing to compact for. */
	assert_ok(set_kernel(&kernel, tree, 0, 90, (struct hc_pool_opts){.compact = 1}));
	assert_int_equal(kernel.compactions, 1);
	temp_folder_remove(tree);
}

static int stop_at_once(void *user) {
	(*(unsigned *)user)++;
	return 1;
}

static void test_stop_between_tries(void **state) {
	(void)state;
	char *tree = two_nodes();
	unsigned asked = 0;
	struct kernel kernel = {.room = 100, .per_try = 30};
	struct hc_pool_opts opts = {.retries = 100, .stop = stop_at_once, .user = &asked};
	assert_return(set_kernel(&kernel, tree, 0, 100, opts), -ECANCELED, "stopped");
	assert_counts(0, 100, 30);
	assert_int_equal(kernel.writes, 1);
	assert_int_equal(asked, 1);
	temp_folder_remove(tree);
}

/* ---- What is never taken -------------------------------------------------------- */

static void test_never_below_used_and_reserved(void **state) {
	(void)state;
	char *tree = two_nodes();
	/* 100 there, 60 free: 40 in use; 25 of the free ones are promised: 65 have to stay. */
	struct kernel kernel = {.total = 100, .free = 60, .reserved = 25, .room = 100};
	for (int force = 0; force < 2; force++) {
		assert_return(set_kernel(&kernel, tree, 0, 64, (struct hc_pool_opts){.force = force}), -EBUSY, "64");
		assert_counts(100, 64, 100);
		assert_detail_has("35 can go");
	}
	assert_return(set_kernel(&kernel, tree, 1, -36, NO_OPTS), -EBUSY, "36 fewer");
	assert_return(set_kernel(&kernel, tree, 0, 0, (struct hc_pool_opts){.dry_run = 1}), -EBUSY, "none, dry");
	assert_int_equal(kernel.writes, 0);

	assert_ok(set_kernel(&kernel, tree, 0, 65, NO_OPTS));
	assert_counts(100, 65, 65);
	assert_int_equal(kernel.free, 25);
	assert_int_equal(kernel.surplus, 0);
	temp_folder_remove(tree);
}

static void test_as_far_as_possible(void **state) {
	(void)state;
	char *tree = two_nodes();
	struct kernel kernel = {.total = 100, .free = 60, .reserved = 25, .room = 100};
	struct hc_pool_opts opts = {.as_far_as_possible = 1};
	assert_return(set_kernel(&kernel, tree, 1, -50, opts), -EBUSY, "50 fewer");
	assert_counts(100, 65, 65);
	assert_int_equal(kernel.writes, 1);
	assert_return(set_kernel(&kernel, tree, 1, -50, opts), -EBUSY, "50 fewer, nothing left");
	assert_counts(65, 65, 65);
	assert_int_equal(kernel.writes, 1);

	/* More to put back than there is: somebody else took it away already. */
	kernel = (struct kernel){.total = 10, .free = 10, .room = 10};
	assert_ok(set_kernel(&kernel, tree, 1, -50, opts));
	assert_counts(10, 0, 0);
	temp_folder_remove(tree);
}

/* The kernel doesn't tell on which node reserved pages are, so each node keeps as many as there are. */
static void test_node_keeps_all_reserved(void **state) {
	(void)state;
	char *tree = two_nodes();
	tree_write(tree, POOL_2M "/resv_hugepages", "100\n");
	assert_return(set(tree, 2 * MIB, 0, 0, 99, NO_OPTS), -EBUSY, "99 on node 0");
	assert_detail_has("924 can go");
	assert_detail_has("on node 0");
	assert_ok(set(tree, 2 * MIB, 0, 0, 100, NO_OPTS));
	assert_counts(1024, 100, 100);
	temp_folder_remove(tree);

	/* 50 free pages on node 1 and 1074 in all: the 60 reserved ones may well be those. */
	tree = two_nodes();
	tree_write(tree, POOL_2M "/nr_hugepages", "1074\n");
	tree_write(tree, POOL_2M "/free_hugepages", "1074\n");
	tree_write(tree, POOL_2M "/resv_hugepages", "60\n");
	tree_write(tree, NODE_2M("1") "/nr_hugepages", "50\n");
	tree_write(tree, NODE_2M("1") "/free_hugepages", "50\n");
	assert_return(set(tree, 2 * MIB, 1, 1, -1, NO_OPTS), -EBUSY, "1 fewer on node 1");
	assert_detail_has("0 can go");
	assert_ok(set(tree, 2 * MIB, -1, 1, -50, NO_OPTS));
	temp_folder_remove(tree);
}

static void test_unknown_counters_take_nothing(void **state) {
	(void)state;
	char *tree = two_nodes();
	tree_write(tree, POOL_2M "/resv_hugepages", "");
	assert_return(set(tree, 2 * MIB, -1, 0, 10, NO_OPTS), -ENODATA, "lowering without a count of reserved ones");
	assert_file(tree, POOL_2M "/nr_hugepages", "1024\n");
	assert_ok(set(tree, 2 * MIB, -1, 0, 1025, NO_OPTS)); /* raising takes none */
	temp_folder_remove(tree);
}

/* numa/surplus-imbalance: 300 pages, 200 of them surplus, all on node 0 and in use. */
static void test_PL_09_surplus_is_not_persistent(void **state) {
	(void)state;
	char *tree = tree_unpack("numa/surplus-imbalance.tree");
	struct hc_pool_opts dry = {.dry_run = 1};
	assert_ok(set(tree, 2 * MIB, -1, 0, 100, dry));
	assert_counts(100, 100, 100);
	assert_ok(set(tree, 2 * MIB, 0, 1, 5, dry));
	assert_counts(0, 5, 0);
	assert_ok(set(tree, 2 * MIB, 1, 1, 5, dry));
	assert_counts(100, 105, 100);
	/* Used and reserved are 200, so of the 100 persistent ones the kernel would free none. */
	assert_return(set(tree, 2 * MIB, -1, 0, 99, dry), -EBUSY, "99");

	struct kernel kernel = {.total = 300, .free = 100, .surplus = 200, .room = 1000};
	assert_ok(set_kernel(&kernel, tree, 1, 50, NO_OPTS));
	assert_counts(100, 150, 150);
	assert_int_equal(kernel.total, 300); /* no new page: surplus ones became persistent */
	temp_folder_remove(tree);
}

/* ---- 5 % ------------------------------------------------------------------------ */

/*
 * sysfs/arm64-4k: 16384000 kB, available 15000000. 5 % are 819200, so 14180800 kB may be
 * taken: 6924.2 pages of 2 MiB; the machine could hold 8000.
 */
static void test_five_percent_stay(void **state) {
	(void)state;
	char *tree = tree_unpack("sysfs/arm64-4k.tree");
	assert_return(set(tree, 2 * MIB, -1, 0, 6925, NO_OPTS), -ENOSPC, "6925");
	assert_detail_has("6924 pages in all are possible");
	assert_counts(0, 6925, 0);
	assert_file(tree, POOL_2M "/nr_hugepages", "0\n");
	assert_return(set(tree, 2 * MIB, -1, 1, 6925, (struct hc_pool_opts){.dry_run = 1}), -ENOSPC, "6925, dry");
	assert_ok(set(tree, 2 * MIB, -1, 0, 6924, NO_OPTS));
	assert_ok(set(tree, 2 * MIB, -1, 0, 0, (struct hc_pool_opts){.dry_run = 1}) == -EBUSY ? 0 : -1);
	tree_write(tree, POOL_2M "/free_hugepages", "6924\n");
	assert_ok(set(tree, 2 * MIB, -1, 0, 0, NO_OPTS));

	assert_ok(set(tree, 2 * MIB, -1, 0, 8000, (struct hc_pool_opts){.force = 1}));
	assert_return(set(tree, 2 * MIB, -1, 0, 8001, (struct hc_pool_opts){.force = 1}), -ERANGE, "8001");
	assert_return(set(tree, 2 * MIB, -1, 0, INT64_MAX, (struct hc_pool_opts){.force = 1}), -ERANGE, "2^63 - 1");
	assert_return(
	        set(tree, 2 * MIB, -1, 1, INT64_MAX, (struct hc_pool_opts){.force = 1}), -ERANGE, "2^63 - 1 more");
	temp_folder_remove(tree);
}

static void test_five_percent_of_several_calls(void **state) {
	(void)state;
	char *tree = tree_unpack("sysfs/arm64-4k.tree");
	struct hc_pool_opts opts = {.dry_run = 1, .pending = (int64_t)(2 * MIB)};
	assert_return(set(tree, 2 * MIB, -1, 0, 6924, opts), -ENOSPC, "one page pending");
	assert_detail_has("6923 pages in all are possible");
	assert_ok(set(tree, 2 * MIB, -1, 0, 6923, opts));
	opts.pending = -(int64_t)(4 * MIB);
	assert_ok(set(tree, 2 * MIB, -1, 0, 6926, opts));
	assert_return(set(tree, 2 * MIB, -1, 0, 6927, opts), -ENOSPC, "two pages given back");
	opts.pending = INT64_MAX;
	assert_return(set(tree, 2 * MIB, -1, 0, 1, opts), -ENOSPC, "as much as can be pending");
	opts.pending = INT64_MIN;
	assert_ok(set(tree, 2 * MIB, -1, 0, 8000, opts));
	temp_folder_remove(tree);
}

/* Surplus pages become persistent without taking memory. */
static void test_five_percent_with_surplus(void **state) {
	(void)state;
	char *tree = tree_unpack("sysfs/arm64-4k.tree");
	struct hc_pool_opts opts = {.dry_run = 1};
	tree_write(tree, POOL_2M "/nr_hugepages", "10\n");
	tree_write(tree, POOL_2M "/surplus_hugepages", "10\n");
	assert_return(set(tree, 2 * MIB, -1, 0, 6935, opts), -ENOSPC, "6935");
	assert_detail_has("6934 pages in all are possible");
	assert_ok(set(tree, 2 * MIB, -1, 0, 6934, opts));
	temp_folder_remove(tree);
}

static void test_unknown_memory_needs_force(void **state) {
	(void)state;
	char *tree = tree_unpack("sysfs/arm64-4k.tree");
	tree_write(tree, "proc/meminfo", "MemFree: 12 kB\n");
	assert_return(set(tree, 2 * MIB, -1, 0, 1, NO_OPTS), -ENODATA, "without MemTotal");
	assert_detail_has("proc/meminfo");
	assert_ok(set(tree, 2 * MIB, -1, 0, 1, (struct hc_pool_opts){.force = 1}));
	temp_folder_remove(tree);
}

/* ---- Where it can't be ------------------------------------------------------------ */

static void test_sets_and_finds_nothing_to_do(void **state) {
	(void)state;
	char *tree = two_nodes();
	assert_ok(set(tree, 2 * MIB, 1, 0, 4, NO_OPTS));
	assert_counts(0, 4, 4);
	assert_file(tree, NODE_2M("1") "/nr_hugepages", "4\n");
	assert_file(tree, NODE_2M("0") "/nr_hugepages", "1024\n");
	assert_file(tree, POOL_2M "/nr_hugepages", "1024\n");
	assert_contains(result.path, "/node1/hugepages/hugepages-2048kB/nr_hugepages");
	struct kernel kernel = {.total = 7, .free = 7};
	assert_ok(set_kernel(&kernel, tree, 0, 7, NO_OPTS));
	assert_ok(set_kernel(&kernel, tree, 1, 0, NO_OPTS));
	assert_int_equal(kernel.writes, 0);
	assert_ok(hc_pool_set_at(NULL, NULL, NULL, NULL) == -EINVAL ? 0 : -1);
	temp_folder_remove(tree);
}

static void test_sizes_and_nodes_that_are_not_there(void **state) {
	(void)state;
	char *tree = two_nodes();
	assert_return(set(tree, GIB, -1, 0, 1, NO_OPTS), -ENODEV, "1 GiB");
	assert_detail_has("2 MiB");
	assert_return(set(tree, 3 * MIB, -1, 0, 1, NO_OPTS), -EINVAL, "3 MiB");
	assert_return(set(tree, 0, -1, 0, 1, NO_OPTS), -EINVAL, "0");
	assert_return(set(tree, 2 * MIB, 2, 0, 1, NO_OPTS), -ENODEV, "node 2");
	assert_detail_has("there is no node 2; online: 0-1");
	assert_return(set(tree, 2 * MIB, -2, 0, 1, NO_OPTS), -EINVAL, "node -2");
	assert_return(set(tree, 2 * MIB, -1, 0, -1, NO_OPTS), -EINVAL, "-1");
	assert_return(set(tree, 2 * MIB, -1, 1, -1025, NO_OPTS), -EINVAL, "1025 fewer");
	assert_detail_has("1024 there");
	assert_return(set(tree, 2 * MIB, -1, 1, INT64_MIN, NO_OPTS), -EINVAL, "2^63 fewer");
	assert_return(set(tree, 2 * MIB, -1, 0, 1, (struct hc_pool_opts){.retries = 101}), -EINVAL, "101 retries");
	assert_return(set("/nonexistent", 2 * MIB, -1, 0, 1, NO_OPTS), -ENOENT, "no root");
	assert_counts(HC_UNKNOWN, HC_UNKNOWN, HC_UNKNOWN);
	temp_folder_remove(tree);
}

/* hc_pool_set(3): a flag that is neither 0 nor 1 is -EINVAL; dry_run 2 was taken for 1. */
static void test_flags_are_0_or_1(void **state) {
	(void)state;
	static const struct {
		const char *name;
		struct hc_pool_opts opts;
	} rows[] = {
	        {"dry_run", {.dry_run = 2}},
	        {"compact", {.compact = 2}},
	        {"force", {.force = -1}},
	        {"all_or_nothing", {.all_or_nothing = 2}},
	        {"as_far_as_possible", {.as_far_as_possible = INT32_MIN}},
	};
	char *tree = two_nodes();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_return(set(tree, 2 * MIB, -1, 0, 5, rows[i].opts), -EINVAL, rows[i].name);
		assert_detail_has(rows[i].name);
	}
	assert_return(set(tree, 2 * MIB, -1, 2, 5, NO_OPTS), -EINVAL, "relative 2");
	assert_detail_has("relative is 2: 0 or 1");
	assert_file(tree, POOL_2M "/nr_hugepages", "1024\n");
	temp_folder_remove(tree);
}

static void test_one_page_is_singular(void **state) {
	(void)state;
	char *tree = two_nodes();
	assert_return(set(tree, 2 * MIB, 1, 1, -1, NO_OPTS), -EINVAL, "1 fewer");
	assert_detail_has("1 page of 2 MiB on node 1 fewer wanted, 0 there");
	temp_folder_remove(tree);
}

/* A kernel without NUMA has no nodes in /sys and one by name. */
static void test_node_0_without_numa(void **state) {
	(void)state;
	char *tree = tree_unpack("sysfs/arm64-4k.tree");
	assert_ok(set(tree, 2 * MIB, 0, 0, 3, NO_OPTS));
	assert_file(tree, POOL_2M "/nr_hugepages", "3\n");
	assert_return(set(tree, 2 * MIB, 1, 0, 3, NO_OPTS), -ENODEV, "node 1");
	temp_folder_remove(tree);
}

static void test_PL_11_absent(void **state) {
	(void)state;
	char *tree = tree_unpack("sysfs/no-hugepages-dir.tree");
	assert_return(set(tree, 2 * MIB, -1, 0, 1, NO_OPTS), -EOPNOTSUPP, "no hugetlb");
	assert_detail_has("/sys/kernel/mm/hugepages");
	temp_folder_remove(tree);

	tree = two_nodes();
	char file[512];
	snprintf(file, sizeof(file), "%s/%s", tree, POOL_2M "/nr_hugepages");
	assert_int_equal(unlink(file), 0);
	for (int dry = 0; dry < 2; dry++) {
		assert_return(set(tree, 2 * MIB, -1, 0, 1, (struct hc_pool_opts){.dry_run = dry}), -ENOENT, "no file");
		assert_detail_has(POOL_2M "/nr_hugepages");
		assert_detail_has("No such file or directory");
	}
	temp_folder_remove(tree);

	tree = tree_unpack("sysfs/odd-entries.tree");
	assert_return(set(tree, GIB, -1, 0, 1, NO_OPTS), -EBADMSG, "an empty file");
	assert_detail_has("hugepages-1048576kB/nr_hugepages");
	temp_folder_remove(tree);
}

static void test_PL_11_refused(void **state) {
	(void)state;
	char *tree = two_nodes();
	const int errors[] = {EROFS, EPERM, EACCES, ENOENT};
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct kernel kernel = {.total = 5, .free = 5, .room = 100, .write_error = errors[i]};
		assert_return(set_kernel(&kernel, tree, 0, 8, (struct hc_pool_opts){.retries = 9}), -errors[i],
		        strerrorname_np(errors[i]));
		assert_detail_has("/" POOL_2M "/nr_hugepages");
		assert_counts(5, 8, 5);
		assert_int_equal(kernel.writes, 1);
		assert_ok(set_kernel(&kernel, tree, 0, 8, (struct hc_pool_opts){.dry_run = 1}));
		assert_counts(5, 8, 5);
	}
	/* Pages so large that the kernel can only set them aside at boot. */
	struct kernel kernel = {.write_error = EINVAL};
	assert_return(set_kernel(&kernel, tree, 0, 8, NO_OPTS), -EOPNOTSUPP, "EINVAL");
	assert_detail_has("hugepagesz=2M hugepages=8");
	temp_folder_remove(tree);
}

/* ---- Nodes told ---------------------------------------------------------------------- */

struct told {
	char text[64];
	char *tree;
};

static void tell(void *user, unsigned node, int64_t pages) {
	struct told *told = user;
	size_t len = strlen(told->text);
	snprintf(told->text + len, sizeof(told->text) - len, "%u:%+lld ", node, (long long)pages);
}

static struct told told;

static void spread(struct kernel *kernel) {
	(void)kernel;
	tree_write(told.tree, NODE_2M("1") "/nr_hugepages", "6\n");
}

static void test_nodes_that_changed_are_told(void **state) {
	(void)state;
	told = (struct told){.tree = two_nodes()};
	struct hc_pool_opts opts = {.node_changed = tell, .user = &told};
	struct kernel kernel = {.total = 1024, .free = 1024, .room = 5000, .after_write = spread};
	assert_ok(set_kernel(&kernel, told.tree, 0, 1030, opts));
	assert_string_equal(told.text, "1:+6 ");

	told.text[0] = '\0';
	assert_ok(set(told.tree, 2 * MIB, 0, 1, -24, opts));
	assert_string_equal(told.text, "0:-24 ");
	told.text[0] = '\0';
	opts.dry_run = 1;
	assert_ok(set(told.tree, 2 * MIB, 0, 1, -24, opts));
	assert_ok(set(told.tree, 2 * MIB, -1, 1, 1, opts));
	assert_string_equal(told.text, "");
	temp_folder_remove(told.tree);
}

/* ---- The lock -------------------------------------------------------------------------- */

static void test_dry_run_leaves_no_trace(void **state) {
	(void)state;
	char *tree = two_nodes();
	tree_write(tree, "run/", "");
	assert_ok(set(tree, 2 * MIB, -1, 0, 2000, (struct hc_pool_opts){.dry_run = 1}));
	assert_counts(1024, 2000, 1024);
	assert_file(tree, POOL_2M "/nr_hugepages", "1024\n");
	assert_false(is_there(tree, "run/hugeclear.lock"));
	assert_ok(set(tree, 2 * MIB, -1, 0, 2000, NO_OPTS));
	assert_true(is_there(tree, "run/hugeclear.lock"));
	temp_folder_remove(tree);
}

/* Ten processes add one page each, ten times: a hundred, with the file in run/ and without that folder. */
static void test_parallel_differences_add_up(void **state) {
	(void)state;
	for (int with_run = 0; with_run < 2; with_run++) {
		char *tree = two_nodes();
		if (with_run)
			tree_write(tree, "run/", "");
		for (int i = 0; i < 10; i++) {
			pid_t pid = fork();
			assert_true(pid >= 0);
			if (pid == 0) {
				int bad = 0;
				for (int k = 0; k < 10; k++)
					bad |= set(tree, 2 * MIB, -1, 1, 1, NO_OPTS) != 0;
				_exit(bad);
			}
		}
		int status, all = 0;
		while (wait(&status) > 0)
			all |= status;
		assert_int_equal(all, 0);
		assert_file(tree, POOL_2M "/nr_hugepages", "1124\n");
		assert_int_equal(is_there(tree, "run/hugeclear.lock"), with_run);
		temp_folder_remove(tree);
	}
}

static void test_lock_waits_no_longer_than_told(void **state) {
	(void)state;
	for (int with_run = 0; with_run < 2; with_run++) {
		char *tree = two_nodes();
		if (with_run)
			tree_write(tree, "run/", "");
		struct hc_root root;
		int held = -1, other = -1;
		unsigned asked = 0;
		assert_ok(hc_root_open(tree, &root));
		assert_ok(hc_pool_lock(&root, 0, NULL, NULL, &held));
		assert_int_equal(fcntl(held, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		assert_return(hc_pool_lock(&root, 50, NULL, NULL, &other), -EAGAIN, "a lock that is held");
		assert_detail_has(with_run ? "/run/hugeclear.lock" : "/sys/kernel/mm/hugepages");
		assert_return(hc_pool_lock(&root, 60000, stop_at_once, &asked, &other), -ECANCELED, "stopped");
		assert_int_equal(other, -1);
		hc_pool_unlock(held);
		assert_ok(hc_pool_lock(&root, 0, NULL, NULL, &other));
		hc_pool_unlock(other);
		hc_root_close(&root);
		temp_folder_remove(tree);
	}
}

static int tell_waiting(void *user) {
	const int *pipe_fd = user;
	return write(*pipe_fd, "w", 1) == 1 ? 0 : 1;
}

/* Who waits for a file that is removed meanwhile must not take that for the lock: others find a new one. */
static void test_lock_file_removed_under_a_waiter(void **state) {
	(void)state;
	char *tree = two_nodes(), path[512], byte;
	struct hc_root root;
	int held, newer, waiting[2];
	assert_ok(hc_root_open(tree, &root));
	tree_write(tree, "run/", "");
	snprintf(path, sizeof(path), "%s/run/hugeclear.lock", tree);
	assert_ok(hc_pool_lock(&root, 0, NULL, NULL, &held));
	assert_int_equal(pipe(waiting), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(held);
		_exit(hc_pool_lock(&root, 500, tell_waiting, &waiting[1], &newer) == -EAGAIN ? 0 : 1);
	}
	assert_int_equal(read(waiting[0], &byte, 1), 1);
	assert_int_equal(unlink(path), 0);
	assert_ok(hc_pool_lock(&root, 0, NULL, NULL, &newer));
	hc_pool_unlock(held);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	hc_pool_unlock(newer);
	close(waiting[0]);
	close(waiting[1]);
	hc_root_close(&root);
	temp_folder_remove(tree);
}

static void test_lock_file_left_or_strange(void **state) {
	(void)state;
	char *tree = two_nodes(), path[512];
	struct hc_root root;
	int fd;
	assert_ok(hc_root_open(tree, &root));
	tree_write(tree, "run/hugeclear.lock", "12345 of a program that is gone\n");
	assert_ok(hc_pool_lock(&root, 0, NULL, NULL, &fd));

	/* A cleaner removes the file: who comes now makes a new one, and the old lock keeps nobody out of it. */
	snprintf(path, sizeof(path), "%s/run/hugeclear.lock", tree);
	assert_int_equal(unlink(path), 0);
	int second;
	assert_ok(hc_pool_lock(&root, 0, NULL, NULL, &second));
	hc_pool_unlock(second);
	hc_pool_unlock(fd);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_return(hc_pool_lock(&root, 0, NULL, NULL, &fd), -EBADMSG, "a link");
	assert_detail_has("run/hugeclear.lock: not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_return(hc_pool_lock(&root, 0, NULL, NULL, &fd), -EBADMSG, "a FIFO");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_return(hc_pool_lock(&root, 0, NULL, NULL, &fd), -EBADMSG, "a folder");
	hc_root_close(&root);
	temp_folder_remove(tree);
}

/* ---- Structs that grow -------------------------------------------------------------------- */

static void test_structs_of_other_versions(void **state) {
	(void)state;
	char *tree = two_nodes();
	struct {
		struct hc_pool_result known;
		uint64_t later;
	} larger = {.known.size = sizeof(larger), .later = 7};
	struct hc_pool_request request = {.size = sizeof(request), .page_size = 2 * MIB, .node = -1, .pages = 3};
	struct hc_pool_opts opts = {.size = sizeof(opts), .root = tree, .dry_run = 1};
	assert_ok(hc_pool_set(&request, &opts, &larger.known) == -EBUSY ? 0 : hc_pool_set(&request, &opts, NULL));
	assert_int_equal(larger.known.before, 1024);
	assert_int_equal(larger.known.size, sizeof(larger));
	assert_int_equal(larger.later, 0);

	struct hc_pool_result smaller = {.size = offsetof(struct hc_pool_result, wanted), .now = 5};
	assert_ok(hc_pool_set(&request, &opts, &smaller));
	assert_int_equal(smaller.before, 1024);
	assert_int_equal(smaller.now, 5);
	smaller.size = 0;
	assert_return(hc_pool_set(&request, &opts, &smaller), -EINVAL, "no size");
	request.size = 0;
	assert_return(hc_pool_set(&request, &opts, NULL), -EINVAL, "no size");
	temp_folder_remove(tree);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_PL_10_partial_resize),
	        cmocka_unit_test(test_PL_10_all_or_nothing),
	        cmocka_unit_test(test_PL_10_put_back_leaves_pages_in_use),
	        cmocka_unit_test(test_retries_until_there),
	        cmocka_unit_test(test_flags_are_0_or_1),
	        cmocka_unit_test(test_one_page_is_singular),
	        cmocka_unit_test(test_compacts_only_when_asked),
	        cmocka_unit_test(test_stop_between_tries),
	        cmocka_unit_test(test_never_below_used_and_reserved),
	        cmocka_unit_test(test_as_far_as_possible),
	        cmocka_unit_test(test_node_keeps_all_reserved),
	        cmocka_unit_test(test_unknown_counters_take_nothing),
	        cmocka_unit_test(test_PL_09_surplus_is_not_persistent),
	        cmocka_unit_test(test_five_percent_stay),
	        cmocka_unit_test(test_five_percent_of_several_calls),
	        cmocka_unit_test(test_five_percent_with_surplus),
	        cmocka_unit_test(test_unknown_memory_needs_force),
	        cmocka_unit_test(test_sets_and_finds_nothing_to_do),
	        cmocka_unit_test(test_sizes_and_nodes_that_are_not_there),
	        cmocka_unit_test(test_node_0_without_numa),
	        cmocka_unit_test(test_PL_11_absent),
	        cmocka_unit_test(test_PL_11_refused),
	        cmocka_unit_test(test_nodes_that_changed_are_told),
	        cmocka_unit_test(test_dry_run_leaves_no_trace),
	        cmocka_unit_test(test_parallel_differences_add_up),
	        cmocka_unit_test(test_lock_waits_no_longer_than_told),
	        cmocka_unit_test(test_lock_file_removed_under_a_waiter),
	        cmocka_unit_test(test_lock_file_left_or_strange),
	        cmocka_unit_test(test_structs_of_other_versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
