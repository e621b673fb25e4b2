#include "report_html.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_WIDTH 13

/* ---- Text ----------------------------------------------------------------------- */

/* Length in bytes of the character at p, and the character; 1 and UINT32_MAX for what isn't UTF-8. */
static size_t take_character(const unsigned char *p, uint32_t *ret_character) {
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = *p < 0x80                 ? 1
	             : *p >= 0xc2 && *p < 0xe0 ? 2
	             : *p >= 0xe0 && *p < 0xf0 ? 3
	             : *p >= 0xf0 && *p < 0xf5 ? 4
	                                       : 0;
	*ret_character = UINT32_MAX;
	if (len == 0)
		return 1;
	uint32_t c = len == 1 ? *p : *p & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		/* Also ends at the text's end. */
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 1;
	*ret_character = c;
	return len;
}

/* Controls, those of direction and of joining, and what HTML says no document has. */
static bool is_shown(uint32_t c) {
	return !(c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	         (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe || (c >= 0xe0000 && c <= 0xe007f));
}

static void put_character(FILE *out, const unsigned char *p, size_t len, uint32_t c) {
	if (c == '&')
		fputs("&amp;", out);
	else if (c == '<')
		fputs("&lt;", out);
	else if (c == '>')
		fputs("&gt;", out);
	else if (c == '"')
		fputs("&quot;", out);
	else if (c == '\'')
		fputs("&#39;", out);
	else if (c == UINT32_MAX || !is_shown(c))
		fputs(REPLACEMENT, out);
	else
		fwrite(p, 1, len, out);
}

void html_text(FILE *out, const char *text) {
	const unsigned char *p = (const unsigned char *)text;
	while (*p) {
		uint32_t c;
		size_t len = take_character(p, &c);
		put_character(out, p, len, c);
		p += len;
	}
}

static double character_width(uint32_t c) {
	if (c >= 0x80)
		return 13;
	if (c < 0x20 || strchr("MWmw@%", (int)c))
		return 11.5;
	return c >= 'A' && c <= 'Z' ? 9 : 7;
}

double html_width(const char *text) {
	double width = 0;
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		uint32_t c;
		p += take_character(p, &c);
		width += character_width(c);
	}
	return width;
}

void html_fit(FILE *out, const char *text, double width) {
	bool cut = html_width(text) > width;
	double left = width - (cut ? ELLIPSIS_WIDTH : 0);
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		uint32_t c;
		size_t len = take_character(p, &c);
		left -= character_width(c);
		if (left < 0)
			break;
		put_character(out, p, len, c);
		p += len;
	}
	if (cut)
		fputs(ELLIPSIS, out);
}

/* ---- Numbers -------------------------------------------------------------------- */

void html_value(FILE *out, double value) {
	fprintf(out, " data-value=\"%.17g\"", value);
}

static struct html_number time_figure(double seconds) {
	static const struct {
		double scale;
		const char *unit;
	} units[] = {{1e9, "ns"}, {1e6, "\xc2\xb5s"}, {1e3, "ms"}, {1, "s"}};
	struct html_number text;
	size_t i = 0;
	while (i < 3 && fabs(seconds) * units[i].scale >= 999.5)
		i++;
	double value = seconds * units[i].scale;
	if (fabs(value) >= 1e6)
		snprintf(text.s, sizeof(text.s), "%.3g %s", value, units[i].unit);
	else
		snprintf(text.s, sizeof(text.s), "%.*f %s",
		        fabs(value) >= 99.95   ? 0
		        : fabs(value) >= 9.995 ? 1
		                               : 2,
		        value, units[i].unit);
	return text;
}

struct html_number html_figure(double value, const char *unit) {
	bool time = strcmp(unit, "s") == 0;
	double size = fabs(value);
	struct html_number text;
	if (time && size >= 1e-10)
		return time_figure(value);
	const char *behind = time ? " s" : "";
	if (size == 0)
		snprintf(text.s, sizeof(text.s), "0%s", behind);
	else if (size >= 0.9995 && size < 1e7)
		snprintf(text.s, sizeof(text.s), "%.*f", size >= 999.5 ? 0 : size >= 99.95 ? 1 : 2, value);
	else
		snprintf(text.s, sizeof(text.s), "%.3g%s", value, behind);
	return text;
}

const char *html_unit(const char *unit) {
	return strcmp(unit, "s") == 0 ? "" : unit;
}
