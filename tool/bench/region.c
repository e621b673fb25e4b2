#include "bench/region.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/smaps.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

/* Between two questions to stop; a page where that is larger. */
#define POPULATE_STEP (UINT64_C(64) << 20)

/* Pages whose residency is asked for at once, and whose node is. */
#define MINCORE_PAGES 65536
#define NODE_SAMPLES 1024

const char *region_backing_name(enum region_backing backing) {
	static const char *const names[] = {[REGION_HUGETLB] = "hugetlb", [REGION_THP] = "thp", [REGION_BASE] = "base"};
	return names[backing];
}

/* ---- Room ---------------------------------------------------------------- */

static uint64_t known_or(uint64_t value, uint64_t otherwise) {
	return value == HC_UNKNOWN ? otherwise : value;
}

static uint64_t saturating_mul(uint64_t a, uint64_t b) {
	uint64_t product;
	return hc_mul_ok(a, b, &product) ? product : UINT64_MAX;
}

uint64_t region_room(const struct hc_machine *machine, enum region_backing backing, uint64_t page_size, int node) {
	if (backing != REGION_HUGETLB) {
		const struct hc_memory *memory = hc_machine_memory(machine);
		uint64_t room = known_or(memory->available, known_or(memory->free, 0));
		const struct hc_node *on = node >= 0 ? hc_machine_node_by_id(machine, (unsigned)node) : NULL;
		if (on)
			room = hc_min(room, known_or(on->mem_free, room));
		room = hc_min(room, hc_machine_limits(machine)->memory_cgroup_left);
		return room / 4 * 3;
	}
	const struct hc_pool *pool = hc_machine_pool_by_size(machine, page_size);
	if (!pool)
		return 0;
	uint64_t pages = known_or(pool->available, 0);
	const struct hc_node_pool *on = node >= 0 ? hc_machine_node_pool(machine, (unsigned)node, page_size) : NULL;
	if (on)
		pages = hc_min(pages, known_or(on->free, pages));
	return hc_min(saturating_mul(pages, page_size), pool->cgroup_bytes_left);
}

/* ---- Too few pages ------------------------------------------------------- */

/* "1 page of 2 MiB", "512 pages of 2 MiB" */
struct pages_text {
	char s[64];
};

static struct pages_text pages_text(uint64_t pages, uint64_t page_size) {
	struct pages_text text;
	snprintf(text.s, sizeof(text.s), "%llu page%s of %s", (unsigned long long)pages, pages == 1 ? "" : "s",
	        hc_size_exact(page_size).s);
	return text;
}

static int fail_for_cgroup(const struct hc_pool *pool, uint64_t wanted) {
	return hc_fail(ENOMEM,
	        "%s in pages of %s wanted; the cgroup%s limit %s leaves %s: raise it, or run outside of that "
	        "cgroup (more pages in the pool don't help)",
	        hc_size_exact(wanted).s, hc_size_exact(pool->page_size).s,
	        pool->cgroup_limit_is_reservation ? " reservation" : "",
	        pool->cgroup_limit_file ? pool->cgroup_limit_file : "(unknown file)",
	        hc_size_exact(pool->cgroup_bytes_left).s);
}

/*
 * The reason for which the kernel gave fewer pages than wanted, from the counters
 * as they are now: it tells only that. pre: nothing of the region is mapped any more
 */
