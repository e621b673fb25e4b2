/* One sample of `bench map`: a child does it, and whatever ends that child is explained here. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/bench_map.h"
#include "bench/room.h"
#include "cli.h"

/* How long ^C may wait where it comes between looking for it and waiting. */
#define WAKE_MS 20

/* ---- The child ----------------------------------------------------------- */

static pid_t start_child(const struct map_bench *bench, const struct map_work *work, uint64_t repeats) {
	pid_t parent = getpid(), pid = fork();
	if (pid != 0)
		return pid;
	/* A terminal sends ^C to it as well: the ordinary end. */
	const int ordinary[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(*ordinary); i++)
		signal(ordinary[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	map_child(bench, work, repeats);
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
	struct hc_map_opts opts = {
	        .size = sizeof(opts),
	        .kind = work->page.kind,
	        .page_size = work->page.kind == HC_PAGES_BASE ? 0 : work->page.page_size,
	        .flags = HC_MAP_POPULATE,
	        .placement = *bench->node ? HC_PLACE_BIND : HC_PLACE_DEFAULT,
	        .nodes = *bench->node ? bench->node : NULL,
	};
	struct hc_map *map = NULL;
	int r = hc_map_open((size_t)hc_min(bench->size, work->bytes), &opts, &map);
	hc_map_close(map);
	if (r == 0)
		return hc_fail(ENOMEM, "a touch ended in SIGBUS: the page wasn't there any more (somebody else had "
		                       "taken it, or its memory "
		                       "is bad); now there are enough");
	return hc_fail(-r, "a touch ended in SIGBUS: %s", hc_error_detail());
}

static int explain_kill(const struct map_bench *bench, const struct map_work *work) {
	const struct hc_limits *limits = hc_machine_limits(bench->run->machine);
	if (limits->memory_cgroup_file)
		return hc_fail(ENOMEM,
		        "%s wanted in %s pages, and killed: the memory cgroup's limit %s left %s; measure less, raise "
		        "it, or run "
		        "outside of that group",
		        hc_size_exact(hc_min(bench->size, work->bytes)).s, room_kind_name(work->page.kind),
		        limits->memory_cgroup_file, hc_size_rounded(limits->memory_cgroup_left).s);
	return hc_fail(ENOMEM,
	        "%s wanted in %s pages, and killed, as the kernel does where memory runs out: measure less",
	        hc_size_exact(hc_min(bench->size, work->bytes)).s, room_kind_name(work->page.kind));
}

static int explain(const struct map_bench *bench, const struct map_work *work, int status) {
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		return explain_bus(bench, work);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return explain_kill(bench, work);
	if (WIFSIGNALED(status))
		return hc_fail(EIO, "the child that maps was ended by signal %d (%s)", WTERMSIG(status),
		        strsignal(WTERMSIG(status)));
	if (bench->outcome->r == 1)
		return hc_fail(EIO, "the child that maps ended with exit code %d", WEXITSTATUS(status));
	return 0;
}

/* ---- What it found ------------------------------------------------------- */

/* The cold loop, which comes first, is in none of the sums. */
static bool is_warm(const struct map_bench *bench, size_t i, size_t metric) {
	return bench->run->cases[i].series[metric].has_warmup;
}

static void note_got(struct map_bench *bench, const struct map_work *work, size_t i) {
	const struct map_outcome *out = bench->outcome;
	json_t *got = bench->run->cases[i].got;
	uint64_t bytes = hc_min(bench->size, work->bytes);
	if (work->bytes < bench->size)
		json_object_set_new(got, "mapped", json_integer((json_int_t)work->bytes));
	if (work->page.kind == HC_PAGES_THP && out->huge_bytes < bytes) {
		json_object_set_new(got, "huge_bytes", json_integer((json_int_t)out->huge_bytes));
		if (!bench->told_base_pages)
			bench_note(bench->run,
			        "base pages: of %s asked for in transparent huge pages, only %s came in them",
			        hc_size_rounded(bytes).s, hc_size_rounded(out->huge_bytes).s);
		bench->told_base_pages = true;
	}
	if (work->function == FUNCTION_POPULATE && out->populated_by > HC_POPULATE_CHOSEN)
		json_object_set_new(got, "populated_by", json_string(map_by_names[out->populated_by - 1]));
	if (out->threads < work->threads) {
		json_object_set_new(got, "threads", json_integer(out->threads));
		if (!bench->told_threads)
			bench_note(bench->run, "%u threads wanted, %u took part: %s", work->threads, out->threads,
			        *out->threads_why ? out->threads_why : "there was less to do");
		bench->told_threads = true;
	}
	if (bench->cycles && *out->cycles_why && !bench->told_cycles) {
		bench_note(bench->run, "cycles: %s", out->cycles_why);
		bench->told_cycles = true;
	}
}

static void note_threads(struct map_bench *bench, struct map_work *work, size_t i, uint64_t repeats) {
	const struct map_outcome *out = bench->outcome;
	if (work->function != FUNCTION_DEMAND || out->threads < 2 || !is_warm(bench, i, MAP_THROUGHPUT))
		return;
	json_t *by_thread = json_array();
	work->nr_samples++;
	for (unsigned t = 0; by_thread && t < out->threads; t++) {
		double share = (double)bench->size * (double)repeats / out->threads;
		work->thread_gib_per_s[t] += bench_gib_per_s(share, (double)hc_max(out->by_thread[t].ns, 1));
		json_array_append_new(by_thread, json_real(work->thread_gib_per_s[t] / (double)work->nr_samples));
	}
	json_object_set_new(bench->run->cases[i].got, "by_thread", by_thread);
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
			value[0] = (double)latency_at(latency, 0.99) / 1e9;
			value[1] = (double)latency->max / 1e9;
		}
}

static void values_of(struct map_bench *bench, struct map_work *work, size_t i, uint64_t repeats, double *values) {
	struct map_outcome *out = bench->outcome;
	double bytes = (double)bench->size * (double)repeats, n = (double)repeats;
	if (work->victims)
		victim_values(work, out, is_warm(bench, i, MAP_VICTIM), values);
	if (work->function == FUNCTION_IDLE)
		return;
	values[MAP_THROUGHPUT] = bench_gib_per_s(bytes, (double)hc_max(out->ns, 1));
	values[MAP_SECONDS] = (double)out->ns / 1e9 / n;
	values[MAP_MUNMAP] = (double)out->munmap_ns / 1e9 / n;
	if (work->function == FUNCTION_POPULATE && out->longest_step_ns > 0)
		values[MAP_STEP_MAX] = (double)out->longest_step_ns / 1e9;
	if (out->cycles > 0)
		values[MAP_CYCLES] = (double)out->cycles / (bytes / (double)work->page.page_size);
	struct latency *faults = &out->by_thread[0].faults;
	for (unsigned t = 1; work->function == FUNCTION_DEMAND && t < out->threads; t++)
		latency_merge(faults, &out->by_thread[t].faults);
	if (work->function == FUNCTION_DEMAND && faults->count > 0) {
		values[MAP_FAULT_P50] = (double)latency_at(faults, 0.5) / 1e9;
		values[MAP_FAULT_P99] = (double)latency_at(faults, 0.99) / 1e9;
		values[MAP_FAULT_MAX] = (double)faults->max / 1e9;
	}
}

int map_sample(void *state, size_t i, uint64_t repeats, struct bench_sample *ret_sample) {
	struct map_bench *bench = state;
	struct map_work *work = &bench->works[i];
	int status = 0;
	memset(bench->outcome, 0, bench->outcome_size);
	bench->outcome->r = 1;
	pid_t pid = start_child(bench, work, repeats);
	if (pid < 0)
		return hc_fail_errno(errno, "a child for the measurement couldn't be started");
	int r = wait_for(pid, &status);
	if (r == 0)
		r = explain(bench, work, status);
	if (r == 0 && bench->outcome->r < 0)
		r = hc_fail(-bench->outcome->r, "%s", bench->outcome->detail);
	if (r < 0)
		return r;
	note_got(bench, work, i);
	note_threads(bench, work, i, repeats);
	/* What is idle is long enough whatever it does. */
	ret_sample->ns = bench->outcome->ns;
	values_of(bench, work, i, repeats, ret_sample->values);
	return 0;
}
