/*
 * hugeclear: big, clean memory. The conventions that all of its headers share.
 *
 * Errors. A function that can fail returns an int: 0, or a count where its
 * comment says so, or a negative errno; it doesn't set errno as well. After a
 * failure hc_error_detail() has the words. Output parameters are named ret_...,
 * come last, and are written only on success; counters of work that was done are
 * named done and are always written.
 *
 * Options. Structs named ..._opts start with their own size, which the caller
 * sets to sizeof(the struct); all other fields default to zero bits, so that
 *
 *     struct hc_clear_opts opts = {.size = sizeof(opts), .threads = 2};
 *
 * is right and stays right when fields are added. A setting from a newer header
 * that this library doesn't know is -E2BIG, never ignored.
 *
 * Structs that functions return pointers to may grow at their end: don't copy
 * them, don't put them into arrays, use the functions that return the next one.
 *
 * A function that only gives a struct away has its name, as stat(2) has: in C++ too the
 * struct's is written in full, "const struct hc_map_state *".
 *
 * The library never prints, exits, installs a signal handler, changes SIGPIPE or
 * raises a limit of its process.
 *
 * Threads. Functions may be called from any thread at once unless a comment says
 * otherwise; an object may be used by one thread at a time, and read by many.
 */
#ifndef HUGECLEAR_HUGECLEAR_H
#define HUGECLEAR_HUGECLEAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HC_API __attribute__((visibility("default")))
#else
#define HC_API
#endif

/* The version of the header, for the preprocessor: major * 1000000 + minor * 1000 + patch. */
#define HC_VERSION 1000

/* The version of the library that is running, in the same form. Compare it with HC_VERSION. */
HC_API unsigned hc_version(void);

/* A number that the machine doesn't tell. Unknown is never written as 0. */
#define HC_UNKNOWN UINT64_MAX

/*
 * What went wrong in the last call of this library that failed in this thread:
 * one line without a full stop, that says what was wanted, what there was and,
 * where there is something to do about it, what.
 *
 * Returns a text that this thread owns until its next call into the library;
 * never NULL, empty before the first failure. Successful calls may or may not
 * leave it alone: look at it only after a failure.
 */
HC_API const char *hc_error_detail(void);

/*
 * Reads a size in bytes: digits, then nothing or one of K M G T P, with an
 * optional B, i or iB behind the letter, in any case; powers of 1024 always.
 * "2M", "2MiB", "2mb" and "2048kB" are all 2097152. The locale doesn't matter.
 *
 * Returns 0; -ERANGE where the value is 2^64 or more; -EINVAL for everything
 * else: a sign, a fraction (the detail offers the next smaller unit), a space, a
 * bare B, trailing text, an empty or NULL text.
 */
HC_API int hc_size_parse(const char *text, uint64_t *ret_bytes);

/* A buffer of this many bytes holds every text that hc_size_format() writes. */
#define HC_SIZE_TEXT_MAX 32

/*
 * Writes bytes for people: in the largest unit that divides it, "2 MiB",
 * "1536 MiB", "4097 B".
 *
 * Returns 0; -EINVAL without a buffer; -ENOSPC where the text with its NUL
 * doesn't fit text_size bytes (nothing is written then).
 */
HC_API int hc_size_format(uint64_t bytes, char *text, size_t text_size);

/*
 * Asked between two steps of long work, always from the thread that called.
 * Anything but 0 ends the work with -ECANCELED and what was done in `done`.
 * It must not call back into the object that is being worked on.
 */
typedef int (*hc_stop_fn)(void *user);

/*
 * Told between two steps of long work, always from the thread that called: done
 * of total bytes are ready. done doesn't fall from one call to the next.
 */
typedef void (*hc_progress_fn)(void *user, uint64_t done, uint64_t total);

#ifdef __cplusplus
}
#endif

#endif
