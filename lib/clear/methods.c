#include "clear/methods.h"

#include <string.h>

const struct hc_method *hc_method_by_name(const char *name) {
	for (unsigned i = 0; i < hc_nr_methods; i++)
		if (strcmp(hc_methods[i].name, name) == 0)
			return &hc_methods[i];
	return NULL;
}

void hc_method_memset(void *p, size_t len) {
	memset(p, 0, len);
	HC_STORES_ARE_SEEN(p);
}
