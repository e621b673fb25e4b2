#include "run_ab_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/error.h"
#include "cli.h"

/* How often it is looked whether ^C was pressed, and how long a program that got it, too, has to end by itself. */
#define LOOK_EVERY_NS 100000000
#define LOOKS_BEFORE_TERM 20

static int spawn(char **argv, const char *path, pid_t *ret_pid) {
	posix_spawnattr_t attr;
	posix_spawn_file_actions_t actions;
	sigset_t defaults, mask;
	int err = posix_spawnattr_init(&attr);
	if (err != 0)
		return err;
	err = posix_spawn_file_actions_init(&actions);
	if (err != 0) {
		posix_spawnattr_destroy(&attr);
		return err;
	}
	sigemptyset(&defaults);
	if (cli_file_size_was_fatal())
		sigaddset(&defaults, SIGXFSZ);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigdelset(&mask, SIGCHLD);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setsigmask(&attr, &mask);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (err == 0)
		err = posix_spawnp(ret_pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return err;
}

int run_ab_run(char **argv, const char *path) {
	/* Who started this may ignore its children; then there would be no exit code. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigset_t child, before;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	pid_t pid;
	int err = spawn(argv, path, &pid), status = 0, r = 0;
	if (err != 0)
		r = hc_fail_start(err, "%s can't be run with its output into %s", argv[0], path);
	unsigned looks = 0;
	bool running = err == 0;
	while (running) {
		pid_t ended = waitpid(pid, &status, WNOHANG);
		if (ended == pid || (ended < 0 && errno != EINTR)) {
			if (ended < 0)
				r = hc_fail_errno(errno, "the end of %s can't be waited for", argv[0]);
			running = false;
			continue;
		}
		/* A terminal sends ^C to both; what comes to this process alone is passed on. */
		if (cli_interrupted(NULL) && ++looks == LOOKS_BEFORE_TERM)
			kill(pid, SIGTERM);
		sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = LOOK_EVERY_NS});
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return r;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
