/* hugeclear status: what this machine has, for a person. */
#include "status.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/error.h"
#include "base/size.h"
#include "choices.h"
#include "cli.h"
#include "table.h"

#define VERB "status"

static const char usage_text[] =
        "usage: hugeclear status [OPTION]...\n"
        "\n"
        "Shows what this machine has and allows: processor, caches, nodes, huge pages and\n"
        "their pools, transparent huge pages, mounts, limits, what its kernel can do, and\n"
        "which clearing methods are chosen. Changes nothing; an unknown number is shown as ?.\n"
        "\n"
        "  -j, --json      one JSON object; sizes in bytes, unknown is null\n"
        "  -r, --root DIR  read DIR/proc and DIR/sys, the tree of another machine\n"
        "  -h, --help      this text\n";

/* ---- Words for numbers ---------------------------------------------------- */

static struct hc_size_text bytes_text(uint64_t bytes) {
	return bytes == HC_UNKNOWN ? (struct hc_size_text){"?"} : hc_size_rounded(bytes);
}

/* What is a power of two by nature, or set by somebody: to the byte. */
static struct hc_size_text exact_text(uint64_t bytes) {
	return bytes == HC_UNKNOWN ? (struct hc_size_text){"?"} : hc_size_exact(bytes);
}

static struct hc_size_text limit_text(uint64_t bytes) {
	return bytes == HC_UNKNOWN ? (struct hc_size_text){"no limit"} : hc_size_rounded(bytes);
}

static struct hc_size_text count_text(uint64_t count) {
	struct hc_size_text text = {"?"};
	if (count != HC_UNKNOWN)
		snprintf(text.s, sizeof(text.s), "%llu", (unsigned long long)count);
	return text;
}

static const char *or_unknown(const char *text) {
	return *text ? text : "unknown";
}

/* ---- Sections ------------------------------------------------------------- */

/* Prints a filled table under a heading, and frees it. */
static int section(const char *heading, struct cli_table *table) {
	printf("\n%s\n", heading);
	int r = cli_table_print(table, 2);
	cli_table_free(table);
	return r;
}

/* A table of names and what there is to say about them. */
static struct cli_table *list_new(void) {
	struct cli_table *table = cli_table_new();
	cli_table_column(table, NULL, CLI_LEFT);
	cli_table_column(table, NULL, CLI_TEXT);
	return table;
}

/* Begins a row of such a table: its second cell is filled by the caller. */
static struct cli_table *entry(struct cli_table *table, const char *name) {
	cli_table_row(table);
	cli_table_cell(table, "%s", name);
	return table;
}

static void processor_entries(const struct status *status, struct cli_table *table) {
	const struct hc_processor *p = hc_machine_processor(status->machine);

	if (p->family)
		cli_table_cell(entry(table, "processor"), "%s (%s %s, family %u, model %u, stepping %u)",
		        or_unknown(p->model_name), p->architecture, or_unknown(p->vendor), p->family, p->model,
		        p->stepping);
	else
		cli_table_cell(entry(table, "processor"), "%s%s%s", p->model_name,
		        *p->model_name && *p->architecture ? ", " : "",
		        *p->model_name && !*p->architecture ? "" : or_unknown(p->architecture));
	if (p->virtualised >= 0)
		cli_table_cell(entry(table, "virtual"), "%s%s%s", p->virtualised ? "yes" : "no",
		        *p->hypervisor ? ", " : "", p->hypervisor);
	if (!status->root || *p->features)
		cli_table_cell(entry(table, "features"), "%s", *p->features ? p->features : "none that clearing uses");
	if (*p->features_masked)
		cli_table_cell(entry(table, "masked"), "%s", p->features_masked);

	struct hc_size_text l1d = exact_text(p->l1d ? p->l1d : HC_UNKNOWN);
	struct hc_size_text l2 = exact_text(p->l2 ? p->l2 : HC_UNKNOWN);
	struct hc_size_text l3 = exact_text(p->l3 ? p->l3 : HC_UNKNOWN);
	cli_table_cell(entry(table, "caches"), "L1d %s, L2 %s, L3 %s; what is cleared stays cached up to %s", l1d.s,
	        l2.s, l3.s, exact_text(p->cached_up_to).s);
}

