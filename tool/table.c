#include "table.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define SEPARATOR "  "

/* Where less than this is left for the text column, it isn't wrapped. */
#define TEXT_MIN 20

struct cli_table {
	struct libscols_table *scols;
	struct libscols_line *row;    /* the last one; owned by scols */
	struct libscols_column *text; /* the one that is wrapped, or NULL; owned by scols */
	size_t nr_columns;
	size_t next_cell; /* in row */
	bool headings;
	int failed; /* 0 or the first negative errno */
};

static void note(struct cli_table *table, int r) {
	if (r < 0 && table->failed == 0)
		table->failed = r;
}

struct cli_table *cli_table_new(void) {
	struct cli_table *table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->scols = scols_new_table();
	if (!table->scols)
		return cli_table_free(table);
	note(table, scols_table_set_column_separator(table->scols, SEPARATOR));
	return table;
}

struct cli_table *cli_table_free(struct cli_table *table) {
	if (table)
		scols_unref_table(table->scols);
	free(table);
	return NULL;
}

void cli_table_column(struct cli_table *table, const char *heading, enum cli_column column) {
	if (!table)
		return;
	/* Width hint 0: as wide as the contents. */
	struct libscols_column *added = scols_table_new_column(
	        table->scols, heading ? heading : "", 0, column == CLI_RIGHT ? SCOLS_FL_RIGHT : 0);
	if (!added)
		note(table, -ENOMEM);
	if (column == CLI_TEXT)
		table->text = added;
	table->nr_columns++;
	table->headings = table->headings || heading;
}

void cli_table_row(struct cli_table *table) {
	if (!table)
		return;
	table->row = scols_table_new_line(table->scols, NULL);
	table->next_cell = 0;
	if (!table->row)
		note(table, -ENOMEM);
}

void cli_table_cell(struct cli_table *table, const char *format, ...) {
	if (!table || table->failed)
		return;
	if (!table->row || table->next_cell >= table->nr_columns) {
		note(table, -EINVAL);
		return;
	}

	char *text;
	va_list ap;
	va_start(ap, format);
	int len = vasprintf(&text, format, ap);
	va_end(ap);
	if (len < 0) {
		note(table, -ENOMEM);
		return;
	}
	/* The line takes the text over, on success only. */
	int r = scols_line_refer_data(table->row, table->next_cell++, text);
	if (r < 0)
		free(text);
	note(table, r);
}

/* Where the text column begins. pre: the table was laid out */
static size_t text_column_start(const struct cli_table *table) {
	size_t start = 0;
	for (size_t i = 0; i < table->nr_columns; i++) {
		const struct libscols_column *column = scols_table_get_column(table->scols, i);
		if (column == table->text)
			break;
		start += scols_column_get_width(column) + strlen(SEPARATOR);
	}
	return start;
}

/* The bytes of the first nr_columns characters. (libsmartcols has replaced all that can't be printed.) */
static size_t bytes_of(const char *line, size_t len, size_t nr_columns) {
	size_t i = 0;
	for (; i < len; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80 && nr_columns-- == 0)
			break;
	return i;
}

/*
 * Prints one line, from its second piece on with hang spaces before it; breaks at spaces,
 * so that no piece but one of a single long word is wider than width (0: not limited).
 */
static void print_line(const char *line, size_t len, unsigned indent, size_t hang, size_t width) {
	size_t before = indent;
	while (width > 0) {
		size_t fits = bytes_of(line, len, width - before);
		if (fits >= len)
			break;
		size_t keep = before == indent ? bytes_of(line, len, hang - indent) : 0;
		size_t at = fits;
		while (at > keep && line[at] != ' ')
			at--;
		if (at <= keep)
			break;
		printf("%*s%.*s\n", (int)before, "", (int)at, line);
		while (at < len && line[at] == ' ')
			at++;
		line += at;
		len -= at;
		before = hang;
	}
	printf("%*s%.*s\n", len ? (int)before : 0, "", (int)len, line);
}

int cli_table_print(struct cli_table *table, unsigned indent) {
	if (!table)
		return hc_fail_memory("no memory for a table");
	if (table->failed)
		return hc_fail_errno(-table->failed, "a table couldn't be filled");

	char *text = NULL;
	int r = scols_table_enable_noheadings(table->scols, !table->headings);
	/* It would cut columns, or break within words. */
	if (r == 0)
		r = scols_table_set_termforce(table->scols, SCOLS_TERMFORCE_NEVER);
	if (r == 0)
		r = scols_print_table_to_string(table->scols, &text);
	if (r < 0 || !text) {
		free(text);
		return hc_fail_errno(r < 0 ? -r : ENOMEM, "a table couldn't be laid out");
	}

	size_t hang = indent + text_column_start(table);
	size_t width = table->text && isatty(STDOUT_FILENO) ? scols_table_get_termwidth(table->scols) : 0;
	if (width < hang + TEXT_MIN)
		width = 0;

	for (char *line = text, *next; *line; line = next) {
		char *end = strchrnul(line, '\n');
		next = *end ? end + 1 : end;
		/* Padding behind the last column would wrap on a narrow terminal. */
		while (end > line && end[-1] == ' ')
			end--;
		print_line(line, (size_t)(end - line), indent, hang, width);
	}
	free(text);
	return 0;
}
