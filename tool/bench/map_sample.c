/* One sample of `bench map`: a child does it, and whatever ends that child is explained here. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/bench_map.h"
#include "bench/room.h"
#include "cli.h"

/* How long ^C may wait where it comes between looking for it and waiting. */
#define WAKE_MS 20
/* How long victims are watched on the idle machine: as long as in other cases, within these. */
#define IDLE_NS_MIN (HC_NSEC_PER_SEC / 2)
#define IDLE_NS_MAX (5 * HC_NSEC_PER_SEC)

/* ---- The child ----------------------------------------------------------- */

static pid_t start_child(const struct map_bench *bench, const struct map_work *work, uint64_t repeats) {
	pid_t parent = getpid(), pid = fork();
	if (pid != 0)
		return pid;
	/* A terminal sends ^C to it as well, but it is the parent that decides. */
	const int ignored[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	map_child(bench, work, repeats);
}

/* Processes that the kernel has killed for lack of memory, whoever's; HC_UNKNOWN where it doesn't say (Linux 4.13). */
static uint64_t oom_kills(void) {
	FILE *f = fopen("/proc/vmstat", "re");
	char line[128];
	uint64_t kills = HC_UNKNOWN;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "oom_kill %" SCNu64, &kills) == 1)
			break;
	if (f)
		fclose(f);
	return kills;
}

/* Its wait status; -ECANCELED after ^C, with the child gone. */
static int wait_for(pid_t pid, int *ret_status) {
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool cancelled = false;
	for (;;) {
		pid_t ended = waitpid(pid, ret_status, cancelled ? 0 : WNOHANG);
		if (ended == pid)
			break;
		if (ended < 0 && errno != EINTR) {
			int err = errno;
			if (fd >= 0)
				close(fd);
			return hc_fail_errno(err, "the child that maps can't be waited for");
		}
		if (!cancelled && cli_interrupted(NULL)) {
			kill(pid, SIGKILL);
			cancelled = true;
			continue;
		}
		/* Without pidfd_open (Linux 5.3) the end is noticed a little later, which isn't timed. */
		struct pollfd child = {.fd = fd, .events = POLLIN};
		poll(&child, 1, WAKE_MS);
	}
	if (fd >= 0)
		close(fd);
	return cancelled || cli_interrupted(NULL) ? -ECANCELED : 0;
}

/* ---- Why it died --------------------------------------------------------- */

/* Populating the same says which limit, pool or node it is, as an error and not by a signal. */
static int explain_bus(const struct map_bench *bench, const struct map_work *work) {
	const struct map_outcome *out = bench->outcome;
	unsigned long long page = 0, pages = out->length / work->page.page_size;
	if (out->bus_address - out->address < out->length)
		page = (out->bus_address - out->address) / work->page.page_size;
	if (out->memory_error)
		return hc_fail(
		        EHWPOISON, "page %llu of %llu has a memory error: its touch ended in SIGBUS", page, pages);
	if (!out->length)
		return hc_fail(EIO, "the child that maps was ended by SIGBUS");
	struct hc_map_opts opts = map_opts(bench, &work->page, work->by);
	opts.flags |= HC_MAP_POPULATE;
	opts.stop = cli_interrupted;
	struct hc_map *map = NULL;
	int r = hc_map_open((size_t)out->length, &opts, &map);
	hc_map_close(map);
	if (r == 0)
		return hc_fail(ENOMEM,
		        "the touch of page %llu of %llu ended in SIGBUS: there was none left for it (somebody had "
		        "taken it, or a limit was lower), and now there is",
		        page, pages);
	return r == -ECANCELED ? r : hc_fail_prefix(r, "the touch of page %llu of %llu ended in SIGBUS", page, pages);
}

static int explain_kill(const struct map_bench *bench, const struct map_work *work, uint64_t oom_kills_before) {
	struct hc_size_text wanted = hc_size_exact(hc_min(bench->size, work->page.bytes));
	const char *kind = room_kind_name(work->page.kind);
	if (oom_kills_before != HC_UNKNOWN && oom_kills() == oom_kills_before)
		return hc_fail(
		        EIO, "somebody killed the child that maps (SIGKILL); the kernel counted no lack of memory");
	struct hc_machine *machine = NULL;
	int r = hc_machine_read(NULL, &machine);
	if (r < 0)
		return r;
	const struct hc_limits *limits = hc_machine_limits(machine);
	if (limits->memory_cgroup_file)
		r = hc_fail(ENOMEM,
		        "%s wanted in %s pages, and killed by the kernel for want of memory: the memory cgroup's limit "
		        "%s leaves %s; measure less, raise it, or run outside of that group",
		        wanted.s, kind, limits->memory_cgroup_file, hc_size_rounded(limits->memory_cgroup_left).s);
	else
		r = hc_fail(ENOMEM,
		        "%s wanted in %s pages, and killed by the kernel for want of memory: %s are available; measure "
		        "less",
		        wanted.s, kind, hc_size_rounded(hc_machine_memory(machine)->available).s);
	hc_machine_free(machine);
	return r;
}

