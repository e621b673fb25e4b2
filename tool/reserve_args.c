#include "reserve_args.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/size.h"

/* Longer than every number that fits 64 bits with its unit, so that zeros in front of it fit too. */
#define PART_MAX 64

struct part {
	char s[PART_MAX];
};

/* Copies the text from begin to end. False where it is too long to be a number of 64 bits. */
static bool take_part(const char *begin, const char *end, struct part *ret_part) {
	size_t len = (size_t)(end - begin);
	if (len >= sizeof(ret_part->s))
		return false;
	memcpy(ret_part->s, begin, len);
	ret_part->s[len] = '\0';
	return true;
}

static bool all_digits(const char *text) {
	return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int parse_node(const char *whole, const char *text, int *ret_node) {
	uint64_t node;
	if (!all_digits(text))
		return hc_fail(EINVAL, "%s: a node's number is wanted behind '@', not %s", hc_quote(whole).s,
		        hc_quote(text).s);
	if (hc_size_parse(text, &node) < 0 || node > RESERVE_NODE_MAX)
		return hc_fail(
		        ERANGE, "%s: node %s is too large: at most %d", hc_quote(whole).s, text, RESERVE_NODE_MAX);
	*ret_node = (int)node;
	return 0;
}

/* A size that isn't a whole number of pages: names the nearest that are. */
static int uneven(const char *whole, uint64_t bytes, uint64_t page_size) {
	uint64_t below = hc_align_down(bytes, page_size), above;
	struct hc_size_text exact = hc_size_exact(bytes), page = hc_size_exact(page_size);
	if (below == 0)
		return hc_fail(EINVAL, "%s: %s is less than a page of %s: the nearest is %s", hc_quote(whole).s,
		        exact.s, page.s, hc_size_arg(page_size).s);
	if (!hc_align_up_ok(bytes, page_size, &above))
		above = below;
	return hc_fail(EINVAL, "%s: %s is no multiple of the page size %s: the nearest are %s and %s",
	        hc_quote(whole).s, exact.s, page.s, hc_size_arg(below).s, hc_size_arg(above).s);
}

static int parse_value(const char *whole, const char *text, uint64_t page_size, uint64_t *ret_pages) {
	uint64_t value;
	if (*text == '\0')
		return hc_fail(
		        EINVAL, "%s: the pages are missing, as in %s=512", hc_quote(whole).s, hc_size_arg(page_size).s);
	int r = hc_size_parse(text, &value);
	if (r < 0)
		return hc_fail_prefix(r, "%s", hc_quote(whole).s);
	if (all_digits(text))
		*ret_pages = value;
	else if (value % page_size != 0)
		return uneven(whole, value, page_size);
	else
		*ret_pages = value / page_size;
	if (*ret_pages > INT64_MAX)
		return hc_fail(ERANGE, "%s: more pages than can be counted", hc_quote(whole).s);
	return 0;
}

int reserve_args_parse(const char *text, struct reserve_request *ret_request) {
	const char *equals = strchr(text, '=');
	if (!equals)
		return hc_fail(EINVAL,
		        "%s: write SIZE=PAGES, SIZE@NODE=PAGES, with + or - before PAGES for a difference, as in "
		        "2M=512, "
		        "1G@1=+4, 2M=1GiB",
		        hc_quote(text).s);
	const char *at = memchr(text, '@', (size_t)(equals - text));
	const char *value = equals + 1;
	bool negative = *value == '-', relative = negative || *value == '+';
	value += relative;

	struct part size_part, node_part, value_part;
	if (!take_part(text, at ? at : equals, &size_part) || (at && !take_part(at + 1, equals, &node_part)) ||
	        !take_part(value, value + strlen(value), &value_part))
		return hc_fail(ERANGE, "%s: too long", hc_quote(text).s);

	struct reserve_request request = {.node = -1, .relative = relative};
	int r = hc_size_parse(size_part.s, &request.page_size);
	if (r < 0)
		return hc_fail_prefix(r, "%s: page size", hc_quote(text).s);
	if (!hc_is_power_of_two(request.page_size))
		return hc_fail(EINVAL, "%s: %s is no page size: it has to be a power of 2, as 2M or 1G are",
		        hc_quote(text).s, size_part.s);
	if (at && (r = parse_node(text, node_part.s, &request.node)) < 0)
		return r;
	uint64_t pages = 0;
	r = parse_value(text, value_part.s, request.page_size, &pages);
	if (r < 0)
		return r;
	request.pages = negative ? -(int64_t)pages : (int64_t)pages;
	*ret_request = request;
	return 0;
}

struct reserve_pool_text reserve_pool_text(uint64_t page_size, int node) {
	struct reserve_pool_text text;
	if (node < 0)
		snprintf(text.s, sizeof(text.s), "%s", hc_size_exact(page_size).s);
	else
		snprintf(text.s, sizeof(text.s), "%s on node %d", hc_size_exact(page_size).s, node);
	return text;
}
