/*
 * Clearing memory to zero at the speed of the machine.
 *
 * Which instructions are fastest depends on the processor, on how much is
 * cleared at once, and most of all on what comes next: memory that is touched at
 * once wants to be in the cache, memory that is prepared for later wants to go
 * past it. So the caller's intent can be given, and everything else is chosen.
 *
 * Link with -lhugeclear; see hc_clear(3).
 */
#ifndef HUGECLEAR_CLEAR_H
#define HUGECLEAR_CLEAR_H

#include <hugeclear/hugeclear.h>

#ifdef __cplusplus
extern "C" {
#ifdef __GNUC__
/* For structs and functions of one name, see <hugeclear/hugeclear.h>. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#endif

enum hc_intent {
	/* The caller reads or writes the memory next: cached as long as it stays in the cache. */
	HC_INTENT_SOON = 0,
	/* Nobody touches it for a while (scrub, prepare, give back): past the cache where that pays. */
	HC_INTENT_LATER = 1,
};

/*
 * Zeroes the len bytes at p: any alignment, any length, and nothing outside.
 * Intent is HC_INTENT_SOON, one thread.
 *
 * Streaming stores are fenced before it returns: a thread that publishes the
 * memory afterwards with a release store publishes zeros.
 *
 * Under AddressSanitizer, ThreadSanitizer and MemorySanitizer the range is
 * announced as written, as they don't see streaming stores and string
 * instructions; memory that is in use or freed is reported as for a memset.
 *
 * Returns 0, also for len 0 whatever p is; -EINVAL where p is NULL and len
 * isn't 0; -EOVERFLOW where p + len wraps. Nothing was written on an error.
 * The memory has to be mapped and writable, as for memset().
 *
 * Thread-safe on ranges that don't overlap; async-signal-safe where it succeeds,
 * after the first call in the process (the detail of an error isn't written
 * async-signal-safely); usable after fork().
 */
HC_API int hc_clear(void *p, size_t len);

struct hc_clear_opts {
	size_t size;
	/*
	 * A name from hc_clear_method(), or NULL: the profile's or the built-in choice.
	 * That goes by len for HC_INTENT_SOON, as all of it is touched afterwards, and
	 * by what the method is given at once for HC_INTENT_LATER.
	 */
	const char *method;
	enum hc_intent intent;
	/* Threads to use, within the affinity of the caller; 0 and 1: only the calling thread. */
	unsigned threads;
	/*
	 * Bytes that the method is given at once; 0: as much as there is (a chunk).
	 * Smaller extents only cost time: for measuring what that cost is.
	 */
	size_t extent;
	/*
	 * Bytes between two questions to stop, over all threads together, rounded up
	 * to whole extents. 0: 2 MiB a thread that runs, where stop or progress is given. With
	 * threads they work on while the caller waits for a CPU to ask on.
	 */
	size_t chunk;
	hc_stop_fn stop;
	hc_progress_fn progress;
	void *user; /* passed to stop and progress */
	/*
	 * Where to run the threads: a CPU list as in "0-3,8", or NULL: the caller's
	 * affinity. With one thread and a list the work is done in a helper thread.
	 */
	const char *cpus;
};

/*
 * What a clear did. Written always, also after an error, where done counts what
 * is zero; only what fits size is written (what this library doesn't know of it: zero), and
 * nothing where that makes no sense (-EINVAL).
 */
struct hc_clear_report {
	size_t size; /* set by the caller to sizeof(struct hc_clear_report) */
	/*
	 * Bytes cleared. After -ECANCELED with one thread they are the first ones of
	 * the range; with more they are spread over it.
	 */
	uint64_t done;
	unsigned threads;   /* that took part; fewer than asked for is no error */
	const char *method; /* its name; static, don't free; "" where it didn't come to that */
	/* The longest time in nanoseconds between two questions to stop, 0 without chunks. */
	uint64_t longest_step_ns;
};

/*
 * As hc_clear(), with options. report may be NULL.
 *
 * Returns 0; -ECANCELED after stop said so: everything counted in report->done
 * is zero, the rest untouched, and it took at most one more chunk to return;
 * -EINVAL and -EOVERFLOW as hc_clear(); -EINVAL for an unknown method (the detail
 * lists the names), a CPU list that can't be read or has a CPU that isn't allowed,
 * or an unknown intent; -EOPNOTSUPP where this processor or its operating system
 * lacks what the method needs; -E2BIG for an option that this library doesn't
 * know; -ENOMEM for no memory to keep track of threads (that none can be started is
 * no error: the caller does the work). Nothing was written on an error other than -ECANCELED.
 *
 * stop and progress run in the calling thread only.
 */
