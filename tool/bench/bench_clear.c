/* `hugeclear bench clear`: its options and its cases. */
#include "bench/bench_clear.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "bench/lists.h"
#include "cli.h"

#define SIZE_DEFAULT (UINT64_C(1) << 30)
#define WHOLE UINT64_MAX
/* Shorter extents measure calls, not clearing. */
#define EXTENT_LEAST 64

/* ---- Options ------------------------------------------------------------- */

enum { OPTION_CHUNK = 256, OPTION_INTENT, OPTION_THEN, OPTION_NODE, OPTION_CPUS };

static const struct option options[] = {
        {"size", required_argument, NULL, 's'},
        {"page", required_argument, NULL, 'p'},
        {"function", required_argument, NULL, 'f'},
        {"extent", required_argument, NULL, 'e'},
        {"threads", required_argument, NULL, 't'},
        {"chunk", required_argument, NULL, OPTION_CHUNK},
        {"intent", required_argument, NULL, OPTION_INTENT},
        {"then", required_argument, NULL, OPTION_THEN},
        {"node", required_argument, NULL, OPTION_NODE},
        {"cpus", required_argument, NULL, OPTION_CPUS},
        {0},
};

static const char help[] =
        "  -s, --size SIZE       bytes that a sample clears (1G); more than there is: in rounds\n"
        "  -p, --page PAGE       a size of hugetlb pages (2M, 1G), thp or base; else the largest hugetlb\n"
        "                        pages of which enough are available, then thp, then base\n"
        "  -f, --function LIST   base, patched, default, names of methods, or all (base,patched,default)\n"
        "  -e, --extent LIST     bytes that are cleared as one, or whole (4K,64K,2M,32M,whole)\n"
        "  -t, --threads LIST    threads (1)\n"
        "      --chunk LIST      bytes between two questions to stop; 0: none (0)\n"
        "      --intent WORD     soon or later (later; soon with --then)\n"
        "      --then WORD       what follows each extent's clear, timed too: none, read or write (none)\n"
        "      --node N          memory of this node\n"
        "      --cpus LIST       one thread after another on these CPUs, as in 0-3,8\n";

static void *create(void) {
	struct clear_bench *bench = calloc(1, sizeof(*bench));
	if (bench) {
		bench->size = SIZE_DEFAULT;
		bench->intent = HC_INTENT_LATER;
		bench->node = -1;
		bench->threads[bench->nr_threads++] = 1;
		bench->chunks[bench->nr_chunks++] = 0;
	}
	return bench;
}

static void destroy(void *state) {
	struct clear_bench *bench = state;
	if (!bench)
		return;
	resident_free(bench->memory);
	crew_close(bench->crew);
	free(bench->works);
	free(bench);
}

static int read_extent(const struct bench_list *list, const char *item, uint64_t *ret_value) {
	*ret_value = WHOLE;
	return strcmp(item, "whole") == 0 ? 0 : cli_size(list->verb, list->option, item, ret_value);
}

static int add_function(struct clear_bench *bench, enum clear_kind kind, const char *name) {
	for (size_t i = 0; i < bench->nr_functions; i++)
		if (strcmp(bench->functions[i].name, name) == 0)
			return 0;
	if (bench->nr_functions < CLEAR_FUNCTIONS_MAX)
		bench->functions[bench->nr_functions++] = (struct clear_function){.kind = kind, .name = name};
	return 0;
}

const char *const clear_kind_names[] = {
        [CLEAR_BASE] = "base", [CLEAR_PATCHED] = "patched", [CLEAR_DEFAULT] = "default"};

static void add_kinds(struct clear_bench *bench) {
	for (enum clear_kind kind = CLEAR_BASE; kind <= CLEAR_DEFAULT; kind++)
		add_function(bench, kind, clear_kind_names[kind]);
}

static int refuse_method(const char *verb, const struct hc_clear_method *method) {
	char available[512] = "";
	const struct hc_clear_method *other;
	for (unsigned i = 0; (other = hc_clear_method(i)); i++)
		if (other->available)
			snprintf(available + strlen(available), sizeof(available) - strlen(available), "%s%s",
			        *available ? ", " : "", other->name);
	cli_error(verb, "--function: method '%s' needs a processor with %s, and here is missing: %s; available: %s",
	        method->name, method->needs, method->lacks ? method->lacks : method->needs, available);
	return HC_EXIT_UNAVAILABLE;
}

