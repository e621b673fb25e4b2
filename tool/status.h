/* What `hugeclear status` shows in both of its forms. */
#ifndef HC_TOOL_STATUS_H
#define HC_TOOL_STATUS_H

#include <hugeclear/sys.h>

struct status {
	const struct hc_machine *machine;
	const char *root; /* NULL: this machine. Else what belongs to the processor or the process isn't shown. */
};

/* Prints the object to standard output. 0, or a negative errno with a detail. */
int status_print_json(const struct status *status);

#endif
