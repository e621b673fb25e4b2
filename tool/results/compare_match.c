/* Which runs of two sides are the same work. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "results/compare_parts.h"

/* So many cases without a partner are named, and looked for the nearest of; the rest is counted. */
#define UNMATCHED_MAX 20

/* ---- Names --------------------------------------------------------------------------- */

/* Parameters that are bytes. */
static bool is_size(const char *name) {
	static const char *const sizes[] = {
	        "size", "page_size", "extent", "chunk", "block", "block_size", "frame", "region", "memory"};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (strcmp(name, sizes[i]) == 0)
			return true;
	return false;
}

char *compare_param_text(const char *name, const json_t *value) {
	char *text = NULL;
	int len;
	if (json_is_integer(value) && json_integer_value(value) >= 0 && is_size(name))
		len = asprintf(&text, "%s=%s", name, hc_size_arg((uint64_t)json_integer_value(value)).s);
	else if (json_is_integer(value))
		len = asprintf(&text, "%s=%" JSON_INTEGER_FORMAT, name, json_integer_value(value));
	else if (json_is_real(value))
		len = asprintf(&text, "%s=%g", name, json_real_value(value));
	else if (json_is_string(value))
		len = asprintf(&text, "%s=%s", name, json_string_value(value));
	else
		len = asprintf(&text, "%s=%s", name, json_is_true(value) ? "yes" : "no");
	if (len < 0)
		return NULL;
	/* A case may have been written by anybody. */
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return text;
}

char *compare_label(const struct results_measured *run) {
	char *label;
	if (asprintf(&label, "%s%s%s", run->bench, *run->metric ? " " : "", run->metric) < 0)
		return NULL;
	const char *name;
	json_t *value;
	json_object_foreach(run->params, name, value) {
		char *param = compare_param_text(name, value), *longer = NULL;
		if (!param || asprintf(&longer, "%s %s", label, param) < 0)
			longer = NULL;
		free(param);
		free(label);
		if (!longer)
			return NULL;
		label = longer;
	}
	return label;
}

/* ---- Matching -------------------------------------------------------------------------- */