static int explain(const struct map_bench *bench, const struct map_work *work, int status, uint64_t oom_kills_before) {
	if (bench->outcome->bus_error)
		return explain_bus(bench, work);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return explain_kill(bench, work, oom_kills_before);
	if (WIFSIGNALED(status))
		return hc_fail(EIO, "the child that maps was ended by signal %d (%s)", WTERMSIG(status),
		        strsignal(WTERMSIG(status)));
	if (bench->outcome->r == 1)
		return hc_fail(EIO, "the child that maps ended with exit code %d", WEXITSTATUS(status));
	return 0;
}

/* ---- What it found ------------------------------------------------------- */

/* Of transparent huge pages: what came in others is said once, with the first loop in which it is so. */
static void note_huge(struct map_bench *bench, const struct map_work *work, json_t *got, uint64_t repeats) {
	const struct map_outcome *out = bench->outcome;
	uint64_t huge = out->huge_bytes == HC_UNKNOWN ? HC_UNKNOWN : out->huge_bytes / repeats;
	json_t *least = json_object_get(got, "huge_bytes");
	if (work->page.kind != HC_PAGES_THP || (huge >= bench->size && huge != HC_UNKNOWN))
		return;
	if (huge < bench->size && (!least || (uint64_t)json_integer_value(least) > huge))
		json_object_set_new(got, "huge_bytes", json_integer((json_int_t)huge));
	if (!bench->told_huge && huge == HC_UNKNOWN)
		bench_note(bench->run, "how much of it was in huge pages isn't known: only root can tell");
	else if (!bench->told_huge)
		bench_note(bench->run,
		        "base pages: of %s asked for in transparent huge pages, only %s came in them, as memory is "
		        "short or fragmented",
		        hc_size_rounded(bench->size).s, hc_size_rounded(huge).s);
	bench->told_huge = true;
}

static void note_got(struct map_bench *bench, const struct map_work *work, size_t i, uint64_t repeats) {
	const struct map_outcome *out = bench->outcome;
	json_t *got = bench->run->cases[i].got;
	if (work->function == FUNCTION_IDLE)
		return;
	if (work->page.bytes < bench->size)
		json_object_set_new(got, "region", json_integer((json_int_t)work->page.bytes));
	note_huge(bench, work, got, repeats);
	if (work->function == FUNCTION_POPULATE && out->populated_by > HC_POPULATE_CHOSEN)
		json_object_set_new(got, "populated_by", json_string(map_by_names[out->populated_by - 1]));
	if (out->threads < work->threads) {
		json_object_set_new(got, "threads", json_integer(out->threads));
		if (!bench->told_threads)
			bench_note(bench->run, "%s wanted, %u took part: %s", hc_counted(work->threads, "thread").s,
			        out->threads,
			        *out->threads_why                     ? out->threads_why
			        : work->function == FUNCTION_POPULATE ? "the others had brought everything in"
			                                              : "there are no more pages");
		bench->told_threads = true;
	}
	if (bench->cycles && *out->cycles_why && !bench->told_cycles) {
		bench_note(bench->run, "cycles aren't counted: %s", out->cycles_why);
		bench->told_cycles = true;
	}
}

static void note_threads(struct map_bench *bench, struct map_work *work, size_t i, uint64_t repeats) {
	const struct map_outcome *out = bench->outcome;
	json_t *got = bench->run->cases[i].got, *by_thread = NULL;
	if (bench->run->cold || work->function == FUNCTION_IDLE)
		return;
	work->nr_samples++;
	work->checks_ns += out->checks_ns / repeats;
	json_object_set_new(got, "checks_seconds", json_real((double)work->checks_ns / 1e9 / (double)work->nr_samples));
	if (out->threads < 2)
		return;
	by_thread = json_array();
	for (unsigned t = 0; by_thread && t < work->threads; t++) {
		struct map_thread_time *seen = &work->threads_seen[t];
		seen->bytes += out->by_thread[t].sum.bytes;
		seen->ns += out->by_thread[t].sum.ns;
		if (seen->bytes > 0)
			json_array_append_new(by_thread,
			        json_real(bench_gib_per_s((double)seen->bytes, (double)hc_max(seen->ns, 1))));
	}
	json_object_set_new(got, "by_thread", by_thread);
}