static int fail_for_pages(const struct region_request *request, uint64_t wanted, int err) {
	struct hc_machine *machine = NULL;
	int r = hc_machine_read(NULL, &machine);
	const struct hc_pool *pool = r < 0 ? NULL : hc_machine_pool_by_size(machine, request->page_size);
	struct hc_size_text arg = hc_size_arg(request->page_size);
	unsigned long long pages = wanted / request->page_size;
	struct pages_text text = pages_text(pages, request->page_size);
	if (!pool) {
		r = hc_fail_errno(err, "%s wanted", text.s);
		goto out;
	}
	if (pool->cgroup_bytes_left < wanted) {
		r = fail_for_cgroup(pool, wanted);
		goto out;
	}

	unsigned long long reserved = known_or(pool->reserved, 0), free = known_or(pool->free, 0);
	const struct hc_node_pool *on = request->node >= 0 ? hc_machine_node_pool(machine, (unsigned)request->node,
	                                                             request->page_size)
	                                                   : NULL;
	if (on && (known_or(on->free, 0) < pages || known_or(pool->available, 0) < pages)) {
		unsigned long long there = known_or(on->free, 0);
		r = hc_fail(ENOMEM,
		        "%s wanted on node %d, %llu free there (%llu reserved machine-wide; the kernel "
		        "doesn't say on which node): `hugeclear reserve %s@%d=+%llu`",
		        text.s, request->node, there, reserved, arg.s, request->node, pages + reserved - there);
	} else if (known_or(pool->available, 0) < pages) {
		unsigned long long available = known_or(pool->available, 0);
		r = hc_fail(ENOMEM,
		        "%s wanted, %llu available (%llu free, %llu of them reserved): `hugeclear "
		        "reserve %s=+%llu`",
		        text.s, available, free, reserved, arg.s, pages - available);
	} else {
		r = hc_fail_errno(err, "%s wanted, %llu available now", text.s, (unsigned long long)pool->available);
	}
out:
	hc_machine_free(machine);
	return r;
}

/* ---- Mapping ------------------------------------------------------------- */

struct region *region_unmap(struct region *region) {
	if (!region)
		return NULL;
	if (region->mapping)
		munmap(region->mapping, region->mapping_len);
	free(region);
	return NULL;
}

