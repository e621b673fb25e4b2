/* Base against patched in the report: the comparison's rows, with their intervals drawn. */
#ifndef HC_TOOL_REPORT_COMPARE_H
#define HC_TOOL_REPORT_COMPARE_H

#include <stdio.h>

#include "results/compare.h"

/* 0, or -ENOMEM. pre: the comparison has rows */
int report_comparison(FILE *out, const struct compare_side sides[COMPARE_SIDES], const struct comparison *comparison);

#endif
