#include <stdio.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/quote.h"
#include "sys/idset.h"
#include "sys/processor.h"

/* Kernels number the caches of a CPU without gaps; none has more than this. */
#define INDEX_MAX 16

/* Reads a one-word file of a cache without its newline. False where it isn't there. */
static bool read_word(
        const struct hc_root *root, int cpu, unsigned index, const char *file, char *buf, size_t buf_size) {
	char path[128];
	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cache/index%u/%s", cpu, index, file);
	int n = hc_root_read(root, path, buf, buf_size);
	if (n < 0)
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

static uint64_t read_size(const struct hc_root *root, int cpu, unsigned index, struct hc_warnings *sink) {
	char text[32];
	uint64_t size;
	if (!read_word(root, cpu, index, "size", text, sizeof(text)))
		return 0;
	if (hc_size_parse(text, &size) < 0 || size == 0) {
		hc_warn(sink, "cpu%d/cache/index%u/size: not the size of a cache: %s", cpu, index, hc_quote(text).s);
		return 0;
	}
	return size;
}

static void read_cpu(const struct hc_root *root, int cpu, struct hc_warnings *sink, struct hc_caches *caches) {
	for (unsigned index = 0; index < INDEX_MAX; index++) {
		char level[16], type[32];
		if (!read_word(root, cpu, index, "level", level, sizeof(level)))
			break;
		if (!read_word(root, cpu, index, "type", type, sizeof(type)) || strcmp(type, "Instruction") == 0)
			continue;
		uint64_t *to = strcmp(level, "1") == 0   ? &caches->l1d
		               : strcmp(level, "2") == 0 ? &caches->l2
		               : strcmp(level, "3") == 0 ? &caches->l3
		                                         : NULL;
		if (to && *to == 0)
			*to = read_size(root, cpu, index, sink);
	}
}

/* The first online CPU; 0 where that can't be told. */
static int first_cpu(const struct hc_root *root) {
	char text[4096];
	struct hc_idset *online = NULL;
	int n = hc_root_read(root, "sys/devices/system/cpu/online", text, sizeof(text));
	if (n < 0 || hc_idset_parse(text, &online) < 0)
		return 0;
	int cpu = hc_idset_next(online, 0);
	hc_idset_free(online);
	return cpu < 0 ? 0 : cpu;
}

void hc_caches_read_warn(const struct hc_root *root, struct hc_warnings *sink, struct hc_caches *ret_caches) {
	struct hc_caches caches = {0};
	read_cpu(root, first_cpu(root), sink, &caches);
	if (root->live && (caches.l1d == 0 || caches.l2 == 0 || caches.l3 == 0)) {
		struct hc_caches asked = {0};
		hc_caches_ask(NULL, &asked);
		caches.l1d = caches.l1d ? caches.l1d : asked.l1d;
		caches.l2 = caches.l2 ? caches.l2 : asked.l2;
		caches.l3 = caches.l3 ? caches.l3 : asked.l3;
	}
	*ret_caches = caches;
}

void hc_caches_read(const struct hc_root *root, struct hc_caches *ret_caches) {
	hc_caches_read_warn(root, NULL, ret_caches);
}

uint64_t hc_cached_up_to(const struct hc_caches *caches) {
	uint64_t twice;
	if (!hc_mul_ok(caches->l2, 2, &twice))
		return HC_CACHED_MAX;
	return hc_min(hc_max(twice, HC_CACHED_MIN), HC_CACHED_MAX);
}
