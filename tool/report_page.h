/* The report: one page of HTML that needs nothing else. */
#ifndef HC_TOOL_REPORT_PAGE_H
#define HC_TOOL_REPORT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "results/results_read.h"

/* From <!doctype> to the end of the style and the beginning of what is shown. */
void report_page_begin(FILE *out, const char *title);
void report_page_end(FILE *out);

/* The section of one document, the number-th. 0, or -ENOMEM. */
int report_section(FILE *out, const struct results_document *document, size_t number);

/* Links to sections, where there are several; compared: the comparison is the first. */
void report_contents(FILE *out, struct results_document *const *documents, size_t nr_documents, bool compared);

/* The style of the page: light, dark, narrow and printed. */
extern const char report_style[];

#endif
