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

#endif
