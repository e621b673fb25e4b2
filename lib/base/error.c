#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/quote.h"

#undef hc_fail
#undef hc_fail_errno
#undef hc_fail_prefix

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

int hc_fail_errno(int err, const char *format, ...) {
	int saved_errno = errno;
	char number[24];
	const char *name = strerrordesc_np(err);
	if (!name) {
		snprintf(number, sizeof(number), "error %d", err);
		name = number;
	}
	char tail[128];
	snprintf(tail, sizeof(tail), ": %s", name);

	va_list ap;
	va_start(ap, format);
	keep(format, ap, tail);
	va_end(ap);
	errno = saved_errno;
	return -err;
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