static int print_machine(const struct status *status) {
	const struct hc_kernel *kernel = hc_machine_kernel(status->machine);
	const struct hc_cpus *cpus = hc_machine_cpus(status->machine);
	const struct hc_memory *memory = hc_machine_memory(status->machine);
	struct cli_table *table = list_new();

	if (status->root)
		cli_table_cell(entry(table, "tree"), "%s", status->root);
	cli_table_cell(entry(table, "kernel"), "%s, preemption %s", or_unknown(kernel->release),
	        or_unknown(kernel->preemption));
	processor_entries(status, table);
	cli_table_cell(entry(table, "CPUs"), "%s online%s%s", or_unknown(hc_idset_text(cpus->online)),
	        cpus->allowed ? ", allowed " : "", cpus->allowed ? hc_idset_text(cpus->allowed) : "");
	cli_table_cell(entry(table, "threads"), "%u by default: %s", cpus->default_threads, cpus->default_threads_why);

	struct hc_size_text free = bytes_text(memory->free), available = bytes_text(memory->available);
	cli_table_cell(
	        entry(table, "memory"), "%s, free %s, available %s", bytes_text(memory->total).s, free.s, available.s);
	if (memory->swap_total != HC_UNKNOWN && memory->swap_total > 0)
		cli_table_cell(entry(table, "swap"), "%s, free %s", bytes_text(memory->swap_total).s,
		        bytes_text(memory->swap_free).s);
	struct hc_size_text base = exact_text(memory->base_page_size);
	if (memory->default_huge_page_size == HC_UNKNOWN)
		cli_table_cell(entry(table, "pages"), "base %s", base.s);
	else
		cli_table_cell(entry(table, "pages"), "base %s, default huge %s", base.s,
		        exact_text(memory->default_huge_page_size).s);
	printf("Machine\n");
	int r = cli_table_print(table, 2);
	cli_table_free(table);
	return r;
}

static void choice_entry(struct cli_table *table, const char *name, enum hc_intent intent) {
	struct hc_clear_profile_step steps[HC_CLEAR_PROFILE_STEPS_MAX];
	unsigned n = cli_choices(intent, steps);
	char text[HC_CLEAR_PROFILE_STEPS_MAX * 80];
	cli_table_cell(entry(table, name), "%s", cli_choices_text(steps, n, text, sizeof(text)));
}

static int print_clearing(void) {
	struct cli_table *table = list_new();
	const char *error;
	const char *source = hc_clear_profile(&error);

	cli_table_cell(entry(table, "choice from"), "%s", source);
	if (error)
		cli_table_cell(entry(table, "not used"), "HUGECLEAR_PROFILE: %s", error);
	choice_entry(table, "touched soon", HC_INTENT_SOON);
	choice_entry(table, "touched later", HC_INTENT_LATER);

	char available[512] = "";
	const struct hc_clear_method *method;
	for (unsigned i = 0, len = 0; (method = hc_clear_method(i)) && len < sizeof(available); i++)
		if (method->available)
			len += (unsigned)snprintf(
			        available + len, sizeof(available) - len, "%s%s", len ? " " : "", method->name);
	cli_table_cell(entry(table, "methods"), "%s", available);
	for (unsigned i = 0; (method = hc_clear_method(i)); i++)
		if (!method->available)
			cli_table_cell(entry(table, "not here"), "%s: lacks %s", method->name, method->lacks);
	return section("Clearing", table);
}

static int print_nodes(const struct status *status) {
	struct cli_table *table = cli_table_new();
	cli_table_column(table, "node", CLI_RIGHT);
	cli_table_column(table, "CPUs", CLI_RIGHT);
	cli_table_column(table, "memory", CLI_RIGHT);
	cli_table_column(table, "free", CLI_RIGHT);
	cli_table_column(table, "which CPUs", CLI_TEXT);

	const struct hc_node *node;
	for (unsigned i = 0; (node = hc_machine_node(status->machine, i)); i++) {
		cli_table_row(table);
		cli_table_cell(table, "%u", node->id);
		cli_table_cell(table, "%u", hc_idset_count(node->cpus));
		cli_table_cell(table, "%s", node->has_memory ? bytes_text(node->mem_total).s : "none");
		cli_table_cell(table, "%s", node->has_memory ? bytes_text(node->mem_free).s : "");

		char nearest[80] = "";
		if (!hc_idset_count(node->cpus) && node->nearest_cpus >= 0)
			snprintf(nearest, sizeof(nearest), "none; nearest on node %d", node->nearest_cpus);
		else if (!node->has_memory && node->nearest_memory >= 0)
			snprintf(nearest, sizeof(nearest), "; memory nearest on node %d", node->nearest_memory);
		cli_table_cell(table, "%s%s", hc_idset_text(node->cpus), nearest);
	}
	return section("Nodes", table);
}

