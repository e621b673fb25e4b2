/*
 * Huge mappings that are all there or not at all.
 *
 * A populated map has every page when the call returns, of the size and on the
 * nodes that were asked for, or the call fails and leaves nothing behind: no
 * mapping, no descriptor, no page, no reservation. The library has the kernel
 * bring the pages in by calls that return an error where the kernel has none to
 * give, and touches no page before that; so it never dies of SIGBUS for lack
 * of pages, whatever other processes take meanwhile.
 *
 * Link with -lhugeclear; see hc_map(3).
 */
#ifndef HUGECLEAR_MAP_H
#define HUGECLEAR_MAP_H

#include <hugeclear/hugeclear.h>

#ifdef __cplusplus
extern "C" {
#ifdef __GNUC__
/* For structs and functions of one name, see <hugeclear/hugeclear.h>. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#endif

/* Who uses it one thread at a time, as every object; the memory itself belongs to the caller's threads. */
struct hc_map;

enum hc_backing {
	HC_BACKING_EXACT = 0, /* pages of opts.kind and opts.page_size, or an error */
	HC_BACKING_PREFER =
	        1,           /* the largest of at most page_size that can be had: hugetlb, then THP, then base pages */
	HC_BACKING_BASE = 2, /* base pages */
};

enum hc_page_kind {
	HC_PAGES_HUGETLB = 0, /* from the pools */
	HC_PAGES_THP = 1,     /* transparent huge pages */
	HC_PAGES_BASE = 2,
};

enum hc_placement {
	HC_PLACE_DEFAULT = 0,    /* the policy of the thread that populates, or touches */
	HC_PLACE_BIND = 1,       /* on these nodes alone */
	HC_PLACE_PREFERRED = 2,  /* on this node where it has room, else anywhere; one node */
	HC_PLACE_INTERLEAVE = 3, /* page by page over these nodes */
};

/* How pages are brought in: for measuring; the choice needs no help. */
enum hc_populate_by {
	HC_POPULATE_CHOSEN = 0,
	/* madvise(2) with MADV_POPULATE_WRITE, Linux 5.14: chosen where the kernel has it. */
	HC_POPULATE_BY_MADVISE = 1,
	/*
	 * A futex(2) operation that changes nothing (FUTEX_WAKE_OP, or with 0) on each page: the
	 * kernel writes, and says EFAULT where a store would be a SIGBUS. Chosen on older kernels.
	 */
	HC_POPULATE_BY_FUTEX = 2,
	/* fallocate(2) of the memfd, then mapped in by the choice. Not with a placement. */
	HC_POPULATE_BY_FALLOCATE = 3,
	/*
	 * mmap(2) with MAP_POPULATE, checked with mincore(2), as it doesn't report failure: in one
	 * go, by one thread, can't be stopped. Only by hc_map_open(), not for THP nor with a placement.
	 */
	HC_POPULATE_BY_MAP = 4,
};

/*
 * Told after each step of populating how long the kernel took for these bytes: by the thread that did
 * it (its number, from 0), and what is less than a step at the end by the calling thread. For measuring; must
 * be short.
 */
typedef void (*hc_map_step_fn)(void *user, unsigned thread, uint64_t len, uint64_t ns);

/* The map is a memfd, shared; sealed, so that nobody makes it shorter or longer (F_SEAL_SHRINK, _GROW, _SEAL). */
#define HC_MAP_MEMFD (1u << 0)
/* All pages are there on return. Without: the kernel brings each in when it is touched first. */
#define HC_MAP_POPULATE (1u << 1)
/* Children of fork() don't have it: MADV_DONTFORK. */
#define HC_MAP_DONTFORK (1u << 2)
/* It isn't part of core dumps: MADV_DONTDUMP. */
#define HC_MAP_DONTDUMP (1u << 3)
/*
 * Nothing is reserved: others may take the pages at any time before they are
 * populated, and touching a page of a pool that isn't there can be a SIGBUS. For address
 * space that is populated bit by bit, with hc_map_populate().
 */
#define HC_MAP_NORESERVE (1u << 4)

struct hc_map_opts {
	size_t size;
	enum hc_backing backing;
	enum hc_page_kind kind; /* for HC_BACKING_EXACT; 0 with the others */
	/*
	 * Bytes; 0: the default size of hugetlb pages, or that of a page middle directory
	 * (PMD) for THP, or with HC_BACKING_PREFER the largest that wastes no more than an
	 * eighth of len by rounding. For THP also a smaller size of multi-size THP.
	 */
	uint64_t page_size;
	unsigned flags; /* HC_MAP_... */
	enum hc_placement placement;
	const char *nodes; /* a node list as in "0-1,3", with a placement other than the default */
	void *hint;        /* an address to try, rounded as the kernel likes; where it is taken the map is elsewhere */

	/* Populating: */
	/*
	 * Within the caller's affinity; 0 and 1: the calling thread. Where there are nodes and no cpus, they run on
	 * the CPUs of those nodes, or of the nearest ones that have some; is the caller free to run on others too,
	 * one thread is a helper.
	 */
	unsigned threads;
	const char *cpus; /* a CPU list to run the threads on, or NULL; with one thread and a list a helper does it */
	/*
	 * Bytes of a step of populating; 0: 128 MiB. No other mmap or munmap of the process waits for longer
	 * than a step, unless the step is so short that the kernel's own limit counts: it lets populating pass
	 * one that waits for up to two of its ticks (8 ms at 250 a second), and then for a call. A
	 * step of more than 1 MiB is made by calls of a 32nd of it, at least 1 MiB and whole pages. A call can't
	 * be interrupted.
	 */
	size_t step;
	enum hc_populate_by populate_by;
	hc_stop_fn stop; /* asked between calls to the kernel, 32 a step */
	hc_progress_fn progress;
	hc_map_step_fn step_done;
	void *user; /* passed to these three */
};

/*
 * Maps len bytes, rounded up to whole pages (hc_map_length()), readable and
 * writable, zero. Private, or with HC_MAP_MEMFD shared.
 *
 * Pages of pools are reserved before anything else is done. That covers the pool; what no
 * reservation covers are the fault limit of a hugetlb cgroup and which node a
 * page comes from. So a map that isn't populated fails at once where these say
 * no now, and may still get a SIGBUS where they say no when a page is touched first:
 * with a cgroup limit or HC_PLACE_BIND, populate.
 *
 * THP are aligned by mapping more and giving the rest back. The kernel brings in base pages
 * where it finds no huge one: with HC_BACKING_EXACT and HC_MAP_POPULATE that is an
 * error, else see hc_map_part(). Multi-size THP can't be asked for by mapping, so an exact size
 * is refused where a larger one is enabled too; and only a process that can
 * read /proc/kpageflags (root) can tell whether it got them. Base pages and THP
 * that go beyond a memory cgroup's limit or the nodes of HC_PLACE_BIND end in the kernel's
 * out-of-memory killer, as everywhere.
 *
 * HC_BACKING_PREFER goes on with the next smaller page size where a size isn't
 * there or has too few pages, and hc_map_state()->shortfall says why. With
 * HC_MAP_MEMFD it takes a shared mapping without a descriptor where memfd_create(2)
 * isn't there. THP are private here: HC_MAP_MEMFD takes hugetlb and base pages only.
 *
 * Maps aren't offered to KSM, also where the process is (PR_SET_MEMORY_MERGE). Hugetlb pages never
 * are: the kernel answers madvise(2) with MADV_MERGEABLE with 0 for them, and does nothing.
 *
 * opts NULL is an exact map of the default hugetlb size, not populated.
 *
 * Returns 0 and a map for hc_map_close(); on an error nothing is left:
 *   -ENOMEM where pages, or what a limit leaves, are fewer than wanted: the pool, a
 *     hugetlb cgroup's limit on faults or reservations, a node, RLIMIT_AS,
 *     RLIMIT_DATA. The detail says which, names its file, and where more pages are the
 *     remedy the command that adds them;
 *   -EAGAIN where RLIMIT_MEMLOCK is too low after mlockall(MCL_FUTURE);
 *   -ENODEV where the machine has no pool of this page size (the detail lists them);
 *   -EOPNOTSUPP where the kernel has no hugetlb, memfd_create, THP or no such size of THP, or
 *     THP are off for the machine or the process;
 *   -EIO where pages aren't on their nodes or of their size although the kernel said so;
 *   -EINVAL for a len of 0 or that can't be rounded up, settings that make no
 *     sense together, a list that can't be read, a node that isn't online, has
 *     no memory or isn't in the process's cpuset, a CPU that isn't allowed;
 *   -EPERM, -ENOSYS where the kernel or a seccomp filter refuses memory policies,
 *     and one was asked for; -EPERM where multi-size THP can't be verified;
 *   -EHWPOISON where a page has a memory error;
 *   -EMFILE, -ENFILE without descriptors; -ECANCELED after stop; -E2BIG as for all options.
 *
 * Memory that breaks later (hardware poison) is a SIGBUS at its next touch, as everywhere.
 * Needs no privilege. After a fork() the child may use memory it has, and close nothing:
 * every call on the object but the accessors is -ECHILD there, and hc_map_close() does nothing.
 */
HC_API int hc_map_open(size_t len, const struct hc_map_opts *opts, struct hc_map **ret_map);

/*
 * Unmaps all of it, closes the memfd, and frees the object. Takes and returns
 * NULL. Other mappings and duplicates of the memfd keep its pages. In a forked child it does
 * nothing and returns NULL: the object is its parent's. While an arena is made of it, it does nothing and
 * returns map.
 */
HC_API struct hc_map *hc_map_close(struct hc_map *map);

/* The first byte, aligned to the page size; NULL for map NULL. */
HC_API void *hc_map_address(const struct hc_map *map);

/* The length in bytes as it was mapped: whole pages; 0 for map NULL. */
HC_API size_t hc_map_length(const struct hc_map *map);

/* The memfd, close-on-exec, that belongs to the map: duplicate it to keep it. -1 where there is none. */
HC_API int hc_map_fd(const struct hc_map *map);

struct hc_map_state {
	enum hc_page_kind kind; /* what it is made of */
	uint64_t page_size;     /* bytes: what the length is a multiple of; for THP what was asked for */
	/* Why HC_BACKING_PREFER didn't get the largest page size it tried, in words; NULL where it did. */
	const char *shortfall;
	/* Of the last time it was populated; 0 before: */
	enum hc_populate_by populated_by;
	unsigned threads;              /* that took part */
	const char *threads_shortfall; /* why there were fewer than asked for; NULL where there weren't */
	uint64_t longest_step_ns;      /* the longest time the kernel took for one step */
	/*
	 * Nanoseconds that the kernel took, without the looks at limits before and at the pages
	 * afterwards: for the address range (mmap, mbind, madvise, the memfd; with HC_POPULATE_BY_MAP that is all), and
	 * for populating the last time, with starting the threads.
	 */
	uint64_t map_ns, populate_ns;
};

/* Belongs to the map, valid until its next call; NULL for map NULL. */
HC_API const struct hc_map_state *hc_map_state(const struct hc_map *map);

/* Pages of one size on one node. */
struct hc_map_part {
	enum hc_page_kind kind;
	/* Bytes. HC_UNKNOWN: multi-size THP or base pages, which only root can tell apart. */
	uint64_t page_size;
	int node;       /* -1: the kernel doesn't tell this process */
	uint64_t bytes; /* resident */
};

/*
 * What was really got: the i-th part, from 0; NULL past the last. As it was when the map was
 * last populated or verified; none before. By page size, largest first, then by
 * node. Belongs to the map, valid until it is populated, verified or closed.
 */
HC_API const struct hc_map_part *hc_map_part(const struct hc_map *map, unsigned i);

/* How the work on a map is done; each field as in struct hc_map_opts. */
struct hc_map_work_opts {
	size_t size;
	unsigned threads;
	const char *cpus;
	size_t step;                     /* for hc_map_reset() bytes between two questions to stop, 0: 32 MiB */
	enum hc_populate_by populate_by; /* hc_map_populate() only */
	hc_stop_fn stop;
	hc_progress_fn progress;
	hc_map_step_fn step_done; /* hc_map_populate() only */
	void *user;
};

/*
 * Populates all that isn't there yet, and verifies the whole as hc_map_verify().
 * What is there keeps its content. opts and done may be NULL.
 *
 * Returns 0; -ECHILD; the errors of hc_map_open() from populating on. The map stays as it is
 * then, with the pages that came; *done are the bytes of the calls to the kernel that were finished.
 */
HC_API int hc_map_populate(struct hc_map *map, const struct hc_map_work_opts *opts, uint64_t *done);

/*
 * Looks where and what every page is, for hc_map_part(), and compares it with what
 * was asked for.
 *
 * Returns 0; -ENODATA where pages aren't there; -EIO where pages aren't of the
 * exact size, or not on their nodes; -EPERM or -ENOSYS where a placement was asked for and the
 * kernel doesn't tell where pages are; -ECHILD; -ENOMEM. The detail has the numbers.
 */
HC_API int hc_map_verify(struct hc_map *map);

/*
 * Makes all of it zero again, at streaming speed (hc_clear(3), for later use), and gives no page
 * back: as if it was new. Of private maps, pages that aren't there aren't brought in;
 * hugetlb memfds are populated by it, as others may have written where this process
 * has never been. opts (populate_by 0) and done may be NULL; *done are the bytes that are
 * zero, with one thread the first ones.
 *
 * Returns 0; -ECANCELED after stop; -ECHILD; -EBUSY while an arena is made of the map; for hugetlb memfds errors as hc_map_populate().
 */
HC_API int hc_map_reset(struct hc_map *map, const struct hc_map_work_opts *opts, uint64_t *done);

/*
 * Gives the whole pages within [offset, offset + len) back to the kernel and
 * checks that they are gone: they are zero when they come again. Nothing is
 * done for pages that the range has only a part of; *done (may be NULL) are
 * the bytes that were given back, maybe 0. With a memfd they are gone for all who map it.
 *
 * Pages of a pool aren't reserved any more after that, and others may take them:
 * hc_map_populate() before they are touched again.
 *
 * Returns 0; -EINVAL for a range that isn't within the map; -EBUSY where
 * pages stayed (locked ones, mlock(2)), and while an arena is made of the map; -ECHILD; -ENOMEM.
 */
HC_API int hc_map_discard(struct hc_map *map, size_t offset, size_t len, uint64_t *done);

#ifdef __cplusplus
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
}
#endif

#endif
