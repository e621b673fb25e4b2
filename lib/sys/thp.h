/* Transparent huge pages: Documentation/admin-guide/mm/transhuge.rst of the kernel. */
#ifndef HC_SYS_THP_H
#define HC_SYS_THP_H

#include <hugeclear/sys.h>

#include "sys/root.h"

struct hc_warnings;

/* The strings are owned by it. */
struct hc_thp_settings {
	struct hc_thp thp;
	struct hc_mthp *mthp; /* smallest first; none before Linux 6.8 */
	unsigned nr_mthp;
};

/* warnings may be NULL. Returns 0 or -ENOMEM; what can't be read is unknown. Undone by hc_thp_free(). */
int hc_thp_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_thp_settings *ret_settings);

/* pre: read, or all zero */
void hc_thp_free(struct hc_thp_settings *settings);

#endif