static void victim_values(struct map_work *work, const struct map_outcome *out, bool merge, double *values) {
	for (int where = 0; where < VICTIM_WHERES; where++)
		for (int what = 0; what < VICTIM_WHATS; what++) {
			const struct latency *latency = &out->victims.at[where][what];
			double *value = &values[MAP_VICTIM + (where * VICTIM_WHATS + what) * 2];
			if (latency->count == 0)
				continue;
			if (merge)
				latency_merge(&work->victims->at[where][what], latency);
			if (latency->count >= MAP_P99_LEAST)
				value[0] = (double)latency_at(latency, 0.99) / 1e9;
			value[1] = (double)latency->max / 1e9;
		}
}

/* Of all loops, as the table has them. */
static void note_victims(struct map_bench *bench, struct map_work *work, size_t i) {
	static const char *const wheres[] = {[VICTIM_SAME_CPU] = "same_cpu", [VICTIM_OTHER_CPU] = "other_cpu"};
	static const char *const events[] = {
	        [VICTIM_WAKEUP] = "wakeup", [VICTIM_MMAP] = "mmap", [VICTIM_FAULT] = "fault"};
	json_t *got = bench->run->cases[i].got;
	if (!work->victims || bench->run->cold)
		return;
	work->watched_ns += bench->outcome->watched_ns;
	json_object_set_new(got, "watched_seconds", json_real((double)work->watched_ns / 1e9));
	for (int where = 0; where < VICTIM_WHERES; where++)
		for (int what = 0; what < VICTIM_WHATS; what++) {
			const struct latency *latency = &work->victims->at[where][what];
			char name[64];
			snprintf(name, sizeof(name), "victim_%s_%s", wheres[where], events[what]);
			if (latency->count == 0)
				continue;
			json_t *seen = json_pack(
			        "{s:I, s:f}", "n", (json_int_t)latency->count, "max", (double)latency->max / 1e9);
			if (latency->count >= MAP_P99_LEAST)
				json_object_set_new(seen, "p99", json_real((double)latency_at(latency, 0.99) / 1e9));
			json_object_set_new(got, name, seen);
		}
}

static void values_of(struct map_bench *bench, struct map_work *work, size_t i, uint64_t repeats, double *values) {
	struct map_outcome *out = bench->outcome;
	double n = (double)repeats, ns = (double)hc_max(out->ns, 1);
	if (work->victims)
		victim_values(work, out, !bench->run->cold, values);
	note_victims(bench, work, i);
	if (work->function == FUNCTION_IDLE)
		return;
	values[MAP_THROUGHPUT] = bench_gib_per_s((double)out->bytes, ns);
	values[MAP_SECONDS] = ns / 1e9 / n;
	values[MAP_MUNMAP] = (double)out->munmap_ns / 1e9 / n;
	if (out->cycles > 0)
		values[MAP_CYCLES] = (double)out->cycles / ((double)bench->size * n / (double)work->page.page_size);
	struct latency *faults = &out->by_thread[0].faults;
	for (unsigned t = 1; t < work->threads; t++)
		latency_merge(faults, &out->by_thread[t].faults);
	if (faults->count == 0)
		return;
	bool demand = work->function == FUNCTION_DEMAND;
	values[demand ? MAP_FAULT_P50 : MAP_STEP_P50] = (double)latency_at(faults, 0.5) / 1e9;
	values[demand ? MAP_FAULT_P99 : MAP_STEP_P99] = (double)latency_at(faults, 0.99) / 1e9;
	values[demand ? MAP_FAULT_MAX : MAP_STEP_MAX] = (double)faults->max / 1e9;
}

int map_sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample) {
	struct map_bench *bench = state;
	struct map_work *work = &bench->works[i];
	int status = 0;
	uint64_t kills = oom_kills();
	memset(bench->outcome, 0, bench->outcome_size);
	bench->outcome->r = 1;
	bench->idle_ns = hc_min(hc_max(bench->watched_ns, IDLE_NS_MIN), IDLE_NS_MAX);
	pid_t pid = start_child(bench, work, repeats);
	if (pid < 0)
		return hc_fail_start(errno, "a child for the measurement couldn't be started");
	int r = wait_for(pid, &status);
	if (r == 0)
		r = explain(bench, work, status, kills);
	if (r == 0 && bench->outcome->r < 0)
		r = hc_fail(-bench->outcome->r, "%s", bench->outcome->detail);
	if (r < 0)
		return r;
	if (work->function != FUNCTION_IDLE)
		bench->watched_ns = hc_max(bench->watched_ns, bench->outcome->watched_ns);
	note_got(bench, work, i, repeats);
	note_threads(bench, work, i, repeats);
	/* What is idle is long enough whatever it does. */
	ret_sample->ns = bench->outcome->ns;
	values_of(bench, work, i, repeats, ret_sample->values);
	return 0;
}
