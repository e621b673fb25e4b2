/*
 * Tables for people: columns as wide as their contents, numbers to the right, plain
 * text without colours, the same on a terminal and in a pipe but for long texts, which
 * are wrapped at the width of a terminal and nowhere else.
 *
 * A table remembers its first failure: fill it without looking, check what
 * cli_table_print() returns. All functions take NULL as a table that failed.
 */
#ifndef HC_TOOL_TABLE_H
#define HC_TOOL_TABLE_H

#include <stdio.h>

struct cli_table;

enum cli_column {
	CLI_LEFT,
	CLI_RIGHT, /* numbers, and sizes with their unit */
	CLI_TEXT,  /* left, and wrapped where the terminal ends; at most one, the last */
};

/* NULL: no memory. */
struct cli_table *cli_table_new(void);

/* Takes and returns NULL. */
struct cli_table *cli_table_free(struct cli_table *table);

/* All columns come before the first row. A table whose headings are all NULL has no heading line. */
void cli_table_column(struct cli_table *table, const char *heading, enum cli_column column);

/* Begins the next row. */
void cli_table_row(struct cli_table *table);

/*
 * Fills the next cell of the row. Characters that a terminal could take for something
 * else are printed as \xNN. Cells that aren't filled stay empty; one beyond the last
 * column is a mistake of the caller (-EINVAL from print).
 */
void cli_table_cell(struct cli_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prints the table to standard output, indent spaces before every line. Returns 0 or a
 * negative errno with a detail; errors of standard output are left to cli_finish().
 */
int cli_table_print(struct cli_table *table, unsigned indent);

#endif
