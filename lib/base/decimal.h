/*
 * Whole numbers as people and the kernel write them: digits, and nothing else is a number. No sign, no
 * space, no other base and no language changes what is read, as they would strtoull(3).
 */
#ifndef HC_BASE_DECIMAL_H
#define HC_BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads the digits at *p and moves *p behind the last of them, also where they are too many.
 * Returns 0; -EINVAL where there is no digit, -ERANGE from 2^64 on: without a detail, and without
 * writing *ret_number.
 */
int hc_decimal_take(const char **p, uint64_t *ret_number);

/* The same, at the latest up to end. */
int hc_decimal_take_before(const char **p, const char *end, uint64_t *ret_number);

/* Of a text that is a number from its first to its last byte. */
int hc_decimal_parse(const char *text, uint64_t *ret_number);

#endif
