/*
 * `hugeclear init`: the first process of a virtual machine. Mounts what the other verbs read, runs
 * what the kernel's command line says, prints the results between markers on the console, and
 * powers off.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/hints.h"
#include "base/quote.h"
#include "cli.h"
#include "init_words.h"

#define VERB "init"
#define CMDLINE_MAX 65536
/* syslog(2): messages of the kernel of less than this urgency don't get between the results. */
#define SYSLOG_ACTION_CONSOLE_LEVEL 8
#define CONSOLE_EMERGENCIES 1
#define PRINTK "/proc/sys/kernel/printk"
/* How long what is told to end has before it is killed. */
#define GRACE_NS (2 * HC_NSEC_PER_SEC)

/* ---- The machine --------------------------------------------------------- */

/* True where something is mounted there, also before /proc is. */
static bool is_mount(const char *path, const char *parent) {
	struct statx at;
	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &at) == 0 &&
	        at.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		return at.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	/* Before Linux 5.8; a bind mount of the same file system isn't seen. */
	struct stat here, above;
	return stat(path, &here) == 0 && stat(parent, &above) == 0 && here.st_dev != above.st_dev;
}

static void mount_all(void) {
	static const struct {
		const char *type, *path, *parent;
		unsigned long flags;
	} mounts[] = {
	        {"proc", "/proc", "/", MS_NOSUID | MS_NODEV | MS_NOEXEC},
	        {"sysfs", "/sys", "/", MS_NOSUID | MS_NODEV | MS_NOEXEC},
	        {"devtmpfs", "/dev", "/", MS_NOSUID},
	        {"tmpfs", "/run", "/", MS_NOSUID | MS_NODEV},
	        {"tmpfs", "/tmp", "/", MS_NOSUID | MS_NODEV},
	        {"cgroup2", "/sys/fs/cgroup", "/sys/fs", MS_NOSUID | MS_NODEV | MS_NOEXEC},
	};
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if (is_mount(mounts[i].path, mounts[i].parent))
			continue;
		mkdir(mounts[i].path, 0755);
		if (mount(mounts[i].type, mounts[i].path, mounts[i].type, mounts[i].flags, NULL) < 0)
			cli_warn(VERB, "%s can't be mounted: %s", mounts[i].path, strerror(errno));
	}
}

/* The kernel gives its console where the initramfs has /dev/console; else it is there now. */
static void open_console(void) {
	int fd = open("/dev/console", O_RDWR | O_NOCTTY);
	if (fd < 0)
		return;
	for (int i = 0; i <= 2; i++)
		if (fcntl(i, F_GETFD) < 0)
			dup2(fd, i);
	if (fd > 2)
		close(fd);
}

/* NULL with a detail. */
static struct init_plan *read_plan(void) {
	static char line[CMDLINE_MAX];
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	int err = errno;
	if (fd >= 0)
		close(fd);
	if (len < 0) {
		hc_fail_errno(err, "/proc/cmdline");
		return NULL;
	}
	line[len] = '\0';
	struct init_plan *plan = NULL;
	if (init_plan_read(line, &plan) < 0 || plan->nr_commands > 0)
		return plan;
	hc_fail(ENODATA, "the kernel's command line has no hugeclear.run=\"...\"");
	return init_plan_free(plan);
}

/* The level is the machine's, also where this is the first process of a namespace only: it is put back. -1: not known. */
static int read_console_level(void) {
	char text[64] = "";
	int fd = open(PRINTK, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	int level = len > 0 ? text[0] - '0' : -1; /* 1 to 8 */
	return level >= 1 && level <= 8 ? level : -1;
}

/*
 * In a pid namespace this ends the namespace alone (pid_namespaces(7)). Doesn't return where it
 * succeeds.
 */
static int power_off(void) {
	fflush(NULL);
	sync();
	reboot(RB_POWER_OFF);
	cli_error(VERB, "the machine can't be powered off: %s", strerror(errno));
	return HC_EXIT_FAILED;
}

/* ---- Commands ------------------------------------------------------------ */

/*
 * Waits for a child, and reaps what else ends: a first process inherits the orphans. pre: SIGCHLD is
 * blocked. False when it is still there at the end of time.
 */
static bool wait_until(pid_t pid, uint64_t end_ns, int *ret_status) {
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		int status;
		pid_t ended;
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == pid) {
				*ret_status = status;
				return true;
			}
		uint64_t now = hc_clock_ns();
		if (now >= end_ns)
			return false;
		const struct timespec wait = {.tv_sec = (time_t)((end_ns - now) / HC_NSEC_PER_SEC),
		        .tv_nsec = (long)((end_ns - now) % HC_NSEC_PER_SEC)};
		sigtimedwait(&child, NULL, &wait);
	}
}

