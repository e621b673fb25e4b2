/* Cache sizes, from files and registers as they are met, and the limit derived from them. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/processor.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

static void cache_row(void *user, char **fields, unsigned nr_fields) {
	unsigned *rows = user;
	(*rows)++;
	assert_true(nr_fields == 5);
	/* "?": not shown at all */
	struct hc_caches caches = {
	        .l1d = 32 * KIB, .l2 = strtoull(fields[1], NULL, 10), .l3 = strtoull(fields[2], NULL, 10)};
	uint64_t limit = hc_cached_up_to(&caches);
	assert_in_range(limit, HC_CACHED_MIN, HC_CACHED_MAX);
	/* a clear of 64 MiB can go past the cache on every one of them */
	assert_true(limit >= 1 * MIB && limit < 64 * MIB);
}

static void test_CE_08_limit_is_sane(void **state) {
	(void)state;
	unsigned rows = 0;
	fixture_rows("cpuid/cache.tsv", cache_row, &rows);
	assert_int_equal(rows, 5);

	static const struct {
		uint64_t l2, limit;
	} limits[] = {{0, 2 * MIB}, {1, 2 * MIB}, {512 * KIB, 2 * MIB}, {1280 * KIB, 2560 * KIB}, {2 * MIB, 4 * MIB},
	        {4 * MIB, 8 * MIB}, {272629760, 8 * MIB}, {UINT64_MAX, 8 * MIB}, {UINT64_MAX / 2 + 1, 8 * MIB}};
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct hc_caches caches = {.l2 = limits[i].l2, .l3 = UINT64_MAX};
		assert_true(hc_cached_up_to(&caches) == limits[i].limit);
	}
}

static void write_cache(const char *root, int cpu, int index, const char *level, const char *type, const char *size) {
	char path[256];
	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, index);
	tree_write(root, path, level);
	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cache/index%d/type", cpu, index);
	tree_write(root, path, type);
	if (!size)
		return;
	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, index);
	tree_write(root, path, size);
}

static struct hc_caches read_tree(const char *path, struct hc_warnings *sink) {
	struct hc_root root;
	struct hc_caches caches;
	assert_ok(hc_root_open(path, &root));
	hc_caches_read_warn(&root, sink, &caches);
	hc_root_close(&root);
	return caches;
}

static void test_CE_08_trees(void **state) {
	(void)state;
	char *root = temp_folder();
	struct hc_warnings sink = {0};

	/* no cache folder at all: unknown, and nothing of the machine that runs the test */
	struct hc_caches caches = read_tree(root, &sink);
	assert_true(caches.l1d == 0 && caches.l2 == 0 && caches.l3 == 0 && sink.nr == 0);

	write_cache(root, 0, 0, "1\n", "Data\n", "48K\n");
	write_cache(root, 0, 1, "1\n", "Instruction\n", "32K\n");
	write_cache(root, 0, 2, "2\n", "Unified\n", "2048K\n");
	write_cache(root, 0, 3, "3\n", "Unified\n", "266240K\n");
	caches = read_tree(root, &sink);
	assert_true(caches.l1d == 48 * KIB && caches.l2 == 2 * MIB && caches.l3 == 260 * MIB && sink.nr == 0);

	/* what a zeroed leaf leaves behind; and a kernel that doesn't know the size (arm64) */
	write_cache(root, 0, 3, "3\n", "Unified\n", "0K\n");
	write_cache(root, 0, 2, "2\n", "Unified\n", "\n");
	caches = read_tree(root, &sink);
	assert_true(caches.l1d == 48 * KIB && caches.l2 == 0 && caches.l3 == 0);
	assert_int_equal(sink.nr, 2);
	assert_contains(hc_warnings_get(&sink, 0), "index2/size");
	hc_warnings_clear(&sink);

	/* CPU 0 is off: the first that is on counts */
	tree_write(root, "sys/devices/system/cpu/online", "4-7\n");
	write_cache(root, 4, 0, "1\n", "Data\n", "64K\n");
	write_cache(root, 4, 1, "2\n", "Unified\n", "1M\n");
	write_cache(root, 4, 2, "4\n", "Unified\n", "64M\n");
	write_cache(root, 4, 3, "3\n", "Unified\n", NULL);
	caches = read_tree(root, &sink);
	assert_true(caches.l1d == 64 * KIB && caches.l2 == 1 * MIB && caches.l3 == 0 && sink.nr == 0);
	temp_folder_remove(root);
}

