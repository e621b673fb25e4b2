/* Any text is a journal with sums that hold together, or an error with a detail. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "reserve_journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct reserve_record *record) {
	if (record->boot_id[0] == '\0' || record->owner < 1 || record->since < 0)
		abort();
	if (record->intent.page_size != 0 && !hc_is_power_of_two(record->intent.page_size))
		abort();
	for (unsigned i = 0; i < record->nr_changes; i++) {
		const struct reserve_change *change = &record->changes[i];
		if (!hc_is_power_of_two(change->page_size) || change->node < -1 || change->pages == 0)
			abort();
		for (unsigned k = 0; k < i; k++)
			if (record->changes[k].page_size == change->page_size &&
			        record->changes[k].node == change->node)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	/* Exactly as long as it is, so that a byte read beyond it is seen. */
	char *text = malloc(len ? len : 1);
	if (!text)
		return 0;
	memcpy(text, bytes, len);

	struct reserve_record record;
	int r = reserve_record_parse(text, len, &record);
	if (r == 0) {
		check(&record);
		reserve_record_free(&record);
	} else if ((r != -ENODATA && r != -ENOTSUP && r != -EBADMSG) || hc_error_detail()[0] == '\0') {
		abort();
	}
	free(text);
	return 0;
}
