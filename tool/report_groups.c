#include "report_groups.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "report_words.h"

/* A case without pages, as an idle machine, stands in this many groups of its benchmark at most. */
#define PLACELESS_GROUPS_MAX 32

static const char *const extent_column[] = {"extent", NULL}, *const page_column[] = {"page_size", "backing", NULL},
                         *const no_column[] = {NULL};
static const char *const extent_line[] = {"function", "method", "intent", NULL}, *const page_line[] = {"function",
                                                                                         "populate_by", "chunk", NULL};

static const struct shape {
	const char *const *column, *const *line; /* line NULL: all that is left */
} shapes[] = {
        [REPORT_BY_EXTENT] = {extent_column, extent_line},
        [REPORT_BY_PAGE] = {page_column, page_line},
        [REPORT_LIST] = {no_column, NULL},
};

/* While a document is sorted: the number of what is there already, by its name. */
struct places {
	json_t *lines, *columns, *cases;
};

struct sorting {
	struct report_groups *groups;
	struct places *places; /* of each group */
	json_t *group_places, *metric_places;
};

/* ---- Names ---------------------------------------------------------------------- */

static bool is_in(const char *name, const char *const *names) {
	for (; names && *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* The parameters that are among names, or those that are not. NULL: no memory. */
static json_t *subset(json_t *params, const char *const *names, bool among) {
	json_t *object = json_object();
	const char *name;
	json_t *value;
	json_object_foreach(params, name, value) {
		if (object && is_in(name, names) == among && json_object_set(object, name, value) < 0) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}

static char *name_of(const json_t *object) {
	return object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
}

/* The number that stands for name; a new one, nr, where it has none. -1: no memory. */
static json_int_t place_of(json_t *places, const char *name, size_t nr) {
	json_t *place = name ? json_object_get(places, name) : NULL;
	if (place)
		return json_integer_value(place);
	if (!name || json_object_set_new(places, name, json_integer((json_int_t)nr)) < 0)
		return -1;
	return (json_int_t)nr;
}

static enum report_shape shape_of(const json_t *params) {
	const json_t *extent = json_object_get(params, "extent"), *page = json_object_get(params, "page_size");
	if (!json_is_string(json_object_get(params, "function")))
		return REPORT_LIST;
	if (json_is_integer(extent) && json_integer_value(extent) >= 0)
		return REPORT_BY_EXTENT;
	return json_is_integer(page) && json_integer_value(page) >= 0 ? REPORT_BY_PAGE : REPORT_LIST;
}

/* ---- Lines and columns ---------------------------------------------------------- */

/* array, moved where it has to be, with room for one element more than nr, which is zeroed. NULL: no memory; array is as it was. */
static void *grow(void *array, size_t nr, size_t size) {
	/* Doubled at each power of two. */
	if ((nr & (nr - 1)) == 0)
		array = reallocarray(array, nr ? nr * 2 : 1, size);
	if (array)
		memset((char *)array + nr * size, 0, size);
	return array;
}

static int add_line(struct report_group *group, json_t *params) {
	struct report_line *lines = grow(group->lines, group->nr_lines, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	struct report_line *line = &lines[group->nr_lines++];
	group->lines = lines;
	const char *function = json_string_value(json_object_get(params, "function"));
	const char *intent = json_string_value(json_object_get(params, "intent"));
	json_t *rest = json_copy(params);
	if (group->shape == REPORT_BY_EXTENT && intent) {
		line->intent = strdup(intent);
		json_object_del(rest, "intent");
	}
	line->label = rest ? report_words_of(rest) : NULL;
	json_decref(rest);
	line->is_base = function && strcmp(function, "base") == 0;
	line->is_method = function && strcmp(function, "method") == 0;
	return line->label ? 0 : -ENOMEM;
}

static int add_column(struct report_group *group, json_t *params) {
	struct report_column *columns = grow(group->columns, group->nr_columns, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	struct report_column *column = &columns[group->nr_columns++];
	group->columns = columns;
	const json_t *extent = json_object_get(params, "extent"), *page = json_object_get(params, "page_size");
	if (group->shape == REPORT_BY_EXTENT) {
		column->place = (double)json_integer_value(extent);
		column->label = strdup(hc_size_exact((uint64_t)json_integer_value(extent)).s);
	} else if (json_is_integer(page)) {
		static const char suffix[] = " pages";
		column->place = (double)json_integer_value(page);
		column->label = report_words_of(params);
		/* "2 MiB THP pages, ..." stays whole. */
		size_t len = column->label ? strlen(column->label) : 0;
		if (len > strlen(suffix) && strcmp(column->label + len - strlen(suffix), suffix) == 0)
			column->label[len - strlen(suffix)] = '\0';
	} else {
		column->place = INFINITY;
		column->label = strdup(group->shape == REPORT_LIST ? "" : "no pages");
	}
	return column->label ? 0 : -ENOMEM;
}

/* The number of the element that params belong to; adds it where there is none. Negative: no memory. */
static json_int_t element_of(struct report_group *group, json_t *places, json_t *params, size_t nr,
        int (*add)(struct report_group *group, json_t *params)) {
	char *name = name_of(params);
	json_int_t place = place_of(places, name, nr);
	free(name);
	if (place == (json_int_t)nr && add(group, params) < 0)
		return -1;
	return place;
}

/* ---- Groups --------------------------------------------------------------------- */

static struct report_group *group_free(struct report_group *group) {
	if (!group)
		return NULL;
	for (size_t i = 0; i < group->nr_lines; i++) {
		free(group->lines[i].label);
		free(group->lines[i].intent);
	}
	for (size_t i = 0; i < group->nr_columns; i++)
		free(group->columns[i].label);
	free(group->lines);
	free(group->columns);
	free(group->cases);
	free(group->title);
	free(group);
	return NULL;
}

void report_groups_free(struct report_groups *groups) {
	for (size_t i = 0; i < groups->nr_groups; i++)
		group_free(groups->groups[i]);
	free(groups->groups);
	*groups = (struct report_groups){0};
}

static struct report_group *add_group(
        struct sorting *sorting, enum report_shape shape, const char *bench, json_t *rest) {
	struct report_groups *groups = sorting->groups;
	size_t nr = groups->nr_groups;
	struct places *places = grow(sorting->places, nr, sizeof(*places));
	if (!places)
		return NULL;
	sorting->places = places;
	struct report_group **all = grow(groups->groups, nr, sizeof(*all));
	if (!all)
		return NULL;
	groups->groups = all;
	struct report_group *group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	all[groups->nr_groups++] = group;
	places += nr;
	*places = (struct places){json_object(), json_object(), json_object()};
	group->shape = shape;
	group->bench = bench;
	group->title = report_words_of(rest);
	return group->title && places->lines && places->columns && places->cases ? group : NULL;
}

/* Puts the run into its place. */
static int add_run(struct sorting *sorting, size_t place, const struct results_measured *run) {
	if (!sorting->places)
		return -ENOMEM;
	struct report_group *group = sorting->groups->groups[place];
	const struct places *places = &sorting->places[place];
	const struct shape *shape = &shapes[group->shape];
	size_t metric = 0;
	while (metric < group->nr_metrics && (strcmp(group->metrics[metric].name, run->metric) != 0 ||
	                                             strcmp(group->metrics[metric].unit, run->unit) != 0))
		metric++;
	if (metric == group->nr_metrics)
		group->metrics[group->nr_metrics++] = (struct report_metric){
		        run->metric, run->unit, run->higher_is_better};

	json_t *line_params = subset(run->params, shape->line, shape->line != NULL);
	json_t *column_params = subset(run->params, shape->column, true);
	int r = -ENOMEM;
	json_int_t line = !line_params ? -1 : element_of(group, places->lines, line_params, group->nr_lines, add_line);
	json_int_t column = !column_params
	                            ? -1
	                            : element_of(group, places->columns, column_params, group->nr_columns, add_column);
	if (line >= 0 && column >= 0) {
		char name[64];
		snprintf(name, sizeof(name), "%lld %lld", (long long)line, (long long)column);
		json_int_t i = place_of(places->cases, name, group->nr_cases);
		struct report_case *cases = group->cases;
		if (i == (json_int_t)group->nr_cases)
			cases = grow(cases, group->nr_cases, sizeof(*cases));
		if (i >= 0 && cases) {
			group->cases = cases;
			group->nr_cases += i == (json_int_t)group->nr_cases;
			cases[i].line = (size_t)line;
			cases[i].column = (size_t)column;
			cases[i].runs[metric] = run;
			r = 0;
		}
	}
	json_decref(line_params);
	json_decref(column_params);
	return r;
}

/*
 * Which group it is: benchmark, shape, what is in common, and, so that a group's table stays within bounds, which
 * of the document's metrics by the two dozen.
 */
static int sort_run(struct sorting *sorting, const struct results_measured *run) {
	static const char *const none[] = {NULL};
	enum report_shape shape = shape_of(run->params);
	json_t *rest = subset(run->params, shapes[shape].line ? shapes[shape].line : none, false);
	const char *name;
	void *next;
	json_t *value;
	if (shape == REPORT_LIST)
		json_object_clear(rest);
	json_object_foreach_safe(rest, next, name, value) {
		if (is_in(name, shapes[shape].column))
			json_object_del(rest, name);
	}
	json_t *metric = json_pack("[s, s]", run->metric, run->unit);
	char *metric_name = name_of(metric);
	json_int_t m = place_of(sorting->metric_places, metric_name, json_object_size(sorting->metric_places));
	json_t *key = json_pack("[s, i, I, O]", run->bench, (int)shape, m / REPORT_METRICS_MAX, rest);
	char *group_name = name_of(key);
	json_int_t place = m < 0 ? -1 : place_of(sorting->group_places, group_name, sorting->groups->nr_groups);
	int r = place < 0 ? -ENOMEM : 0;
	if (r == 0 && place == (json_int_t)sorting->groups->nr_groups && !add_group(sorting, shape, run->bench, rest))
		r = -ENOMEM;
	if (r == 0)
		r = add_run(sorting, (size_t)place, run);
	free(group_name);
	free(metric_name);
	json_decref(key);
	json_decref(metric);
	json_decref(rest);
	return r;
}

/* ---- What has no pages ---------------------------------------------------------- */

/* What victims see on an idle machine: the measure of all cases of bench map that have victims. */
static bool is_placeless(const struct results_measured *run) {
	const char *function = json_string_value(json_object_get(run->params, "function"));
	return strcmp(run->bench, "map") == 0 && function && strcmp(function, "idle") == 0 &&
	       shape_of(run->params) == REPORT_LIST;
}

static int sort_placeless(struct sorting *sorting, const struct results_measured *run) {
	size_t nr = 0;
	for (size_t i = 0; i < sorting->groups->nr_groups && i < PLACELESS_GROUPS_MAX; i++) {
		const struct report_group *group = sorting->groups->groups[i];
		if (group->shape != REPORT_BY_PAGE || strcmp(group->bench, run->bench) != 0)
			continue;
		for (size_t m = 0; m < group->nr_metrics; m++) {
			if (strcmp(group->metrics[m].name, run->metric) == 0 &&
			        strcmp(group->metrics[m].unit, run->unit) == 0) {
				nr++;
				int r = add_run(sorting, i, run);
				if (r < 0)
					return r;
				break;
			}
		}
	}
	return nr ? 0 : sort_run(sorting, run);
}

/* ---- Order ---------------------------------------------------------------------- */

/* Cases are found by their place from here on: all by columns, then lines. */
static int compare_cases(const void *a, const void *b, void *user) {
	const struct report_case *x = a, *y = b;
	const struct report_group *group = user;
	const struct report_column *p = &group->columns[x->column], *q = &group->columns[y->column];
	if (p->place != q->place)
		return p->place < q->place ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Too many places for a table: one line a case. */
static int make_list(struct report_group *group) {
	struct report_line *lines = calloc(group->nr_cases, sizeof(*lines));
	int r = lines ? 0 : -ENOMEM;
	for (size_t i = 0; i < group->nr_cases && r == 0; i++) {
		struct report_case *c = &group->cases[i];
		const struct report_line *line = &group->lines[c->line];
		if (asprintf(&lines[i].label, "%s, %s%s%s", group->columns[c->column].label, line->label,
		            line->intent ? ", intent " : "", line->intent ? line->intent : "") < 0) {
			lines[i].label = NULL;
			r = -ENOMEM;
		}
	}
	for (size_t i = 0; i < group->nr_lines; i++) {
		free(group->lines[i].label);
		free(group->lines[i].intent);
	}
	free(group->lines);
	for (size_t i = 0; i < group->nr_columns; i++)
		free(group->columns[i].label);
	group->shape = REPORT_LIST;
	group->nr_columns = 0;
	group->lines = lines;
	group->nr_lines = lines ? group->nr_cases : 0;
	if (r == 0)
		r = add_column(group, NULL);
	for (size_t i = 0; i < group->nr_cases; i++) {
		group->cases[i].line = i;
		group->cases[i].column = 0;
	}
	return r;
}

/* Intents stand in the title where all that have one have the same. */
static int place_intents(struct report_group *group) {
	const char *first = NULL;
	bool mixed = false;
	for (size_t i = 0; i < group->nr_lines; i++) {
		const char *intent = group->lines[i].intent;
		mixed = mixed || (first && intent && strcmp(first, intent) != 0);
		first = intent ? intent : first;
	}
	for (size_t i = 0; i < (mixed ? group->nr_lines : 0); i++) {
		struct report_line *line = &group->lines[i];
		char *label;
		if (!line->intent)
			continue;
		if (asprintf(&label, "%s, %s", line->label, line->intent) < 0)
			return -ENOMEM;
		free(line->label);
		line->label = label;
	}
	if (first && !mixed) {
		char *title;
		if (asprintf(&title, "%s%sintent %s", group->title, *group->title ? ", " : "", first) < 0)
			return -ENOMEM;
		free(group->title);
		group->title = title;
	}
	return 0;
}

static int put_in_order(struct report_group *group) {
	qsort_r(group->cases, group->nr_cases, sizeof(*group->cases), compare_cases, group);
	if (group->nr_columns > REPORT_COLUMNS_MAX)
		return make_list(group);
	/* Columns follow their cases. */
	struct report_column sorted[REPORT_COLUMNS_MAX];
	size_t nr = 0, before = SIZE_MAX;
	for (size_t i = 0; i < group->nr_cases; i++) {
		struct report_case *c = &group->cases[i];
		if (c->column != before) {
			before = c->column;
			sorted[nr++] = group->columns[before];
		}
		c->column = nr - 1;
	}
	memcpy(group->columns, sorted, nr * sizeof(*sorted));
	for (size_t m = 0; m < group->nr_metrics; m++)
		if (strcmp(group->metrics[m].name, "throughput") == 0)
			group->main = m;
	return place_intents(group);
}

/* ---- All ------------------------------------------------------------------------ */

int report_groups_of(const struct results_document *document, struct report_groups *ret_groups) {
	*ret_groups = (struct report_groups){0};
	struct sorting sorting = {.groups = ret_groups, .group_places = json_object(), .metric_places = json_object()};
	int r = sorting.group_places && sorting.metric_places ? 0 : -ENOMEM;
	for (size_t i = 0; i < document->nr_runs && r == 0; i++)
		if (!is_placeless(&document->runs[i]))
			r = sort_run(&sorting, &document->runs[i]);
	for (size_t i = 0; i < document->nr_runs && r == 0; i++)
		if (is_placeless(&document->runs[i]))
			r = sort_placeless(&sorting, &document->runs[i]);
	for (size_t i = 0; i < ret_groups->nr_groups && r == 0; i++)
		r = put_in_order(ret_groups->groups[i]);
	for (size_t i = 0; sorting.places && i < ret_groups->nr_groups; i++) {
		json_decref(sorting.places[i].lines);
		json_decref(sorting.places[i].columns);
		json_decref(sorting.places[i].cases);
	}
	free(sorting.places);
	json_decref(sorting.group_places);
	json_decref(sorting.metric_places);
	if (r < 0) {
		report_groups_free(ret_groups);
		return hc_fail(ENOMEM, "no memory for the tables of %zu runs", document->nr_runs);
	}
	return 0;
}

const struct results_measured *report_at(const struct report_group *group, size_t line, size_t column, size_t metric) {
	size_t low = 0, high = group->nr_cases;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct report_case *c = &group->cases[middle];
		if (c->column < column || (c->column == column && c->line < line))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == group->nr_cases || group->cases[low].column != column || group->cases[low].line != line)
		return NULL;
	return group->cases[low].runs[metric];
}

const struct results_measured *report_base_of(
        const struct report_group *group, const struct report_case *c, size_t metric) {
	/* Base is among the first lines where there is one: methods come behind it. */
	for (size_t i = 0; group->shape == REPORT_BY_EXTENT && i < group->nr_lines && i < REPORT_COLUMNS_MAX; i++)
		if (group->lines[i].is_base)
			return i == c->line ? NULL : report_at(group, i, c->column, metric);
	return NULL;
}

struct statistics report_statistics(const struct results_measured *run) {
	struct statistics s;
	if (run->nr_samples > 0 && statistics_of(run->samples, run->nr_samples, &s) == 0)
		return s;
	s = (struct statistics){.n = run->n, .mean = run->mean, .median = run->mean, .min = NAN, .max = NAN};
	s.has_stdev = run->has_stdev;
	s.stdev = run->stdev;
	s.stdev_pct = run->mean != 0 ? 100 * (run->stdev / fabs(run->mean)) : 0;
	s.has_stdev_pct = run->has_stdev && run->mean != 0 && isfinite(s.stdev_pct);
	return s;
}
