#include "reserve_run.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hints.h"
#include "cli.h"

#define VERB "reserve"

/* What asks a program to end or to do something, but for SIGKILL. Stopping and continuing is left to the shell. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

#define NR_PASSED_ON (sizeof(passed_on) / sizeof(*passed_on))

void reserve_signals_keep_pipe(struct reserve_signals *ret_signals) {
	struct sigaction before;
	sigprocmask(SIG_SETMASK, NULL, &ret_signals->mask);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
	ret_signals->pipe_default = before.sa_handler != SIG_IGN;
	/* Who started this may ignore its children; then there would be no exit code. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

static void held_signals(sigset_t *ret_set) {
	sigemptyset(ret_set);
	for (size_t i = 0; i < NR_PASSED_ON; i++)
		sigaddset(ret_set, passed_on[i]);
	sigaddset(ret_set, SIGCHLD);
}

void reserve_signals_hold(struct reserve_signals *signals) {
	sigset_t held;
	held_signals(&held);
	sigprocmask(SIG_BLOCK, &held, &signals->mask);
}

static int spawn(char **argv, const struct reserve_signals *signals, pid_t *ret_pid) {
	posix_spawnattr_t attr;
	sigset_t defaults;
	int err = posix_spawnattr_init(&attr);
	if (err != 0)
		return err;
	sigemptyset(&defaults);
	if (signals->pipe_default)
		sigaddset(&defaults, SIGPIPE);
	if (cli_file_size_was_fatal())
		sigaddset(&defaults, SIGXFSZ);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setsigmask(&attr, &signals->mask);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	err = posix_spawnp(ret_pid, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return err;
}

int reserve_run(char **argv, const struct reserve_signals *signals) {
	pid_t pid;
	int err = spawn(argv, signals, &pid);
	if (err != 0) {
		cli_error(VERB, "%s: %s%s", argv[0], strerror(err), hc_hint_start(err).s);
		return err == ENOENT ? 127 : 126;
	}

	sigset_t held;
	held_signals(&held);
	for (;;) {
		int status;
		pid_t ended = waitpid(pid, &status, WNOHANG);
		if (ended == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (ended < 0 && errno != EINTR) {
			cli_error(VERB, "%s: its end can't be waited for: %s", argv[0], strerror(errno));
			return HC_EXIT_FAILED;
		}
		siginfo_t info;
		int number = sigwaitinfo(&held, &info);
		/*
		 * A signal of the kernel (si_code above 0) comes from the terminal, which sends it to all
		 * of its foreground group: CMD has it already. So has who sent it.
		 */
		if (number > 0 && number != SIGCHLD && info.si_code <= 0 && info.si_pid != pid)
			kill(pid, number);
	}
}
