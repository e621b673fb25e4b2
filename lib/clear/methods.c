#include "clear/methods.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <hugeclear/clear.h>

#include "base/error.h"
#include "base/quote.h"
#include "sys/processor.h"

/* What the public functions say of each row: written once under the pthread_once, only read afterwards. */
static struct {
	pthread_once_t once;
	struct hc_clear_method rows[HC_METHODS_MAX];
	char lacks[HC_METHODS_MAX][96];
	char available[256];
	char all[256];
} shown = {.once = PTHREAD_ONCE_INIT};

static void append(char *text, size_t text_size, const char *separator, const char *more) {
	size_t len = strlen(text);
	snprintf(text + len, text_size - len, "%s%s", len > 0 ? separator : "", more);
}

static void say_lacks(const struct hc_processor_id *processor, uint32_t missing, char *text, size_t text_size) {
	for (unsigned i = 0; i < HC_NR_FEATURES; i++) {
		uint32_t bit = HC_FEATURE_BIT(i);
		if (!(missing & bit))
			continue;
		append(text, text_size, ", ", hc_feature_name(i));
		if (processor->features_no_os & bit)
			append(text, text_size, " ", "(the operating system doesn't keep its registers)");
		else if (processor->features_masked & bit)
			append(text, text_size, " ", "(taken away by HUGECLEAR_PROCESSOR_MASK)");
	}
}

static void show_all(void) {
	const struct hc_processor_id *processor = hc_processor_here();
	shown.available[0] = shown.all[0] = '\0'; /* a child forked in the middle of this does it again */
	for (unsigned i = 0; i < hc_nr_methods; i++) {
		const struct hc_method *method = &hc_methods[i];
		uint32_t missing = method->features & ~processor->features;
		shown.lacks[i][0] = '\0';
		say_lacks(processor, missing, shown.lacks[i], sizeof(shown.lacks[i]));
		shown.rows[i] = (struct hc_clear_method){
		        .name = method->name,
		        .needs = method->needs,
		        .streaming = method->streaming,
		        .available = missing == 0,
		        .lacks = missing == 0 ? NULL : shown.lacks[i],
		};
		append(shown.all, sizeof(shown.all), ", ", method->name);
		if (missing == 0)
			append(shown.available, sizeof(shown.available), ", ", method->name);
	}
}

const struct hc_clear_method *hc_clear_method(unsigned i) {
	pthread_once(&shown.once, show_all);
	return i < hc_nr_methods ? &shown.rows[i] : NULL;
}

const struct hc_method *hc_method_by_name(const char *name) {
	for (unsigned i = 0; i < hc_nr_methods; i++)
		if (strcmp(hc_methods[i].name, name) == 0)
			return &hc_methods[i];
	return NULL;
}

int hc_method_wanted(const char *name, const struct hc_method **ret_method) {
	const struct hc_method *method = hc_method_by_name(name);
	if (!method) {
		hc_clear_method(0);
		return hc_fail(
		        EINVAL, "there is no clearing method %s; the methods are: %s", hc_quote(name).s, shown.all);
	}
	const struct hc_clear_method *here = hc_clear_method((unsigned)(method - hc_methods));
	if (!here->available)
		return hc_fail(EOPNOTSUPP, "method %s needs a processor with %s, and this one lacks %s; available: %s",
		        method->name, method->needs, here->lacks, shown.available);
	*ret_method = method;
	return 0;
}

void hc_method_memset(void *p, size_t len) {
	memset(p, 0, len);
	HC_STORES_ARE_SEEN(p);
}
