/* Any texts of a kernel about itself and about its processor give strings and no more. */
#include "fuzz/files.h"

#include "sys/kernel.h"
#include "sys/processor_words.h"
#include "sys/warnings.h"

static const char *const paths[] = {"proc/cpuinfo", "proc/sys/kernel/osrelease", "proc/sys/kernel/random/boot_id",
        "sys/kernel/debug/sched/preempt", "sys/kernel/realtime", "proc/sys/kernel/version", "proc/version",
        "proc/cmdline", "proc/sys/kernel/arch", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_files files;
	struct hc_root root = fuzz_root(paths, NULL, bytes, len, &files);
	struct hc_warnings warnings = {0};
	struct hc_kernel kernel;
	if (hc_kernel_read(&root, &warnings, &kernel) == 0) {
		FUZZ_ASSERT(!strchr(kernel.release, '\n') && !strchr(kernel.boot_id, '\n'));
		FUZZ_ASSERT(!strchr(kernel.preemption, '\n') && !strchr(kernel.preemption, ' '));
		hc_kernel_free(&kernel);
	}
	struct hc_processor_words words;
	hc_processor_words_read(&root, &warnings, &words);
	FUZZ_ASSERT(words.processor.virtualised >= -1 && words.processor.virtualised <= 1);
	FUZZ_ASSERT(!strchr(words.vendor, '\n') && !strchr(words.model_name, '\n') && words.features[0] == '\0');
	hc_warnings_clear(&warnings);
	return 0;
}
