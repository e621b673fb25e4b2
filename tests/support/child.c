#include "support/child.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

void check_failed(const char *file, int line, const char *condition) {
	fprintf(stderr, "%s:%d: %s: %s; detail: %s\n", file, line, condition, strerror(errno), hc_error_detail());
}

int in_child(int (*fn)(void *arg), void *arg) {
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return 126;
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		int r = fn(arg);
		fflush(NULL);
		_exit(r);
	}
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

bool own_mounts(void) {
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}
