/* The text of a journal: see reserve_journal.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"
#include "reserve_journal.h"

#define TEXT_MAX ((size_t)1 << 20)
#define CHANGES_MAX 4096
#define NODE_MAX 65535
/* More pages than any machine has, and far from where sums of them wrap. */
#define COUNT_MAX (INT64_C(1) << 48)

/* A line, without its newline. */
struct line {
	const char *begin, *end;
};

/* Reads a number and moves on. False where there is none, or one out of range. */
static bool take_number(struct line *line, int64_t min, int64_t max, int64_t *ret_number) {
	const char *p = line->begin;
	bool negative = p < line->end && *p == '-';
	p += negative;
	uint64_t number;
	if (hc_decimal_take_before(&p, line->end, &number) < 0 || number > INT64_MAX)
		return false;
	int64_t value = negative ? -(int64_t)number : (int64_t)number;
	if (value < min || value > max)
		return false;
	line->begin = p;
	*ret_number = value;
	return true;
}

static bool take_text(struct line *line, const char *text) {
	size_t len = strlen(text);
	if ((size_t)(line->end - line->begin) < len || memcmp(line->begin, text, len) != 0)
		return false;
	line->begin += len;
	return true;
}

static bool at_end(const struct line *line) {
	return line->begin == line->end;
}

static bool take_page_size(struct line *line, uint64_t *ret_page_size) {
	int64_t page_size;
	if (!take_number(line, 1, INT64_MAX, &page_size) || !hc_is_power_of_two((uint64_t)page_size))
		return false;
	*ret_page_size = (uint64_t)page_size;
	return true;
}

static struct reserve_change *find_change(struct reserve_record *record, uint64_t page_size, int node) {
	for (unsigned i = 0; i < record->nr_changes; i++)
		if (record->changes[i].page_size == page_size && record->changes[i].node == node)
			return &record->changes[i];
	return NULL;
}

static void drop_zeros(struct reserve_record *record) {
	unsigned kept = 0;
	for (unsigned i = 0; i < record->nr_changes; i++)
		if (record->changes[i].pages != 0)
			record->changes[kept++] = record->changes[i];
	record->nr_changes = kept;
}

int reserve_record_add(struct reserve_record *record, const struct reserve_change *change) {
	int64_t pages = change->pages;
	struct reserve_change *same = find_change(record, change->page_size, change->node);
	if (same) {
		bool beyond = (same->pages < 0) != (pages < 0) && llabs(pages) > llabs(same->pages);
		int64_t own = beyond ? -same->pages : pages;
		if (llabs(same->pages + own) > COUNT_MAX)
			return hc_fail(EBADMSG, "a sum of pages that no machine has");
		same->pages += own;
		pages -= own;
	}
	/* What the whole machine gives back beyond what it was given was added by node. */
	for (unsigned i = record->nr_changes; change->node < 0 && pages < 0 && i-- > 0;) {
		struct reserve_change *other = &record->changes[i];
		if (other->page_size != change->page_size || other->pages <= 0)
			continue;
		int64_t part = other->pages < -pages ? other->pages : -pages;
		other->pages -= part;
		pages += part;
	}
	drop_zeros(record);
	if (pages == 0)
		return 0;

	if (record->nr_changes == CHANGES_MAX)
		return hc_fail(EBADMSG, "changes of more than %d pools", CHANGES_MAX);
	if ((record->nr_changes & (record->nr_changes - 1)) == 0) {
		size_t room = record->nr_changes ? record->nr_changes * 2U : 1;
		struct reserve_change *changes = realloc(record->changes, room * sizeof(*changes));
		if (!changes)
			return hc_fail_memory("no memory for the changes of %zu pools", room);
		record->changes = changes;
	}
	record->changes[record->nr_changes++] = (struct reserve_change){
	        .page_size = change->page_size, .node = change->node, .pages = pages};
	return 0;
}

