#include "bench/smaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"

/* "00400000-00401000 r-xp ...": true, and whether it is within the range. */
static bool is_header(const char *line, uint64_t begin, uint64_t end, bool *ret_inside) {
	char *rest;
	if (!strchr("0123456789abcdef", *line) || *line == '\0')
		return false;
	errno = 0;
	uint64_t first = strtoull(line, &rest, 16);
	if (errno != 0 || *rest != '-' || !strchr("0123456789abcdef", rest[1]) || rest[1] == '\0')
		return false;
	uint64_t last = strtoull(rest + 1, &rest, 16);
	if (errno != 0 || *rest != ' ')
		return false;
	*ret_inside = first >= begin && last <= end && first < last;
	return true;
}

/* "Name:   123 kB" adds 123 KiB to *sum. -EBADMSG where the number makes no sense. */
static int add_kib(const char *line, const char *name, uint64_t *sum) {
	size_t len = strlen(name);
	if (strncmp(line, name, len) != 0)
		return 0;
	char *rest;
	const char *number = line + len + strspn(line + len, " \t");
	errno = 0;
	uint64_t value = strtoull(number, &rest, 10);
	if (*number < '0' || *number > '9' || errno != 0 || strncmp(rest, " kB", 3) != 0 ||
	        !hc_mul_ok(value, 1024, &value) || !hc_add_ok(*sum, value, sum))
		return hc_fail(EBADMSG, "/proc/self/smaps: not a size: '%.60s'", line);
	return 0;
}

int smaps_parse(const char *text, uint64_t begin, uint64_t end, struct smaps_range *ret_range) {
	struct smaps_range range = {.thp_eligible = -1};
	bool inside = false, any = false;
	for (const char *line = text, *next; *line; line = next) {
		const char *newline = strchr(line, '\n');
		next = newline ? newline + 1 : line + strlen(line);
		if (is_header(line, begin, end, &inside)) {
			any = true;
			continue;
		}
		if (!any)
			return hc_fail(EBADMSG, "/proc/self/smaps: no mapping before '%.60s'", line);
		if (!inside)
			continue;
		int r = add_kib(line, "Rss:", &range.rss);
		if (r == 0)
			r = add_kib(line, "AnonHugePages:", &range.anon_huge_pages);
		if (r < 0)
			return r;
		if (strncmp(line, "THPeligible:", 12) == 0) {
			int eligible = line[12 + strspn(line + 12, " \t")] == '1';
			range.thp_eligible = range.thp_eligible == 1 ? 1 : eligible;
		}
	}
	*ret_range = range;
	return 0;
}

int smaps_read(uint64_t begin, uint64_t end, struct smaps_range *ret_range) {
	FILE *f = fopen("/proc/self/smaps", "re");
	if (!f)
		return hc_fail_errno(errno, "/proc/self/smaps");
	char *text = NULL;
	size_t size = 0, len = 0;
	/* A file of /proc has no length: read on until it ends. */
	for (;;) {
		if (size - len < 2) {
			size = size ? size * 2 : 65536;
			char *larger = realloc(text, size);
			if (!larger) {
				free(text);
				fclose(f);
				return hc_fail(ENOMEM, "no memory for /proc/self/smaps");
			}
			text = larger;
		}
		size_t n = fread(text + len, 1, size - len - 1, f);
		if (n == 0)
			break;
		len += n;
	}
	int r = ferror(f) ? hc_fail(EIO, "/proc/self/smaps couldn't be read") : 0;
	text[len] = '\0';
	fclose(f);
	if (r == 0)
		r = smaps_parse(text, begin, end, ret_range);
	free(text);
	return r;
}
