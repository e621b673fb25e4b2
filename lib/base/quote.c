#include "base/quote.h"

#include <stdio.h>
#include <string.h>

#define QUOTED_MAX 40

struct hc_quoted hc_quote(const char *text) {
	struct hc_quoted quoted;
	char part[QUOTED_MAX + 1];
	size_t len = strnlen(text, QUOTED_MAX + 2);
	if (len > 0 && text[len - 1] == '\n')
		len--;
	size_t kept = len > QUOTED_MAX ? QUOTED_MAX : len;
	for (size_t i = 0; i < kept; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			part[i] = '?';
		else
			part[i] = text[i];
	part[kept] = '\0';
	snprintf(quoted.s, sizeof(quoted.s), "'%s%s'", part, len > kept ? "..." : "");
	return quoted;
}
