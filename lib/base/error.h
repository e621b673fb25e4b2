/*
 * Errors with a detail text.
 *
 * Convention of the whole project: a function returns 0 (or a count) or a
 * negative errno, and never sets errno as well. Where an error is born it calls
 * hc_fail(), which keeps one line for the calling thread: what was wanted, what
 * there was, what to do. Functions above pass the number on unchanged and may
 * add context with hc_fail_prefix().
 */
#ifndef HC_BASE_ERROR_H
#define HC_BASE_ERROR_H

#include <errno.h>
#include <stddef.h>

/* Longest detail kept, with its terminating NUL; longer ones are cut with "...". */
#define HC_ERROR_DETAIL_MAX 1024

/*
 * Keeps the detail for this thread and returns -err.
 * pre: err > 0. Safe after a failed call: errno is left as it was.
 * The arguments may include the present hc_error_detail().
 */
int hc_fail(int err, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/*
 * As hc_fail(), with ": " and the text of err behind the detail, and the limit of this process that may be
 * the reason (hc_hint_limit()).
 */
int hc_fail_errno(int err, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* The same after a system call that needs no privilege, with the filter that may forbid it (hc_hint_forbidden()). */
int hc_fail_call(int err, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* The same after a thread or a process couldn't be started (hc_hint_start()). */
int hc_fail_start(int err, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* -ENOMEM after malloc() failed, with the limit of this process that may be the reason. */
int hc_fail_memory(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* Puts "text: " before the kept detail and returns r. pre: r < 0 and a detail kept for it. */
int hc_fail_prefix(int r, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

#ifdef __clang_analyzer__
/* It looks at one file at a time: so it knows what comes back, and doesn't follow paths that go on after a failure. */
#define hc_fail(err, ...) (hc_fail(err, __VA_ARGS__), -(err))
#define hc_fail_errno(err, ...) (hc_fail_errno(err, __VA_ARGS__), -(err))
#define hc_fail_call(err, ...) (hc_fail_call(err, __VA_ARGS__), -(err))
#define hc_fail_start(err, ...) (hc_fail_start(err, __VA_ARGS__), -(err))
#define hc_fail_memory(...) (hc_fail_memory(__VA_ARGS__), -ENOMEM)
#define hc_fail_prefix(r, ...) (hc_fail_prefix(r, __VA_ARGS__), (r))
#endif

/* An error on its way from a worker to the thread that called. */
struct hc_error {
	int err; /* 0 (none) or a negative errno */
	char detail[HC_ERROR_DETAIL_MAX];
};

/* Takes this thread's detail into *ret_error, with r as its number. */
void hc_error_save(int r, struct hc_error *ret_error);

/* Makes *error this thread's error and returns its number. */
int hc_error_restore(const struct hc_error *error);

#endif
