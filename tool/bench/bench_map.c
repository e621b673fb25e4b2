/* `hugeclear bench map`: its options and its cases. */
#include "bench/bench_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/crew.h"
#include "bench/lists.h"
#include "bench/room.h"
#include "cli.h"

#define SIZE_DEFAULT (UINT64_C(1) << 30)

/* ---- Options ------------------------------------------------------------- */

enum { OPTION_THP = 256, OPTION_NODE, OPTION_CPUS, OPTION_BY, OPTION_CHUNK, OPTION_MEMFD, OPTION_VICTIM };

static const struct option options[] = {
        {"size", required_argument, NULL, 's'},
        {"page", required_argument, NULL, 'p'},
        {"function", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 't'},
        {"randomize", required_argument, NULL, 'r'},
        {"cycles", no_argument, NULL, 'c'},
        {"thp", no_argument, NULL, OPTION_THP},
        {"node", required_argument, NULL, OPTION_NODE},
        {"cpus", required_argument, NULL, OPTION_CPUS},
        {"populate-by", required_argument, NULL, OPTION_BY},
        {"chunk", required_argument, NULL, OPTION_CHUNK},
        {"memfd", no_argument, NULL, OPTION_MEMFD},
        {"victim", no_argument, NULL, OPTION_VICTIM},
        {0},
};

static const char help[] =
        "  -s, --size SIZE       bytes that a sample maps (1G); more than the machine has: in rounds\n"
        "  -p, --page LIST       sizes of hugetlb pages (2M, 1G), thp, base; else all that have room\n"
        "      --thp             the sizes are those of transparent huge pages\n"
        "  -f, --function LIST   demand (touch each page), populate, or all (all)\n"
        "  -t, --threads LIST    threads (1)\n"
        "  -r, --randomize SEED  touch the pages in an order of SEED, each at any byte; 0: in order\n"
        "  -c, --cycles          cycles a page, where the machine counts them\n"
        "      --populate-by LIST  ways to populate: madvise, futex, fallocate, map (the library's choice)\n"
        "      --chunk LIST      bytes of a step of populating; 0: the library's choice (0)\n"
        "      --memfd           memory of a memfd, mapped shared\n"
        "      --node N          on this node\n"
        "      --cpus LIST       one thread after another on these CPUs, as in 0-3,8\n"
        "      --victim          what other threads suffer meanwhile: waking up, mmap, faults\n";

const char *const map_by_names[] = {"madvise", "futex", "fallocate", "map", NULL};
const char *const map_function_names[] = {"idle", "demand", "populate", NULL};

static void *create(void) {
	struct map_bench *bench = calloc(1, sizeof(*bench));
	if (bench) {
		bench->size = SIZE_DEFAULT;
		bench->threads[bench->nr_threads++] = 1;
		bench->chunks[bench->nr_chunks++] = 0;
		bench->bys[bench->nr_bys++] = HC_POPULATE_CHOSEN;
		bench->functions[FUNCTION_DEMAND] = bench->functions[FUNCTION_POPULATE] = true;
	}
	return bench;
}

static void destroy(void *state) {
	struct map_bench *bench = state;
	if (!bench)
		return;
	for (size_t i = 0; i < bench->nr_works; i++)
		free(bench->works[i].victims);
	free(bench->works);
	if (bench->outcome)
		munmap(bench->outcome, bench->outcome_size);
	free(bench);
}

struct word_list {
	struct map_bench *bench;
	const char *verb;
};

static int add_function(void *user, const char *item) {
	static const char *const words[] = {"demand", "populate", "all", NULL};
	struct word_list *list = user;
	int word = cli_word(list->verb, "--function", item, words);
	if (word < 0)
		return HC_EXIT_USAGE;
	if (word != 1)
		list->bench->functions[FUNCTION_DEMAND] = true;
	if (word != 0)
		list->bench->functions[FUNCTION_POPULATE] = true;
	return 0;
}

static int add_by(void *user, const char *item) {
	struct word_list *list = user;
	int word = cli_word(list->verb, "--populate-by", item, map_by_names);
	if (word < 0)
		return HC_EXIT_USAGE;
	for (size_t i = 0; i < list->bench->nr_bys; i++)
		if (list->bench->bys[i] == (enum hc_populate_by)(word + 1))
			return 0;
	/* There are no more than four. */
	list->bench->bys[list->bench->nr_bys++] = (enum hc_populate_by)(word + 1);
	return 0;
}