static int map_hugetlb(const struct region_request *request, struct region *region, int more_flags) {
	int shift = __builtin_ctzll(request->page_size);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (int)((unsigned)shift << MAP_HUGE_SHIFT) | more_flags;
	/* Reserved: whoever else takes pages afterwards, these stay ours. */
	void *p = mmap(NULL, region->bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (p == MAP_FAILED)
		return errno == ENOMEM ? fail_for_pages(request, region->bytes, ENOMEM)
		                       : hc_fail_errno(errno, "mapping %s in pages of %s",
		                                 hc_size_exact(region->bytes).s, hc_size_exact(request->page_size).s);
	region->p = region->mapping = p;
	region->mapping_len = region->bytes;
	return 0;
}

/* Between inaccessible margins: aligned, and a mapping that smaps shows on its own. */
static int map_anonymous(struct region *region, uint64_t align, uint64_t base_page) {
	uint64_t len;
	if (!hc_add_ok(region->bytes, align + 2 * base_page, &len))
		return hc_fail(ENOMEM, "%s wanted: more than an address space holds", hc_size_exact(region->bytes).s);
	void *mapping = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
		return hc_fail_errno(errno, "mapping %s", hc_size_exact(region->bytes).s);
	region->mapping = mapping;
	region->mapping_len = len;

	uint64_t skip = -((uintptr_t)mapping + base_page) & (align - 1);
	region->p = (char *)mapping + base_page + skip;
	if (mprotect(region->p, region->bytes, PROT_READ | PROT_WRITE) < 0)
		return hc_fail_errno(errno, "mapping %s", hc_size_exact(region->bytes).s);
	return 0;
}

static int bind_to_node(const struct region *region, int node) {
	enum { BITS = 8 * sizeof(unsigned long) };
	/* The kernel looks at maxnode - 1 bits. */
	size_t words = (size_t)node / BITS + 1;
	unsigned long *mask = calloc(words + 1, sizeof(*mask));
	if (!mask)
		return hc_fail(ENOMEM, "no memory for a mask of nodes");
	mask[(size_t)node / BITS] = 1ul << ((size_t)node % BITS);
	long r = syscall(SYS_mbind, region->p, region->bytes, MPOL_BIND, mask, words * BITS + 1, 0);
	int err = errno;
	free(mask);
	if (r == 0)
		return 0;
	return hc_fail_errno(err == EPERM || err == ENOSYS ? EOPNOTSUPP : err,
	        "the memory policy for node %d was not applied%s", node,
	        err == EPERM || err == ENOSYS ? " (mbind is forbidden here, as by a container's seccomp filter): run "
	                                        "without --node, or with CAP_SYS_NICE"
	                                      : "");
}

/* ---- Populating ---------------------------------------------------------- */

static int fail_populate(const struct region_request *request, struct region *region, uint64_t done, int err) {
	/* What failed must be unmapped before the counters are read: its pages are ours now. */
	munmap(region->mapping, region->mapping_len);
	region->mapping = NULL;
	if (request->backing == REGION_HUGETLB && (err == EFAULT || err == ENOMEM))
		return fail_for_pages(request, region->bytes, ENOMEM);
	return hc_fail_errno(err, "populating %s, after %s", hc_size_exact(region->bytes).s, hc_size_exact(done).s);
}

/* For kernels without MADV_POPULATE_WRITE. Never for hugetlb, where a touch could be the end. */
static void touch(char *p, uint64_t len, uint64_t page_size) {
	for (uint64_t i = 0; i < len; i += page_size)
		*(volatile char *)(p + i) = 0;
}

static int populate_old_kernel(const struct region_request *request, struct region *region) {
	if (request->node >= 0)
		return hc_fail(
		        EOPNOTSUPP, "this kernel lacks MADV_POPULATE_WRITE: huge pages can't be populated on a node");
	munmap(region->mapping, region->mapping_len);
	region->mapping = NULL;
	/* It doesn't fail where pages are short: verify_resident() finds that out. */
	return map_hugetlb(request, region, MAP_POPULATE);
}

static int populate(const struct region_request *request, struct region *region, uint64_t base_page) {
	uint64_t step = hc_max(POPULATE_STEP, region->page_size);
	for (uint64_t done = 0; done < region->bytes; done += step) {
		if (request->stop && request->stop(request->user))
			return hc_fail(ECANCELED, "stopped");
		uint64_t len = hc_min(step, region->bytes - done);
		int r;
		do
			r = madvise(region->p + done, len, MADV_POPULATE_WRITE);
		while (r < 0 && errno == EINTR);
		if (r < 0 && errno == EINVAL && request->backing == REGION_HUGETLB)
			return populate_old_kernel(request, region);
		if (r < 0 && errno == EINVAL)
			touch(region->p + done, len, base_page);
		else if (r < 0)
			return fail_populate(request, region, done, errno);
		if (request->progress)
			request->progress(request->user, done + len, region->bytes);
	}
	return 0;
}

/* ---- Checking ------------------------------------------------------------ */

static int verify_resident(const struct region_request *request, struct region *region, uint64_t base_page) {
	unsigned char *there = malloc(MINCORE_PAGES);
	if (!there)
		return hc_fail(ENOMEM, "no memory for the residency of pages");
	int r = 0;
	for (uint64_t done = 0, len; done < region->bytes && r == 0; done += len) {
		len = hc_min(region->bytes - done, MINCORE_PAGES * base_page);
		if (mincore(region->p + done, len, there) < 0) {
			r = hc_fail_errno(errno, "mincore");
			break;
		}
		for (uint64_t i = 0; i < len / base_page && r == 0; i++)
			if (!(there[i] & 1))
				r = request->backing == REGION_HUGETLB
				            ? fail_populate(request, region, done + i * base_page, ENOMEM)
				            : hc_fail(ENOMEM, "after populating %s the page at %s isn't there",
				                      hc_size_exact(region->bytes).s,
				                      hc_size_exact(done + i * base_page).s);
	}
	free(there);
	return r;
}

/* Asks for the nodes of pages evenly spread. */
static int verify_node(const struct region *region, int node) {
	void *pages[NODE_SAMPLES];
	int nodes[NODE_SAMPLES];
	uint64_t nr_pages = region->bytes / region->page_size, n = hc_min(nr_pages, NODE_SAMPLES);
	for (uint64_t i = 0; i < n; i++)
		pages[i] = region->p + nr_pages * i / n * region->page_size;
	if (syscall(SYS_move_pages, 0, n, pages, NULL, nodes, 0) < 0)
		return hc_fail_errno(errno == EPERM || errno == ENOSYS ? EOPNOTSUPP : errno,
		        "the node of the memory can't be checked: run without --node");
	for (uint64_t i = 0; i < n; i++)
		if (nodes[i] != node)
			return hc_fail(EIO, "memory bound to node %d has a page on node %d", node, nodes[i]);
	return 0;
}

/* Whether huge pages came, and the likely reason where not. */
static int verify_thp(const struct hc_machine *machine, struct region *region, uint64_t base_page) {
	struct smaps_range range;
	int r = smaps_read((uintptr_t)region->p, (uintptr_t)region->p + region->bytes, &range);
	if (r < 0)
		return r;
	region->huge_bytes = hc_min(range.anon_huge_pages, region->bytes);
	if (region->huge_bytes == region->bytes)
		return 0;

	const struct hc_thp *thp = hc_machine_thp(machine);
	if (thp->present == 0)
		region->why_not_huge = "this kernel has no THP";
	else if (thp->process_disabled == 1)
		region->why_not_huge = "THP is switched off for this process (PR_SET_THP_DISABLE)";
	else if (range.thp_eligible == 0)
		region->why_not_huge = "THP is switched off (/sys/kernel/mm/transparent_hugepage)";
	else
		region->why_not_huge = "memory is short or fragmented";
	if (region->huge_bytes == 0) {
		region->backing = REGION_BASE;
		region->page_size = base_page;
	}
	return 0;
}

static int check_node(const struct hc_machine *machine, int node) {
	const struct hc_node *found = hc_machine_node_by_id(machine, (unsigned)node);
	if (!found)
		return -ENODEV;
	if (found->has_memory)
		return 0;
	return hc_fail(ENODEV, "node %d has no memory; the nearest that has is node %d", node, found->nearest_memory);
}

int region_map(const struct hc_machine *machine, const struct region_request *request, struct region **ret_region) {
	uint64_t base_page = hc_machine_memory(machine)->base_page_size;
	uint64_t pmd_size = hc_machine_thp(machine)->pmd_size;
	uint64_t page_size = request->backing == REGION_HUGETLB                         ? request->page_size
	                     : request->backing == REGION_THP && pmd_size != HC_UNKNOWN ? pmd_size
	                                                                                : base_page;
	if (request->backing == REGION_HUGETLB && !hc_machine_pool_by_size(machine, page_size))
		return -ENODEV;
	int r = request->node >= 0 ? check_node(machine, request->node) : 0;
	if (r < 0)
		return r;

	struct region *region = calloc(1, sizeof(*region));
	if (!region)
		return hc_fail(ENOMEM, "no memory for the region");
	region->backing = request->backing;
	region->page_size = page_size;
	region->node = -1;
	if (!hc_align_up_ok(request->bytes, page_size, &region->bytes) || region->bytes > SIZE_MAX / 2) {
		r = hc_fail(ENOMEM, "%s in pages of %s wanted: more than an address space holds",
		        hc_size_exact(request->bytes).s, hc_size_exact(page_size).s);
		goto out;
	}

	r = request->backing == REGION_HUGETLB ? map_hugetlb(request, region, 0)
	                                       : map_anonymous(region, page_size, base_page);
	if (r == 0 && request->node >= 0)
		r = bind_to_node(region, request->node);
	/* A kernel without THP refuses both; what came is looked at afterwards. */
	if (r == 0 && request->backing != REGION_HUGETLB)
		madvise(region->p, region->bytes, request->backing == REGION_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (r == 0)
		r = populate(request, region, base_page);
	if (r == 0)
		r = verify_resident(request, region, base_page);
	if (r == 0 && request->backing == REGION_THP)
		r = verify_thp(machine, region, base_page);
	if (r == 0 && request->backing == REGION_HUGETLB)
		region->huge_bytes = region->bytes;
	if (r == 0 && request->node >= 0)
		r = verify_node(region, request->node);
	if (r == 0)
		region->node = request->node;
out:
	if (r < 0)
		region_unmap(region);
	else
		*ret_region = region;
	return r;
}
