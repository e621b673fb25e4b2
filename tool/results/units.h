/* Units of results: which can be turned into each other. */
#ifndef HC_RESULTS_UNITS_H
#define HC_RESULTS_UNITS_H

#include <stdbool.h>

/*
 * Multiplied by *ret_factor a number of unit from is one of unit to: of bytes (kB, MB, GB, TB are powers of 1000,
 * KiB, MiB, GiB, TiB of 1024), bytes a second, and time (ns, us, ms, s, min). A unit that isn't known is only
 * itself. False where they don't measure the same.
 */
bool units_factor(const char *from, const char *to, double *ret_factor);

/* True for "s": a time that may be shown in a smaller unit. */
bool units_is_time(const char *unit);

#endif
