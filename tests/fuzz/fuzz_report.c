/* Whatever a results file says, the report's page has the elements of a report and no other, all closed, and no control character. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define DEPTH_MAX 32

/* Elements, and after which of them no end follows. */
static const char *const elements[] = {"a", "b", "circle", "dd", "desc", "div", "dl", "dt", "figcaption", "figure", "g",
        "h2", "h3", "h4", "li", "p", "path", "rect", "section", "small", "span", "svg", "table", "tbody", "td", "text",
        "th", "thead", "title", "tr", "ul"};

static const char *element_of(const char *name, size_t len) {
	for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++)
		if (strlen(elements[i]) == len && memcmp(name, elements[i], len) == 0)
			return elements[i];
	if (len == 2 && memcmp(name, "br", 2) == 0)
		return "br";
	abort();
}

/* From behind the name of an element to its end: attributes whose values stand between quotes. */
static const char *skip_attributes(const char *p, bool *ret_closed) {
	while (*p == ' ' || *p == '\n') {
		p += strspn(p, " \n");
		p += strspn(p, "abcdefghijklmnopqrstuvwxyzB-0123456789");
		if (p[0] != '=' || p[1] != '"')
			abort();
		p += 2;
		p += strcspn(p, "\"<>");
		if (*p != '"')
			abort();
		p++;
	}
	*ret_closed = *p == '/';
	p += *p == '/';
	if (*p != '>')
		abort();
	return p + 1;
}

static void check(const char *p) {
	const char *open[DEPTH_MAX];
	size_t depth = 0;
	while (*p) {
		if ((unsigned char)*p < ' ' && *p != '\n')
			abort();
		if (*p != '<') {
			if (*p == '>')
				abort();
			p++;
			continue;
		}
		bool ends = *++p == '/', closed = false;
		p += ends;
		size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
		const char *element = element_of(p, len);
		p = skip_attributes(p + len, &closed);
		if (ends) {
			if (depth == 0 || open[--depth] != element)
				abort();
		} else if (!closed && strcmp(element, "br") != 0) {
			if (depth == DEPTH_MAX)
				abort();
			open[depth++] = element;
		}
	}
	if (depth > 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len ? len : 1), *page = NULL;
	size_t page_len;
	if (!text)
		return 0;
	memcpy(text, bytes, len);
	struct results_document *document = NULL;
	if (results_read_text(text, len, "fuzz", &document) == 0) {
		FILE *out = open_memstream(&page, &page_len);
		if (!out)
			abort();
		int r = report_section(out, document, 0);
		if (fclose(out) != 0)
			abort();
		if (r == 0)
			check(page);
	}
	results_document_free(document);
	free(page);
	free(text);
	return 0;
}
