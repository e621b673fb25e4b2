#include "base/decimal.h"

#include <errno.h>
#include <stdbool.h>

#include "base/arith.h"

/* end NULL: the text ends with a NUL, which is no digit. */
int hc_decimal_take_before(const char **p, const char *end, uint64_t *ret_number) {
	const char *first = *p;
	uint64_t number = 0;
	bool fits = true;
	for (; *p != end && **p >= '0' && **p <= '9'; (*p)++)
		fits = fits && hc_mul_ok(number, 10, &number) && hc_add_ok(number, (uint64_t)(**p - '0'), &number);
	if (*p == first)
		return -EINVAL;
	if (!fits)
		return -ERANGE;
	*ret_number = number;
	return 0;
}

int hc_decimal_take(const char **p, uint64_t *ret_number) {
	return hc_decimal_take_before(p, NULL, ret_number);
}

int hc_decimal_parse(const char *text, uint64_t *ret_number) {
	const char *p = text;
	uint64_t number;
	int r = hc_decimal_take(&p, &number);
	if (*p != '\0')
		return -EINVAL;
	if (r == 0)
		*ret_number = number;
	return r;
}