static int option(void *state, const char *verb, int c, const char *value) {
	struct map_bench *bench = state;
	struct word_list words = {.bench = bench, .verb = verb};
	struct bench_list list = {.verb = verb, .most = MAP_THREADS_MAX};
	switch (c) {
	case 's':
		return cli_size(verb, "--size", value, &bench->size);
	case 'p':
		bench->page_text = value;
		return 0;
	case 'f':
		bench->functions[FUNCTION_DEMAND] = bench->functions[FUNCTION_POPULATE] = false;
		return cli_list(verb, "--function", value, add_function, &words);
	case 't':
		list.option = "--threads", list.values = bench->threads, list.nr = &bench->nr_threads;
		list.max = MAP_LIST_MAX, list.read = bench_read_count;
		return bench_read_list(list, value);
	case 'r':
		return cli_count(verb, "--randomize", value, 0, INT64_MAX, &bench->random_seed);
	case 'c':
		bench->cycles = true;
		return 0;
	case OPTION_THP:
		bench->thp = true;
		return 0;
	case OPTION_MEMFD:
		bench->memfd = true;
		return 0;
	case OPTION_NODE:
		bench->node_text = value;
		return 0;
	case OPTION_CPUS:
		bench->cpus = value;
		return 0;
	case OPTION_BY:
		bench->nr_bys = 0;
		return cli_list(verb, "--populate-by", value, add_by, &words);
	case OPTION_CHUNK:
		list.option = "--chunk", list.values = bench->chunks, list.nr = &bench->nr_chunks;
		list.max = MAP_LIST_MAX, list.read = bench_read_size_or_0;
		return bench_read_list(list, value);
	default:
		bench->victim = true;
		return 0;
	}
}

/* ---- Cases --------------------------------------------------------------- */

static json_t *params_of(const struct map_bench *bench, const struct map_work *work) {
	json_t *params = json_pack("{s:s}", "function", map_function_names[work->function]);
	bool ok = params != NULL;
	if (ok && work->function != FUNCTION_IDLE)
		ok = json_object_set_new(params, "size", json_integer((json_int_t)bench->size)) == 0 &&
		     json_object_set_new(params, "page_size", json_integer((json_int_t)work->page.page_size)) == 0 &&
		     json_object_set_new(params, "backing", json_string(room_kind_name(work->page.kind))) == 0 &&
		     json_object_set_new(params, "threads", json_integer(work->threads)) == 0;
	if (ok && work->chunk)
		ok = json_object_set_new(params, "chunk", json_integer((json_int_t)work->chunk)) == 0;
	if (ok && work->by != HC_POPULATE_CHOSEN)
		ok = json_object_set_new(params, "populate_by", json_string(map_by_names[work->by - 1])) == 0;
	if (ok && bench->memfd && work->function != FUNCTION_IDLE)
		ok = json_object_set_new(params, "memfd", json_true()) == 0;
	if (ok && bench->random_seed && work->function == FUNCTION_DEMAND)
		ok = json_object_set_new(params, "random", json_integer((json_int_t)bench->random_seed)) == 0;
	if (ok && *bench->node)
		ok = json_object_set_new(params, "node", json_integer(atoi(bench->node))) == 0;
	if (ok && bench->cpus)
		ok = json_object_set_new(params, "cpus", json_string(bench->cpus)) == 0;
	if (ok && bench->victim)
		ok = json_object_set_new(params, "victim", json_true()) == 0;
	if (ok)
		return params;
	json_decref(params);
	return NULL;
}

static int add_work(struct map_bench *bench, struct bench_run *run, struct map_work work) {
	struct map_work *works = reallocarray(bench->works, bench->nr_works + 1, sizeof(*works));
	if (!works)
		return hc_fail_memory("no memory for %s", hc_counted(bench->nr_works + 1, "case").s);
	bench->works = works;
	if (bench->victim) {
		work.victims = calloc(1, sizeof(*work.victims));
		if (!work.victims)
			return hc_fail_memory("no memory for the times of victims");
	}
	works[bench->nr_works++] = work;
	return bench_add_case(run, params_of(bench, &work), NULL);
}

/* Pages come whole: less than one of a chunk would be measured as what it isn't. */
static uint64_t whole_chunk(uint64_t chunk, const struct map_page *page) {
	uint64_t whole;
	if (chunk > page->bytes || !hc_mul_ok(hc_div_up(chunk, page->page_size), page->page_size, &whole))
		return page->bytes;
	return whole;
}

static bool has_chunk_before(const struct map_bench *bench, size_t c, const struct map_page *page) {
	uint64_t chunk = whole_chunk(bench->chunks[c], page);
	for (size_t i = 0; i < c; i++)
		if (whole_chunk(bench->chunks[i], page) == chunk)
			return true;
	return false;
}

