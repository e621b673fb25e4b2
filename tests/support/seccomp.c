#include "support/seccomp.h"

#include "support/support.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 16

bool seccomp_forbid(const int *calls, size_t nr_calls, int err) {
	struct sock_filter filter[2 * CALLS_MAX + 2];
	unsigned short n = 0;
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < nr_calls && i < CALLS_MAX; i++) {
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = n, .filter = filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void with_calls_forbidden(const int *calls, size_t nr_calls, int err, bool (*check)(int err)) {
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (!seccomp_forbid(calls, nr_calls, err))
			_exit(77);
		_exit(check(err) ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("this kernel has no seccomp filters\n");
		skip();
	}
	assert_int_equal(status, 0);
}
