/* The memory that `bench clear` measures on, and what is to be said about it. */
#include <errno.h>

#include "base/arith.h"
#include "base/size.h"
#include "bench/bench_clear.h"
#include "cli.h"

static void note_memory(const struct clear_bench *bench, struct bench_run *run) {
	const struct resident *memory = bench->memory;
	uint64_t l3 = hc_machine_processor(run->machine)->l3;
	room_note_rounds(run, "cleared", bench->size, memory->bytes);
	if (*memory->why_not_huge && memory->huge_bytes == 0)
		bench_note(run, "base pages: no transparent huge page came (%s)", memory->why_not_huge);
	else if (*memory->why_not_huge && memory->huge_bytes == HC_UNKNOWN)
		bench_note(run, "how much of it is in huge pages isn't known: %s", memory->why_not_huge);
	else if (*memory->why_not_huge)
		bench_note(run, "only %s of %s are in huge pages (%s)", hc_size_rounded(memory->huge_bytes).s,
		        hc_size_rounded(memory->bytes).s, memory->why_not_huge);
	if (l3 && hc_min(memory->bytes, bench->size) < 2 * l3)
		bench_note(run, "%s may stay in the caches (L3 is %s): these are speeds of caches, not of memory",
		        hc_size_rounded(hc_min(memory->bytes, bench->size)).s, hc_size_rounded(l3).s);
}

int clear_memory_get(struct clear_bench *bench, struct bench_run *run) {
	struct resident_request request = {
	        .stop = cli_interrupted,
	        .progress = bench_progress,
	        .user = run,
	};
	int code = bench->node_text ? room_read_node(run, bench->node_text, &bench->node) : 0;
	if (code == 0)
		code = room_plan(run, "cleared", bench->size, bench->node, &bench->page, &request.bytes);
	if (code)
		return code;
	request.kind = bench->page.kind;
	request.page_size = bench->page.page_size;
	request.node = bench->node;
	int r = resident_get(&request, &bench->memory);
	if (r < 0) {
		code = cli_fail(run->verb, r);
		return r == -ENOMEM ? HC_EXIT_LESS : code;
	}
	note_memory(bench, run);
	return 0;
}
