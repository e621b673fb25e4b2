/* Any settings of transparent huge pages give single words, or none. */
#include "fuzz/files.h"

#include "sys/thp.h"
#include "sys/warnings.h"

#define FOLDER "sys/kernel/mm/transparent_hugepage"

static const char *const paths[] = {FOLDER "/enabled", FOLDER "/defrag", FOLDER "/shmem_enabled",
        FOLDER "/use_zero_page", FOLDER "/hpage_pmd_size", FOLDER "/hugepages-64kB/enabled",
        FOLDER "/hugepages-2048kB/enabled", NULL};
static const char *const folders[] = {
        FOLDER "/hugepages-2048kB", FOLDER "/hugepages-64kB", FOLDER "/hugepages-x", NULL};

static void check_word(const char *word) {
	FUZZ_ASSERT(word && strcspn(word, " \t\n[]") == strlen(word));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	struct fuzz_files files;
	struct hc_root root = fuzz_root(paths, folders, bytes, len, &files);
	struct hc_warnings warnings = {0};
	struct hc_thp_settings settings;
	if (hc_thp_read(&root, &warnings, &settings) == 0) {
		const struct hc_thp *thp = &settings.thp;
		check_word(thp->enabled);
		check_word(thp->defrag);
		check_word(thp->shmem_enabled);
		FUZZ_ASSERT(thp->pmd_size == HC_UNKNOWN || (thp->pmd_size && !(thp->pmd_size & (thp->pmd_size - 1))));
		FUZZ_ASSERT(thp->use_zero_page >= -1 && thp->use_zero_page <= 1);
		FUZZ_ASSERT(settings.nr_mthp == 2 && settings.mthp[0].page_size < settings.mthp[1].page_size);
		check_word(settings.mthp[0].enabled);
		check_word(settings.mthp[1].enabled);
		hc_thp_free(&settings);
	}
	hc_warnings_clear(&warnings);
	return 0;
}
