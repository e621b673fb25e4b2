/*
 * What this machine has and what it allows: processor, caches, nodes, huge pages
 * and their pools, THP, limits, and what its kernel can do.
 *
 * hc_machine_read() takes all of it at one time; the accessors then only look at
 * the snapshot. Counters move under other processes: a snapshot is a statement
 * about the past.
 *
 * Everything under /proc and /sys is read below opts.root, so that the tree of
 * another machine can be looked at. What isn't in files (processor features, the
 * affinity, resource limits, probes of the kernel) is then unknown, and is left
 * out, never mixed in from the machine that is running.
 *
 * Link with -lhugeclear; see hc_machine(3).
 */
#ifndef HUGECLEAR_SYS_H
#define HUGECLEAR_SYS_H

#include <hugeclear/hugeclear.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hc_machine;

struct hc_machine_opts {
	size_t size;
	const char *root; /* NULL or "": this machine. Else a folder with proc/ and sys/ in it. */
	/*
	 * 1: don't try what the kernel can do; its features are unknown then. For
	 * processes under a seccomp filter that kills: trying makes system calls
	 * (memfd_create, io_uring_setup, madvise, an ioctl) that it may not know.
	 */
	int no_probes;
};

/*
 * Reads the machine. A file that isn't there or makes no sense never fails the
 * call: what it would have told is unknown, and where it is odd there is a
 * warning (hc_machine_warning()).
 *
 * Returns 0 and an object for hc_machine_free(); -ENOMEM; -ENOENT, -ENOTDIR or
 * -EACCES where opts.root isn't a folder that can be read; -EINVAL where
 * opts.size makes no sense or no_probes is neither 0 nor 1; -E2BIG for an option that
 * this library doesn't know.
 */
HC_API int hc_machine_read(const struct hc_machine_opts *opts, struct hc_machine **ret_machine);

/* Frees the snapshot and all that was got from it. Takes and returns NULL. */
HC_API struct hc_machine *hc_machine_free(struct hc_machine *machine);

/* The i-th thing that was odd ("/sys/...: not a number: ''"), from 0; NULL past the last. */
HC_API const char *hc_machine_warning(const struct hc_machine *machine, unsigned i);

/* ---- Sets of CPU or node numbers ---------------------------------------- */

/* A set of small numbers, as in the kernel's lists. Owned by the snapshot. */
struct hc_idset;

HC_API unsigned hc_idset_count(const struct hc_idset *set);
HC_API int hc_idset_has(const struct hc_idset *set, unsigned id); /* 1 or 0 */
/* The smallest member >= from, or -1. for (int i = -1; (i = hc_idset_next(set, i + 1)) >= 0;) */
HC_API int hc_idset_next(const struct hc_idset *set, int from);
/* The kernel's notation, "0-3,8"; "" for the empty set. Owned by the set. */
HC_API const char *hc_idset_text(const struct hc_idset *set);

/* ---- Processor and caches ------------------------------------------------ */

struct hc_processor {
	const char *architecture; /* "x86_64", "aarch64" ... */
	const char *vendor;       /* "AuthenticAMD" ...; "" where unknown */
	const char *model_name;   /* as /proc/cpuinfo has it; "" where unknown */
	/* x86: as CPUID has them. arm64: implementer, part, and variant and revision of MIDR_EL1. 0 elsewhere. */
	unsigned family, model, stepping;
	/*
	 * Names, separated by spaces, of the features that clearing methods use and
	 * that both processor and operating system support ("erms avx2 avx512f"),
	 * and of those that the processor has but that are masked, with the reason
	 * in brackets ("avx2(HUGECLEAR_PROCESSOR_MASK)"). "" for another root.
	 */
	const char *features;
	const char *features_masked;
	int virtualised;        /* 1 or 0, -1 unknown */
	const char *hypervisor; /* "KVM" ...; "" where unknown or none */
	/* Bytes, one instance; 0 where unknown. */
	uint64_t l1d, l2, l3;
	/* Up to this length memory that is cleared for HC_INTENT_SOON stays cached; never 0. */
	uint64_t cached_up_to;
};

