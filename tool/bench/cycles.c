#include "bench/cycles.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int try_open(uint32_t type, uint64_t config, bool user_only) {
	struct perf_event_attr attr = {
	        .type = type,
	        .size = sizeof(attr),
	        .config = config,
	        .disabled = 1,
	        .inherit = 1,
	        .exclude_kernel = user_only,
	        .exclude_hv = user_only,
	};
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* perf_event_open(2), "Errors". */
void cycles_explain(int err, char *text, int text_size) {
	const char *why;
	switch (err) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		why = "this machine has no cycle counter (virtual machines often have none)";
		break;
	case EACCES:
		why = "/proc/sys/kernel/perf_event_paranoid doesn't allow it: set it to 1, or run with CAP_PERFMON";
		break;
	case EPERM:
	case ENOSYS:
		why = "perf_event_open is refused (a seccomp filter, or a kernel without it)";
		break;
	default:
		why = strerror(err);
	}
	snprintf(text, (size_t)text_size, "%s", why);
}

void cycles_open_event(struct cycles *cycles, uint32_t type, uint64_t config) {
	*cycles = (struct cycles){.fd = try_open(type, config, false)};
	if (cycles->fd >= 0)
		return;
	int err = errno;
	cycles_explain(err, cycles->reason, sizeof(cycles->reason));
	if (err != EACCES && err != EPERM)
		return;
	cycles->fd = try_open(type, config, true);
	cycles->user_only = cycles->fd >= 0;
}

void cycles_open(struct cycles *cycles) {
	cycles_open_event(cycles, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

static uint64_t read_count(const struct cycles *cycles) {
	uint64_t count = 0;
	return read(cycles->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* PERF_EVENT_IOC_RESET would leave what threads that have ended had counted: the difference is taken. */
void cycles_start(struct cycles *cycles) {
	if (cycles->fd < 0)
		return;
	cycles->before = read_count(cycles);
	ioctl(cycles->fd, PERF_EVENT_IOC_ENABLE, 0);
}

uint64_t cycles_stop(const struct cycles *cycles) {
	if (cycles->fd < 0)
		return 0;
	ioctl(cycles->fd, PERF_EVENT_IOC_DISABLE, 0);
	uint64_t now = read_count(cycles);
	return now > cycles->before ? now - cycles->before : 0;
}

void cycles_close(struct cycles *cycles) {
	if (cycles->fd >= 0)
		close(cycles->fd);
	cycles->fd = -1;
}
