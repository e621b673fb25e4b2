#include "run_ab_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "bench/turns.h"
#include "cli.h"

/* How often it is looked whether ^C was pressed, and how long a program that got it, too, has to end by itself. */
#define LOOK_EVERY_MS 100
#define TERM_AFTER_NS (2 * HC_NSEC_PER_SEC)

/* ---- Starting -------------------------------------------------------------------------- */

/* The environment, with the number of a socket in it. The array and its first word are the caller's; NULL: no memory. */
static char **environment_with(int turns_fd) {
	size_t n = 0;
	while (environ[n])
		n++;
	char **words = calloc(n + 2, sizeof(*words)), **word = words;
	if (!words || asprintf(word++, TURNS_VARIABLE "=%d", turns_fd) < 0) {
		free(words);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], TURNS_VARIABLE "=", sizeof(TURNS_VARIABLE)) != 0)
			*word++ = environ[i];
	return words;
}

/* 0 or a positive errno. */
static int spawn(struct run_ab_process *process, int turns_fd) {
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
	char **environment = turns_fd < 0 ? environ : environment_with(turns_fd);
	err = environment ? 0 : ENOMEM;
	if (err == 0)
		err = posix_spawn_file_actions_addopen(
		        &actions, STDOUT_FILENO, process->path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	/* Onto itself: the program keeps it. */
	if (err == 0 && turns_fd >= 0)
		err = posix_spawn_file_actions_adddup2(&actions, turns_fd, turns_fd);
	if (err == 0)
		err = posix_spawnp(&process->pid, process->argv[0], &actions, &attr, process->argv, environment);
	if (environment && turns_fd >= 0) {
		free(environment[0]);
		free(environment);
	}
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return err;
}

static int start(struct run_ab_process *process, bool turns) {
	int ends[2] = {-1, -1};
	process->code = 0;
	process->stopped = process->had_turns = process->asks = process->running = false;
	process->turns_fd = -1;
	if (turns && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return hc_fail_errno(errno, "no socket for turns");
	int err = spawn(process, ends[1]);
	if (turns)
		close(ends[1]);
	process->turns_fd = ends[0];
	process->running = err == 0;
	if (err == 0)
		return 0;
	return hc_fail_start(err, "%s can't be run with its output into %s", process->argv[0], process->path);
}

/* ---- Turns ------------------------------------------------------------------------------ */

struct turns {
	struct run_ab_process *processes;
	size_t nr;
	uint64_t *random;
	/* Who has the second turn of a pair, as the other had the first; NULL: a pair begins. */
	struct run_ab_process *second;
};

static void end_turns(struct run_ab_process *process) {
	if (process->turns_fd >= 0)
		close(process->turns_fd);
	process->turns_fd = -1;
	process->asks = false;
}

/* Asks, or is done, or has closed its end. */
static void hear(struct run_ab_process *process) {
	char bytes[16];
	ssize_t n = recv(process->turns_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		end_turns(process);
	for (ssize_t i = 0; i < n; i++) {
		process->asks = bytes[i] == TURNS_ASK;
		process->had_turns = process->had_turns || process->asks;
	}
}

/* A turn to the next, where all that run ask: who has one, and who is at work between two, doesn't. */
static void hand_out(struct turns *turns) {
	struct run_ab_process *asking[RUN_AB_PROCESSES_MAX];
	size_t nr_asking = 0, nr_running = 0;
	for (size_t i = 0; i < turns->nr; i++) {
		nr_running += turns->processes[i].running;
		if (turns->processes[i].asks)
			asking[nr_asking++] = &turns->processes[i];
	}
	if (nr_asking == 0 || nr_asking < nr_running)
		return;
	struct run_ab_process *next = asking[0];
	if (nr_asking > 1)
		next = turns->second ? turns->second : asking[hc_random_next(turns->random) >> 63];
	turns->second = nr_asking < 2 || turns->second ? NULL : next == asking[0] ? asking[1] : asking[0];
	next->asks = false;
	char byte = TURNS_GO;
	if (send(next->turns_fd, &byte, 1, MSG_NOSIGNAL) != 1)
		end_turns(next);
}

/* ---- Running ------------------------------------------------------------------------------ */

static bool any_running(const struct run_ab_process *processes, size_t nr) {
	for (size_t i = 0; i < nr; i++)
		if (processes[i].running)
			return true;
	return false;
}

static void stop_all(struct run_ab_process *processes, size_t nr) {
	for (size_t i = 0; i < nr; i++) {
		if (!processes[i].running)
			continue;
		processes[i].stopped = true;
		kill(processes[i].pid, SIGTERM);
	}
}

/* Collects those that have ended. */
static int reap(struct turns *turns) {
	int r = 0;
	for (size_t i = 0; i < turns->nr; i++) {
		struct run_ab_process *process = &turns->processes[i];
		int status = 0;
		pid_t ended = process->running ? waitpid(process->pid, &status, WNOHANG) : 0;
		if (ended == 0 || (ended < 0 && errno == EINTR))
			continue;
		if (ended < 0)
			r = hc_fail_errno(errno, "the end of %s can't be waited for", process->argv[0]);
		else
			process->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		process->running = false;
		/* Whether it ever asked is known from what it sent. */
		if (process->turns_fd >= 0)
			hear(process);
		end_turns(process);
		if (process->code != 0 && !process->stopped)
			stop_all(turns->processes, turns->nr);
	}
	return r;
}

static int wait_for_all(struct turns *turns, int signals) {
	uint64_t interrupted_ns = 0;
	bool stopped = false;
	int r = 0;
	while (any_running(turns->processes, turns->nr)) {
		struct pollfd fds[1 + RUN_AB_PROCESSES_MAX] = {{.fd = signals, .events = POLLIN}};
		for (size_t i = 0; i < turns->nr; i++)
			fds[1 + i] = (struct pollfd){.fd = turns->processes[i].turns_fd, .events = POLLIN};
		poll(fds, 1 + turns->nr, LOOK_EVERY_MS);
		struct signalfd_siginfo info;
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			continue;
		for (size_t i = 0; i < turns->nr; i++)
			if (turns->processes[i].turns_fd >= 0 && fds[1 + i].revents != 0)
				hear(&turns->processes[i]);
		int failed = reap(turns);
		r = r < 0 ? r : failed;
		/* A terminal sends ^C to all; what comes to this process alone is passed on. */
		if (cli_interrupted(NULL) && interrupted_ns == 0)
			interrupted_ns = hc_clock_ns();
		if (interrupted_ns > 0 && !stopped && hc_clock_ns() - interrupted_ns >= TERM_AFTER_NS) {
			stop_all(turns->processes, turns->nr);
			stopped = true;
		}
		hand_out(turns);
	}
	return r;
}

int run_ab_run(struct run_ab_process *processes, size_t nr, uint64_t *random) {
	/* Who started this may ignore its children; then there would be no exit code. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigset_t child, before;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), r = 0;
	if (signals < 0)
		r = hc_fail_errno(errno, "no descriptor for signals");
	struct turns turns = {.processes = processes};
	turns.random = random;
	for (size_t i = 0; i < nr && r == 0; i++) {
		r = start(&processes[i], nr > 1);
		turns.nr = i + 1;
	}
	if (r < 0)
		stop_all(processes, turns.nr);
	struct hc_error error;
	hc_error_save(r, &error);
	if (signals >= 0) {
		int waited = wait_for_all(&turns, signals);
		r = r < 0 ? hc_error_restore(&error) : waited;
		close(signals);
	}
	for (size_t i = 0; i < turns.nr; i++)
		end_turns(&processes[i]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}
