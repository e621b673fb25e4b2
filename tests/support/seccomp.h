/* System calls forbidden, as a container's profile forbids them. */
#ifndef HC_TEST_SECCOMP_H
#define HC_TEST_SECCOMP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From now on these calls of this process return -1 with that errno; it can't be
 * undone, so call it in a child. False where this kernel has no seccomp.
 */
bool seccomp_forbid(const int *calls, size_t nr_calls, int err);

/* Runs check in a child that may not make these calls; fails the test where it returns false, skips it without seccomp. */
void with_calls_forbidden(const int *calls, size_t nr_calls, int err, bool (*check)(int err));

#endif