/* Never NULL. */
HC_API const struct hc_processor *hc_machine_processor(const struct hc_machine *machine);

/* ---- CPUs and nodes ------------------------------------------------------ */

struct hc_cpus {
	const struct hc_idset *online;
	const struct hc_idset *allowed;  /* the caller's affinity; NULL for another root */
	uint64_t quota_us, period_us;    /* the tightest cgroup's CPU quota; HC_UNKNOWN: none */
	unsigned default_threads;        /* at least 1 */
	const char *default_threads_why; /* "affinity (2 CPUs)", "cgroup quota 1.5 CPUs (/sys/fs/...)" */
};

HC_API const struct hc_cpus *hc_machine_cpus(const struct hc_machine *machine);

struct hc_node {
	unsigned id;
	const struct hc_idset *cpus;  /* may be empty */
	uint64_t mem_total, mem_free; /* bytes; HC_UNKNOWN */
	int has_memory;               /* 1 or 0 */
	/* The nearest node with memory, and with CPUs: itself where it has them. -1 where none. */
	int nearest_memory, nearest_cpus;
};

/*
 * The i-th online node by number, from 0; NULL past the last. A kernel without
 * NUMA shows one node 0.
 */
HC_API const struct hc_node *hc_machine_node(const struct hc_machine *machine, unsigned i);

/* The online node with this number; NULL, with a detail that lists the online ones, where it isn't. */
HC_API const struct hc_node *hc_machine_node_by_id(const struct hc_machine *machine, unsigned id);

/*
 * The distance that the firmware gives from one node to another (10: itself).
 * Returns it; -ENOENT where one of them isn't online; -ENODATA where unknown.
 */
HC_API int hc_machine_node_distance(const struct hc_machine *machine, unsigned from, unsigned to);

/* ---- Memory and page sizes ----------------------------------------------- */

struct hc_memory {
	/* Bytes; HC_UNKNOWN where meminfo doesn't say. */
	uint64_t total, free, available, swap_total, swap_free, anon_huge_pages, hugetlb;
	uint64_t base_page_size;         /* never unknown: for another root its file page_size, or 4096 */
	uint64_t default_huge_page_size; /* HC_UNKNOWN: the kernel has no hugetlb, or doesn't say */
	/*
	 * Where only /proc/meminfo is there: bytes in pools of other than the default
	 * size. HC_UNKNOWN where it can't be told; 0 where pools are listed in full.
	 */
	uint64_t hugetlb_elsewhere;
	/* 1; 0: the kernel has no hugetlb support; -1 unknown (its folder is hidden or can't be read) */
	int has_hugetlb;
};

HC_API const struct hc_memory *hc_machine_memory(const struct hc_machine *machine);

/* One pool of huge pages. Counts are pages; each may be HC_UNKNOWN. */
struct hc_pool {
	uint64_t page_size; /* bytes */
	uint64_t total, free, reserved, surplus, overcommit;
	/* total - surplus: what nr_hugepages was set to. free - reserved: what a new map can have. */
	uint64_t persistent, available;
	uint64_t cgroup_bytes_left;      /* the tightest of this process's hugetlb cgroups; HC_UNKNOWN: no limit */
	const char *cgroup_limit_file;   /* that limit's file; NULL where no limit */
	int cgroup_limit_is_reservation; /* 1: mmap fails; 0: the fault would (SIGBUS) */
	int is_default;
	/*
	 * 1: /sys lists the pool. 0: it doesn't (a container), the size is the default that
	 * /proc/meminfo names, and counts are those it shows, which may be the host's.
	 */
	int listed;
};

/* The i-th pool by page size, smallest first, from 0; NULL past the last. */
HC_API const struct hc_pool *hc_machine_pool(const struct hc_machine *machine, unsigned i);

/* The pool of this page size; NULL, with a detail that lists the sizes there are. */
HC_API const struct hc_pool *hc_machine_pool_by_size(const struct hc_machine *machine, uint64_t page_size);

