/* The smallest pieces of the report's page: foreign text that stays text, and numbers for people. */
#ifndef HC_TOOL_REPORT_HTML_H
#define HC_TOOL_REPORT_HTML_H

#include <stdio.h>

/*
 * text as HTML, between tags and within quotes alike. What isn't UTF-8, and characters that control a terminal, a
 * page or the direction of writing become U+FFFD: none of them can break out or reorder what stands around it.
 */
void html_text(FILE *out, const char *text);

/* The same, and where it would be wider than width (at the font's size of 12), cut, with an ellipsis. */
void html_fit(FILE *out, const char *text, double width);

/* No less than how wide text is in any usual sans-serif font of size 12. */
double html_width(const char *text);

/* As data-value="...": 17 digits, so that reading it gives the same number. */
void html_value(FILE *out, double value);

struct html_number {
	char s[32];
};

/* Three or four digits that matter: "11.81", "0.0312", "1.32e+07". Times have their unit: "2.65 us". */
struct html_number html_figure(double value, const char *unit);

/* The unit behind html_figure(): empty for what has it already. */
const char *html_unit(const char *unit);

#endif
