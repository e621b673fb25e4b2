/* Option structs that grow: led by their own size, checked in one place. */
#ifndef HC_BASE_OPTS_H
#define HC_BASE_OPTS_H

#include <stddef.h>

/*
 * Copies the caller's options into *ret_opts, a struct of known bytes of this
 * library's layout.
 *
 * opts NULL gives all defaults (all zero bits). A caller built against an older
 * header passes a smaller struct: what it lacks takes its default. One built
 * against a newer header passes a larger struct: its tail has to be zero.
 *
 * Returns 0; -EINVAL where the size field is smaller than itself or absurd;
 * -E2BIG where the tail holds something this library doesn't know.
 *
 * pre: both structs start with a size_t that holds the struct's size.
 */
int hc_opts_check(const void *opts, size_t known, void *ret_opts);

/*
 * A setting that says yes or no: 0 where it is 0 or 1, else -EINVAL with its name. Other values
 * are left to later versions, which can give them a meaning.
 */
int hc_opts_flag(int value, const char *name);

/*
 * The other way round, for a struct that a call fills in: -EINVAL where its size
 * field is smaller than itself or absurd. NULL is fine.
 */
int hc_report_check(const void *report);

/*
 * Writes what the caller's struct has room for of *from, known bytes of this
 * library's layout. What a newer header has behind them becomes zero, so that
 * nothing is left uninitialised; the size field stays. NULL is fine.
 *
 * pre: checked by hc_report_check(); both structs start with the size_t.
 */
void hc_report_write(const void *from, size_t known, void *report);

#endif
