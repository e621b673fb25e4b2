#include "report_words.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "base/size.h"

/* A number of bytes, or -1. */
static json_int_t bytes_of(const json_t *params, const char *name) {
	const json_t *value = json_object_get(params, name);
	return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : -1;
}

static void separate(FILE *out, bool *any) {
	if (*any)
		fputs(", ", out);
	*any = true;
}

static void put_value(FILE *out, const json_t *value) {
	if (json_is_string(value))
		fputs(json_string_value(value), out);
	else if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		fprintf(out, "%.12g", json_real_value(value));
	else
		fputs(json_is_true(value) ? "yes" : "no", out);
}

/* "2 MiB THP pages", "4 KiB pages"; nothing where it isn't known which. */
static bool put_pages(FILE *out, const json_t *params, bool *any) {
	json_int_t page_size = bytes_of(params, "page_size");
	const char *backing = json_string_value(json_object_get(params, "backing"));
	if (page_size < 0)
		return false;
	separate(out, any);
	fputs(hc_size_exact((uint64_t)page_size).s, out);
	if (backing && strcmp(backing, "base") != 0)
		fprintf(out, " %s", strcmp(backing, "thp") == 0 ? "THP" : backing);
	return true;
}

static bool put_known(FILE *out, const json_t *params, const char *name, bool *any) {
	json_int_t number = bytes_of(params, name);
	const char *word = json_string_value(json_object_get(params, name));
	if (strcmp(name, "size") == 0 && number >= 0) {
		separate(out, any);
		fputs(hc_size_exact((uint64_t)number).s, out);
	} else if ((strcmp(name, "extent") == 0 || strcmp(name, "chunk") == 0) && number >= 0) {
		separate(out, any);
		fprintf(out, "%ss of %s", name, hc_size_exact((uint64_t)number).s);
	} else if (strcmp(name, "threads") == 0 && number >= 0) {
		separate(out, any);
		fputs(hc_counted((uint64_t)number, "thread").s, out);
	} else if (strcmp(name, "victim") == 0 && json_is_true(json_object_get(params, name))) {
		separate(out, any);
		fputs("with victims", out);
	} else if ((strcmp(name, "then") == 0 || strcmp(name, "intent") == 0) && word) {
		separate(out, any);
		fprintf(out, "%s %s", name, word);
	} else if ((strcmp(name, "function") == 0 || strcmp(name, "method") == 0 || strcmp(name, "populate_by") == 0) &&
	           word) {
		separate(out, any);
		fputs(word, out);
	} else {
		return false;
	}
	return true;
}

char *report_words_of(json_t *params) {
	static const char *const order[] = {"function", "method", "populate_by", "extent", "size", "page_size",
	        "backing", "threads", "intent", "then", "chunk", "victim"};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	json_t *rest = json_copy(params);
	bool any = false;
	/* The name of the method says that the function is one. */
	const char *function = json_string_value(json_object_get(rest, "function"));
	if (function && strcmp(function, "method") == 0 && json_is_string(json_object_get(rest, "method")))
		json_object_del(rest, "function");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (strcmp(order[i], "page_size") == 0) {
			if (put_pages(out, rest, &any)) {
				fputs(" pages", out);
				json_object_del(rest, "page_size");
				json_object_del(rest, "backing");
			}
		} else if (put_known(out, rest, order[i], &any)) {
			json_object_del(rest, order[i]);
		}
	}
	const char *name;
	json_t *value;
	json_object_foreach(rest, name, value) {
		separate(out, &any);
		fprintf(out, "%s=", name);
		put_value(out, value);
	}
	bool failed = rest == NULL || ferror(out);
	json_decref(rest);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}

/* Metrics of one place are told apart by what is behind the prefix. */
static const struct place {
	const char *prefix, *title;
} places[] = {
        {"victim_same_cpu_", "A victim on the same CPU"},
        {"victim_other_cpu_", "A victim on another CPU"},
};

static const struct place *place_of(const char *metric) {
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (strncmp(metric, places[i].prefix, strlen(places[i].prefix)) == 0)
			return &places[i];
	return NULL;
}

const char *report_metric_place(const char *metric) {
	const struct place *place = place_of(metric);
	return place ? place->title : "";
}

char *report_metric_words(const char *metric) {
	static const struct {
		const char *metric, *words;
	} known[] = {
	        {"", "value"},
	        {"seconds", "time"},
	        {"clear_throughput", "the clear alone"},
	        {"then_throughput", "what follows alone"},
	        {"longest_step", "longest step"},
	        {"munmap_seconds", "munmap"},
	        {"fault_p50", "fault, median"},
	        {"fault_p99", "fault, p99"},
	        {"fault_max", "fault, longest"},
	        {"step_p50", "step, median"},
	        {"step_p99", "step, p99"},
	        {"step_max", "step, longest"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(metric, known[i].metric) == 0)
			return strdup(known[i].words);
	const struct place *place = place_of(metric);
	char *words = strdup(metric + (place ? strlen(place->prefix) : 0));
	for (char *p = words; p && *p; p++)
		if (*p == '_')
			*p = ' ';
	return words;
}
