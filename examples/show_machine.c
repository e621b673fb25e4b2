/*
 * What a machine has, in short; `hugeclear status` is the long form.
 *
 * usage: example_show_machine [ROOT]   ROOT: a folder with another machine's proc/ and sys/
 */
#include <inttypes.h>
#include <stdio.h>

#include <hugeclear/sys.h>

static void show_size(const char *name, uint64_t bytes) {
	char words[HC_SIZE_TEXT_MAX];
	if (bytes == HC_UNKNOWN || hc_size_format(bytes, words, sizeof(words)) < 0)
		printf("  %s: unknown\n", name);
	else
		printf("  %s: %s\n", name, words);
}

static void show_nodes(const struct hc_machine *machine) {
	const struct hc_node *node;
	for (unsigned i = 0; (node = hc_machine_node(machine, i)); i++) {
		printf("node %u: CPUs %s (%u of them), distance to the first node %d\n", node->id,
		        hc_idset_text(node->cpus), hc_idset_count(node->cpus),
		        hc_machine_node_distance(machine, node->id, hc_machine_node(machine, 0)->id));
		show_size("memory", node->mem_total);
		const struct hc_pool *pool;
		for (unsigned k = 0; (pool = hc_machine_pool(machine, k)); k++) {
			const struct hc_node_pool *here = hc_machine_node_pool(machine, node->id, pool->page_size);
			if (here && here->total != HC_UNKNOWN)
				printf("  huge pages of %" PRIu64 " KiB: %" PRIu64 "\n", here->page_size >> 10,
				        here->total);
		}
	}
}

static void show_huge_pages(const struct hc_machine *machine) {
	const struct hc_memory *memory = hc_machine_memory(machine);
	show_size("memory", memory->total);
	show_size("base page", memory->base_page_size);
	const struct hc_pool *pool = NULL;
	if (memory->default_huge_page_size != HC_UNKNOWN)
		pool = hc_machine_pool_by_size(machine, memory->default_huge_page_size);
	if (pool && pool->available != HC_UNKNOWN)
		printf("  a new map can have %" PRIu64 " huge pages of the default size\n", pool->available);
	printf("  THP: %s\n", hc_machine_thp(machine)->enabled);
	const struct hc_mthp *size;
	for (unsigned i = 0; (size = hc_machine_mthp(machine, i)); i++)
		printf("  THP of %" PRIu64 " KiB: %s\n", size->page_size >> 10, size->enabled);
	const struct hc_hugetlbfs *mount;
	for (unsigned i = 0; (mount = hc_machine_hugetlbfs(machine, i)); i++)
		printf("  hugetlbfs on %s\n", mount->path);
}

int main(int argc, char **argv) {
	struct hc_machine_opts opts = {.size = sizeof(opts), .root = argc > 1 ? argv[1] : NULL};
	struct hc_machine *machine;
	if (hc_machine_read(&opts, &machine) < 0) {
		fprintf(stderr, "%s\n", hc_error_detail());
		return 1;
	}

	const struct hc_processor *processor = hc_machine_processor(machine);
	printf("%s: %s\n", processor->model_name, processor->features);
	const struct hc_cpus *cpus = hc_machine_cpus(machine);
	printf("%u threads by default: %s\n", cpus->default_threads, cpus->default_threads_why);
	if (cpus->allowed)
		for (int cpu = -1; (cpu = hc_idset_next(cpus->allowed, cpu + 1)) >= 0;)
			printf("  CPU %d%s\n", cpu, hc_idset_has(cpus->online, (unsigned)cpu) ? "" : " (offline)");
	show_nodes(machine);
	show_huge_pages(machine);
	show_size("may be locked", hc_machine_limits(machine)->locked_memory_soft);

	printf("kernel %s\n", hc_machine_kernel(machine)->release);
	const struct hc_kernel_feature *feature;
	for (unsigned i = 0; (feature = hc_machine_kernel_feature(machine, i)); i++)
		printf("  %s: %s\n", feature->name, feature->available == 1 ? "yes" : feature->reason);

	if (!hc_machine_node_by_id(machine, 0))
		printf("there is no node 0: %s\n", hc_error_detail());
	const char *warning;
	for (unsigned i = 0; (warning = hc_machine_warning(machine, i)); i++)
		fprintf(stderr, "odd: %s\n", warning);
	hc_machine_free(machine);
	return 0;
}
