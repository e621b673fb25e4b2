#include "results/results_read.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"
#include "results/results_write.h"
#include "results/statistics.h"

#define SCHEMA_STEM "hugeclear-results/"
#define SCHEMA_NUMBER 1
#define READ_STEP ((size_t)1 << 20)
/* Longest name of a bench, a metric, a unit; and longest canonical key. */
#define WORD_MAX 64
#define KEY_MAX 4096

/* ---- The text of a file --------------------------------------------------------- */

static int read_all(int fd, char **ret_text, size_t *ret_len) {
	char *text = NULL;
	size_t len = 0, room = 0;
	int r = 0;
	/* Most are read in one piece. */
	struct stat st;
	size_t expected = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	                                  (uint64_t)st.st_size <= RESULTS_BYTES_MAX
	                          ? (size_t)st.st_size
	                          : 0;
	for (;;) {
		if (room - len < READ_STEP / 2) {
			size_t more = room > 0 ? room * 2 : expected + READ_STEP;
			char *grown = realloc(text, more);
			if (!grown) {
				r = hc_fail_memory("no memory for a file of more than %zu bytes", len);
				break;
			}
			text = grown;
			room = more;
		}
		ssize_t n = read(fd, text + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = hc_fail(errno, "%s", strerror(errno));
		if (n <= 0)
			break;
		len += (size_t)n;
		if (len > RESULTS_BYTES_MAX) {
			r = hc_fail(EFBIG, "more than %zu bytes, the most that is read of a results file",
			        RESULTS_BYTES_MAX);
			break;
		}
	}
	if (r < 0) {
		free(text);
		return r;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

static int open_and_read(const char *path, char **ret_text, size_t *ret_len) {
	if (strcmp(path, "-") == 0)
		return read_all(STDIN_FILENO, ret_text, ret_len);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return hc_fail(errno, "%s", strerror(errno));
	struct stat st;
	int r = 0;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		r = hc_fail(EISDIR, "is a folder, not a results file");
	if (r == 0)
		r = read_all(fd, ret_text, ret_len);
	close(fd);
	return r;
}

/* ---- One run -------------------------------------------------------------------- */

/* A short name of printable text: it is matched, and shown in tables. Of a run, or of the document. */
static int take_word(const json_t *run, const char *field, bool needed, const char **ret_word) {
	const json_t *value = json_object_get(run, field);
	*ret_word = "";
	if (!value && !needed)
		return 0;
	if (!json_is_string(value))
		return hc_fail(EBADMSG, "'%s' is %s", field, value ? "no string" : "missing");
	const char *word = json_string_value(value);
	size_t len = json_string_length(value);
	if (len == 0 || len > WORD_MAX || strlen(word) != len)
		return hc_fail(EBADMSG, "'%s' is %s", field, len == 0 ? "empty" : "too long for a name");
	for (const char *p = word; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return hc_fail(EBADMSG, "'%s' has a control character in it", field);
	*ret_word = word;
	return 0;
}

/* 1.0 is 1: other writers don't tell them apart. Takes nothing; NULL: no memory. */
static json_t *canonical_value(json_t *value) {
	if (json_is_real(value)) {
		double real = json_real_value(value);
		if (real == floor(real) && fabs(real) < 9007199254740992.0)
			return json_integer((json_int_t)real);
	}
	return json_incref(value);
}

static int take_case(json_t *run, struct results_measured *out) {
	json_t *params = json_object_get(run, "case");
	if (!json_is_object(params))
		return hc_fail(EBADMSG, "'case' is %s", params ? "no object" : "missing");
	out->params = json_object();
	const char *name;
	json_t *value;
	json_object_foreach(params, name, value) {
		if (json_is_object(value) || json_is_array(value) || json_is_null(value))
			return hc_fail(EBADMSG, "'case' has %s that is neither a number, a word, true nor false",
			        hc_quote(name).s);
		json_t *canonical = canonical_value(value);
		if (json_object_set_new(out->params, name, canonical) < 0)
			return hc_fail_memory("no memory for a case");
	}

	json_t *key = json_pack("[s, s, O]", out->bench, out->metric, out->params);
	char *text = key ? json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
	json_decref(key);
	if (!text)
		return hc_fail_memory("no memory for a case");
	out->key = text;
	if (strlen(text) > KEY_MAX)
		return hc_fail(EBADMSG, "'case' is longer than %d bytes", KEY_MAX);
	return 0;
}

static int take_samples(const json_t *array, struct results_measured *out) {
	size_t n = json_array_size(array);
	if (n == 0)
		return hc_fail(EBADMSG, "'samples' is empty");
	out->samples = malloc(n * sizeof(*out->samples));
	if (!out->samples)
		return hc_fail_memory("no memory for %zu samples", n);
	for (size_t i = 0; i < n; i++) {
		const json_t *sample = json_array_get(array, i);
		if (!json_is_number(sample))
			return hc_fail(EBADMSG, "sample %zu is no number", i);
		out->samples[i] = json_number_value(sample);
	}
	out->nr_samples = n;

	struct statistics s;
	int r = statistics_of(out->samples, n, &s);
	if (r < 0)
		return r == -ENOMEM ? r : hc_fail_prefix(-EBADMSG, "'samples'");
	out->n = n;
	out->mean = s.mean;
	out->median = s.median;
	out->has_stdev = s.has_stdev;
	out->stdev = s.has_stdev ? s.stdev : 0;
	return 0;
}

/* What a published table has: a mean, perhaps its deviation in percent, and of how many. */
static int take_summary(const json_t *run, struct results_measured *out) {
	const json_t *mean = json_object_get(run, "mean"), *pct = json_object_get(run, "stdev_pct"),
	             *n = json_object_get(run, "n");
	if (!json_is_number(mean))
		return hc_fail(EBADMSG, "there are neither 'samples' nor a 'mean'");
	out->mean = out->median = json_number_value(mean);
	if (pct && !json_is_null(pct)) {
		if (!json_is_number(pct) || json_number_value(pct) < 0)
			return hc_fail(EBADMSG, "'stdev_pct' is no number from 0 on");
		out->stdev = fabs(out->mean) * json_number_value(pct) / 100;
		out->has_stdev = isfinite(out->stdev);
	}
	if (n && !json_is_null(n)) {
		if (!json_is_integer(n) || json_integer_value(n) < 1 || json_integer_value(n) > (json_int_t)1 << 48)
			return hc_fail(EBADMSG, "'n' is no number of samples");
		out->n = (size_t)json_integer_value(n);
	}
	if (out->has_stdev && out->n == 1)
		return hc_fail(EBADMSG, "'stdev_pct' of one sample");
	return 0;
}

static int take_run(json_t *run, struct results_measured *out) {
	if (!json_is_object(run))
		return hc_fail(EBADMSG, "is no object");
	const char *better = "";
	int r = take_word(run, "bench", true, &out->bench);
	if (r == 0)
		r = take_word(run, "metric", false, &out->metric);
	if (r == 0)
		r = take_word(run, "unit", true, &out->unit);
	if (r == 0)
		r = take_word(run, "better", true, &better);
	if (r < 0)
		return r;
	out->higher_is_better = strcmp(better, "higher") == 0;
	if (!out->higher_is_better && strcmp(better, "lower") != 0)
		return hc_fail(EBADMSG, "'better' is %s, neither 'higher' nor 'lower'", hc_quote(better).s);
	out->below_clock = json_is_true(json_object_get(run, "below_clock_resolution"));
	json_t *got = json_object_get(run, "got");
	if (json_is_object(got))
		out->got = json_incref(got);

	r = take_case(run, out);
	if (r < 0)
		return r;
	const json_t *samples = json_object_get(run, "samples");
	if (samples && !json_is_array(samples))
		return hc_fail(EBADMSG, "'samples' is no array");
	return samples ? take_samples(samples, out) : take_summary(run, out);
}

/* ---- The document ----------------------------------------------------------------- */

struct results_document *results_document_free(struct results_document *document) {
	if (!document)
		return NULL;
	for (size_t i = 0; i < document->nr_runs; i++) {
		struct results_measured *run = &document->runs[i];
		json_decref(run->params);
		json_decref(run->got);
		free(run->key);
		free(run->samples);
	}
	free(document->runs);
	json_decref(document->host);
	json_decref(document->notes);
	json_decref(document->source);
	json_decref(document->words);
	free(document->name);
	free(document);
	return NULL;
}

static int check_schema(const json_t *root) {
	const json_t *schema = json_object_get(root, "schema");
	if (!json_is_object(root))
		return hc_fail(EBADMSG, "no object, so not a results file");
	if (!schema)
		return hc_fail(EPROTONOSUPPORT, "no 'schema': not a results file (%s wanted)", RESULTS_SCHEMA);
	if (!json_is_string(schema))
		return hc_fail(EPROTONOSUPPORT, "'schema' is no string (%s wanted)", RESULTS_SCHEMA);
	const char *word = json_string_value(schema);
	if (strcmp(word, RESULTS_SCHEMA) == 0)
		return 0;
	uint64_t number;
	if (strncmp(word, SCHEMA_STEM, strlen(SCHEMA_STEM)) == 0 &&
	        hc_decimal_parse(word + strlen(SCHEMA_STEM), &number) == 0 && number > SCHEMA_NUMBER)
		return hc_fail(EPROTONOSUPPORT, "written by a newer version (%llu, this one reads %d)",
		        (unsigned long long)number, SCHEMA_NUMBER);
	return hc_fail(EPROTONOSUPPORT, "schema %s is another program's (%s wanted)", hc_quote(word).s, RESULTS_SCHEMA);
}

struct keyed {
	const char *key;
	size_t place;
};

static int compare_keys(const void *a, const void *b) {
	const struct keyed *x = a, *y = b;
	int order = strcmp(x->key, y->key);
	return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Which of two were meant isn't known. */
static int check_for_doubles(const struct results_document *document) {
	size_t n = document->nr_runs;
	struct keyed *sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted)
		return hc_fail_memory("no memory for %zu runs", n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct keyed){document->runs[i].key, i};
	qsort(sorted, n, sizeof(*sorted), compare_keys);
	int r = 0;
	for (size_t i = 1; i < n && r == 0; i++)
		if (strcmp(sorted[i - 1].key, sorted[i].key) == 0)
			r = hc_fail(EBADMSG, "runs[%zu] and runs[%zu] are the same bench, metric and case",
			        sorted[i - 1].place, sorted[i].place);
	free(sorted);
	return r;
}

static json_t *strings_of(const json_t *array) {
	json_t *strings = json_array();
	for (size_t i = 0; strings && i < json_array_size(array); i++)
		if (json_is_string(json_array_get(array, i)))
			json_array_append(strings, json_array_get(array, i));
	return strings;
}

static int take_document(json_t *root, struct results_document *document) {
	int r = check_schema(root);
	if (r < 0)
		return r;
	json_t *runs = json_object_get(root, "runs"), *host = json_object_get(root, "host");
	if (!json_is_array(runs))
		return hc_fail(EBADMSG, "'runs' is %s", runs ? "no array" : "missing");
	if (host && !json_is_object(host))
		return hc_fail(EBADMSG, "'host' is no object");
	document->host = host ? json_incref(host) : json_object();
	document->notes = strings_of(json_object_get(root, "notes"));
	document->interrupted = json_is_true(json_object_get(root, "interrupted"));
	r = take_word(root, "round", false, &document->round);
	if (r < 0)
		return r;
	if (json_is_string(json_object_get(root, "source")))
		document->source = json_incref(json_object_get(root, "source"));
	size_t n = json_array_size(runs);
	document->runs = calloc(n + 1, sizeof(*document->runs));
	if (!document->host || !document->notes || !document->runs)
		return hc_fail_memory("no memory for %zu runs", n);
	if (n == 0)
		return hc_fail(EBADMSG, "'runs' is empty");
	for (; document->nr_runs < n; document->nr_runs++) {
		json_t *run = json_array_get(runs, document->nr_runs);
		struct results_measured *out = &document->runs[document->nr_runs];
		r = take_run(run, out);
		if (r < 0) {
			r = hc_fail_prefix(r, "runs[%zu]", document->nr_runs);
			document->nr_runs++;
			return r;
		}
		/* Read: a number takes five times as much there as here. */
		json_object_del(run, "samples");
	}
	return check_for_doubles(document);
}

int results_read_text(const char *text, size_t len, const char *name, struct results_document **ret_document) {
	if (len == 0)
		return hc_fail(EBADMSG, "%s: empty, not a results file", name);
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!root && json_error_code(&error) == json_error_out_of_memory)
		return hc_fail(ENOMEM, "%s: no memory", name);
	if (!root) {
		hc_quote_clean(error.text);
		return hc_fail(EBADMSG, "%s: line %d, column %d: %s", name, error.line, error.column, error.text);
	}
	struct results_document *document = calloc(1, sizeof(*document));
	int r = document ? 0 : hc_fail_memory("no memory");
	if (r == 0) {
		document->words = root;
		document->name = strdup(name);
		r = document->name ? take_document(root, document) : hc_fail_memory("no memory");
	} else {
		json_decref(root);
	}
	if (r < 0) {
		results_document_free(document);
		return hc_fail_prefix(r, "%s", name);
	}
	*ret_document = document;
	return 0;
}

int results_read(const char *path, struct results_document **ret_document) {
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	char *text = NULL;
	size_t len = 0;
	int r = open_and_read(path, &text, &len);
	if (r < 0)
		return hc_fail_prefix(r, "%s", name);
	r = results_read_text(text, len, name, ret_document);
	free(text);
	return r;
}
