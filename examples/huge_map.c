/*
 * A huge map: all there or not at all, shown as what was got, used, made zero again, partly given
 * back and brought in again.
 *
 * usage: example_huge_map [SIZE]
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/map.h>

static const char *const kinds[] = {"hugetlb", "THP", "base"};

static void show(const struct hc_map *map) {
	const struct hc_map_state *state = hc_map_state(map);
	printf("%zu bytes at %p, descriptor %d, by %u threads\n", hc_map_length(map), hc_map_address(map),
	        hc_map_fd(map), state->threads);
	if (state->shortfall)
		printf("  not the largest pages: %s\n", state->shortfall);
	const struct hc_map_part *part;
	for (unsigned i = 0; (part = hc_map_part(map, i)); i++)
		printf("  %" PRIu64 " KiB in %s pages of %" PRIu64 " KiB on node %d\n", part->bytes >> 10,
		        kinds[part->kind], part->page_size >> 10, part->node);
}

static int use(struct hc_map *map) {
	memset(hc_map_address(map), 0xa5, hc_map_length(map));
	/* For the next user: zero at streaming speed, and not a page goes back to the kernel. */
	uint64_t done;
	int r = hc_map_reset(map, NULL, &done);
	/* Half of it isn't needed for a while; before it is touched again it has to be brought in, or to fail here. */
	if (r == 0)
		r = hc_map_discard(map, 0, hc_map_length(map) / 2, &done);
	if (r == 0)
		printf("%" PRIu64 " bytes were given back\n", done);
	if (r == 0)
		r = hc_map_populate(map, NULL, NULL);
	return r == 0 ? hc_map_verify(map) : r;
}

int main(int argc, char **argv) {
	uint64_t size;
	if (hc_size_parse(argc > 1 ? argv[1] : "64M", &size) < 0) {
		fprintf(stderr, "%s\n", hc_error_detail());
		return 64;
	}
	struct hc_map_opts opts = {
	        .size = sizeof(opts),
	        .backing = HC_BACKING_PREFER,
	        .flags = HC_MAP_POPULATE | HC_MAP_DONTFORK,
	        .threads = 2,
	};
	struct hc_map *map;
	int r = hc_map_open(size, &opts, &map);
	if (r == 0) {
		show(map);
		r = use(map);
		hc_map_close(map);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", hc_error_detail());
	return r < 0 ? 1 : 0;
}
