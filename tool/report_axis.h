/* Axes of the report's plots: from zero, in round steps, in a unit that fits. */
#ifndef HC_TOOL_REPORT_AXIS_H
#define HC_TOOL_REPORT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

/* Plots are drawn this wide: on a telephone it is about a pixel a unit, so the font is as large as there. */
#define PLOT_WIDTH 420.0
#define PLOT_FONT 12

struct axis {
	double low, high; /* of which one is 0, or they have it between them */
	double step;
	double scale; /* what a value is multiplied by for its unit */
	char unit[80];
};

/* From 0 to low and high. False where no axis is possible: nothing finite, or numbers at the end of what a double holds. */
bool axis_make(double low, double high, const char *unit, struct axis *ret_axis);

/* Where value is, from 0 to 1; what is beyond an end is at it. */
double axis_place(const struct axis *axis, double value);

/* The ticks, by i from 0: false behind the last. text is what stands there. */
bool axis_tick(const struct axis *axis, size_t i, double *ret_value, char text[32]);

#endif