struct hc_node_pool {
	uint64_t page_size, total, free, surplus, persistent; /* the kernel doesn't count reserved ones by node */
};

/* The pool of that size on node id; NULL where the kernel shows none. */
HC_API const struct hc_node_pool *hc_machine_node_pool(
        const struct hc_machine *machine, unsigned id, uint64_t page_size);

struct hc_thp {
	int present;                                  /* 1; 0: kernel without THP; -1 unknown */
	const char *enabled, *defrag, *shmem_enabled; /* the chosen word: "madvise"; "" unknown */
	uint64_t pmd_size;                            /* bytes; HC_UNKNOWN */
	int use_zero_page;                            /* 1, 0, -1 unknown */
	/* PR_SET_THP_DISABLE of this process or one it comes from: 1; 2: but for advised memory; 0; -1 unknown */
	int process_disabled;
};

HC_API const struct hc_thp *hc_machine_thp(const struct hc_machine *machine);

struct hc_mthp {
	uint64_t page_size;
	const char *enabled; /* "inherit", "madvise" ... */
};

/* The i-th size of multi-size THP, smallest first; NULL past the last. */
HC_API const struct hc_mthp *hc_machine_mthp(const struct hc_machine *machine, unsigned i);

/* A mounted hugetlbfs. */
struct hc_hugetlbfs {
	const char *path;
	uint64_t page_size;  /* HC_UNKNOWN where it is the default and that is unknown */
	uint64_t size_limit; /* bytes; HC_UNKNOWN: none; 0 is a mount that can hold nothing */
	uint64_t min_size;   /* bytes; 0 where none */
};

HC_API const struct hc_hugetlbfs *hc_machine_hugetlbfs(const struct hc_machine *machine, unsigned i);

/* ---- Limits and the kernel ----------------------------------------------- */

struct hc_limits {
	/* Bytes, of this process; HC_UNKNOWN where not limited or not known. */
	uint64_t locked_memory_soft, locked_memory_hard, address_space;
	int locked_memory_applies;      /* 1; 0: CAP_IPC_LOCK lifts it; -1 unknown */
	uint64_t memory_cgroup_left;    /* bytes below the tightest memory cgroup's limit; HC_UNKNOWN */
	const char *memory_cgroup_file; /* NULL where no limit */
};

HC_API const struct hc_limits *hc_machine_limits(const struct hc_machine *machine);

/* Something the kernel can or cannot do for this process, found out by trying it, which leaves nothing behind. */
struct hc_kernel_feature {
	const char *name;   /* "MADV_POPULATE_WRITE", "memfd_create hugetlb 2 MiB", "io_uring" ... */
	int available;      /* 1, 0, -1 unknown: not tried, or descriptors or memory ran out */
	const char *reason; /* why not, in words; NULL where available */
};

HC_API const struct hc_kernel_feature *hc_machine_kernel_feature(const struct hc_machine *machine, unsigned i);

struct hc_kernel {
	const char *release; /* "6.1.0-25-amd64"; "" unknown */
	/*
	 * "none", "voluntary", "full", "lazy", "rt"; "preemptible": full or lazy; "dynamic":
	 * chosen at run time, and which isn't readable (it is for root with debugfs mounted);
	 * "" where nothing tells.
	 */
	const char *preemption;
	const char *boot_id; /* "" unknown */
};

HC_API const struct hc_kernel *hc_machine_kernel(const struct hc_machine *machine);

/* ---- Setting the pools --------------------------------------------------- */

struct hc_pool_request {
	size_t size;
	uint64_t page_size; /* bytes */
	int node;           /* a node's number, or -1: the machine's count, spread as the kernel does */
	int relative;       /* 0: pages is the new persistent count; 1: it is added to it (may be negative) */
	int64_t pages;
};

