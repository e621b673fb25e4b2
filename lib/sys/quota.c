#include "sys/quota.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"
#include "sys/affinity.h"
#include "sys/cgroup.h"

struct search {
	const struct hc_root *root;
	struct hc_warnings *sink;
	struct hc_quota *best;
};

/* Reads digits at *p and moves it behind them. False where there is no number above 0 of 64 bits. */
static bool read_number(const char **p, uint64_t *ret_number) {
	return hc_decimal_take(p, ret_number) == 0 && *ret_number > 0;
}

static bool is_end(const char *p) {
	return *p == '\0' || (*p == '\n' && p[1] == '\0');
}

/* "150000 100000": 1 with both numbers; "max 100000": 0, no quota; else -1. */
static int parse_cpu_max(const char *text, uint64_t *ret_quota, uint64_t *ret_period) {
	const char *p = text;
	bool none = strncmp(p, "max ", 4) == 0;
	uint64_t quota = 0, period;
	if (none)
		p += 3;
	else if (!read_number(&p, &quota))
		return -1;
	if (*p++ != ' ' || !read_number(&p, &period) || !is_end(p))
		return -1;
	*ret_quota = quota;
	*ret_period = period;
	return none ? 0 : 1;
}

/* Files of version 1 hold one number each; -1 is no quota. The same answers. */
static int parse_cfs(const char *quota_text, const char *period_text, uint64_t *ret_quota, uint64_t *ret_period) {
	if (strncmp(quota_text, "-1", 2) == 0 && is_end(quota_text + 2))
		return 0;
	const char *q = quota_text, *p = period_text;
	return read_number(&q, ret_quota) && is_end(q) && read_number(&p, ret_period) && is_end(p) ? 1 : -1;
}

/* True where a / b < c / d. No product of two 64-bit numbers is lost. */
static bool is_less(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
	return (unsigned __int128)a * d < (unsigned __int128)c * b;
}

/* A group without the files has no quota of its own: the root of a hierarchy, and groups without the controller. */
static int look_at_group(void *user, const char *folder, int version) {
	struct search *search = user;
	char path[PATH_MAX + 32], text[128], period_text[64] = "";
	snprintf(path, sizeof(path), "%s/%s", folder, version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	int n = hc_root_read(search->root, path, text, sizeof(text));
	if (n == -ENOENT)
		return 0;
	if (n < 0) {
		hc_warn(search->sink, "%s", hc_error_detail());
		return 0;
	}

	uint64_t quota, period;
	int found;
	if (version == 1) {
		char period_path[PATH_MAX + 32];
		snprintf(period_path, sizeof(period_path), "%s/cpu.cfs_period_us", folder);
		if (hc_root_read(search->root, period_path, period_text, sizeof(period_text)) < 0)
			period_text[0] = '\0';
		found = parse_cfs(text, period_text, &quota, &period);
	} else {
		found = parse_cpu_max(text, &quota, &period);
	}

	struct hc_quota *best = search->best;
	if (found < 0) {
		char name[512];
		hc_warn(search->sink, "%s: not a CPU quota: %s%s%s",
		        hc_root_name(search->root, path, name, sizeof(name)), hc_quote(text).s,
		        version == 1 ? " of " : "", version == 1 ? hc_quote(period_text).s : "");
	} else if (found == 1 &&
	           (best->quota_us == HC_UNKNOWN || is_less(quota, period, best->quota_us, best->period_us))) {
		best->quota_us = quota;
		best->period_us = period;
		hc_root_name(search->root, path, best->file, sizeof(best->file));
	}
	return 0;
}

void hc_quota_read(const struct hc_root *root, struct hc_warnings *sink, struct hc_quota *ret_quota) {
	*ret_quota = (struct hc_quota){.quota_us = HC_UNKNOWN, .period_us = HC_UNKNOWN};
	struct search search = {.root = root, .sink = sink, .best = ret_quota};
	int r = hc_cgroup_folders(root, "cpu", look_at_group, &search);
	if (r < 0 && r != -ENOENT)
		hc_warn(sink, "%s", hc_error_detail());
}

void hc_default_threads(
        unsigned cpus, const char *by, const struct hc_quota *quota, struct hc_default_threads *ret_default) {
	if (cpus == 0)
		cpus = 1;
	uint64_t granted = quota->quota_us == HC_UNKNOWN ? HC_UNKNOWN : hc_div_up(quota->quota_us, quota->period_us);
	if (granted >= cpus) {
		ret_default->threads = cpus;
		snprintf(ret_default->why, sizeof(ret_default->why), "%s (%s)", by, hc_counted(cpus, "CPU").s);
		return;
	}
	ret_default->threads = (unsigned)granted;
	uint64_t whole = quota->quota_us / quota->period_us;
	unsigned hundredths = (unsigned)((unsigned __int128)(quota->quota_us % quota->period_us) * 100 /
	                                 quota->period_us);
	/* A quota is above 0, and so is what is said about it. */
	const char *under = whole == 0 && hundredths == 0 ? "under " : "";
	hundredths += *under != '\0';
	char fraction[16] = "";
	if (hundredths % 10 != 0)
		snprintf(fraction, sizeof(fraction), ".%02u", hundredths);
	else if (hundredths != 0)
		snprintf(fraction, sizeof(fraction), ".%u", hundredths / 10);
	snprintf(ret_default->why, sizeof(ret_default->why), "cgroup quota %s%llu%s CPU%s (%s)", under,
	        (unsigned long long)whole, fraction, whole == 1 && hundredths == 0 ? "" : "s", quota->file);
}

int hc_default_threads_here(struct hc_default_threads *ret_default) {
	struct hc_idset *allowed = NULL;
	int r = hc_affinity_get(&allowed);
	if (r < 0)
		return r;

	struct hc_quota quota = {.quota_us = HC_UNKNOWN, .period_us = HC_UNKNOWN};
	struct hc_root root;
	if (hc_root_open(NULL, &root) == 0) {
		hc_quota_read(&root, NULL, &quota);
		hc_root_close(&root);
	}
	hc_default_threads(hc_idset_count(allowed), "affinity", &quota, ret_default);
	hc_idset_free(allowed);
	return 0;
}