/* A group of its own, so that all of it can be ended. 0 or an errno. */
static int start(char **argv, pid_t *ret_pid) {
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err = posix_spawnattr_init(&attr);
	if (err != 0)
		return err;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	/* What this command ignores for itself, or who started a container ignored, is none of theirs. */
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn(ret_pid, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return err;
}

/* All that it has started and that is still there: nothing of it may disturb what is measured next. */
static bool end_the_rest(pid_t pid, bool ended, int *status) {
	uint64_t end = hc_clock_ns() + GRACE_NS;
	kill(-1, SIGKILL); /* all of the namespace but this process, kill(2) */
	if (!ended)
		ended = wait_until(pid, end, status);
	/* The others are reaped as they go; none is left when there is no child. */
	while (waitpid(-1, NULL, WNOHANG) >= 0 && hc_clock_ns() < end) {
		const struct timespec moment = {.tv_nsec = 1000000};
		nanosleep(&moment, NULL);
	}
	return ended;
}

/* An exit code as a shell gives it: 126 and 127 for what can't be started, 128 and the number for a signal. */
static int run(char **argv, uint64_t seconds) {
	pid_t pid;
	int status = 0, err = start(argv, &pid);
	if (err != 0) {
		cli_error(VERB, "%s: %s%s", argv[0], strerror(err), hc_hint_start(err).s);
		return err == ENOENT ? 127 : 126;
	}
	bool ended = wait_until(pid, hc_clock_ns() + seconds * HC_NSEC_PER_SEC, &status);
	if (!ended) {
		cli_error(VERB, "still there after %llu s, and ended: hugeclear.timeout=SECONDS gives more",
		        (unsigned long long)seconds);
		kill(-pid, SIGTERM);
		ended = wait_until(pid, hc_clock_ns() + GRACE_NS, &status);
	}
	ended = end_the_rest(pid, ended, &status);
	if (!ended) {
		cli_error(VERB, "it can't even be killed, and is left behind");
		return 128 + SIGKILL;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool has_output(char *const *words) {
	for (; *words; words++)
		if (strncmp(*words, "-o", 2) == 0 || strncmp(*words, "--output", 8) == 0)
			return true;
	return false;
}

static void print_file(const char *path) {
	char buffer[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, (size_t)n, stdout);
	if (fd >= 0)
		close(fd);
}

/* Verbs are run by this program; a word with a slash is another one. Benches have their results written, too. */
static void run_command(const struct init_plan *plan, unsigned i, char *self) {
	char *const *words = plan->commands[i].words;
	char results[64], output[] = "-o", *argv[INIT_WORDS_MAX + 5];
	size_t n = 0;
	if (!strchr(words[0], '/'))
		argv[n++] = self;
	for (size_t k = 0; words[k]; k++)
		argv[n++] = words[k];
	snprintf(results, sizeof(results), "/run/hugeclear-results.%u.json", i + 1);
	bool own_results = strcmp(words[0], "bench") == 0 && words[1] && !has_output(words);
	if (own_results) {
		argv[n++] = output;
		argv[n++] = results;
	}
	argv[n] = NULL;

	printf("-----BEGIN HUGECLEAR COMMAND %u-----\n", i + 1);
	fflush(stdout);
	int code = run(argv, plan->seconds);
	if (own_results && access(results, F_OK) == 0) {
		printf("\n-----BEGIN HUGECLEAR RESULTS %u-----\n", i + 1);
		print_file(results);
		printf("-----END HUGECLEAR RESULTS %u-----\n", i + 1);
		unlink(results);
	}
	/* On a line of its own, also behind a command that left one open. */
	printf("\n-----END HUGECLEAR COMMAND %u: exit code %d-----\n", i + 1, code);
	fflush(stdout);
}

/* Who reads the console mustn't take it for a run that is finished. */
static void print_nothing_run(const char *why) {
	char text[1200];
	snprintf(text, sizeof(text), "%s", why);
	hc_quote_clean(text);
	cli_error(VERB, "nothing is run: %s", text);
	printf("-----HUGECLEAR REFUSED: nothing was run: %s-----\n", text);
}

/* ---- The verb ------------------------------------------------------------ */

static void print_help(void) {
	printf("usage: hugeclear init\n\n"
	       "The first process of a virtual machine (rdinit=/hugeclear, -- init): mounts /proc, /sys, /dev,\n"
	       "/run, /tmp and the control groups where nothing is mounted, runs the commands of the kernel's\n"
	       "command line one after another, and powers off.\n\n"
	       "  hugeclear.run=\"VERB [ARG]...\"   a command; once for each. With a slash: another program\n"
	       "  hugeclear.timeout=SECONDS       after which a command is ended (600)\n\n"
	       "Each prints between -----BEGIN HUGECLEAR COMMAND N----- and -----END HUGECLEAR COMMAND N: exit\n"
	       "code C-----; a bench its results before the end, between markers that say RESULTS. The last line\n"
	       "is -----HUGECLEAR DONE: N commands run-----. Where the command line is wrong nothing is run, and it\n"
	       "is -----HUGECLEAR REFUSED: nothing was run: WHY-----.\n\n"
	       "  -h, --help            this text\n");
}

static int boot(void) {
	mount_all();
	open_console();
	int console_level = read_console_level();
	if (console_level > 0)
		klogctl(SYSLOG_ACTION_CONSOLE_LEVEL, NULL, CONSOLE_EMERGENCIES);
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/", 0);

	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);

	static char self[] = "/proc/self/exe";
	struct init_plan *plan = read_plan();
	if (!plan) {
		print_nothing_run(hc_error_detail());
	} else {
		for (unsigned i = 0; i < plan->nr_commands; i++)
			run_command(plan, i, self);
		printf("-----HUGECLEAR DONE: %s run-----\n", hc_counted(plan->nr_commands, "command").s);
	}
	init_plan_free(plan);
	fflush(stdout);
	if (console_level > 0)
		klogctl(SYSLOG_ACTION_CONSOLE_LEVEL, NULL, console_level);
	return power_off();
}

int hc_verb_init(int argc, char **argv) {
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	int c;
	optind = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (c != 'h')
			return cli_bad_option(VERB, c, argv, options);
		print_help();
		return 0;
	}
	int code = cli_no_arguments(VERB, argc, argv);
	if (code)
		return code;
	if (getpid() != 1)
		return cli_usage(VERB,
		        "this is process %d: init is for the first process of a virtual machine, and powers it off",
		        (int)getpid());
	return boot();
}
