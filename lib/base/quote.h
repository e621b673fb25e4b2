/* Foreign text in messages: bounded, on one line, without control characters. */
#ifndef HC_BASE_QUOTE_H
#define HC_BASE_QUOTE_H

struct hc_quoted {
	char s[56];
};

/*
 * text between single quotes, cut to 40 bytes with "..." behind them; every
 * control character is shown as '?', and one trailing newline is left out.
 */
struct hc_quoted hc_quote(const char *text);

/* Shows every control character in text as '?': for a message that has foreign text in it unquoted. */
void hc_quote_clean(char *text);

#endif