/* The parsers of one line each: false where it makes no sense, *ret_error for what has a detail of its own. */
static bool parse_intent(struct line line, struct reserve_record *record) {
	uint64_t page_size;
	int64_t node, from, to;
	if (record->intent.page_size != 0 || !take_page_size(&line, &page_size) || !take_text(&line, " ") ||
	        !take_number(&line, -1, NODE_MAX, &node) || !take_text(&line, " ") ||
	        !take_number(&line, 0, COUNT_MAX, &from) || !take_text(&line, " ") ||
	        !take_number(&line, 0, COUNT_MAX, &to) || !at_end(&line))
		return false;
	record->intent = (struct reserve_intent){
	        .page_size = page_size, .node = (int)node, .from = (uint64_t)from, .to = (uint64_t)to};
	return true;
}

static bool parse_done(struct line line, struct reserve_record *record, int *ret_error) {
	uint64_t page_size;
	if (!take_page_size(&line, &page_size) || page_size != record->intent.page_size)
		return false;
	while (!at_end(&line)) {
		int64_t node, pages;
		if (!take_text(&line, " ") || !take_number(&line, -1, NODE_MAX, &node) || !take_text(&line, ":") ||
		        !take_number(&line, -COUNT_MAX, COUNT_MAX, &pages) || pages == 0)
			return false;
		*ret_error = reserve_record_add(
		        record, &(struct reserve_change){.page_size = page_size, .node = (int)node, .pages = pages});
		if (*ret_error < 0)
			return false;
	}
	record->intent.page_size = 0;
	return true;
}

static bool parse_boot(struct line line, struct reserve_record *record) {
	size_t len = (size_t)(line.end - line.begin);
	if (len == 0 || len >= sizeof(record->boot_id))
		return false;
	for (const char *p = line.begin; p < line.end; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	memcpy(record->boot_id, line.begin, len);
	record->boot_id[len] = '\0';
	return true;
}

static bool parse_owner(struct line line, struct reserve_record *record) {
	int64_t owner;
	if (!take_number(&line, 1, INT32_MAX, &owner) || !take_text(&line, " ") ||
	        !take_number(&line, 0, INT64_MAX, &record->since) || !at_end(&line))
		return false;
	record->owner = (int)owner;
	return true;
}

static bool parse_line(struct line line, unsigned number, struct reserve_record *record, int *ret_error) {
	switch (number) {
	case 1:
		if (!take_text(&line, "hugeclear-reserve "))
			return false;
		if (!take_text(&line, "1") || !at_end(&line)) {
			*ret_error = hc_fail(ENOTSUP, "written by another version of hugeclear");
			return false;
		}
		return true;
	case 2:
		return take_text(&line, "boot ") && parse_boot(line, record);
	case 3:
		return take_text(&line, "owner ") && parse_owner(line, record);
	default:
		if (take_text(&line, "intent "))
			return parse_intent(line, record);
		return take_text(&line, "done ") && parse_done(line, record, ret_error);
	}
}

int reserve_record_parse(const char *text, size_t len, struct reserve_record *ret_record) {
	struct reserve_record record = {0};
	unsigned lines = 0;
	int r = 0;
	if (len > TEXT_MAX)
		return hc_fail(EBADMSG, "longer than %zu bytes", TEXT_MAX);
	for (const char *begin = text, *end; (end = memchr(begin, '\n', len - (size_t)(begin - text)));
	        begin = end + 1) {
		struct line line = {.begin = begin, .end = end};
		if (!parse_line(line, ++lines, &record, &r)) {
			char start[41];
			snprintf(start, sizeof(start), "%.*s", (int)hc_min((uint64_t)(end - begin), 40), begin);
			if (r == 0)
				r = hc_fail(EBADMSG, "line %u makes no sense: %s", lines, hc_quote(start).s);
			break;
		}
	}
	if (r == 0 && lines < 3)
		r = hc_fail(ENODATA, "its head isn't complete");
	if (r < 0) {
		reserve_record_free(&record);
		return r;
	}
	*ret_record = record;
	return 0;
}

void reserve_record_free(struct reserve_record *record) {
	free(record->changes);
	*record = (struct reserve_record){0};
}
