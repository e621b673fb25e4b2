#include "sys/meminfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/quote.h"
#include "sys/warnings.h"

enum kind {
	BYTES,      /* "2048 kB" */
	HUGE_BYTES, /* the same, of hugetlb */
	HUGE_PAGES, /* "512" */
};

static const struct {
	const char *name;
	size_t offset;
	enum kind kind;
} lines[] = {
        {"MemTotal", offsetof(struct hc_meminfo, total), BYTES},
        {"MemFree", offsetof(struct hc_meminfo, free), BYTES},
        {"MemAvailable", offsetof(struct hc_meminfo, available), BYTES},
        {"SwapTotal", offsetof(struct hc_meminfo, swap_total), BYTES},
        {"SwapFree", offsetof(struct hc_meminfo, swap_free), BYTES},
        {"AnonHugePages", offsetof(struct hc_meminfo, anon_huge_pages), BYTES},
        {"HugePages_Total", offsetof(struct hc_meminfo, pages_total), HUGE_PAGES},
        {"HugePages_Free", offsetof(struct hc_meminfo, pages_free), HUGE_PAGES},
        {"HugePages_Rsvd", offsetof(struct hc_meminfo, pages_reserved), HUGE_PAGES},
        {"HugePages_Surp", offsetof(struct hc_meminfo, pages_surplus), HUGE_PAGES},
        {"Hugepagesize", offsetof(struct hc_meminfo, default_huge_page_size), HUGE_BYTES},
        {"Hugetlb", offsetof(struct hc_meminfo, hugetlb), HUGE_BYTES},
};
#define NR_LINES (sizeof(lines) / sizeof(lines[0]))

/* Of the line, which somebody may have edited. */
static bool is_end(const char *p) {
	p += strspn(p, " \t\r");
	return *p == '\0' || *p == '\n';
}

bool hc_meminfo_bytes(const char *text, uint64_t *ret_bytes) {
	const char *p = text + strspn(text, " \t");
	uint64_t kib;
	return hc_decimal_take(&p, &kib) == 0 && strncmp(p, " kB", 3) == 0 && is_end(p + 3) &&
	       hc_mul_ok(kib, 1024, ret_bytes);
}

/* pre: at most 2^64 - 1 is HC_UNKNOWN, and no machine has as much */
static bool read_number(const char *text, enum kind kind, uint64_t *ret_number) {
	if (kind != HUGE_PAGES)
		return hc_meminfo_bytes(text, ret_number);
	const char *p = text + strspn(text, " \t");
	uint64_t number;
	if (hc_decimal_take(&p, &number) < 0 || !is_end(p))
		return false;
	*ret_number = number;
	return true;
}

static void read_line(char *line, struct hc_warnings *warnings, struct hc_meminfo *meminfo) {
	char *colon = strchr(line, ':');
	if (!colon)
		return;
	*colon = '\0';
	for (size_t i = 0; i < NR_LINES; i++) {
		if (strcmp(line, lines[i].name) != 0)
			continue;
		if (lines[i].kind != BYTES)
			meminfo->has_huge_page_lines = true;
		uint64_t *number = (uint64_t *)(void *)((char *)meminfo + lines[i].offset);
		if (!read_number(colon + 1, lines[i].kind, number))
			hc_warn(warnings, "proc/meminfo: %s: not a number%s: %s", line,
			        lines[i].kind == HUGE_PAGES ? "" : " of kB", hc_quote(colon + 1).s);
		return;
	}
}

void hc_meminfo_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_meminfo *ret_meminfo) {
	*ret_meminfo = (struct hc_meminfo){0};
	for (size_t i = 0; i < NR_LINES; i++)
		*(uint64_t *)(void *)((char *)ret_meminfo + lines[i].offset) = HC_UNKNOWN;

	char *text;
	size_t len;
	int r = hc_root_read_all(root, "proc/meminfo", &text, &len);
	if (r < 0) {
		hc_warn(warnings, "%s", hc_error_detail());
		return;
	}
	ret_meminfo->readable = true;
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		read_line(line, warnings, ret_meminfo);
	}
	free(text);

	/* Everything that divides by it, or shifts by its logarithm, relies on this. */
	uint64_t size = ret_meminfo->default_huge_page_size;
	if (size != HC_UNKNOWN && !hc_is_power_of_two(size)) {
		hc_warn(warnings, "proc/meminfo: Hugepagesize: %llu bytes are no page size: not a power of two",
		        (unsigned long long)size);
		ret_meminfo->default_huge_page_size = HC_UNKNOWN;
	}
}
