/* An architecture without clearing instructions that are known here: only portable methods. */
#include "sys/processor.h"

void hc_processor_ask(const struct hc_processor_source *source, struct hc_processor_id *ret_id) {
	(void)source, (void)ret_id;
}
