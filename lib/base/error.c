#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/hints.h"
#include "base/quote.h"

#undef hc_fail
#undef hc_fail_call
#undef hc_fail_errno
#undef hc_fail_memory
#undef hc_fail_prefix
#undef hc_fail_start

static _Thread_local char thread_detail[HC_ERROR_DETAIL_MAX];

/*
 * Formats into a buffer of the stack first, so that the arguments may point into
 * thread_detail itself.
 */
__attribute__((format(printf, 1, 0))) static void keep(const char *format, va_list ap, const char *tail) {
	char text[HC_ERROR_DETAIL_MAX];
	int n = vsnprintf(text, sizeof(text), format, ap);
	size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
	text[len] = '\0';

	int total = snprintf(thread_detail, sizeof(thread_detail), "%s%s", text, tail);
	if ((size_t)n >= sizeof(text) || (size_t)total >= sizeof(thread_detail))
		memcpy(thread_detail + sizeof(thread_detail) - 4, "...", 4);
	hc_quote_clean(thread_detail); /* a path may hold anything, and a detail is one line */
}

int hc_fail(int err, const char *format, ...) {
	int saved_errno = errno;
	va_list ap;
	va_start(ap, format);
	keep(format, ap, "");
	va_end(ap);
	errno = saved_errno;
	return -err;
}

/* With the text of err behind it, and the hints. */
__attribute__((format(printf, 3, 0))) static void keep_errno(
        int err, const char *hints, const char *format, va_list ap) {
	char number[24];
	const char *name = strerrordesc_np(err);
	if (!name) {
		snprintf(number, sizeof(number), "error %d", err);
		name = number;
	}
	char tail[512];
	snprintf(tail, sizeof(tail), ": %s%s", name, hints);
	keep(format, ap, tail);
}

int hc_fail_errno(int err, const char *format, ...) {
	int saved_errno = errno;
	va_list ap;
	va_start(ap, format);
	keep_errno(err, hc_hint_limit(err).s, format, ap);
	va_end(ap);
	errno = saved_errno;
	return -err;
}

int hc_fail_call(int err, const char *format, ...) {
	int saved_errno = errno;
	struct hc_hint limit = hc_hint_limit(err);
	va_list ap;
	va_start(ap, format);
	keep_errno(err, *limit.s ? limit.s : hc_hint_forbidden(err).s, format, ap);
	va_end(ap);
	errno = saved_errno;
	return -err;
}

int hc_fail_start(int err, const char *format, ...) {
	int saved_errno = errno;
	va_list ap;
	va_start(ap, format);
	keep_errno(err, hc_hint_start(err).s, format, ap);
	va_end(ap);
	errno = saved_errno;
	return -err;
}

int hc_fail_memory(const char *format, ...) {
	int saved_errno = errno;
	va_list ap;
	va_start(ap, format);
	keep(format, ap, hc_hint_limit(ENOMEM).s);
	va_end(ap);
	errno = saved_errno;
	return -ENOMEM;
}

int hc_fail_prefix(int r, const char *format, ...) {
	int saved_errno = errno;
	char tail[HC_ERROR_DETAIL_MAX + 2];
	snprintf(tail, sizeof(tail), ": %s", thread_detail);

	va_list ap;
	va_start(ap, format);
	keep(format, ap, tail);
	va_end(ap);
	errno = saved_errno;
	return r;
}

void hc_error_save(int r, struct hc_error *ret_error) {
	ret_error->err = r;
	memcpy(ret_error->detail, thread_detail, sizeof(thread_detail));
}

int hc_error_restore(const struct hc_error *error) {
	memcpy(thread_detail, error->detail, sizeof(thread_detail));
	return error->err;
}

const char *hc_error_detail(void) {
	return thread_detail;
}
