/*
 * Whether memory that is advised with MADV_HUGEPAGE can get THP of a size, by the settings of the
 * machine and the process: Documentation/admin-guide/mm/transhuge.rst of the kernel.
 */
#ifndef HC_MAP_THP_RULES_H
#define HC_MAP_THP_RULES_H

#include <stdint.h>

#include "sys/thp.h"

/*
 * 0 where they can; *page_size 0 is replaced by the PMD's size. -EOPNOTSUPP with the
 * setting that says no and its file. What isn't known doesn't say no. For a size below the PMD's
 * a larger one that is on says no: the kernel takes the largest that fits.
 */
int hc_thp_check(const struct hc_thp_settings *settings, uint64_t *page_size);

#endif
