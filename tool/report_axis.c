#include "report_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* About this many steps. */
#define STEPS 5

static void choose_unit(struct axis *axis, double largest, const char *unit) {
	static const struct {
		double scale;
		const char *unit;
	} times[] = {{1, "s"}, {1e3, "ms"}, {1e6, "\xc2\xb5s"}, {1e9, "ns"}};
	axis->scale = 1;
	snprintf(axis->unit, sizeof(axis->unit), "%s", unit);
	if (strcmp(unit, "s") != 0)
		return;
	size_t i = 0;
	while (i < 3 && largest * times[i].scale < 1)
		i++;
	axis->scale = times[i].scale;
	snprintf(axis->unit, sizeof(axis->unit), "%s", times[i].unit);
}

bool axis_make(double low, double high, const char *unit, struct axis *ret_axis) {
	if (!isfinite(low) || !isfinite(high) || low > high)
		return false;
	struct axis axis = {.low = fmin(low, 0), .high = fmax(high, 0)};
	double largest = fmax(-axis.low, axis.high);
	if (largest > 1e300 || (largest > 0 && largest < 1e-290))
		return false;
	choose_unit(&axis, largest, unit);
	if (largest == 0)
		axis.high = 1;
	axis.low *= axis.scale;
	axis.high *= axis.scale;
	double rough = (axis.high - axis.low) / STEPS, decade = pow(10, floor(log10(rough))), digit = rough / decade;
	axis.step = decade * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
	axis.low = floor(axis.low / axis.step) * axis.step;
	axis.high = ceil(axis.high / axis.step) * axis.step;
	*ret_axis = axis;
	return true;
}

double axis_place(const struct axis *axis, double value) {
	return fmin(fmax((value * axis->scale - axis->low) / (axis->high - axis->low), 0), 1);
}

bool axis_tick(const struct axis *axis, size_t i, double *ret_value, char text[32]) {
	double value = axis->low + (double)i * axis->step;
	if (i > 3 * (size_t)STEPS || value > axis->high + axis->step / 2)
		return false;
	/* 0 is a sum of steps with an error. */
	if (fabs(value) < axis->step / 2)
		value = 0;
	*ret_value = value / axis->scale;
	snprintf(text, 32, "%.6g", value);
	return true;
}