/* What there is to say below the table of pools. */
static void print_pool_notes(const struct status *status) {
	const struct hc_memory *memory = hc_machine_memory(status->machine);
	const struct hc_pool *pool;

	for (unsigned i = 0; (pool = hc_machine_pool(status->machine, i)); i++) {
		if (pool->is_default && pool->total == HC_UNKNOWN)
			printf("  %s: default, pool unknown\n", hc_size_exact(pool->page_size).s);
		if (pool->cgroup_limit_file)
			printf("  %s pages: %s more by %s; %s\n", hc_size_exact(pool->page_size).s,
			        hc_size_rounded(pool->cgroup_bytes_left).s, pool->cgroup_limit_file,
			        pool->cgroup_limit_is_reservation ? "beyond it mmap fails"
			                                          : "beyond it the first touch fails (SIGBUS)");
	}
	if (memory->hugetlb_elsewhere != HC_UNKNOWN && memory->hugetlb_elsewhere > 0)
		printf("  other sizes hold %llu kB (%s), by /proc/meminfo\n",
		        (unsigned long long)(memory->hugetlb_elsewhere / 1024),
		        hc_size_rounded(memory->hugetlb_elsewhere).s);
}

static int print_pools(const struct status *status) {
	const struct hc_memory *memory = hc_machine_memory(status->machine);

	if (!hc_machine_pool(status->machine, 0)) {
		printf("\nHuge page pools\n");
		if (memory->has_hugetlb == 0)
			printf("  kernel has no hugetlb support\n");
		else
			printf("  no hugetlb sizes found in /sys/kernel/mm/hugepages or /proc/meminfo\n");
		if (memory->default_huge_page_size != HC_UNKNOWN)
			printf("  %s: default, pool unknown\n", hc_size_exact(memory->default_huge_page_size).s);
		print_pool_notes(status);
		return 0;
	}

	struct cli_table *table = cli_table_new();
	static const char *const headings[] = {"page size", "total", "free", "reserved", "available", "surplus",
	        "persistent", "overcommit", "cgroup left"};
	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		cli_table_column(table, headings[i], CLI_RIGHT);

	const struct hc_pool *pool;
	for (unsigned i = 0; (pool = hc_machine_pool(status->machine, i)); i++) {
		cli_table_row(table);
		cli_table_cell(table, "%s", hc_size_exact(pool->page_size).s);
		const uint64_t counts[] = {pool->total, pool->free, pool->reserved, pool->available, pool->surplus,
		        pool->persistent, pool->overcommit};
		for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++)
			cli_table_cell(table, "%s", count_text(counts[k]).s);
		cli_table_cell(table, "%s", limit_text(pool->cgroup_bytes_left).s);
	}
	int r = section("Huge page pools (in pages)", table);
	print_pool_notes(status);
	return r;
}

/* With one node it would repeat the pools. */
static int print_node_pools(const struct status *status) {
	if (!hc_machine_node(status->machine, 1))
		return 0;

	struct cli_table *table = cli_table_new();
	static const char *const headings[] = {"node", "page size", "total", "free", "surplus", "persistent"};
	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		cli_table_column(table, headings[i], CLI_RIGHT);

	bool any = false;
	const struct hc_node *node;
	const struct hc_pool *pool;
	for (unsigned i = 0; (node = hc_machine_node(status->machine, i)); i++) {
		for (unsigned k = 0; (pool = hc_machine_pool(status->machine, k)); k++) {
			const struct hc_node_pool *here = hc_machine_node_pool(
			        status->machine, node->id, pool->page_size);
			if (!here)
				continue;
			any = true;
			cli_table_row(table);
			cli_table_cell(table, "%u", node->id);
			cli_table_cell(table, "%s", hc_size_exact(here->page_size).s);
			cli_table_cell(table, "%s", count_text(here->total).s);
			cli_table_cell(table, "%s", count_text(here->free).s);
			cli_table_cell(table, "%s", count_text(here->surplus).s);
			cli_table_cell(table, "%s", count_text(here->persistent).s);
		}
	}
	if (any)
		return section("Huge page pools by node (in pages)", table);
	cli_table_free(table);
	return 0;
}

