#include "map/page_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "base/error.h"

/* Newer than the headers of Debian 12: linux/fs.h. */
struct page_region {
	uint64_t start, end, categories;
};
struct pagemap_scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN_IOCTL _IOWR('f', 16, struct pagemap_scan)
#define CATEGORY_HUGE (UINT64_C(1) << 6)

#define REGIONS_AT_ONCE 64

static int open_proc(const struct hc_root *root, const char *path, int *ret_fd) {
	*ret_fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? hc_fail_errno(errno, "/%s", path) : 0;
}

int hc_page_walk_pmd(const struct hc_root *root, const struct hc_page_range *range, uint64_t huge, uint64_t *sizes) {
	for (size_t i = 0; i < range->pages; i++)
		sizes[i] = range->base_page;
	int fd;
	int r = open_proc(root, "proc/self/pagemap", &fd);
	if (r < 0)
		return r;
	struct page_region regions[REGIONS_AT_ONCE];
	uint64_t start = (uintptr_t)range->p, end = start + range->pages * range->base_page, at = start;
	while (at < end) {
		struct pagemap_scan scan = {
		        .size = sizeof(scan),
		        .start = at,
		        .end = end,
		        .vec = (uintptr_t)regions,
		        .vec_len = REGIONS_AT_ONCE,
		        .category_mask = CATEGORY_HUGE,
		        .return_mask = CATEGORY_HUGE,
		};
		int n = ioctl(fd, PAGEMAP_SCAN_IOCTL, &scan);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || scan.walk_end <= at) {
			r = hc_fail(EOPNOTSUPP, "this kernel doesn't tell which pages are huge (PAGEMAP_SCAN)");
			break;
		}
		for (int i = 0; i < n; i++)
			for (uint64_t page = hc_max(regions[i].start, start); page < hc_min(regions[i].end, end);
			        page += range->base_page)
				sizes[(page - start) / range->base_page] = huge;
		at = scan.walk_end;
	}
	close(fd);
	return r;
}

/* ---- Folios ----------------------------------------------------------------- */

#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_FRAME ((UINT64_C(1) << 55) - 1)
#define FLAG_HEAD (UINT64_C(1) << 15)
#define FLAG_TAIL (UINT64_C(1) << 16)

static bool read_words(int fd, uint64_t index, uint64_t *words, size_t nr_words) {
	size_t bytes = nr_words * sizeof(*words), got = 0;
	while (got < bytes) {
		ssize_t n = pread(fd, (char *)words + got, bytes - got, (off_t)(index * sizeof(*words) + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* Base pages from i on that are a head and its tails, frame by frame; 1 where it's no compound page. */
static size_t folio_at(int flags_fd, const uint64_t *entries, size_t i, size_t pages) {
	uint64_t flags, frame = entries[i] & ENTRY_FRAME;
	if (!(entries[i] & ENTRY_PRESENT) || !read_words(flags_fd, frame, &flags, 1) || !(flags & FLAG_HEAD))
		return 1;
	size_t n = 1;
	while (i + n < pages && entries[i + n] & ENTRY_PRESENT && (entries[i + n] & ENTRY_FRAME) == frame + n &&
	        read_words(flags_fd, frame + n, &flags, 1) && flags & FLAG_TAIL)
		n++;
	return n;
}

int hc_page_walk_any(const struct hc_root *root, const struct hc_page_range *range, uint64_t *sizes) {
	int map_fd = -1, flags_fd = -1;
	uint64_t *entries = calloc(range->pages, sizeof(*entries));
	int r = entries ? open_proc(root, "proc/self/pagemap", &map_fd)
	                : hc_fail_memory("no memory for a page table's copy");
	if (r == 0)
		r = open_proc(root, "proc/kpageflags", &flags_fd);
	if (r == 0 && !read_words(map_fd, (uintptr_t)range->p / range->base_page, entries, range->pages))
		r = hc_fail(EPERM, "/proc/self/pagemap can't be read");
	for (size_t i = 0; r == 0 && i < range->pages;) {
		/* Without CAP_SYS_ADMIN every frame is 0. */
		if (entries[i] & ENTRY_PRESENT && (entries[i] & ENTRY_FRAME) == 0)
			r = hc_fail(EPERM, "/proc/self/pagemap doesn't tell frames without CAP_SYS_ADMIN");
		size_t n = folio_at(flags_fd, entries, i, range->pages);
		/* A head whose tails aren't all mapped behind it is smaller than it was, and no page size any more. */
		uint64_t size = hc_is_power_of_two(n) ? n * range->base_page : range->base_page;
		for (size_t k = 0; k < n; k++)
			sizes[i + k] = size;
		i += n;
	}
	free(entries);
	if (flags_fd >= 0)
		close(flags_fd);
	if (map_fd >= 0)
		close(map_fd);
	return r == -EACCES || r == -ENOENT ? hc_fail(EPERM, "%s", hc_error_detail()) : r;
}