static void note_chunks(const struct map_bench *bench, struct bench_run *run) {
	for (size_t p = 0; bench->functions[FUNCTION_POPULATE] && p < bench->nr_pages; p++)
		for (size_t c = 0; c < bench->nr_chunks; c++) {
			uint64_t chunk = whole_chunk(bench->chunks[c], &bench->pages[p]);
			if (chunk != bench->chunks[c])
				bench_note(run, "a chunk of %s is one of %s in pages of %s%s: %s",
				        hc_size_exact(bench->chunks[c]).s, hc_size_exact(chunk).s,
				        hc_size_exact(bench->pages[p].page_size).s,
				        bench->pages[p].kind == HC_PAGES_THP ? " (THP)" : "",
				        chunk > bench->chunks[c] ? "pages come whole" : "there is no more");
		}
}

/* Transparent huge pages come by advice, which neither of the two takes. */
static bool can_populate(enum hc_populate_by by, const struct map_page *page) {
	return page->kind != HC_PAGES_THP || (by != HC_POPULATE_BY_FALLOCATE && by != HC_POPULATE_BY_MAP);
}

/* Chunks and ways are of populating only. */
static int add_function_works(struct map_bench *bench, struct bench_run *run, struct map_work work) {
	int r = 0;
	bool populate = work.function == FUNCTION_POPULATE;
	for (size_t t = 0; t < bench->nr_threads; t++)
		for (size_t c = 0; c < (populate ? bench->nr_chunks : 1); c++)
			for (size_t b = 0; r == 0 && b < (populate ? bench->nr_bys : 1); b++) {
				work.threads = (unsigned)bench->threads[t];
				work.chunk = populate ? whole_chunk(bench->chunks[c], &work.page) : 0;
				work.by = populate ? bench->bys[b] : HC_POPULATE_CHOSEN;
				/* That has no steps. */
				if (work.by == HC_POPULATE_BY_MAP)
					work.chunk = 0;
				bool again = work.by == HC_POPULATE_BY_MAP ? c > 0
				                                           : has_chunk_before(bench, c, &work.page);
				if (!again && can_populate(work.by, &work.page))
					r = add_work(bench, run, work);
			}
	return r;
}

static int add_works(struct map_bench *bench, struct bench_run *run) {
	int r = 0;
	if (bench->victim)
		r = add_work(bench, run,
		        (struct map_work){.function = FUNCTION_IDLE, .threads = 1, .page = bench->pages[0]});
	for (size_t p = 0; r == 0 && p < bench->nr_pages; p++)
		for (enum map_function f = FUNCTION_DEMAND; r == 0 && f <= FUNCTION_POPULATE; f++)
			if (bench->functions[f])
				r = add_function_works(
				        bench, run, (struct map_work){.function = f, .page = bench->pages[p]});
	return r;
}

/* ---- Set-up -------------------------------------------------------------- */

static int choose_cpus(struct map_bench *bench, struct bench_run *run) {
	const struct hc_idset *allowed = hc_machine_cpus(run->machine)->allowed;
	if (bench->cpus || bench->nr_threads > 1 || bench->threads[0] != 1)
		return cli_usage(
		        run->verb, "--victim: one thread is watched, and pinned: leave --threads and --cpus out");
	bench->same_cpu = allowed ? hc_idset_next(allowed, 0) : -1;
	if (bench->same_cpu < 0)
		return cli_fail(run->verb, hc_fail(ENODATA, "--victim: the kernel doesn't say which CPUs are allowed"));
	bench->other_cpu = hc_idset_next(allowed, bench->same_cpu + 1);
	if (bench->other_cpu < 0)
		bench_note(run, "one CPU is allowed: there is no victim on another");
	return 0;
}

static int check_bys(const struct map_bench *bench, struct bench_run *run) {
	for (size_t i = 0; i < bench->nr_bys; i++) {
		enum hc_populate_by by = bench->bys[i];
		if (by != HC_POPULATE_BY_FALLOCATE && by != HC_POPULATE_BY_MAP)
			continue;
		if (*bench->node)
			return cli_usage(run->verb, "--populate-by %s: not with --node", map_by_names[by - 1]);
		for (size_t p = 0; p < bench->nr_pages; p++) {
			if (can_populate(by, &bench->pages[p]))
				continue;
			/* They were asked for; else they are some of what there is. */
			if (bench->page_text || bench->thp)
				return cli_usage(run->verb,
				        "--populate-by %s: not for transparent huge pages; say which pages: -p 2M",
				        map_by_names[by - 1]);
			bench_note(run, "transparent huge pages aren't measured by %s: it can't bring them in",
			        map_by_names[by - 1]);
		}
		for (size_t t = 0; by == HC_POPULATE_BY_MAP && t < bench->nr_threads; t++)
			if (bench->threads[t] > 1)
				return cli_usage(run->verb, "--populate-by map: by one thread only");
	}
	return 0;
}

