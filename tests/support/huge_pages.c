#include "support/huge_pages.h"

#include "support/support.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t field_of(const char *path, const char *name) {
	char line[512];
	uint64_t value = 0;
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	size_t len = strlen(name);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			value = strtoull(line + len + 1, NULL, 10);
	fclose(f);
	return value;
}

uint64_t default_huge_page_size(void) {
	return field_of("/proc/meminfo", "Hugepagesize") << 10;
}

uint64_t pool_counter(uint64_t page_size, const char *name) {
	char path[256];
	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s", page_size >> 10, name);
	uint64_t value = 0;
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64, &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

void need_pages(uint64_t page_size, uint64_t pages) {
	uint64_t free_pages = pool_counter(page_size, "free_hugepages"),
	         reserved = pool_counter(page_size, "resv_hugepages");
	uint64_t available = free_pages > reserved ? free_pages - reserved : 0;
	if (page_size != 0 && available >= pages)
		return;
	print_message("needs %" PRIu64 " free huge pages of %" PRIu64 " KiB, %" PRIu64 " are\n", pages, page_size >> 10,
	        available);
	skip();
}

struct holdings holdings_now(void) {
	struct holdings holdings = {0};
	DIR *folder = opendir("/proc/self/fd");
	while (folder && readdir(folder))
		holdings.descriptors++;
	if (folder)
		closedir(folder);
	holdings.mapped_bytes = field_of("/proc/self/status", "VmSize") << 10;
	holdings.hugetlb_bytes = field_of("/proc/self/status", "HugetlbPages") << 10;
	return holdings;
}

void assert_holds_no_more(const struct holdings *before) {
	struct holdings now = holdings_now();
	assert_int_equal(now.descriptors, before->descriptors);
	assert_int_equal(now.hugetlb_bytes, before->hugetlb_bytes);
	assert_true(now.mapped_bytes < before->mapped_bytes + ((uint64_t)64 << 20));
}

uint64_t smaps_sum(const void *p, size_t len, const char *field) {
	char line[1024];
	uint64_t begin = (uintptr_t)p, end = begin + len, from, to, sum = 0;
	int inside = 0;
	FILE *f = fopen("/proc/self/smaps", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			inside = from >= begin && to <= end;
		else if (inside && strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			sum += strtoull(line + strlen(field) + 1, NULL, 10) << 10;
	}
	fclose(f);
	return sum;
}

int node_of_page(void *p) {
	int node = -1;
	return syscall(SYS_move_pages, 0, 1L, &p, NULL, &node, 0) < 0 ? -1 : node;
}
