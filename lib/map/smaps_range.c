#include "map/smaps_range.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "sys/meminfo.h"

/* "55fd4d600000-55fd4d800000 rw-p ..." */
static bool parse_head(const char *line, uint64_t *ret_begin, uint64_t *ret_end) {
	char *end;
	if (!isxdigit((unsigned char)line[0]))
		return false;
	errno = 0;
	*ret_begin = strtoull(line, &end, 16);
	if (errno != 0 || end[0] != '-' || !isxdigit((unsigned char)end[1]))
		return false;
	*ret_end = strtoull(end + 1, &end, 16);
	return errno == 0 && *end == ' ';
}

/* "AnonHugePages:      2048 kB" */
static bool parse_field(const char *line, const char *name, uint64_t *ret_bytes) {
	size_t len = strlen(name);
	if (strncmp(line, name, len) != 0 || line[len] != ':')
		return false;
	return hc_meminfo_bytes(line + len + 1, ret_bytes);
}

void hc_smaps_parse(const char *text, uint64_t begin, uint64_t end, struct hc_smaps *ret_smaps) {
	struct hc_smaps smaps = {.kernel_page_size = HC_UNKNOWN};
	bool inside = false;
	for (const char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : NULL;
		uint64_t from, to, bytes;
		if (parse_head(line, &from, &to))
			inside = from >= begin && to <= end && from < to;
		else if (inside && parse_field(line, "KernelPageSize", &bytes))
			smaps.kernel_page_size = hc_min(smaps.kernel_page_size, bytes);
		else if (inside && parse_field(line, "AnonHugePages", &bytes) &&
		         !hc_add_ok(smaps.anon_huge, bytes, &smaps.anon_huge))
			smaps.anon_huge = HC_UNKNOWN;
	}
	*ret_smaps = smaps;
}
