#include "base/quote.h"

#include <stdio.h>
#include <string.h>

#define QUOTED_MAX 40

void hc_quote_clean(char *text) {
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

struct hc_quoted hc_quote(const char *text) {
	struct hc_quoted quoted;
	char part[QUOTED_MAX + 1];
	size_t len = strnlen(text, QUOTED_MAX + 2);
	if (len > 0 && text[len - 1] == '\n')
		len--;
	size_t kept = len > QUOTED_MAX ? QUOTED_MAX : len;
	memcpy(part, text, kept);
	part[kept] = '\0';
	hc_quote_clean(part);
	snprintf(quoted.s, sizeof(quoted.s), "'%s%s'", part, len > kept ? "..." : "");
	return quoted;
}
