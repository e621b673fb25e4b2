/* In which settings the machines of two sides differ. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "results/compare_parts.h"

/* So many different values of a setting are named. */
#define VALUES_MAX 4
/* And so many settings. */
#define DIFFERENCES_MAX 40

/* What differs from run to run and says nothing of the machine. */
static bool is_fleeting(const char *name) {
	static const char *const fleeting[] = {"boot_id", "free", "reserved", "surplus", "cgroup_left", "memory_left"};
	for (size_t i = 0; i < sizeof(fleeting) / sizeof(*fleeting); i++)
		if (strcmp(name, fleeting[i]) == 0)
			return true;
	return false;
}

/* Adds value to what is known of a setting, unless it is there. -ENOMEM */
static int add_setting(json_t *settings, const char *prefix, const char *name, const json_t *value) {
	if (is_fleeting(name))
		return 0;
	char *whole = NULL;
	if (asprintf(&whole, "%s%s%s", prefix, *prefix && *name ? " " : "", name) < 0)
		return -ENOMEM;
	char *text = json_is_string(value)
	                     ? strdup(json_string_value(value))
	                     : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_t *values = json_object_get(settings, whole);
	bool ok = text != NULL;
	if (ok && !values) {
		values = json_array();
		ok = json_object_set_new(settings, whole, values) == 0;
	}
	bool known = false;
	for (size_t i = 0; ok && i < json_array_size(values); i++)
		known = known || strcmp(json_string_value(json_array_get(values, i)), text) == 0;
	if (ok && !known && json_array_size(values) <= VALUES_MAX) {
		hc_quote_clean(text);
		ok = json_array_append_new(values, json_string(text)) == 0;
	}
	free(text);
	free(whole);
	return ok ? 0 : -ENOMEM;
}

static int add_object(json_t *settings, const char *prefix, json_t *object) {
	const char *name;
	json_t *value;
	int r = 0;
	json_object_foreach(object, name, value) r = r < 0 ? r : add_setting(settings, prefix, name, value);
	return r;
}

/* What tells the elements of an array apart is the page size, as of pools, or else the place. */
static int add_array(json_t *settings, const char *name, json_t *array) {
	int r = 0;
	for (size_t i = 0; i < json_array_size(array) && r == 0; i++) {
		json_t *element = json_array_get(array, i);
		const json_t *size = json_object_get(element, "page_size");
		char *param = size ? compare_param_text("page_size", size) : NULL, *prefix = NULL;
		int len = param ? asprintf(&prefix, "%s %s", name, strchr(param, '=') + 1)
		                : asprintf(&prefix, "%s %zu", name, i);
		free(param);
		if (len < 0)
			return -ENOMEM;
		r = json_is_object(element) ? add_object(settings, prefix, element)
		                            : add_setting(settings, prefix, "", element);
		free(prefix);
	}
	return r;
}

static int add_host(json_t *settings, json_t *host) {
	const char *name;
	json_t *value;
	int r = 0;
	json_object_foreach(host, name, value) {
		if (r < 0)
			break;
		if (json_is_array(value))
			r = add_array(settings, name, value);
		else if (json_is_object(value))
			r = add_object(settings, name, value);
		else
			r = add_setting(settings, "", name, value);
	}
	return r;
}

/* The values of a setting that a side has, as text. */
static void print_values(FILE *out, const json_t *values, const char *side) {
	size_t n = json_array_size(values);
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(values, i));
		fprintf(out, "%s%.60s", i > 0 ? " and " : "", i < VALUES_MAX ? text : "others");
	}
	fprintf(out, "%s in %s", n == 0 ? "not given" : "", side);
}

static int say_difference(struct comparison *comparison, const char *name, const json_t *base, const json_t *patched) {
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	print_values(out, base, "base");
	fputs(", ", out);
	print_values(out, patched, "patched");
	int r = fclose(out) == 0 ? compare_add_line(&comparison->notes, &comparison->nr_notes, "%.60s: %s", name, text)
	                         : -ENOMEM;
	free(text);
	return r;
}

static int say_differences(json_t *settings[COMPARE_SIDES], struct comparison *comparison) {
	for (int side = 0; side < COMPARE_SIDES; side++)
		if (json_object_size(settings[side]) == 0)
			return compare_add_line(&comparison->notes, &comparison->nr_notes,
			        "on which machine isn't said of %s", side == COMPARE_BASE ? "base" : "patched");
	json_t *all = json_copy(settings[COMPARE_BASE]);
	int r = all && json_object_update_missing(all, settings[COMPARE_PATCHED]) == 0 ? 0 : -ENOMEM;
	const char *name;
	json_t *value;
	size_t said = 0, left = 0;
	json_object_foreach(all, name, value) {
		json_t *base = json_object_get(settings[COMPARE_BASE], name);
		json_t *patched = json_object_get(settings[COMPARE_PATCHED], name);
		if (r < 0 || (base && patched && json_equal(base, patched)))
			continue;
		if (said == DIFFERENCES_MAX)
			left++;
		else if ((r = say_difference(comparison, name, base, patched)) == 0)
			said++;
	}
	if (r == 0 && left > 0)
		r = compare_add_line(
		        &comparison->notes, &comparison->nr_notes, "the machines differ in %zu more settings", left);
	json_decref(all);
	return r;
}

int compare_hosts(const struct compare_side sides[COMPARE_SIDES], struct comparison *comparison) {
	json_t *settings[COMPARE_SIDES] = {json_object(), json_object()};
	int r = settings[COMPARE_BASE] && settings[COMPARE_PATCHED] ? 0 : -ENOMEM;
	for (int side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < sides[side].nr_documents && r == 0; i++)
			r = add_host(settings[side], sides[side].documents[i]->host);
	if (r == 0)
		r = say_differences(settings, comparison);
	for (int side = 0; side < COMPARE_SIDES; side++)
		json_decref(settings[side]);
	return r < 0 ? hc_fail_memory("no memory for the hosts") : 0;
}
