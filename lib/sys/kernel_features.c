/* A table of probes, each asking the kernel to do the thing itself; see hc_kernel_features_read(). */
#include "sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/mman.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/size.h"

/* Newer than the headers of Debian 12 (madvise(2); linux/fs.h). */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct pagemap_scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN_IOCTL _IOWR('f', 16, struct pagemap_scan)

/* What no advice of madvise(2) is, now or ever. */
#define NO_ADVICE 0x7ffffff

struct answer {
	int available; /* 1, 0, -1 unknown */
	char reason[256];
};

static struct answer yes(void) {
	return (struct answer){.available = 1};
}

static struct answer answer(int available, const char *format, ...) __attribute__((format(printf, 2, 3)));

static struct answer answer(int available, const char *format, ...) {
	struct answer a = {.available = available};
	va_list ap;
	va_start(ap, format);
	vsnprintf(a.reason, sizeof(a.reason), format, ap);
	va_end(ap);
	return a;
}

/*
 * What an errno says about a feature. Running out of something says nothing. All
 * others mean "not here", and every one of them has been seen for the same lack:
 * ENOSYS and EPERM from seccomp filters too, EINVAL from kernels that don't know
 * a flag, ENODEV and ENOENT for a page size (the latter on POWER).
 */
static struct answer refusal(int err, const char *call) {
	const char *name = strerrordesc_np(err);
	switch (err) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EAGAIN:
	case ENOSPC:
		return answer(-1, "%s could not be tried: %s", call, name);
	case ENOSYS:
		return answer(0, "%s: %s: the kernel lacks it or a seccomp filter hides it", call, name);
	case EPERM:
	case EACCES:
		return answer(0, "%s: %s: refused, as seccomp filters and security modules do", call, name);
	case EINVAL:
		return answer(0, "%s: %s: this kernel doesn't know it", call, name);
	case ENODEV:
	case ENOENT:
		return answer(0, "%s: %s: not there on this machine", call, name);
	default:
		return answer(0, "%s: %s", call, name ? name : "an error without a name");
	}
}

/* ---- madvise ------------------------------------------------------------- */

