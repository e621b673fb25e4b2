#include "bench/resident.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/size.h"

struct resident *resident_free(struct resident *resident) {
	if (!resident)
		return NULL;
	hc_map_close(resident->map);
	free(resident);
	return NULL;
}

/* Memory policies that aren't allowed are not a fault of the measurement: it works without. */
static int name_node(int r, int node) {
	if (node < 0 || (r != -EPERM && r != -ENOSYS))
		return r;
	return hc_fail(EOPNOTSUPP, "--node %d: %s; or run without --node", node, hc_error_detail());
}

static int open_map(const struct resident_request *request, enum hc_page_kind kind, struct hc_map **ret_map) {
	char node[16];
	snprintf(node, sizeof(node), "%d", request->node);
	struct hc_map_opts opts = {
	        .size = sizeof(opts),
	        .kind = kind,
	        .page_size = kind == HC_PAGES_HUGETLB ? request->page_size : 0,
	        .flags = kind == HC_PAGES_THP ? 0 : HC_MAP_POPULATE,
	        .placement = request->node >= 0 ? HC_PLACE_BIND : HC_PLACE_DEFAULT,
	        .nodes = request->node >= 0 ? node : NULL,
	        .stop = request->stop,
	        .progress = request->progress,
	        .user = request->user,
	};
	if (request->bytes > SIZE_MAX)
		return hc_fail(ENOMEM, "%s wanted: more than an address space holds", hc_size_exact(request->bytes).s);
	return hc_map_open((size_t)request->bytes, &opts, ret_map);
}

static int check_nodes(const struct hc_map *map, int node) {
	const struct hc_map_part *part;
	for (unsigned i = 0; node >= 0 && (part = hc_map_part(map, i)); i++)
		if (part->node != node)
			return hc_fail(EIO, "memory bound to node %d has pages on node %d", node, part->node);
	return 0;
}

/* An exact map of THP is an error where others came: it stays, and what it has is what is measured. */
static int populate_thp(const struct resident_request *request, struct resident *resident) {
	struct hc_map_work_opts work = {
	        .size = sizeof(work),
	        .stop = request->stop,
	        .progress = request->progress,
	        .user = request->user,
	};
	uint64_t done;
	int r = hc_map_populate(resident->map, &work, &done);
	if (r == 0)
		return 0;
	if ((r != -EIO && r != -EPERM) || done != hc_map_length(resident->map))
		return r;
	uint64_t thp_size = hc_map_state(resident->map)->page_size;
	const struct hc_map_part *part;
	resident->huge_bytes = 0;
	for (unsigned i = 0; (part = hc_map_part(resident->map, i)); i++) {
		if (part->page_size == HC_UNKNOWN)
			resident->huge_bytes = HC_UNKNOWN;
		else if (part->page_size == thp_size && resident->huge_bytes != HC_UNKNOWN)
			resident->huge_bytes += part->bytes;
	}
	/* Then it was the nodes that it complained about. */
	if (resident->huge_bytes == hc_map_length(resident->map))
		return r;
	snprintf(resident->why_not_huge, sizeof(resident->why_not_huge), "%s",
	        resident->huge_bytes == HC_UNKNOWN ? hc_error_detail() : "memory is short or fragmented");
	return check_nodes(resident->map, request->node);
}

static int get_thp(const struct resident_request *request, struct resident *resident) {
	int r = open_map(request, HC_PAGES_THP, &resident->map);
	if (r == -EOPNOTSUPP) {
		snprintf(resident->why_not_huge, sizeof(resident->why_not_huge), "%s", hc_error_detail());
		return open_map(request, HC_PAGES_BASE, &resident->map);
	}
	if (r < 0)
		return r;
	resident->huge_bytes = hc_map_length(resident->map);
	return populate_thp(request, resident);
}

int resident_get(const struct resident_request *request, struct resident **ret_resident) {
	struct resident *resident = calloc(1, sizeof(*resident));
	if (!resident)
		return hc_fail_memory("no memory for the description of memory");
	int r = request->kind == HC_PAGES_THP ? get_thp(request, resident)
	                                      : open_map(request, request->kind, &resident->map);
	if (r < 0) {
		r = name_node(r, request->node);
		resident_free(resident);
		return r;
	}
	const struct hc_map_state *state = hc_map_state(resident->map);
	resident->p = hc_map_address(resident->map);
	resident->bytes = hc_map_length(resident->map);
	resident->kind = state->kind;
	resident->page_size = state->page_size;
	resident->node = request->node;
	if (state->kind == HC_PAGES_HUGETLB)
		resident->huge_bytes = resident->bytes;
	if (state->kind == HC_PAGES_THP && resident->huge_bytes == 0) {
		resident->kind = HC_PAGES_BASE;
		resident->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	}
	*ret_resident = resident;
	return 0;
}
