/* Setting a pool below a root that is already open: what tests give their own read and write functions. */
#ifndef HC_SYS_POOL_SET_H
#define HC_SYS_POOL_SET_H

#include <hugeclear/sys.h>

#include "sys/root.h"

/* As hc_pool_set(), but opts->root isn't looked at. */
int hc_pool_set_at(const struct hc_root *root, const struct hc_pool_request *request, const struct hc_pool_opts *opts,
        struct hc_pool_result *result);

#endif
