/* What is told to people about the processor: proc/cpuinfo of any root, and of a live one the processor itself. */
#ifndef HC_SYS_PROCESSOR_WORDS_H
#define HC_SYS_PROCESSOR_WORDS_H

#include <hugeclear/sys.h>

#include "sys/root.h"

struct hc_warnings;

/* The strings of processor are the buffers beside it: not to be copied. */
struct hc_processor_words {
	struct hc_processor processor;
	char architecture[64], vendor[64], model_name[128], hypervisor[32];
	char features[256], features_masked[512];
};

/* Can't fail: what isn't told is "", 0 or -1. warnings may be NULL. */
void hc_processor_words_read(
        const struct hc_root *root, struct hc_warnings *warnings, struct hc_processor_words *ret_words);

#endif
