#include "sys/processor_words.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/error.h"
#include "sys/mountinfo.h"
#include "sys/processor.h"
#include "sys/warnings.h"

static void copy_text(char *to, size_t size, const char *from) {
	size_t len = hc_min(strlen(from), size - 1);
	memcpy(to, from, len);
	to[len] = '\0';
}

/* "model name\t: AMD EPYC": cuts the line into key and value; NULL where it is another line. */
static char *split_cpuinfo_line(char *line) {
	char *colon = strchr(line, ':');
	if (!colon)
		return NULL;
	char *value = colon + 1 + strspn(colon + 1, " \t");
	while (colon > line && isspace((unsigned char)colon[-1]))
		colon--;
	*colon = '\0';
	return value;
}

static bool has_flag(const char *flags, const char *flag) {
	size_t len = strlen(flag);
	for (const char *p = flags; (p = strstr(p, flag)) != NULL; p += len)
		if ((p == flags || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
			return true;
	return false;
}

/* 0 where it isn't one ("stepping : unknown"). */
static unsigned number_of(const char *value) {
	uint64_t number;
	return hc_decimal_parse(value, &number) == 0 && number <= UINT_MAX ? (unsigned)number : 0;
}

/* The first processor of the list stands for all. Each architecture has its own keys. */
static void read_cpuinfo(
        const struct hc_root *root, struct hc_warnings *warnings, struct hc_processor_words *words, int *ret_virtual) {
	char *text;
	size_t len;
	int r = hc_root_read_all(root, "proc/cpuinfo", &text, &len);
	if (r < 0) {
		if (r != -ENOENT)
			hc_warn(warnings, "%s", hc_error_detail());
		return;
	}
	struct hc_processor *processor = &words->processor;
	bool in_first = false;
	for (char *rest = text; *rest;) {
		char *line = hc_mount_field(&rest, '\n');
		const char *value = split_cpuinfo_line(line);
		if (!value) {
			if (in_first && *line == '\0')
				break;
			continue;
		}
		in_first = true;
		if (strcmp(line, "vendor_id") == 0)
			copy_text(words->vendor, sizeof(words->vendor), value);
		else if (strcmp(line, "model name") == 0 || strcmp(line, "Model Name") == 0 ||
		         (strcmp(line, "cpu") == 0 && *words->model_name == '\0'))
			copy_text(words->model_name, sizeof(words->model_name), value);
		else if (strcmp(line, "cpu family") == 0)
			processor->family = number_of(value);
		else if (strcmp(line, "model") == 0)
			processor->model = number_of(value);
		else if (strcmp(line, "stepping") == 0)
			processor->stepping = number_of(value);
		else if (strcmp(line, "flags") == 0)
			*ret_virtual = has_flag(value, "hypervisor");
	}
	free(text);
}

/*
 * Of this process, which an emulator may run on another machine; of another root
 * what the kernel says there since Linux 6.1.
 */
static void read_architecture(const struct hc_root *root, struct hc_processor_words *words) {
	char text[sizeof(words->architecture)];
	struct utsname uts;
	if (root->live && uname(&uts) == 0) {
		copy_text(words->architecture, sizeof(words->architecture), uts.machine);
	} else if (!root->live && hc_root_read(root, "proc/sys/kernel/arch", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		copy_text(words->architecture, sizeof(words->architecture), text);
	}
}

static void append(char *list, size_t size, const char *name, const char *reason) {
	size_t len = strlen(list);
	snprintf(list + len, size - len, "%s%s%s", len ? " " : "", name, reason);
}

static void describe_features(const struct hc_processor_id *id, struct hc_processor_words *words) {
	for (unsigned i = 0; i < HC_NR_FEATURES; i++) {
		const char *name = hc_feature_name(i);
		if (id->features & HC_FEATURE_BIT(i))
			append(words->features, sizeof(words->features), name, "");
		if (id->features_no_os & HC_FEATURE_BIT(i))
			append(words->features_masked, sizeof(words->features_masked), name,
			        "(the operating system doesn't keep its registers)");
		if (id->features_masked & HC_FEATURE_BIT(i))
			append(words->features_masked, sizeof(words->features_masked), name,
			        "(HUGECLEAR_PROCESSOR_MASK)");
	}
}

void hc_processor_words_read(
        const struct hc_root *root, struct hc_warnings *warnings, struct hc_processor_words *ret_words) {
	struct hc_processor_words *words = ret_words;
	struct hc_processor *processor = &words->processor;
	*words = (struct hc_processor_words){.processor.virtualised = -1};
	processor->architecture = words->architecture;
	processor->vendor = words->vendor;
	processor->model_name = words->model_name;
	processor->features = words->features;
	processor->features_masked = words->features_masked;
	processor->hypervisor = words->hypervisor;

	read_architecture(root, words);
	read_cpuinfo(root, warnings, words, &processor->virtualised);
	if (root->live) {
		const struct hc_processor_id *id = hc_processor_here();
		if (id->vendor[0] != '\0')
			copy_text(words->vendor, sizeof(words->vendor), id->vendor);
		if (*words->model_name == '\0')
			copy_text(words->model_name, sizeof(words->model_name), id->model_name);
		if (id->family | id->model | id->stepping) {
			processor->family = id->family;
			processor->model = id->model;
			processor->stepping = id->stepping;
		}
		if (id->hypervisor) {
			processor->virtualised = 1;
			copy_text(words->hypervisor, sizeof(words->hypervisor), id->hypervisor_name);
		}
		describe_features(id, words);
		if (hc_feature_mask_check(getenv(HC_FEATURE_MASK_VARIABLE)) < 0)
			hc_warn(warnings, "%s; it is ignored", hc_error_detail());
	}

	struct hc_caches caches;
	hc_caches_read_warn(root, warnings, &caches);
	processor->l1d = caches.l1d;
	processor->l2 = caches.l2;
	processor->l3 = caches.l3;
	processor->cached_up_to = hc_cached_up_to(&caches);
}