struct hc_pool_opts {
	size_t size;
	const char *root;   /* as in hc_machine_opts */
	int dry_run;        /* 1: check and fill in the result; write nothing, take no lock, need no privilege */
	int compact;        /* 1: compact memory and try again where fewer came */
	int force;          /* 1: leave less than 5 % of memory to others */
	int all_or_nothing; /* 1: put the old count back where fewer came */
	/*
	 * 1: where lowering would take pages that are in use or reserved, takes those that are
	 * not and then returns -EBUSY; and a difference that leads below 0 means 0. For
	 * putting back what was added.
	 */
	int as_far_as_possible;
	unsigned retries; /* more tries where fewer came; each waits 50 ms. At most 100. */
	/*
	 * Bytes that other calls are going to take before this one (negative: give back), for the
	 * check of several calls in advance with dry_run.
	 */
	int64_t pending;
	/* Asked between two tries and while another caller holds the lock: -ECANCELED, what came is kept. */
	hc_stop_fn stop;
	/*
	 * Told, before the call returns, for each node whose persistent count changed, by
	 * how many pages. The machine's count is spread over nodes as the kernel likes: who wants
	 * to undo it exactly does so by node. Not called where nodes can't be read.
	 */
	void (*node_changed)(void *user, unsigned node, int64_t pages);
	void *user; /* passed to stop and node_changed */
};

struct hc_pool_result {
	size_t size; /* set by the caller to sizeof(struct hc_pool_result) */
	/*
	 * Persistent pages there were, were wanted, and are now (read back). Written always,
	 * also after an error; HC_UNKNOWN where it didn't come that far.
	 */
	uint64_t before, wanted, now;
	char path[256]; /* the file that was or would have been written; "" where there is none */
};

/*
 * Sets one pool's count of persistent pages (those that stay; surplus ones that the
 * kernel adds and takes away by itself don't count) and reads it back.
 *
 * Takes a lock, so that two callers don't mix up their reading and writing: flock(2)
 * on run/hugeclear.lock below root, or where that can't be made (a container whose
 * /run is read-only) on the folder sys/kernel/mm/hugepages itself. It waits for it
 * 30 s at most. A program that writes the files without the lock isn't kept out.
 *
 * Never lowers a count so far that pages in use or reserved would go; by node the
 * kernel doesn't count reserved pages, so all of them are taken to be on that node.
 * (Should a program take pages in the instant between the check and the write, it
 * keeps them: the kernel then counts them as surplus.) Never raises it so far that less
 * than 5 % of the machine's memory stays available, unless forced.
 *
 * opts may be NULL, result too. Returns 0 where the count is as wanted, also where
 * it was before;
 *   -ENOMEM where fewer came (or, when lowering, more stayed): what came is
 *     kept, or with all_or_nothing put back, and the detail says which;
 *   -EBUSY where lowering would take pages in use or reserved;
 *   -ENOSPC where less than 5 % of memory would stay available; see force;
 *   -ENODATA where that can't be told (no /proc/meminfo; see force), or when lowering
 *     how many pages are in use and reserved;
 *   -ENODEV where the machine has no pool of this page size, or no such node (the
 *     detail lists what there is); -EOPNOTSUPP where the kernel has no huge
 *     pages at all, or can set this pool at boot only;
 *   -EINVAL for a count below 0, or a setting that makes no sense; -ERANGE where the pages
 *     exceed the machine's memory; -E2BIG as for all options;
 *   -EACCES, -EPERM, -EROFS, -ENOENT where the file, whose path the detail has, can't be
 *     written or isn't there; -EBADMSG where it holds no number;
 *   -EAGAIN where another caller held the lock all the time; -ECANCELED after stop.
 * The count is as before after all errors but -ENOMEM, -ECANCELED, and -EBUSY with
 * as_far_as_possible; result->now says what it is.
 *
 * Needs to be root, or to have CAP_DAC_OVERRIDE, and a writable /sys; dry_run needs
 * neither. Method and meaning of the files: Documentation/admin-guide/mm/hugetlbpage.rst
 * of the kernel.
 */
HC_API int hc_pool_set(
        const struct hc_pool_request *request, const struct hc_pool_opts *opts, struct hc_pool_result *result);

#ifdef __cplusplus
}
#endif

#endif
