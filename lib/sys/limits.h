/* Resource limits of this process that huge pages run into: getrlimit(2), mlock(2). */
#ifndef HC_SYS_LIMITS_H
#define HC_SYS_LIMITS_H

#include <hugeclear/sys.h>

#include "sys/root.h"

/*
 * Fills in the fields that come from the process; those about cgroups are set to
 * no limit. For a replaced root all are unknown: they belong to this process.
 */
void hc_limits_read(const struct hc_root *root, struct hc_limits *ret_limits);

#endif
