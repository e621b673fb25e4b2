/* Which parameters two sets of options change. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "results/compare.h"

/* The one run of other that is of this bench and metric; NULL where there are none or several. */
static const struct results_measured *only_one(
        const struct results_document *other, const struct results_measured *run) {
	const struct results_measured *found = NULL;
	for (size_t i = 0; i < other->nr_runs; i++) {
		if (strcmp(other->runs[i].bench, run->bench) != 0 || strcmp(other->runs[i].metric, run->metric) != 0)
			continue;
		if (found)
			return NULL;
		found = &other->runs[i];
	}
	return found;
}

/* Adds the names of what is in a and isn't the same in b. */
static int add_differing(json_t *names, json_t *a, json_t *b) {
	const char *name;
	json_t *value;
	int r = 0;
	json_object_foreach(a, name, value) {
		const json_t *other = json_object_get(b, name);
		if (!(other && json_equal(value, other)) && json_object_set_new(names, name, json_true()) < 0)
			r = -ENOMEM;
	}
	return r;
}

static char **list_of(json_t *names) {
	char **list = calloc(json_object_size(names) + 1, sizeof(char *));
	size_t n = 0;
	const char *name;
	json_t *value;
	json_object_foreach(names, name, value) {
		(void)value;
		if (list && !(list[n++] = strdup(name))) {
			while (n-- > 0)
				free(list[n]);
			free(list);
			return NULL;
		}
	}
	return list;
}

int compare_find_across(
        const struct results_document *base, const struct results_document *patched, char ***ret_across) {
	*ret_across = NULL;
	json_t *names = json_object();
	int r = names ? 0 : -ENOMEM;
	bool clear = true;
	for (size_t i = 0; i < base->nr_runs && r == 0 && clear; i++) {
		const struct results_measured *run = &base->runs[i], *other = only_one(patched, run);
		clear = other && only_one(base, run) && strcmp(other->key, run->key) != 0;
		if (clear)
			r = add_differing(names, run->params, other->params);
		if (clear && r == 0)
			r = add_differing(names, other->params, run->params);
	}
	if (clear && r == 0) {
		*ret_across = list_of(names);
		r = *ret_across ? 0 : -ENOMEM;
	}
	json_decref(names);
	return r < 0 ? hc_fail_memory("no memory for names") : 0;
}
