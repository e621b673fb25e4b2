/* The address range of a map: of which pages, whose, where, and what its children and core dumps see of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/size.h"
#include "map/mapping.h"
#include "map/shortage.h"
#include "map/thp_rules.h"
#include "sys/page_sizes.h"
#include "sys/policy.h"

/* Newer than the headers of Debian 12: memfd_create(2). */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

#define PROT (PROT_READ | PROT_WRITE)

static int fail_mapping(const struct hc_root *root, const struct hc_map *map, int err) {
	struct hc_want want = {
	        .page_size = map->state.page_size,
	        .bytes = map->length,
	        .nodes = map->placement == HC_PLACE_BIND ? map->nodes : NULL,
	};
	bool hugetlb = map->state.kind == HC_PAGES_HUGETLB;
	switch (err) {
	case ENOMEM:
		return hugetlb ? hc_shortage_of_mapping(root, &want, !map->shared)
		               : hc_shortage_of_address_space(map->length, !map->shared);
	case EAGAIN:
		return hc_shortage_of_locked_memory(map->length);
	case EINVAL:
	case ENODEV:
	case ENOENT:
	case ENOSYS:
		if (hugetlb)
			return hc_shortage_of_size(root, map->state.page_size, "mmap", err);
		/* fall through */
	default:
		return hc_fail_call(err, "mmap of %s", hc_size_exact(map->length).s);
	}
}

/* ---- memfd ------------------------------------------------------------------ */

/* The size's logarithm stands where mmap(2) has it. */
static unsigned size_bits(uint64_t page_size) {
	return (unsigned)__builtin_ctzll(page_size) << MAP_HUGE_SHIFT;
}

/*
 * ENOENT (POWER), ENOSYS and EPERM (seccomp), EINVAL (old kernels) and ENODEV (no such
 * size) have all been seen for "not available".
 */
static int fail_memfd(const struct hc_root *root, const struct hc_map *map, int err) {
	switch (err) {
	case EINVAL:
	case ENODEV:
	case ENOENT:
		if (map->state.kind == HC_PAGES_HUGETLB)
			return hc_shortage_of_size(root, map->state.page_size, "memfd_create", err);
		/* fall through */
	case ENOSYS:
	case EPERM:
	case EACCES:
		return hc_fail(EOPNOTSUPP, "memfd_create isn't available: %s%s", strerror(err),
		        *hc_hint_forbidden(err).s ? hc_hint_forbidden(err).s : " (an old kernel or a seccomp filter)");
	default:
		return hc_fail_errno(err, "memfd_create");
	}
}

