/*
 * Tables without a library, for the static command: Debian has no static libsmartcols. The same
 * as table.c prints into a pipe: nothing is wrapped.
 */
#include "table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"

#define SEPARATOR "  "
#define COLUMNS_MAX 32

struct row {
	char *cells[COLUMNS_MAX]; /* owned; NULL: not filled */
	struct row *next;
};

struct cli_table {
	struct column {
		char *heading;
		bool right;
	} columns[COLUMNS_MAX];
	size_t nr_columns;
	bool headings;
	struct row *first, *last;
	size_t next_cell; /* in last */
	int failed;       /* 0 or the first negative errno */
};

static void note(struct cli_table *table, int r) {
	if (r < 0 && table->failed == 0)
		table->failed = r;
}

struct cli_table *cli_table_new(void) {
	return calloc(1, sizeof(struct cli_table));
}

struct cli_table *cli_table_free(struct cli_table *table) {
	if (!table)
		return NULL;
	for (struct row *row = table->first, *next; row; row = next) {
		next = row->next;
		for (size_t i = 0; i < table->nr_columns; i++)
			free(row->cells[i]);
		free(row);
	}
	for (size_t i = 0; i < table->nr_columns; i++)
		free(table->columns[i].heading);
	free(table);
	return NULL;
}

void cli_table_column(struct cli_table *table, const char *heading, enum cli_column column) {
	if (!table)
		return;
	if (table->nr_columns == COLUMNS_MAX) {
		note(table, -EINVAL);
		return;
	}
	char *copy = strdup(heading ? heading : "");
	if (!copy)
		note(table, -ENOMEM);
	table->columns[table->nr_columns++] = (struct column){.heading = copy, .right = column == CLI_RIGHT};
	table->headings = table->headings || heading;
}

void cli_table_row(struct cli_table *table) {
	if (!table)
		return;
	struct row *row = calloc(1, sizeof(*row));
	if (!row) {
		note(table, -ENOMEM);
		return;
	}
	*(table->last ? &table->last->next : &table->first) = row;
	table->last = row;
	table->next_cell = 0;
}

/* A copy in which characters that a terminal could take for something else are \xNN. */
static char *printable(const char *text) {
	char *copy = malloc(4 * strlen(text) + 1), *to = copy;
	if (!copy)
		return NULL;
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < ' ' || c == 0x7f)
			to += sprintf(to, "\\x%02x", c);
		else
			*to++ = (char)c;
	}
	*to = '\0';
	return copy;
}

void cli_table_cell(struct cli_table *table, const char *format, ...) {
	if (!table || table->failed)
		return;
	if (!table->last || table->next_cell >= table->nr_columns) {
		note(table, -EINVAL);
		return;
	}
	char *text;
	va_list ap;
	va_start(ap, format);
	int len = vasprintf(&text, format, ap);
	va_end(ap);
	char *cell = len < 0 ? NULL : printable(text);
	if (len >= 0)
		free(text);
	if (!cell)
		note(table, -ENOMEM);
	else
		table->last->cells[table->next_cell++] = cell;
}

/* In characters of UTF-8. */
static size_t width_of(const char *text) {
	size_t width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static const char *cell_of(const struct cli_table *table, const struct row *row, size_t i) {
	const char *cell = row ? row->cells[i] : table->columns[i].heading;
	return cell ? cell : "";
}

static void print_spaces(size_t n) {
	for (; n > 0; n--)
		putchar(' ');
}

/* row NULL: the headings. Nothing is printed behind the last text of a line. */
static void print_row(const struct cli_table *table, const struct row *row, const size_t *widths, unsigned indent) {
	size_t before = indent;
	for (size_t i = 0; i < table->nr_columns; i++) {
		const char *text = cell_of(table, row, i);
		size_t width = width_of(text), padding = widths[i] - width;
		if (width > 0) {
			print_spaces(before + (table->columns[i].right ? padding : 0));
			fputs(text, stdout);
			before = table->columns[i].right ? 0 : padding;
		} else {
			before += padding;
		}
		before += strlen(SEPARATOR);
	}
	putchar('\n');
}

int cli_table_print(struct cli_table *table, unsigned indent) {
	if (!table)
		return hc_fail_memory("no memory for a table");
	if (table->failed)
		return hc_fail_errno(-table->failed, "a table couldn't be filled");
	size_t widths[COLUMNS_MAX] = {0};
	for (size_t i = 0; i < table->nr_columns; i++) {
		if (table->headings)
			widths[i] = width_of(cell_of(table, NULL, i));
		for (const struct row *row = table->first; row; row = row->next)
			widths[i] = hc_max(widths[i], width_of(cell_of(table, row, i)));
	}
	if (table->headings)
		print_row(table, NULL, widths, indent);
	for (const struct row *row = table->first; row; row = row->next)
		print_row(table, row, widths, indent);
	return 0;
}