/* A processor that lists its caches in one leaf, as the manuals lay it out. */
struct cache_cpu {
	uint32_t leaf; /* 4 or 0x8000001d */
	uint32_t subleaves[5][4];
	bool endless, topology_extensions;
};

static void cpuid_caches(void *user, uint32_t leaf, uint32_t subleaf, uint32_t r[4]) {
	const struct cache_cpu *cpu = user;
	memset(r, 0, 16);
	if (leaf == 0)
		r[0] = cpu->leaf == 4 ? 4 : 1;
	else if (leaf == 0x80000000u)
		r[0] = 0x8000001eu;
	else if (leaf == 0x80000001u)
		r[2] = (uint32_t)cpu->topology_extensions << 22;
	else if (leaf == cpu->leaf && (subleaf < 5 || cpu->endless))
		memcpy(r, cpu->subleaves[subleaf < 5 ? subleaf : 4], 16);
}

/* type 1 data, 2 instructions, 3 unified */
static void set_cache(uint32_t r[4], uint32_t type, uint32_t level, uint32_t ways, uint32_t line, uint32_t sets) {
	r[0] = type | level << 5;
	r[1] = (ways - 1) << 22 | (line - 1);
	r[2] = sets - 1;
}

static void test_CE_08_registers(void **state) {
	(void)state;
#if !defined(__x86_64__)
	printf("CPUID is x86's\n");
	skip();
#endif
	static const uint32_t leaves[] = {4, 0x8000001du};
	for (int i = 0; i < 2; i++) {
		struct cache_cpu cpu = {.leaf = leaves[i], .topology_extensions = true};
		cpu.topology_extensions = i == 1;
		/* Ice Lake-like: 12 * 64 * 64 = 48 KiB, 8 * 64 * 64 = 32 KiB, 20 * 64 * 1024 = 1.25 MiB, 12 * 64 * 49152 = 36 MiB */
		set_cache(cpu.subleaves[0], 1, 1, 12, 64, 64);
		set_cache(cpu.subleaves[1], 2, 1, 8, 64, 64);
		set_cache(cpu.subleaves[2], 3, 2, 20, 64, 1024);
		set_cache(cpu.subleaves[3], 3, 3, 12, 64, 49152);
		struct hc_processor_source source = {.cpuid = cpuid_caches, .user = &cpu};
		struct hc_caches caches;
		hc_caches_ask(&source, &caches);
		assert_true(caches.l1d == 48 * KIB && caches.l2 == 1280 * KIB && caches.l3 == 36 * MIB);

		/* filled with zeros but for the types */
		for (int j = 0; j < 4; j++)
			cpu.subleaves[j][1] = cpu.subleaves[j][2] = 0;
		hc_caches_ask(&source, &caches);
		assert_true(caches.l1d == 0 && caches.l2 == 0 && caches.l3 == 0);

		/* all ones, and a list without an end */
		memset(cpu.subleaves, 0xff, sizeof(cpu.subleaves));
		cpu.endless = true;
		for (int j = 0; j < 5; j++)
			cpu.subleaves[j][0] = 3 | 2 << 5;
		hc_caches_ask(&source, &caches);
		assert_in_range(hc_cached_up_to(&caches), HC_CACHED_MIN, HC_CACHED_MAX);
	}

	struct cache_cpu none = {.leaf = 0xdead};
	struct hc_processor_source source = {.cpuid = cpuid_caches, .user = &none};
	struct hc_caches caches;
	hc_caches_ask(&source, &caches);
	assert_true(caches.l1d == 0 && caches.l2 == 0 && caches.l3 == 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_CE_08_limit_is_sane),
	        cmocka_unit_test(test_CE_08_trees),
	        cmocka_unit_test(test_CE_08_registers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
