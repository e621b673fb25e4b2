/* The methods of arm64. All of them are in the baseline, ARMv8-A. */
#ifndef HC_CLEAR_ARM64_H
#define HC_CLEAR_ARM64_H

#include <stddef.h>

void hc_arm64_stp(void *p, size_t len);
void hc_arm64_stnp(void *p, size_t len);
void hc_arm64_dczva(void *p, size_t len);

#endif
