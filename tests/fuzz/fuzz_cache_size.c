/* Any files of a CPU's caches give sizes from which a sane limit follows. */
#include <stdlib.h>

#include "fuzz/fuzz_root.h"
#include "sys/processor.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_root fuzz = {
	        .bytes = bytes,
	        .len = len,
	        .names = {"index0/size", "index1/size", "index1/level", "index1/type", "cpu/online"},
	        .fixed = {"sys/devices/system/cpu/cpu0/cache/index0/level", "1\n",
	                "sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"},
	};
	struct hc_root root = fuzz_root(&fuzz);
	struct hc_warnings sink = {0};
	struct hc_caches caches;
	hc_caches_read_warn(&root, &sink, &caches);
	uint64_t limit = hc_cached_up_to(&caches);
	if (limit < HC_CACHED_MIN || limit > HC_CACHED_MAX)
		abort();
	hc_warnings_clear(&sink);
	return 0;
}