HC_API int hc_clear_with(void *p, size_t len, const struct hc_clear_opts *opts, struct hc_clear_report *report);

/*
 * Zeroes the len bytes at p for somebody who is about to touch the byte at touch
 * and the rest later, as a page fault does: all but its neighbourhood is cleared
 * with the method for HC_INTENT_LATER, then the neighbourhood, cached, last: the
 * base page of touch and two on either side. This is the order of the kernel's
 * multi-page clearing series: what is right of it, what is left, itself.
 *
 * A method named in opts is used for all, but if it streams not for the
 * neighbourhood. Options, report and errors as hc_clear_with(), but after
 * -ECANCELED done isn't the first bytes of the range; the intent, threads and
 * cpus in opts must be 0; -EINVAL where touch isn't within the range.
 */
HC_API int hc_clear_around(
        void *p, size_t len, const void *touch, const struct hc_clear_opts *opts, struct hc_clear_report *report);

/*
 * 1 where all len bytes at p are zero, 0 where one isn't, -EINVAL and
 * -EOVERFLOW as hc_clear(). Reads memory at streaming speed and stops at the
 * first byte that isn't zero. len 0 is clear.
 */
HC_API int hc_is_clear(const void *p, size_t len);

struct hc_clear_method {
	const char *name;  /* "stosb", "avx512-nt" ... */
	const char *needs; /* the processor features it needs, in words; "" where none */
	int streaming;     /* 1: past the cache; 0: through it */
	int available;     /* 1: this processor and its operating system can */
	/* What is missing, in words: "avx512f (the operating system doesn't keep its registers)"; NULL where available */
	const char *lacks;
};

/* The i-th method that this library was built with, from 0; NULL past the last. Static, never freed. */
HC_API const struct hc_clear_method *hc_clear_method(unsigned i);

/*
 * The method that hc_clear() and hc_clear_with() without a name take for len
 * bytes with this intent. Never NULL.
 */
HC_API const struct hc_clear_method *hc_clear_choice(size_t len, enum hc_intent intent);

/* ---- Profiles ------------------------------------------------------------ */

/*
 * Makes the profile in this file, as `hugeclear tune` writes it, the source of
 * all later choices in this process. path NULL goes back to the built-in choice.
 * Without a call, the file named by the environment variable
 * HUGECLEAR_PROFILE is loaded at the first choice, unless the process is
 * set-user-ID or has gained capabilities; where that fails the built-in choice is
 * used and hc_clear_profile() says why.
 *
 * Returns 0; -ENOENT and other errors of open and read; -EBADMSG for a file that
 * isn't a profile (with the line); -ENOTSUP for one of another version;
 * -EXDEV for one measured on another processor; -EOPNOTSUPP where it names a
 * method that this processor lacks (the same number as -ENOTSUP on Linux; the
 * detail tells). On an error the choice is as before.
 *
 * By one thread at a time. Others may clear meanwhile: each choice they make is
 * a step of the old profile or of the new one.
 */
HC_API int hc_clear_profile_load(const char *path);

/*
 * Where choices come from: "built-in", or the path of the profile. Where the one
 * named by the environment couldn't be used, *ret_error (unless NULL) is the
 * reason, else NULL. Static until the next hc_clear_profile_load().
 */
HC_API const char *hc_clear_profile(const char **ret_error);

/* Lengths above the step before it in the same intent, up to and including up_to bytes, take this method. */
struct hc_clear_profile_step {
	enum hc_intent intent;
	const char *method;
	uint64_t up_to; /* HC_UNKNOWN: however long */
};

/* A profile has at most this many steps an intent. */
#define HC_CLEAR_PROFILE_STEPS_MAX 16

/*
 * Writes a profile for this processor that hc_clear_profile_load() reads. Steps
 * of one intent come in the order of their up_to, each above the one before,
 * the last with HC_UNKNOWN; the intents may be in any order. An intent without
 * steps is left to the built-in choice. comment: lines for whoever reads the file, or NULL.
 *
 * The file is written whole or not at all: under another name in the same
 * folder, synced, and then renamed over path, which may exist (a symbolic
 * link's target is what is replaced, or made where it isn't there). Its mode is 0666 less the umask.
 *
 * Returns 0; -EINVAL for steps that aren't as said, a method that doesn't exist
 * or this processor lacks, or a path that is something else than a regular file;
 * errors of open, write, fsync and rename. On an error path is as it was.
 */
HC_API int hc_clear_profile_save(
        const char *path, const char *comment, const struct hc_clear_profile_step *steps, size_t nr_steps);

#ifdef __cplusplus
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
}
#endif

#endif
