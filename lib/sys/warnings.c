#include "sys/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512

void hc_warn(struct hc_warnings *sink, const char *format, ...) {
	if (!sink || sink->nr == HC_WARNINGS_MAX)
		return;

	char text[TEXT_MAX];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(text))
		memcpy(text + sizeof(text) - 4, "...", 4);

	for (unsigned i = 0; i < sink->nr; i++)
		if (strcmp(sink->texts[i], text) == 0)
			return;
	if (sink->nr == HC_WARNINGS_MAX - 1)
		strcpy(text, "more was odd than is listed here");

	char *copy = strdup(text);
	if (copy)
		sink->texts[sink->nr++] = copy;
}

const char *hc_warnings_get(const struct hc_warnings *sink, unsigned i) {
	return sink && i < sink->nr ? sink->texts[i] : NULL;
}

void hc_warnings_clear(struct hc_warnings *sink) {
	for (unsigned i = 0; i < sink->nr; i++)
		free(sink->texts[i]);
	sink->nr = 0;
}
