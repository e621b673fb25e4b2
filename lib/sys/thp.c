#include "sys/thp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/error.h"
#include "base/quote.h"
#include "sys/page_sizes.h"
#include "sys/warnings.h"

#define FOLDER "sys/kernel/mm/transparent_hugepage"

static void free_word(const char *word) {
	free((void *)(uintptr_t)word);
}

void hc_thp_free(struct hc_thp_settings *settings) {
	free_word(settings->thp.enabled);
	free_word(settings->thp.defrag);
	free_word(settings->thp.shmem_enabled);
	for (unsigned i = 0; i < settings->nr_mthp; i++)
		free_word(settings->mthp[i].enabled);
	free(settings->mthp);
	*settings = (struct hc_thp_settings){0};
}

/* The word in brackets of "always [madvise] never"; "" where there is none. NULL: no memory. */
static char *read_choice(const struct hc_root *root, const char *path, struct hc_warnings *warnings) {
	char text[256];
	int r = hc_root_read(root, path, text, sizeof(text));
	if (r < 0) {
		if (r != -ENOENT)
			hc_warn(warnings, "%s", hc_error_detail());
		return strdup("");
	}
	const char *open = strchr(text, '[');
	const char *close = open ? strchr(open, ']') : NULL;
	if (!close || close == open + 1 || strcspn(open + 1, "[ \t\n") < (size_t)(close - open - 1)) {
		char name[512];
		hc_warn(warnings, "%s: no word in brackets: %s", hc_root_name(root, path, name, sizeof(name)),
		        hc_quote(text).s);
		return strdup("");
	}
	return strndup(open + 1, (size_t)(close - open - 1));
}

static int read_switch(const struct hc_root *root, const char *path, struct hc_warnings *warnings) {
	uint64_t value;
	int r = hc_root_read_u64(root, path, &value);
	if (r < 0 && r != -ENOENT)
		hc_warn(warnings, "%s", hc_error_detail());
	return r < 0 ? -1 : value != 0;
}

struct mthp_list {
	const struct hc_root *root;
	struct hc_warnings *warnings;
	struct hc_thp_settings *settings;
};

static int take_mthp(void *user, const char *name) {
	const struct mthp_list *list = user;
	struct hc_thp_settings *settings = list->settings;
	if (strncmp(name, "hugepages-", strlen("hugepages-")) != 0)
		return 0; /* "enabled", "khugepaged" */
	uint64_t bytes;
	if (!hc_page_size_of_folder(name, &bytes)) {
		hc_warn(list->warnings, "/" FOLDER ": skipped %s: not a page size", hc_quote(name).s);
		return 0;
	}

	char path[512];
	snprintf(path, sizeof(path), FOLDER "/%s/enabled", name);
	struct hc_mthp *grown = realloc(settings->mthp, (settings->nr_mthp + 1) * sizeof(*grown));
	if (!grown)
		return hc_fail_memory("no memory for the sizes of transparent huge pages");
	settings->mthp = grown;
	char *word = read_choice(list->root, path, list->warnings);
	if (!word)
		return hc_fail_memory("no memory for the sizes of transparent huge pages");
	settings->mthp[settings->nr_mthp++] = (struct hc_mthp){.page_size = bytes, .enabled = word};
	return 0;
}

static int compare_mthp(const void *a, const void *b) {
	uint64_t left = ((const struct hc_mthp *)a)->page_size, right = ((const struct hc_mthp *)b)->page_size;
	return (left > right) - (left < right);
}

/* PR_GET_THP_DISABLE, prctl(2). Since Linux 6.18 bit 1 says that advised memory is left out. */
static int process_disabled(const struct hc_root *root) {
	if (!root->live)
		return -1;
	int r = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	if (r < 0)
		return -1;
	return r == 0 ? 0 : r & 2 ? 2 : 1;
}

int hc_thp_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_thp_settings *ret_settings) {
	struct hc_thp_settings settings = {0};
	struct hc_thp *thp = &settings.thp;

	/* A kernel without THP has the other folders of mm; where they are missing too, /sys isn't there. */
	thp->present = hc_root_exists(root, FOLDER) ? 1 : hc_root_exists(root, "sys/kernel/mm") ? 0 : -1;
	thp->enabled = read_choice(root, FOLDER "/enabled", warnings);
	thp->defrag = read_choice(root, FOLDER "/defrag", warnings);
	thp->shmem_enabled = read_choice(root, FOLDER "/shmem_enabled", warnings);
	thp->use_zero_page = read_switch(root, FOLDER "/use_zero_page", warnings);
	thp->process_disabled = process_disabled(root);
	int r = hc_root_read_u64(root, FOLDER "/hpage_pmd_size", &thp->pmd_size);
	if (r < 0) {
		thp->pmd_size = HC_UNKNOWN;
		if (r != -ENOENT)
			hc_warn(warnings, "%s", hc_error_detail());
	} else if (thp->pmd_size == 0 || (thp->pmd_size & (thp->pmd_size - 1)) != 0) {
		hc_warn(warnings, "/" FOLDER "/hpage_pmd_size: %llu bytes are no page size: not a power of two",
		        (unsigned long long)thp->pmd_size);
		thp->pmd_size = HC_UNKNOWN;
	}

	struct mthp_list list = {.root = root, .warnings = warnings, .settings = &settings};
	r = thp->present == 1 ? hc_root_list(root, FOLDER, take_mthp, &list) : 0;
	if (!thp->enabled || !thp->defrag || !thp->shmem_enabled)
		r = hc_fail_memory("no memory for the settings of transparent huge pages");
	if (r == -ENOMEM) {
		hc_thp_free(&settings);
		return r;
	}
	if (r < 0)
		hc_warn(warnings, "%s", hc_error_detail());
	if (settings.nr_mthp > 0)
		qsort(settings.mthp, settings.nr_mthp, sizeof(settings.mthp[0]), compare_mthp);
	*ret_settings = settings;
	return 0;
}
