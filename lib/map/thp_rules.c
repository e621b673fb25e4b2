#include "map/thp_rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"

#define FOLDER "/sys/kernel/mm/transparent_hugepage"

static bool word_is_on(const char *word) {
	return strcmp(word, "never") != 0;
}

static const struct hc_mthp *find_size(const struct hc_thp_settings *settings, uint64_t page_size) {
	for (unsigned i = 0; i < settings->nr_mthp; i++)
		if (settings->mthp[i].page_size == page_size)
			return &settings->mthp[i];
	return NULL;
}

/* Each size has its own switch since Linux 6.8; before that, or where it says so, the machine's counts. */
static bool size_is_on(const struct hc_thp_settings *settings, uint64_t page_size) {
	const struct hc_mthp *mthp = find_size(settings, page_size);
	if (!mthp || strcmp(mthp->enabled, "inherit") == 0 || mthp->enabled[0] == '\0')
		return word_is_on(settings->thp.enabled);
	return word_is_on(mthp->enabled);
}

static int fail_off(const struct hc_thp_settings *settings, uint64_t page_size) {
	const struct hc_mthp *mthp = find_size(settings, page_size);
	if (mthp && strcmp(mthp->enabled, "inherit") != 0)
		return hc_fail(EOPNOTSUPP,
		        "THP of %s are off: " FOLDER "/hugepages-%llukB/enabled is '%s'; 'madvise' switches them on",
		        hc_size_exact(page_size).s, (unsigned long long)(page_size >> 10), mthp->enabled);
	return hc_fail(EOPNOTSUPP, "THP are off: " FOLDER "/enabled is '%s'; 'madvise' switches them on",
	        settings->thp.enabled);
}

static int check_below_pmd(const struct hc_thp_settings *settings, uint64_t page_size) {
	if (!find_size(settings, page_size)) {
		char sizes[256] = "";
		size_t used = 0;
		for (unsigned i = 0; i < settings->nr_mthp && used + 40 < sizeof(sizes); i++)
			used += (size_t)snprintf(sizes + used, sizeof(sizes) - used, "%s%s", i ? ", " : ", only of ",
			        hc_size_exact(settings->mthp[i].page_size).s);
		return hc_fail(EOPNOTSUPP, "this kernel has no THP of %s%s", hc_size_exact(page_size).s, sizes);
	}
	for (unsigned i = 0; i < settings->nr_mthp; i++) {
		uint64_t other = settings->mthp[i].page_size;
		if (other > page_size && size_is_on(settings, other))
			return hc_fail(EOPNOTSUPP,
			        "THP of %s can't be had while those of %s are on, of which the kernel takes the "
			        "largest that "
			        "fits: " FOLDER "/hugepages-%llukB/enabled",
			        hc_size_exact(page_size).s, hc_size_exact(other).s, (unsigned long long)(other >> 10));
	}
	return 0;
}

int hc_thp_check(const struct hc_thp_settings *settings, uint64_t *page_size) {
	const struct hc_thp *thp = &settings->thp;
	if (thp->present == 0)
		return hc_fail(EOPNOTSUPP, "this kernel has no THP (there is no " FOLDER ")");
	/* 2: but for advised memory, which ours is. */
	if (thp->process_disabled == 1)
		return hc_fail(EOPNOTSUPP, "THP are off for this process: it, or one that it comes from, called "
		                           "prctl(PR_SET_THP_DISABLE)");
	if (*page_size == 0) {
		if (thp->pmd_size == HC_UNKNOWN)
			return hc_fail(EOPNOTSUPP, "the size of THP isn't known (" FOLDER "/hpage_pmd_size)");
		*page_size = thp->pmd_size;
	}
	if (thp->pmd_size != HC_UNKNOWN && *page_size > thp->pmd_size)
		return hc_fail(EOPNOTSUPP, "THP of %s wanted, the largest here are of %s", hc_size_exact(*page_size).s,
		        hc_size_exact(thp->pmd_size).s);
	if (*page_size != thp->pmd_size) {
		int r = check_below_pmd(settings, *page_size);
		if (r < 0)
			return r;
	}
	return size_is_on(settings, *page_size) ? 0 : fail_off(settings, *page_size);
}