static int share_outcome(struct map_bench *bench) {
	uint64_t most = 1;
	for (size_t t = 0; t < bench->nr_threads; t++)
		most = hc_max(most, bench->threads[t]);
	bench->outcome_size = sizeof(*bench->outcome) + (size_t)most * sizeof(bench->outcome->by_thread[0]);
	void *p = mmap(NULL, bench->outcome_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return hc_fail_errno(errno, "memory that the children share");
	bench->outcome = p;
	return 0;
}

static int set_up(void *state, struct bench_run *run) {
	struct map_bench *bench = state;
	int node = -1, code = 0;
	bench->run = run;
	if (bench->node_text)
		code = room_read_node(run, bench->node_text, &node);
	if (code == 0 && node >= 0)
		snprintf(bench->node, sizeof(bench->node), "%d", node);
	if (code == 0 && bench->cpus && crew_check_cpus(run->machine, bench->cpus) < 0)
		code = cli_usage(run->verb, "--cpus: %s", hc_error_detail());
	if (code == 0 && bench->random_seed && !bench->functions[FUNCTION_DEMAND])
		code = cli_usage(run->verb, "--randomize: populating has no order; with --function demand");
	bool of_populating = bench->bys[0] != HC_POPULATE_CHOSEN || bench->nr_chunks > 1 || bench->chunks[0] != 0;
	if (code == 0 && of_populating && !bench->functions[FUNCTION_POPULATE])
		code = cli_usage(
		        run->verb, "--populate-by, --chunk: touching pages has neither; with --function populate");
	if (code == 0 && bench->victim)
		code = choose_cpus(bench, run);
	if (code == 0)
		code = map_pages_read(bench);
	if (code == 0)
		code = check_bys(bench, run);
	if (code == 0)
		code = map_pages_try(bench);
	if (code)
		return code;
	note_chunks(bench, run);
	int r = share_outcome(bench);
	if (r == 0)
		r = add_works(bench, run);
	return r < 0 ? cli_fail(run->verb, r) : 0;
}

#define VICTIM_METRICS(where, what, name)                                                                              \
	[MAP_VICTIM + ((where)*VICTIM_WHATS + (what)) * 2] = {"victim_" name "_p99", "s", false},                      \
	                                                [MAP_VICTIM + ((where)*VICTIM_WHATS + (what)) * 2 + 1] = {     \
	                                                        "victim_" name "_max", "s", false}

const struct bench bench_map = {
        .name = "map",
        .title = "mapping: the kernel's own clearing, by demand fault and by populating",
        .summary = "Maps fresh memory, has every page of it brought in, and unmaps it: by touching a byte of each\n"
                   "page (demand), or by the library's populating. What is measured is the kernel.",
        .help = help,
        .metrics =
                {
                        [MAP_THROUGHPUT] = {"throughput", "GiB/s", true},
                        [MAP_SECONDS] = {"seconds", "s", false},
                        [MAP_MUNMAP] = {"munmap_seconds", "s", false},
                        [MAP_FAULT_P50] = {"fault_p50", "s", false},
                        [MAP_FAULT_P99] = {"fault_p99", "s", false},
                        [MAP_FAULT_MAX] = {"fault_max", "s", false},
                        [MAP_STEP_P50] = {"step_p50", "s", false},
                        [MAP_STEP_P99] = {"step_p99", "s", false},
                        [MAP_STEP_MAX] = {"step_max", "s", false},
                        [MAP_CYCLES] = {"cycles_per_page", "cycles", false},
                        VICTIM_METRICS(VICTIM_SAME_CPU, VICTIM_WAKEUP, "same_cpu_wakeup"),
                        VICTIM_METRICS(VICTIM_SAME_CPU, VICTIM_MMAP, "same_cpu_mmap"),
                        VICTIM_METRICS(VICTIM_SAME_CPU, VICTIM_FAULT, "same_cpu_fault"),
                        VICTIM_METRICS(VICTIM_OTHER_CPU, VICTIM_WAKEUP, "other_cpu_wakeup"),
                        VICTIM_METRICS(VICTIM_OTHER_CPU, VICTIM_MMAP, "other_cpu_mmap"),
                        VICTIM_METRICS(VICTIM_OTHER_CPU, VICTIM_FAULT, "other_cpu_fault"),
                },
        .nr_metrics = MAP_NR_METRICS,
        .short_options = "s:p:f:t:r:c",
        .long_options = options,
        .create = create,
        .option = option,
        .set_up = set_up,
        .sample = map_sample,
        .print = map_print,
        .destroy = destroy,
};