struct function_list {
	struct clear_bench *bench;
	const char *verb;
};

static int add_function_named(void *user, const char *item) {
	struct function_list *list = user;
	const struct hc_clear_method *method;
	if (strcmp(item, "all") == 0) {
		add_kinds(list->bench);
		for (unsigned i = 0; (method = hc_clear_method(i)); i++)
			if (method->available)
				add_function(list->bench, CLEAR_METHOD, method->name);
		return 0;
	}
	for (enum clear_kind kind = CLEAR_BASE; kind <= CLEAR_DEFAULT; kind++)
		if (strcmp(item, clear_kind_names[kind]) == 0)
			return add_function(list->bench, kind, clear_kind_names[kind]);

	const char *names[CLEAR_FUNCTIONS_MAX + 5] = {"base", "patched", "default", "all"};
	size_t n = 4;
	for (unsigned i = 0; (method = hc_clear_method(i)); i++) {
		if (strcmp(item, method->name) == 0)
			return method->available ? add_function(list->bench, CLEAR_METHOD, method->name)
			                         : refuse_method(list->verb, method);
		if (n < CLEAR_FUNCTIONS_MAX + 4)
			names[n++] = method->name;
	}
	cli_word(list->verb, "--function", item, names);
	return HC_EXIT_USAGE;
}

static int read_functions(struct clear_bench *bench, const char *verb, const char *text) {
	struct function_list list = {.bench = bench, .verb = verb};
	bench->nr_functions = 0;
	bench->functions_given = true;
	return cli_list(verb, "--function", text, add_function_named, &list);
}

static int option(void *state, const char *verb, int c, const char *value) {
	static const char *const intents[] = {"soon", "later", NULL}, *const thens[] = {"none", "read", "write", NULL};
	struct clear_bench *bench = state;
	struct bench_list list = {.verb = verb, .most = BENCH_THREADS_MAX};
	int word;
	switch (c) {
	case 's':
		return cli_size(verb, "--size", value, &bench->size);
	case 'p':
		return room_read_page(verb, value, &bench->page);
	case 'f':
		return read_functions(bench, verb, value);
	case 'e':
		bench->extents_given = true;
		list.option = "--extent", list.values = bench->extents, list.nr = &bench->nr_extents;
		list.max = CLEAR_EXTENTS_MAX, list.read = read_extent;
		return bench_read_list(list, value);
	case 't':
		list.option = "--threads", list.values = bench->threads, list.nr = &bench->nr_threads;
		list.max = CLEAR_LIST_MAX, list.read = bench_read_count;
		return bench_read_list(list, value);
	case OPTION_CHUNK:
		list.option = "--chunk", list.values = bench->chunks, list.nr = &bench->nr_chunks;
		list.max = CLEAR_LIST_MAX, list.read = bench_read_size_or_0;
		return bench_read_list(list, value);
	case OPTION_INTENT:
		word = cli_word(verb, "--intent", value, intents);
		bench->intent = word == 0 ? HC_INTENT_SOON : HC_INTENT_LATER;
		bench->intent_given = true;
		return word < 0 ? HC_EXIT_USAGE : 0;
	case OPTION_THEN:
		word = cli_word(verb, "--then", value, thens);
		bench->then = word == 1 ? THEN_READ : word == 2 ? THEN_WRITE : THEN_NONE;
		return word < 0 ? HC_EXIT_USAGE : 0;
	case OPTION_NODE:
		bench->node_text = value;
		return 0;
	default:
		bench->cpus = value;
		return 0;
	}
}

/* ---- Set-up -------------------------------------------------------------- */

