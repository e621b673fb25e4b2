#include "bench/time_text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct bench_time_text bench_time_text(double seconds) {
	static const struct {
		double scale;
		const char *unit;
	} units[] = {{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}, {1, "s"}};
	struct bench_time_text text = {"-"};
	size_t i = 0;
	if (!isfinite(seconds))
		return text;
	while (i < 3 && seconds * units[i].scale >= 999.5)
		i++;
	double value = seconds * units[i].scale;
	int digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	snprintf(text.s, sizeof(text.s), "%.*f %s", digits, value, units[i].unit);
	return text;
}