/* The sizes of multi-size THP with the same setting in one entry each. */
static void mthp_entries(const struct status *status, struct cli_table *table) {
	const struct hc_mthp *size, *other;

	for (unsigned i = 0; (size = hc_machine_mthp(status->machine, i)); i++) {
		/* A size without the setting is one of shared memory alone. */
		bool said = !*size->enabled;
		for (unsigned k = 0; k < i && !said; k++)
			said = strcmp(hc_machine_mthp(status->machine, k)->enabled, size->enabled) == 0;
		if (said)
			continue;
		char text[512] = "";
		size_t len = 0;
		for (unsigned k = i; (other = hc_machine_mthp(status->machine, k)) && len < sizeof(text); k++)
			if (strcmp(other->enabled, size->enabled) == 0)
				len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
				        hc_size_exact(other->page_size).s);
		char name[64];
		snprintf(name, sizeof(name), "sizes on %s", size->enabled);
		cli_table_cell(entry(table, name), "%s", text);
	}
}

static int print_thp(const struct status *status) {
	const struct hc_thp *thp = hc_machine_thp(status->machine);
	struct cli_table *table = list_new();

	if (thp->present == 0) {
		cli_table_cell(entry(table, "THP not available"), "the kernel is without it");
	} else if (thp->present < 0) {
		cli_table_cell(entry(table, "unknown"), "there is no /sys/kernel/mm to look into, or it can't be read");
	} else {
		cli_table_cell(entry(table, "enabled"), "%s%s", or_unknown(thp->enabled),
		        strcmp(thp->enabled, "never") == 0 ? ": madvise() succeeds and gives base pages" : "");
		cli_table_cell(entry(table, "defrag"), "%s", or_unknown(thp->defrag));
		cli_table_cell(entry(table, "shmem"), "%s", or_unknown(thp->shmem_enabled));
		cli_table_cell(entry(table, "page size"), "%s", exact_text(thp->pmd_size).s);
		if (thp->process_disabled == 1)
			cli_table_cell(entry(table, "this process"),
			        "off by PR_SET_THP_DISABLE, inherited: base pages only, whatever is enabled");
	}
	if (thp->present != 0)
		mthp_entries(status, table);
	return section("Transparent huge pages", table);
}

static int print_mounts(const struct status *status) {
	if (!hc_machine_hugetlbfs(status->machine, 0)) {
		printf("\n"
		       "hugetlbfs mounts\n"
		       "  none: anonymous and memfd huge pages work without one; files on huge pages need\n"
		       "  mount -t hugetlbfs -o pagesize=SIZE none DIRECTORY\n");
		return 0;
	}
	struct cli_table *table = cli_table_new();
	cli_table_column(table, "page size", CLI_RIGHT);
	cli_table_column(table, "limit", CLI_RIGHT);
	cli_table_column(table, "kept for it", CLI_RIGHT);
	cli_table_column(table, "path", CLI_LEFT);

	const struct hc_hugetlbfs *mount;
	for (unsigned i = 0; (mount = hc_machine_hugetlbfs(status->machine, i)); i++) {
		cli_table_row(table);
		cli_table_cell(table, "%s", exact_text(mount->page_size).s);
		cli_table_cell(table, "%s", limit_text(mount->size_limit).s);
		cli_table_cell(table, "%s", mount->min_size ? exact_text(mount->min_size).s : "nothing");
		cli_table_cell(table, "%s", mount->path);
	}
	return section("hugetlbfs mounts", table);
}