static int check_extents(struct clear_bench *bench, const char *verb) {
	if (!bench->extents_given) {
		const uint64_t usual[] = {
		        bench->kernel.base_page, UINT64_C(64) << 10, UINT64_C(2) << 20, UINT64_C(32) << 20};
		for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
			if (usual[i] < bench->size && (i == 0 || usual[i] > usual[i - 1]))
				bench->extents[bench->nr_extents++] = usual[i];
		bench->extents[bench->nr_extents++] = bench->size;
		return 0;
	}
	size_t n = 0;
	for (size_t i = 0; i < bench->nr_extents; i++) {
		uint64_t extent = bench->extents[i] == WHOLE ? bench->size : bench->extents[i];
		if (extent > bench->size)
			return cli_usage(verb, "--extent: %s is more than the size, %s: write at most that, or whole",
			        hc_size_exact(extent).s, hc_size_exact(bench->size).s);
		if (extent < EXTENT_LEAST && extent < bench->size)
			return cli_usage(verb, "--extent: %s is less than a cache line: write at least %d",
			        hc_size_exact(extent).s, EXTENT_LEAST);
		bool twice = false;
		for (size_t k = 0; k < n; k++)
			twice = twice || bench->extents[k] == extent;
		if (!twice)
			bench->extents[n++] = extent;
	}
	bench->nr_extents = n;
	return 0;
}

static int check_chunks(struct clear_bench *bench, const char *verb) {
	for (size_t i = 0; i < bench->nr_chunks; i++) {
		if (bench->chunks[i] > bench->size)
			return cli_usage(verb, "--chunk: %s is more than the size, %s: nothing would be asked between",
			        hc_size_exact(bench->chunks[i]).s, hc_size_exact(bench->size).s);
		bench->chunked = bench->chunked || bench->chunks[i] != 0;
	}
	return 0;
}

static const char *intent_name(enum hc_intent intent) {
	return intent == HC_INTENT_SOON ? "soon" : "later";
}

/* What defines the work; what is at its default is left out. */
static json_t *params_of(const struct clear_bench *bench, const struct clear_work *work) {
	static const char *const thens[] = {"none", "read", "write"};
	const struct resident *memory = bench->memory;
	bool kernel = work->kind == CLEAR_BASE || work->kind == CLEAR_PATCHED;
	json_t *params = json_pack("{s:I, s:I, s:s, s:s, s:I, s:I}", "size", (json_int_t)bench->size, "page_size",
	        (json_int_t)memory->page_size, "backing", room_kind_name(memory->kind), "function",
	        work->kind == CLEAR_METHOD ? "method" : clear_kind_names[work->kind], "extent",
	        (json_int_t)work->extent, "threads", (json_int_t)work->threads);
	bool ok = params != NULL;
	if (ok && work->kind == CLEAR_METHOD)
		ok = json_object_set_new(params, "method", json_string(work->method)) == 0;
	if (ok && !kernel)
		ok = json_object_set_new(params, "intent", json_string(intent_name(work->intent))) == 0;
	if (ok && work->then != THEN_NONE)
		ok = json_object_set_new(params, "then", json_string(thens[work->then])) == 0;
	if (ok && work->chunk)
		ok = json_object_set_new(params, "chunk", json_integer((json_int_t)work->chunk)) == 0;
	if (ok && memory->node >= 0)
		ok = json_object_set_new(params, "node", json_integer(memory->node)) == 0;
	if (ok && bench->cpus)
		ok = json_object_set_new(params, "cpus", json_string(bench->cpus)) == 0;
	if (ok)
		return params;
	json_decref(params);
	return NULL;
}

static json_t *got_of(const struct clear_bench *bench) {
	const struct resident *memory = bench->memory;
	json_t *got = json_object();
	if (got && memory->bytes < bench->size)
		json_object_set_new(got, "region", json_integer((json_int_t)memory->bytes));
	if (got && memory->kind == HC_PAGES_THP && memory->huge_bytes < memory->bytes)
		json_object_set_new(got, "huge_bytes", json_integer((json_int_t)memory->huge_bytes));
	return got;
}

static int add_work(struct clear_bench *bench, struct bench_run *run, const struct clear_work *work) {
	struct clear_work *works = reallocarray(bench->works, run->nr_cases + 1, sizeof(*works));
	if (!works)
		return hc_fail_memory("no memory for %s", hc_counted(run->nr_cases + 1, "case").s);
	bench->works = works;
	works[run->nr_cases] = *work;
	return bench_add_case(run, params_of(bench, work), got_of(bench));
}

