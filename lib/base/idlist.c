#include "base/idlist.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"

/* A list may name a number more than once, but not without end: bounds the time that reading one takes. */
#define NAMED_MAX (UINT64_C(4) * (HC_IDLIST_MAX + 1))

/* Reads digits at *p and moves it behind them. Any number above HC_IDLIST_MAX is -ERANGE, whatever its length. */
static int parse_number(const char **p, const char *text, unsigned *ret_number) {
	uint64_t number;
	int r = hc_decimal_take(p, &number);
	if (r == -EINVAL)
		return hc_fail(EINVAL, "%s is not a list of numbers as in 0-3,8: a number is wanted at byte %zu",
		        hc_quote(text).s, (size_t)(*p - text));
	if (r < 0 || number > HC_IDLIST_MAX)
		return hc_fail(ERANGE, "%s names a number above %u, the highest CPU or node number", hc_quote(text).s,
		        HC_IDLIST_MAX);
	*ret_number = (unsigned)number;
	return 0;
}

static int parse_range(const char **p, const char *text, struct hc_idlist_range *ret_range) {
	unsigned first = 0, last, used = 1, group = 1;
	int r = parse_number(p, text, &first);
	if (r < 0)
		return r;
	last = first;
	if (**p == '-') {
		(*p)++;
		r = parse_number(p, text, &last);
		if (r < 0)
			return r;
		if (**p == ':') {
			(*p)++;
			r = parse_number(p, text, &used);
			if (r < 0)
				return r;
			if (**p != '/')
				return hc_fail(EINVAL, "%s: behind a colon used/group is wanted, as in 0-10:2/5",
				        hc_quote(text).s);
			(*p)++;
			r = parse_number(p, text, &group);
			if (r < 0)
				return r;
		}
	}
	if (last < first)
		return hc_fail(EINVAL, "%s has a range that runs backwards, %u-%u", hc_quote(text).s, first, last);
	if (used == 0 || group == 0 || used > group)
		return hc_fail(EINVAL, "%s takes %u of every %u numbers: at least 1 and at most all are wanted",
		        hc_quote(text).s, used, group);
	*ret_range = (struct hc_idlist_range){first, last, used, group};
	return 0;
}

static bool at_end(const char *p) {
	return *p == '\0' || (*p == '\n' && p[1] == '\0');
}

int hc_idlist_parse(const char *text, int (*add)(void *arg, const struct hc_idlist_range *range), void *arg) {
	const char *p = text;
	if (at_end(p))
		return 0;

	for (uint64_t named = 0;;) {
		struct hc_idlist_range range = {.used = 1, .group = 1};
		int r = parse_range(&p, text, &range);
		if (r < 0)
			return r;
		named += range.last - range.first + 1;
		if (named > NAMED_MAX)
			return hc_fail(EINVAL, "%s names its numbers over and over", hc_quote(text).s);
		r = add(arg, &range);
		if (r < 0 || at_end(p))
			return r;
		if (*p != ',')
			return hc_fail(EINVAL, "%s is not a list of numbers as in 0-3,8: look at byte %zu",
			        hc_quote(text).s, (size_t)(p - text));
		p++;
	}
}