static bool is_listed(const char *word, char **list) {
	for (; list && *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

/* The key of the work without the parameters that may differ. NULL: no memory. */
static char *key_without(const struct results_measured *run, char **across) {
	json_t *params = json_copy(run->params);
	for (char **name = across; params && *name; name++)
		json_object_del(params, *name);
	json_t *key = params ? json_pack("[s, s, o]", run->bench, run->metric, params) : NULL;
	char *text = key ? json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
	json_decref(key);
	return text;
}

static int add_document(struct compare_matching *matching, int side, const struct results_document *document,
        const struct compare_opts *opts) {
	for (size_t i = 0; i < document->nr_runs; i++) {
		const struct results_measured *run = &document->runs[i];
		if (opts->metrics && !is_listed(run->metric, opts->metrics))
			continue;
		struct compare_entry *entry = &matching->entries[matching->nr_entries];
		*entry = (struct compare_entry){
		        .key = run->key,
		        .side = side,
		        .order = matching->nr_entries,
		        .document = document,
		        .run = run,
		};
		if (opts->across && *opts->across) {
			entry->own = key_without(run, opts->across);
			if (!entry->own)
				return hc_fail_memory("no memory for a case");
			entry->key = entry->own;
		}
		matching->nr_entries++;
	}
	return 0;
}

static int by_work(const void *a, const void *b) {
	const struct compare_entry *x = a, *y = b;
	int order = strcmp(x->key, y->key);
	if (order == 0)
		order = x->side - y->side;
	return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static int make_groups(struct compare_matching *matching) {
	matching->groups = calloc(matching->nr_entries + 1, sizeof(*matching->groups));
	if (!matching->groups)
		return hc_fail_memory("no memory for %zu cases", matching->nr_entries);
	for (size_t i = 0; i < matching->nr_entries; i++) {
		const struct compare_entry *entry = &matching->entries[i];
		if (i > 0 && strcmp(entry[-1].key, entry->key) == 0) {
			if (entry[-1].document == entry->document) {
				char *label = compare_label(entry->run);
				int r = hc_fail(EINVAL,
				        "%s: two runs are the same work but for what is compared across, one of them "
				        "%s",
				        entry->document->name, label ? label : "of no name");
				free(label);
				return r;
			}
		} else {
			matching->groups[matching->nr_groups++] = (struct compare_group){
			        .entries = entry, .order = entry->order};
		}
		struct compare_group *group = &matching->groups[matching->nr_groups - 1];
		group->nr[entry->side]++;
		group->order = entry->order < group->order ? entry->order : group->order;
	}
	return 0;
}

int compare_match(const struct compare_side sides[COMPARE_SIDES], const struct compare_opts *opts,
        struct compare_matching *ret_matching) {
	size_t n = 0;
	for (int side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < sides[side].nr_documents; i++)
			n += sides[side].documents[i]->nr_runs;
	*ret_matching = (struct compare_matching){.across = opts->across};
	ret_matching->entries = calloc(n + 1, sizeof(*ret_matching->entries));
	if (!ret_matching->entries)
		return hc_fail_memory("no memory for %zu runs", n);
	int r = 0;
	for (int side = 0; side < COMPARE_SIDES && r == 0; side++)
		for (size_t i = 0; i < sides[side].nr_documents && r == 0; i++)
			r = add_document(ret_matching, side, sides[side].documents[i], opts);
	if (r < 0)
		return r;
	qsort(ret_matching->entries, ret_matching->nr_entries, sizeof(*ret_matching->entries), by_work);
	return make_groups(ret_matching);
}

void compare_matching_end(struct compare_matching *matching) {
	for (size_t i = 0; i < matching->nr_entries; i++)
		free(matching->entries[i].own);
	free(matching->entries);
	free(matching->groups);
}

/* ---- What has no partner ------------------------------------------------------------------- */

/* Parameters that one of them lacks or that aren't equal, but for those that may differ. */
static size_t count_differing(const struct results_measured *a, const struct results_measured *b) {
	size_t n = 0;
	const char *name;
	json_t *value;
	json_object_foreach(a->params, name, value) n += !json_equal(value, json_object_get(b->params, name));
	json_object_foreach(b->params, name, value) n += !json_object_get(a->params, name);
	return n;
}

static const struct results_measured *nearest(
        const struct compare_matching *matching, const struct compare_entry *entry) {
	const struct results_measured *best = NULL;
	size_t least = SIZE_MAX;
	for (size_t i = 0; i < matching->nr_groups; i++) {
		const struct compare_entry *other = &matching->groups[i].entries[0];
		if (matching->groups[i].nr[entry->side] > 0 || strcmp(other->run->bench, entry->run->bench) != 0 ||
		        strcmp(other->run->metric, entry->run->metric) != 0)
			continue;
		size_t differing = count_differing(entry->run, other->run);
		if (differing < least) {
			least = differing;
			best = other->run;
		}
	}
	return best;
}

static int print_param(FILE *out, const char *name, const json_t *value, const char *side) {
	char *text = value ? compare_param_text(name, value) : NULL;
	if (value && !text)
		return -ENOMEM;
	fprintf(out, "%s in %s", value ? text + strlen(name) + 1 : "none", side);
	free(text);
	return 0;
}

/* "; differs in page_size: 2M in base, 1G in patched" */
static int print_differing(FILE *out, const struct results_measured *base, const struct results_measured *patched) {
	json_t *all = json_copy(base->params);
	int r = all && json_object_update_missing(all, patched->params) == 0 ? 0 : -ENOMEM;
	const char *name, *between = "; differs in ";
	json_t *value;
	json_object_foreach(all, name, value) {
		const json_t *a = json_object_get(base->params, name), *b = json_object_get(patched->params, name);
		if (r < 0 || (a && b && json_equal(a, b)))
			continue;
		fprintf(out, "%s%s: ", between, name);
		r = print_param(out, name, a, "base");
		fputs(", ", out);
		if (r == 0)
			r = print_param(out, name, b, "patched");
		between = "; ";
	}
	json_decref(all);
	return r;
}

static int say_unmatched(
        const struct compare_matching *matching, const struct compare_entry *entry, struct comparison *comparison) {
	const struct results_measured *other = nearest(matching, entry);
	char *label = compare_label(entry->run), *text = NULL;
	size_t len;
	FILE *out = label ? open_memstream(&text, &len) : NULL;
	int r = out ? 0 : -ENOMEM;
	if (r == 0) {
		bool is_base = entry->side == COMPARE_BASE;
		fprintf(out, "%s: only in %s", label, is_base ? "base" : "patched");
		if (other)
			r = print_differing(out, is_base ? entry->run : other, is_base ? other : entry->run);
	}
	if (out && fclose(out) != 0)
		r = -ENOMEM;
	if (r == 0)
		r = compare_add_line(&comparison->unmatched, &comparison->nr_unmatched, "%s", text);
	else
		hc_fail_memory("no memory for a line");
	free(label);
	free(text);
	return r;
}

int compare_unmatched(const struct compare_matching *matching, struct comparison *comparison) {
	size_t found = 0;
	int r = 0;
	for (size_t i = 0; i < matching->nr_groups && r == 0; i++) {
		const struct compare_group *group = &matching->groups[i];
		if (group->nr[COMPARE_BASE] > 0 && group->nr[COMPARE_PATCHED] > 0)
			continue;
		if (++found <= UNMATCHED_MAX)
			r = say_unmatched(matching, group->entries, comparison);
	}
	if (r == 0 && found > UNMATCHED_MAX)
		r = compare_add_line(&comparison->unmatched, &comparison->nr_unmatched,
		        "and %zu more that only one side has", found - UNMATCHED_MAX);
	return r;
}
