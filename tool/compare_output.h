/* A comparison printed: for a mail, for a web page, for a program. */
#ifndef HC_TOOL_COMPARE_OUTPUT_H
#define HC_TOOL_COMPARE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "results/compare.h"

/* At most 72 columns, but for long names of files and cases. Returns 0 or -ENOMEM. */
int compare_print_text(FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison);

/* Tables of GitHub's kind, the rest as lists. */
int compare_print_markdown(
        FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison);

/* hugeclear-compare/1, which hugeclear-compare(1) describes. */
int compare_print_json(FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison);

/* ---- Cells --------------------------------------------------------------------------- */

struct compare_cell {
	char s[64];
};

/* "11.82 +- 0.67 %", with a unit where a time is shown in a smaller one than the row's. */
struct compare_cell compare_value_cell(const struct compare_row *row, int side);

/* "+39.42 %", or "n/a". */
struct compare_cell compare_change_cell(const struct compare_row *row);

/* "+38.62 to +40.23 %"; "" where there is none. */
struct compare_cell compare_interval_cell(const struct compare_row *row);

/* "faster", "faster, 2.03x", "no verdict: one sample, 2.03x": the speed-up of times, whose change has the other sign. */
struct compare_cell compare_verdict_cell(const struct compare_row *row);

/* ---- Tables: rows of one bench, metric, unit and direction ------------------------------ */

bool compare_same_table(const struct compare_row *a, const struct compare_row *b);

/* Parameters that all rows of the table of one have the same, on both sides. A new object; NULL: no memory. */
json_t *compare_common_params(const struct comparison *comparison, const struct compare_row *of);

/*
 * "page_size=2M function=demand": what of a row's case isn't common, "method=stosb->clzero" where the sides
 * differ in it. Freed by the caller; NULL: no memory.
 */
char *compare_label_of(const struct compare_row *row, const json_t *common);

/* The same of all parameters of an object. */
char *compare_params_text(json_t *params);

/* "higher is better" */
const char *compare_better_words(const struct compare_row *row);

#endif