static int add_works(struct clear_bench *bench, struct bench_run *run) {
	for (size_t t = 0; t < bench->nr_threads; t++)
		for (size_t c = 0; c < bench->nr_chunks; c++)
			for (size_t e = 0; e < bench->nr_extents; e++)
				for (size_t f = 0; f < bench->nr_functions; f++) {
					const struct clear_function *function = &bench->functions[f];
					bool base = function->kind == CLEAR_BASE;
					if (base && c > 0)
						continue;
					struct clear_work work = {
					        .kind = function->kind,
					        .method = function->kind == CLEAR_METHOD ? function->name : NULL,
					        .extent = bench->extents[e],
					        .chunk = base ? 0 : bench->chunks[c],
					        .threads = (unsigned)bench->threads[t],
					        .intent = bench->intent,
					        .then = bench->then,
					        .cpus = bench->cpus,
					        .kernel = &bench->kernel,
					        .clock_step_ns = bench_clock_step_ns(),
					};
					int r = add_work(bench, run, &work);
					if (r < 0)
						return r;
				}
	return 0;
}

size_t clear_case_of(const struct clear_bench *bench, const struct clear_function *function, uint64_t extent,
        uint64_t threads, uint64_t chunk) {
	for (size_t i = 0; i < bench->run->nr_cases; i++) {
		const struct clear_work *work = &bench->works[i];
		if (work->kind == function->kind && work->extent == extent && work->threads == threads &&
		        (work->chunk == chunk || work->kind == CLEAR_BASE) &&
		        (work->kind != CLEAR_METHOD || strcmp(work->method, function->name) == 0))
			return i;
	}
	return SIZE_MAX;
}

static int open_crew(struct clear_bench *bench, struct bench_run *run) {
	unsigned most = 0;
	for (size_t i = 0; i < run->nr_cases; i++)
		if (clear_work_needs_crew(&bench->works[i]) && bench->works[i].threads > most)
			most = bench->works[i].threads;
	if (most == 0)
		return 0;
	int r = crew_open(run->machine, most, bench->cpus, &bench->crew);
	for (size_t i = 0; i < run->nr_cases; i++)
		bench->works[i].crew = bench->crew;
	return r;
}

/* A choice that isn't the built-in one has to be known to whoever reads the figures. */
static void note_profile(struct bench_run *run) {
	const char *error, *source = hc_clear_profile(&error);
	if (error)
		bench_note(run, "the profile isn't used: %s", error);
	if (strcmp(source, "built-in") != 0)
		bench_note(run, "hugeclear's choice comes from the profile %s", source);
}

static int set_up(void *state, struct bench_run *run) {
	struct clear_bench *bench = state;
	bench->run = run;
	kernel_clear_init(hc_machine_memory(run->machine)->base_page_size, &bench->kernel);
	if (!bench->functions_given)
		add_kinds(bench);
	if (bench->then != THEN_NONE && !bench->intent_given)
		bench->intent = HC_INTENT_SOON;

	int code = check_extents(bench, run->verb);
	if (code == 0)
		code = check_chunks(bench, run->verb);
	if (code == 0 && bench->cpus && crew_check_cpus(run->machine, bench->cpus) < 0)
		code = cli_usage(run->verb, "--cpus: %s", hc_error_detail());
	if (code == 0)
		code = clear_memory_get(bench, run);
	if (code)
		return code;
	note_profile(run);
	int r = add_works(bench, run);
	if (r == 0)
		r = open_crew(bench, run);
	return r < 0 ? cli_fail(run->verb, r) : 0;
}

const struct bench bench_clear = {
        .name = "clear",
        .title = "clearing: page at a time, by whole extents, and hugeclear's way",
        .summary = "Clears resident memory in extents: as the kernel does (base), as its multi-page clearing\n"
                   "series does (patched), and as hugeclear does (default).",
        .help = help,
        .metrics =
                {
                        [CLEAR_THROUGHPUT] = {"throughput", "GiB/s", true},
                        [CLEAR_ALONE] = {"clear_throughput", "GiB/s", true},
                        [CLEAR_THEN_ALONE] = {"then_throughput", "GiB/s", true},
                        [CLEAR_LONGEST_STEP] = {"longest_step", "s", false},
                },
        .nr_metrics = CLEAR_NR_METRICS,
        .short_options = "s:p:f:e:t:",
        .long_options = options,
        .create = create,
        .option = option,
        .set_up = set_up,
        .sample = clear_sample,
        .check = clear_check,
        .print = clear_print,
        .destroy = destroy,
};