static int print_limits(const struct status *status) {
	const struct hc_limits *limits = hc_machine_limits(status->machine);
	struct cli_table *table = list_new();

	/* Resource limits of a tree aren't known, which the snapshot can't tell from unlimited ones. */
	if (!status->root) {
		cli_table_cell(entry(table, "locked memory"), "%s, at most %s%s",
		        limit_text(limits->locked_memory_soft).s, limit_text(limits->locked_memory_hard).s,
		        limits->locked_memory_applies == 0 ? "; lifted by CAP_IPC_LOCK" : "");
		cli_table_cell(entry(table, "address space"), "%s", limit_text(limits->address_space).s);
	}
	cli_table_cell(entry(table, "memory cgroup"), "%s%s%s%s", limit_text(limits->memory_cgroup_left).s,
	        limits->memory_cgroup_file ? " more by " : "",
	        limits->memory_cgroup_file ? limits->memory_cgroup_file : "",
	        limits->memory_cgroup_file ? "; huge pages of the pools don't count unless it is mounted so" : "");
	return section("Limits of this process", table);
}

static int print_kernel_features(const struct status *status) {
	if (!hc_machine_kernel_feature(status->machine, 0))
		return 0;
	struct cli_table *table = cli_table_new();
	cli_table_column(table, NULL, CLI_LEFT);
	cli_table_column(table, NULL, CLI_LEFT);
	cli_table_column(table, NULL, CLI_TEXT);

	const struct hc_kernel_feature *feature;
	for (unsigned i = 0; (feature = hc_machine_kernel_feature(status->machine, i)); i++) {
		cli_table_row(table);
		cli_table_cell(table, "%s", feature->name);
		cli_table_cell(table, "%s", feature->available == 1 ? "yes" : feature->available == 0 ? "no" : "?");
		cli_table_cell(table, "%s", feature->reason ? feature->reason : "");
	}
	return section("What the kernel can do", table);
}

static int print_warnings(const struct status *status) {
	const char *warning;
	struct cli_table *table = cli_table_new();
	cli_table_column(table, NULL, CLI_TEXT);
	for (unsigned i = 0; (warning = hc_machine_warning(status->machine, i)); i++) {
		cli_table_row(table);
		cli_table_cell(table, "%s", warning);
	}
	if (hc_machine_warning(status->machine, 0))
		return section("Odd things", table);
	cli_table_free(table);
	return 0;
}

static int print_text(const struct status *status) {
	int r = print_machine(status);
	/* Methods, choices and kernel features are those of the machine that runs this, not of the tree. */
	if (r == 0 && !status->root)
		r = print_clearing();
	if (r == 0)
		r = print_nodes(status);
	if (r == 0)
		r = print_pools(status);
	if (r == 0)
		r = print_node_pools(status);
	if (r == 0)
		r = print_thp(status);
	if (r == 0)
		r = print_mounts(status);
	if (r == 0)
		r = print_limits(status);
	if (r == 0 && !status->root)
		r = print_kernel_features(status);
	if (r == 0)
		r = print_warnings(status);
	return r;
}

int hc_verb_status(int argc, char **argv) {
	static const struct option options[] = {
	        {"json", no_argument, NULL, 'j'},
	        {"root", required_argument, NULL, 'r'},
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	struct status status = {.root = NULL};
	bool json = false;

	int c;
	while ((c = getopt_long(argc, argv, ":jr:h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'r':
			if (!*optarg)
				return cli_usage(
				        VERB, "--root: '' is not a folder: give one with proc/ and sys/ in it");
			status.root = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return HC_EXIT_OK;
		default:
			return cli_bad_option(VERB, c, argv, options);
		}
	}
	int r = cli_no_arguments(VERB, argc, argv);
	if (r == 0)
		r = cli_check_output(VERB);
	if (r != 0)
		return r;

	struct hc_machine_opts opts = {.size = sizeof(opts), .root = status.root};
	struct hc_machine *machine = NULL;
	r = hc_machine_read(&opts, &machine);
	if (r == 0) {
		status.machine = machine;
		r = json ? status_print_json(&status) : print_text(&status);
		hc_machine_free(machine);
	}
	return r < 0 ? cli_fail(VERB, r) : HC_EXIT_OK;
}