static size_t base_page_size(void) {
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void *map_page(void) {
	void *page = mmap(NULL, base_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED ? NULL : page;
}

/*
 * The kernel checks the advice before it looks at the length, so length 0 asks
 * whether it knows it and does nothing. Emulators check in the other order: there
 * an advice that can't exist is accepted too, and the answer is worth nothing.
 */
static struct answer knows_advice(int advice) {
	void *page = map_page();
	if (!page)
		return answer(-1, "madvise could not be tried: %s", strerrordesc_np(errno));
	int r = madvise(page, 0, advice), err = errno;
	bool accepts_all = madvise(page, 0, NO_ADVICE) == 0;
	munmap(page, base_page_size());
	if (r < 0)
		return refusal(err, "madvise");
	return accepts_all ? answer(-1, "madvise accepts any advice for nothing") : yes();
}

static struct answer try_madv_hugepage(const struct hc_root *root, uint64_t arg) {
	(void)root, (void)arg;
	return knows_advice(MADV_HUGEPAGE);
}

static struct answer try_madv_collapse(const struct hc_root *root, uint64_t arg) {
	(void)root, (void)arg;
	return knows_advice(MADV_COLLAPSE);
}

static struct answer try_madv_populate_write(const struct hc_root *root, uint64_t arg) {
	(void)root, (void)arg;
	void *page = map_page();
	if (!page)
		return answer(-1, "madvise could not be tried: %s", strerrordesc_np(errno));
	unsigned char resident = 0;
	struct answer a = yes();
	if (madvise(page, base_page_size(), MADV_POPULATE_WRITE) < 0)
		a = refusal(errno, "madvise");
	else if (mincore(page, base_page_size(), &resident) == 0 && !(resident & 1))
		a = answer(0, "madvise says it was done, but the page isn't there");
	munmap(page, base_page_size());
	return a;
}

/* ---- memfd_create -------------------------------------------------------- */

/* A memfd of no length takes nothing from the pool. Returns a descriptor or -1 with errno. */
static int make_memfd(uint64_t page_size) {
	/* The size's logarithm stands where mmap(2) has it: linux/memfd.h, which can't be included beside sys/mman.h. */
	unsigned flags = MFD_CLOEXEC | MFD_HUGETLB | MFD_ALLOW_SEALING;
	return memfd_create("hugeclear-probe", flags | (unsigned)__builtin_ctzll(page_size) << MAP_HUGE_SHIFT);
}

static struct answer try_memfd(const struct hc_root *root, uint64_t page_size) {
	(void)root;
	int fd = make_memfd(page_size);
	if (fd < 0)
		return refusal(errno, "memfd_create");
	close(fd);
	return yes();
}

static struct answer try_memfd_seals(const struct hc_root *root, uint64_t page_size) {
	(void)root;
	int fd = make_memfd(page_size);
	if (fd < 0)
		return refusal(errno, "memfd_create");
	struct answer a = yes();
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		a = refusal(errno, "F_ADD_SEALS");
	close(fd);
	return a;
}

/* ---- io_uring ------------------------------------------------------------ */

static struct answer try_io_uring(const struct hc_root *root, uint64_t arg) {
	(void)arg;
	struct io_uring_params params = {0};
	long fd = syscall(SYS_io_uring_setup, 1, &params); /* close-on-exec by itself */
	if (fd >= 0) {
		close((int)fd);
		return yes();
	}
	int err = errno;
	uint64_t disabled;
	if (err == EPERM && hc_root_read_u64(root, "proc/sys/kernel/io_uring_disabled", &disabled) == 0 && disabled > 0)
		return answer(0, "kernel.io_uring_disabled is %llu: %s", (unsigned long long)disabled,
		        disabled == 1 ? "only for CAP_SYS_ADMIN and the group kernel.io_uring_group" : "for nobody");
	return refusal(err, "io_uring_setup");
}

/* ---- pagemap ------------------------------------------------------------- */

static struct answer try_pagemap_scan(const struct hc_root *root, uint64_t arg) {
	(void)arg;
	int fd = openat(root->fd, "proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return refusal(errno, "/proc/self/pagemap");
	void *page = map_page();
	struct answer a = yes();
	if (!page) {
		a = answer(-1, "the ioctl could not be tried: %s", strerrordesc_np(errno));
	} else {
		struct pagemap_scan scan = {
		        .size = sizeof(scan), .start = (uintptr_t)page, .end = (uintptr_t)page + base_page_size()};
		if (ioctl(fd, PAGEMAP_SCAN_IOCTL, &scan) < 0)
			a = errno == ENOTTY ? answer(0, "this kernel's pagemap can't be scanned")
			                    : refusal(errno, "the ioctl");
		munmap(page, base_page_size());
	}
	close(fd);
	return a;
}

/* ---- The table ----------------------------------------------------------- */

static const struct probe {
	const char *name;
	struct answer (*try)(const struct hc_root *root, uint64_t arg);
	enum { ONCE, EACH_PAGE_SIZE } how_often; /* with each page size as arg, which stands behind the name then */
} probes[] = {
        {"MADV_HUGEPAGE", try_madv_hugepage, ONCE},
        {"MADV_COLLAPSE", try_madv_collapse, ONCE},
        {"MADV_POPULATE_WRITE", try_madv_populate_write, ONCE},
        {"memfd_create hugetlb", try_memfd, EACH_PAGE_SIZE},
        {"F_ADD_SEALS hugetlb", try_memfd_seals, EACH_PAGE_SIZE},
        {"io_uring", try_io_uring, ONCE},
        {"PAGEMAP_SCAN", try_pagemap_scan, ONCE},
};
#define NR_PROBES (sizeof(probes) / sizeof(probes[0]))

void hc_kernel_features_free(struct hc_kernel_features *features) {
	for (unsigned i = 0; i < features->nr_features; i++) {
		free((void *)(uintptr_t)features->features[i].name);
		free((void *)(uintptr_t)features->features[i].reason);
	}
	free(features->features);
	*features = (struct hc_kernel_features){0};
}

static int add_feature(struct hc_kernel_features *features, const char *name, struct answer a) {
	char *own_name = strdup(name), *reason = a.available == 1 ? NULL : strdup(a.reason);
	if (!own_name || (a.available != 1 && !reason)) {
		free(own_name);
		free(reason);
		return hc_fail_memory("no memory for the features of the kernel");
	}
	features->features[features->nr_features++] = (struct hc_kernel_feature){
	        .name = own_name, .available = a.available, .reason = reason};
	return 0;
}

static int try_all(const struct hc_root *root, int try, const uint64_t *page_sizes, unsigned nr_page_sizes,
        struct hc_kernel_features *features) {
	for (size_t i = 0; i < NR_PROBES; i++) {
		bool once = probes[i].how_often == ONCE;
		for (unsigned k = 0; k < (once ? 1 : nr_page_sizes); k++) {
			char name[96];
			uint64_t arg = once ? 0 : page_sizes[k];
			snprintf(name, sizeof(name), "%s%s%s", probes[i].name, once ? "" : " ",
			        once ? "" : hc_size_exact(arg).s);
			struct answer a = !root->live ? answer(-1, "this isn't the machine that is running")
			                  : !try      ? answer(-1, "not tried")
			                              : probes[i].try(root, arg);
			int r = add_feature(features, name, a);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int hc_kernel_features_read(const struct hc_root *root, int try, const uint64_t *page_sizes, unsigned nr_page_sizes,
        struct hc_kernel_features *ret_features) {
	struct hc_kernel_features features = {0};
	features.features = calloc(NR_PROBES * (nr_page_sizes + 1), sizeof(*features.features));
	if (!features.features)
		return hc_fail_memory("no memory for the features of the kernel");
	int r = try_all(root, try, page_sizes, nr_page_sizes, &features);
	if (r < 0)
		hc_kernel_features_free(&features);
	else
		*ret_features = features;
	return r;
}
