#include "results/units.h"

#include <stddef.h>
#include <string.h>

enum dimension { BYTES, BYTES_A_SECOND, TIME };

#define RATE_AND_SIZE(name, factor)                                                                                    \
	{name, BYTES, factor}, {                                                                                       \
		name "/s", BYTES_A_SECOND, factor                                                                      \
	}

static const struct unit {
	const char *name;
	enum dimension dimension;
	double factor;
} units[] = {
        RATE_AND_SIZE("B", 1),
        RATE_AND_SIZE("kB", 1e3),
        RATE_AND_SIZE("KB", 1e3),
        RATE_AND_SIZE("MB", 1e6),
        RATE_AND_SIZE("GB", 1e9),
        RATE_AND_SIZE("TB", 1e12),
        RATE_AND_SIZE("KiB", 1024.0),
        RATE_AND_SIZE("MiB", 1048576.0),
        RATE_AND_SIZE("GiB", 1073741824.0),
        RATE_AND_SIZE("TiB", 1099511627776.0),
        {"ns", TIME, 1e-9},
        {"us", TIME, 1e-6},
        {"µs", TIME, 1e-6},
        {"ms", TIME, 1e-3},
        {"s", TIME, 1},
        {"sec", TIME, 1},
        {"seconds", TIME, 1},
        {"min", TIME, 60},
};

static const struct unit *find(const char *name) {
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

bool units_factor(const char *from, const char *to, double *ret_factor) {
	if (strcmp(from, to) == 0) {
		*ret_factor = 1;
		return true;
	}
	const struct unit *a = find(from), *b = find(to);
	if (!a || !b || a->dimension != b->dimension)
		return false;
	*ret_factor = a->factor / b->factor;
	return true;
}

bool units_is_time(const char *unit) {
	const struct unit *found = find(unit);
	return found && found->dimension == TIME;
}
