#include "base/size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/error.h"

/* Longest part of a bad argument that a message repeats. */
#define QUOTED_MAX 40

static const char unit_letters[] = "KMGTP";

static char upper(char c) {
	return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

/* The power of 1024 that the suffix stands for, or -1 where it is none of the grammar. */
static int suffix_power(const char *suffix) {
	if (*suffix == '\0')
		return 0;

	const char *letter = strchr(unit_letters, upper(*suffix));
	if (!letter)
		return -1;

	const char *rest = suffix + 1;
	if (upper(*rest) == 'I')
		rest++;
	if (upper(*rest) == 'B')
		rest++;
	return *rest == '\0' ? (int)(letter - unit_letters) + 1 : -1;
}

static int fail_syntax(const char *text, const char *why) {
	return hc_fail(EINVAL, "'%.*s%s' is not a size: %s", QUOTED_MAX, text,
	        strnlen(text, QUOTED_MAX + 1) > QUOTED_MAX ? "..." : "", why);
}

/*
 * A fraction that is a whole number of the next smaller unit can be offered in
 * that unit ("1.5G" is "1536M"); others get the rule alone.
 */
static int fail_fraction(const char *text) {
	uint64_t whole;
	const char *p = text;
	if (hc_decimal_take(&p, &whole) < 0)
		return fail_syntax(text, "whole numbers only");

	uint64_t part = 0, scale = 1;
	for (p++; is_digit(*p) && scale < 1000000; p++) {
		part = part * 10 + (uint64_t)(*p - '0');
		scale *= 10;
	}

	uint64_t smaller;
	int power = suffix_power(p);
	if (power > 0 && part * 1024 % scale == 0 && hc_mul_ok(whole, 1024, &smaller) &&
	        hc_add_ok(smaller, part * 1024 / scale, &smaller)) {
		char hint[64];
		snprintf(hint, sizeof(hint), "no fractions; use %llu%.*s", (unsigned long long)smaller, power > 1,
		        power > 1 ? &unit_letters[power - 2] : "");
		return fail_syntax(text, hint);
	}
	return fail_syntax(text, "whole numbers only, in a smaller unit where needed");
}

int hc_size_parse(const char *text, uint64_t *ret_bytes) {
	if (!text || !ret_bytes)
		return hc_fail(EINVAL, "no text to read a size from, or nowhere to put it");
	if (*text == '\0')
		return hc_fail(EINVAL, "an empty text is not a size: write digits and K, M, G, T or P, as in 2M");
	if (!is_digit(*text))
		return fail_syntax(text, "it has to start with a digit, as in 2M or 1GiB");

	const char *p = text;
	uint64_t number = 0;
	int r = hc_decimal_take(&p, &number);
	if (*p == '.' && is_digit(p[1]))
		return fail_fraction(text);

	int power = suffix_power(p);
	if (power < 0)
		return fail_syntax(text, "after the digits only K, M, G, T or P may stand, with B, i or iB behind it");

	if (r < 0 || !hc_mul_ok(number, UINT64_C(1) << (10 * power), &number))
		return hc_fail(ERANGE, "'%.*s%s' is 2^64 bytes or more", QUOTED_MAX, text,
		        strnlen(text, QUOTED_MAX + 1) > QUOTED_MAX ? "..." : "");

	*ret_bytes = number;
	return 0;
}

/* The largest power of 1024 that divides bytes, at most P. */
static unsigned exact_power(uint64_t bytes) {
	unsigned power = 0;
	while (bytes != 0 && power < 5 && bytes % 1024 == 0) {
		bytes /= 1024;
		power++;
	}
	return power;
}

/* The number with between, the letter of its unit and behind after it; plain where that is bytes, which have no letter. */
static struct hc_size_text in_largest_unit(uint64_t bytes, const char *between, const char *behind, const char *plain) {
	struct hc_size_text text;
	unsigned power = exact_power(bytes);
	unsigned long long n = bytes >> (10 * power);
	if (power == 0)
		snprintf(text.s, sizeof(text.s), "%llu%s", n, plain);
	else
		snprintf(text.s, sizeof(text.s), "%llu%s%c%s", n, between, unit_letters[power - 1], behind);
	return text;
}

struct hc_size_text hc_size_exact(uint64_t bytes) {
	return in_largest_unit(bytes, " ", "iB", " B");
}

struct hc_size_text hc_size_arg(uint64_t bytes) {
	return in_largest_unit(bytes, "", "", "");
}

struct hc_size_text hc_size_rounded(uint64_t bytes) {
	unsigned power = 0;
	while (power < 5 && bytes >> (10 * (power + 1)) != 0)
		power++;
	if (power == 0)
		return hc_size_exact(bytes);

	/* Hundredths in integers: the locale's decimal comma must not appear. */
	unsigned shift = 10 * power;
	uint64_t whole = bytes >> shift;
	uint64_t part = bytes & ((UINT64_C(1) << shift) - 1);
	unsigned hundredths = (unsigned)((part * 100 + (UINT64_C(1) << (shift - 1))) >> shift);
	if (hundredths == 100) {
		whole++;
		hundredths = 0;
	}

	struct hc_size_text text;
	char unit = unit_letters[power - 1];
	if (hundredths == 0)
		snprintf(text.s, sizeof(text.s), "%llu %ciB", (unsigned long long)whole, unit);
	else if (hundredths % 10 == 0)
		snprintf(text.s, sizeof(text.s), "%llu.%u %ciB", (unsigned long long)whole, hundredths / 10, unit);
	else
		snprintf(text.s, sizeof(text.s), "%llu.%02u %ciB", (unsigned long long)whole, hundredths % 100, unit);
	return text;
}

int hc_size_format(uint64_t bytes, char *text, size_t text_size) {
	if (!text || text_size == 0)
		return hc_fail(EINVAL, "no buffer to write a size into");
	struct hc_size_text exact = hc_size_exact(bytes);
	if (strlen(exact.s) >= text_size)
		return hc_fail(ENOSPC, "'%s' doesn't fit a buffer of %zu bytes: give %d", exact.s, text_size,
		        HC_SIZE_TEXT_MAX);
	memcpy(text, exact.s, strlen(exact.s) + 1);
	return 0;
}