static int make_memfd(const struct hc_root *root, struct hc_map *map) {
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	if (map->state.kind == HC_PAGES_HUGETLB)
		flags |= MFD_HUGETLB | size_bits(map->state.page_size);
	map->fd = memfd_create("hugeclear", flags);
	if (map->fd < 0 && errno == EACCES) /* /proc/sys/vm/memfd_noexec is 2 */
		map->fd = memfd_create("hugeclear", flags | MFD_NOEXEC_SEAL);
	if (map->fd < 0)
		return fail_memfd(root, map, errno);
	if (ftruncate(map->fd, (off_t)map->length) < 0) {
		int err = errno;
		if (err == ENOMEM || err == EFBIG || err == EINVAL)
			return hc_fail(ENOMEM, "%s wanted, a memfd of that length can't be made: %s%s",
			        hc_size_exact(map->length).s, strerror(err), hc_hint_limit(err).s);
		return hc_fail_call(err, "ftruncate of a memfd to %s", hc_size_exact(map->length).s);
	}
	if (fcntl(map->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return hc_fail(EOPNOTSUPP, "this kernel can't seal a memfd of such pages: %s", strerror(errno));
	return 0;
}

/* ---- Mapping ------------------------------------------------------------------ */

static int map_range(const struct hc_root *root, struct hc_map *map, void *hint, int flags) {
	if (map->flags & HC_MAP_NORESERVE)
		flags |= MAP_NORESERVE;
	if (map->fd < 0)
		flags |= MAP_ANONYMOUS;
	if (map->fd < 0 && map->state.kind == HC_PAGES_HUGETLB)
		flags |= MAP_HUGETLB | (int)size_bits(map->state.page_size);
	void *p = mmap(hint, map->length, PROT, flags | (map->shared ? MAP_SHARED : MAP_PRIVATE), map->fd, 0);
	if (p == MAP_FAILED)
		return fail_mapping(root, map, errno);
	map->address = p;
	return 0;
}

/* More than is wanted, of which the aligned part is kept: THP can only be where the alignment lets them. */
static int map_aligned(const struct hc_root *root, struct hc_map *map, void *hint) {
	uint64_t align = map->state.page_size, padded, start;
	if (hint) { /* where the kernel follows it nothing has to be given back */
		uint64_t aligned;
		if (!hc_align_up_ok((uintptr_t)hint, align, &aligned))
			aligned = 0;
		int r = map_range(root, map, (void *)(uintptr_t)aligned, 0);
		if (r < 0 || (uintptr_t)map->address % align == 0)
			return r;
		munmap(map->address, map->length);
		map->address = NULL;
	}
	if (!hc_add_ok(map->length, align - map->base_page, &padded))
		return hc_fail(EINVAL, "%s can't be aligned to %s in any address space", hc_size_exact(map->length).s,
		        hc_size_exact(align).s);
	size_t length = map->length;
	map->length = (size_t)padded;
	int r = map_range(root, map, NULL, 0);
	if (r < 0) {
		map->length = length;
		return r;
	}
	char *mapped = map->address, *mapped_end = mapped + padded;
	if (!hc_align_up_ok((uintptr_t)mapped, align, &start))
		return hc_fail(EINVAL, "%s can't be aligned to %s", hc_size_exact(length).s, hc_size_exact(align).s);
	char *end = mapped + (start - (uintptr_t)mapped) + length;
	/* What can't be given back (too many mappings) stays with the map, so that closing it does. */
	if (end < mapped_end && munmap(end, (size_t)(mapped_end - end)) < 0)
		return hc_fail_errno(errno, "munmap of what was mapped for the alignment");
	map->length = (size_t)(end - mapped);
	if ((uintptr_t)mapped < start && munmap(mapped, (size_t)(start - (uintptr_t)mapped)) < 0)
		return hc_fail_errno(errno, "munmap of what was mapped for the alignment");
	map->address = end - length;
	map->length = length;
	return 0;
}

static int check_thp(const struct hc_root *root, uint64_t *page_size) {
	struct hc_thp_settings settings;
	int r = hc_thp_read(root, NULL, &settings);
	if (r < 0)
		return r;
	r = hc_thp_check(&settings, page_size);
	hc_thp_free(&settings);
	return r;
}

static int make_thp(const struct hc_root *root, struct hc_map *map, void *hint) {
	int r = map_aligned(root, map, hint);
	if (r < 0)
		return r;
	if (madvise(map->address, map->length, MADV_HUGEPAGE) < 0)
		return hc_fail(EOPNOTSUPP, "THP aren't available: madvise(MADV_HUGEPAGE): %s%s", strerror(errno),
		        hc_hint_forbidden(errno).s);
	return 0;
}

/* ---- What applies to all of it -------------------------------------------------- */

static int advise(const struct hc_map *map, int advice, const char *name) {
	return madvise(map->address, map->length, advice) < 0 ? hc_fail_call(errno, "madvise(%s)", name) : 0;
}

static int apply(const struct hc_map *map) {
	static const int modes[] = {[HC_PLACE_BIND] = MPOL_BIND,
	        [HC_PLACE_PREFERRED] = MPOL_PREFERRED,
	        [HC_PLACE_INTERLEAVE] = MPOL_INTERLEAVE};
	int r = 0;
	if (map->placement != HC_PLACE_DEFAULT)
		r = hc_policy_bind(map->address, map->length, modes[map->placement], map->nodes, 0);
	if (r == 0 && map->flags & HC_MAP_DONTFORK)
		r = advise(map, MADV_DONTFORK, "MADV_DONTFORK");
	if (r == 0 && map->flags & HC_MAP_DONTDUMP)
		r = advise(map, MADV_DONTDUMP, "MADV_DONTDUMP");
	return r;
}

/* Only what THP are asked for exactly has to be a multiple of their size: a tail of base pages does no harm else. */
static int round_length(struct hc_map *map, size_t len) {
	uint64_t rounded, unit = map->state.page_size;
	if (map->state.kind == HC_PAGES_THP && map->backing != HC_BACKING_EXACT)
		unit = map->base_page;
	if (!hc_align_up_ok(len, unit, &rounded) || rounded > SIZE_MAX)
		return hc_fail(EINVAL, "%s in pages of %s is more than there are addresses", hc_size_exact(len).s,
		        hc_size_exact(unit).s);
	map->length = (size_t)rounded;
	return 0;
}

static int make_range(const struct hc_root *root, struct hc_map *map, const struct hc_candidate *candidate, void *hint,
        bool with_populate) {
	int r = candidate->memfd ? make_memfd(root, map) : 0;
	if (r == 0)
		r = map->state.kind == HC_PAGES_THP ? make_thp(root, map, hint)
		                                    : map_range(root, map, hint, with_populate ? MAP_POPULATE : 0);
	/* Base pages are what was asked for, also where the machine makes all memory huge; kernels without THP don't know it. */
	if (r == 0 && map->state.kind == HC_PAGES_BASE && !with_populate)
		(void)madvise(map->address, map->length, MADV_NOHUGEPAGE);
	/*
	 * Where all of the process is offered to KSM (PR_SET_MEMORY_MERGE, Linux 6.4), pages that are equal, as zeroed ones are,
	 * would become one: neither populated nor huge any more. Kernels without KSM don't know it.
	 */
	if (r == 0 && !map->shared && map->state.kind != HC_PAGES_HUGETLB)
		(void)madvise(map->address, map->length, MADV_UNMERGEABLE);
	return r;
}

int hc_backing_make(const struct hc_root *root, struct hc_map *map, const struct hc_candidate *candidate, size_t len,
        void *hint, bool with_populate) {
	map->state.kind = candidate->kind;
	map->state.page_size = candidate->page_size;
	map->shared = candidate->shared || candidate->memfd;
	int r = map->state.kind == HC_PAGES_THP ? check_thp(root, &map->state.page_size) : 0;
	if (r == 0)
		r = round_length(map, len);
	if (r < 0)
		return r;
	uint64_t start = hc_clock_ns();
	r = make_range(root, map, candidate, hint, with_populate);
	if (r == 0)
		r = apply(map);
	map->state.map_ns = hc_clock_ns() - start;
	return r;
}

int hc_backing_check_demand(const struct hc_root *root, const struct hc_map *map) {
	if (map->state.kind != HC_PAGES_HUGETLB || map->flags & HC_MAP_NORESERVE)
		return 0;
	struct hc_want want = {
	        .page_size = map->state.page_size,
	        .bytes = map->length,
	        .nodes = map->placement == HC_PLACE_BIND ? map->nodes : NULL,
	        .is_reserved = true,
	};
	return hc_shortage_foreseen(root, &want);
}
