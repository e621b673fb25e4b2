/*
 * Adds huge pages of the default size to the machine's pool and says how many came.
 *
 * usage: example_add_huge_pages COUNT   (as root; COUNT 0 changes nothing)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/sys.h>

int main(int argc, char **argv) {
	if (argc != 2) {
		fprintf(stderr, "usage: %s COUNT\n", argv[0]);
		return 64;
	}
	struct hc_machine *machine;
	if (hc_machine_read(NULL, &machine) < 0) {
		fprintf(stderr, "%s\n", hc_error_detail());
		return 1;
	}
	uint64_t page_size = hc_machine_memory(machine)->default_huge_page_size;
	hc_machine_free(machine);
	if (page_size == HC_UNKNOWN) {
		fprintf(stderr, "this kernel has no huge pages\n");
		return 4;
	}

	struct hc_pool_request request = {
	        .size = sizeof(request),
	        .page_size = page_size,
	        .node = -1,
	        .relative = 1,
	        .pages = strtoll(argv[1], NULL, 10),
	};
	struct hc_pool_opts opts = {.size = sizeof(opts), .all_or_nothing = 1};
	struct hc_pool_result result = {.size = sizeof(result)};
	int r = hc_pool_set(&request, &opts, &result);
	printf("%s: %" PRIu64 " before, %" PRIu64 " wanted, %" PRIu64 " now\n", result.path, result.before,
	        result.wanted, result.now);
	if (r < 0)
		fprintf(stderr, "%s\n", hc_error_detail());
	return r < 0 ? 1 : 0;
}
