#include "base/hints.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/size.h"

/* False where there is none. */
static bool read_limit(int resource, uint64_t *ret_limit) {
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*ret_limit = limit.rlim_cur;
	return true;
}

/* The next part, with what separates it from those before; the last " (" is closed by end(). */
__attribute__((format(printf, 2, 3))) static void add(struct hc_hint *hint, const char *format, ...) {
	size_t len = strlen(hint->s), room = sizeof(hint->s) - 1; /* a byte for the bracket */
	len += (size_t)snprintf(hint->s + len, room - len, "%s", len > 0 ? "; " : " (");
	va_list ap;
	va_start(ap, format);
	vsnprintf(hint->s + len, len < room ? room - len : 0, format, ap);
	va_end(ap);
}

static struct hc_hint end(struct hc_hint hint) {
	size_t len = strlen(hint.s);
	if (len > 0)
		memcpy(hint.s + len, ")", 2);
	return hint;
}

static void add_memory(struct hc_hint *hint) {
	uint64_t limit;
	if (read_limit(RLIMIT_AS, &limit))
		add(hint, "the limit of address space is %s: raise it with ulimit -v", hc_size_exact(limit).s);
	if (read_limit(RLIMIT_DATA, &limit))
		add(hint, "the limit of private memory is %s: raise it with ulimit -d", hc_size_exact(limit).s);
}

struct hc_hint hc_hint_limit(int err) {
	struct hc_hint hint = {""};
	uint64_t limit;
	if (err == EMFILE && read_limit(RLIMIT_NOFILE, &limit))
		add(&hint, "the limit of open files is %llu: raise it with ulimit -n", (unsigned long long)limit);
	else if (err == EFBIG && read_limit(RLIMIT_FSIZE, &limit))
		add(&hint, "the limit of a file's size is %s: raise it with ulimit -f", hc_size_exact(limit).s);
	else if (err == ENOMEM)
		add_memory(&hint);
	return end(hint);
}

struct hc_hint hc_hint_start(int err) {
	struct hc_hint hint = {""};
	uint64_t limit;
	if (err != EAGAIN && err != ENOMEM)
		return hint;
	/* Stacks: glibc says EAGAIN where their mmap failed. */
	add_memory(&hint);
	if (err == EAGAIN && read_limit(RLIMIT_NPROC, &limit))
		add(&hint, "the limit of processes is %llu: raise it with ulimit -u; or it is the cgroup's pids.max",
		        (unsigned long long)limit);
	else if (err == EAGAIN)
		add(&hint, "look at the cgroup's pids.max");
	return end(hint);
}

struct hc_hint hc_hint_forbidden(int err) {
	struct hc_hint hint = {""};
	if ((err == EPERM || err == EACCES || err == ENOSYS) &&
	        prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER)
		add(&hint, "a seccomp filter is in force, as containers have, and probably forbids this call");
	return end(hint);
}
