#include "results/results_write.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/whole_file.h"
#include "results/statistics.h"

/* ---- The document -------------------------------------------------------- */

json_t *results_number(double value) {
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *results_new(json_t *host) {
	return json_pack("{s:s, s:o, s:[]}", "schema", RESULTS_SCHEMA, "host", host, "runs");
}

static json_t *numbers(const double *values, size_t n) {
	json_t *array = json_array();
	for (size_t i = 0; array && i < n; i++) {
		if (json_array_append_new(array, results_number(values[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* The places of the samples that are far off; NULL: no memory. */
static json_t *outliers(const double *samples, size_t n, size_t *ret_found) {
	bool *flags = calloc(n, sizeof(*flags));
	json_t *places = json_array();
	*ret_found = 0;
	if (flags && places)
		*ret_found = statistics_outliers(samples, n, flags);
	for (size_t i = 0; flags && places && i < n; i++) {
		if (flags[i] && json_array_append_new(places, json_integer((json_int_t)i)) < 0) {
			json_decref(places);
			places = NULL;
		}
	}
	if (!flags) {
		json_decref(places);
		places = NULL;
	}
	free(flags);
	return places;
}

/* In the place of the one that is there, or behind the last. */
static int put_run(json_t *document, const struct results_run *run, size_t place) {
	struct statistics s;
	int r = statistics_of(run->samples, run->nr_samples, &s);
	if (r < 0)
		return hc_fail_prefix(r, "%s %s", run->bench, run->metric);

	size_t nr_far = 0;
	json_t *far = outliers(run->samples, run->nr_samples, &nr_far);
	json_t *object = json_pack("{s:s, s:s, s:O, s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o}", "bench", run->bench,
	        "metric", run->metric, "case", run->params, "unit", run->unit, "better",
	        run->higher_is_better ? "higher" : "lower", "samples", numbers(run->samples, run->nr_samples), "warmup",
	        numbers(run->warmup, run->nr_warmup), "n", (json_int_t)s.n, "mean", results_number(s.mean), "median",
	        results_number(s.median), "stdev_pct", s.has_stdev_pct ? results_number(s.stdev_pct) : json_null());
	bool ok = far && object;
	if (ok && run->got)
		ok = json_object_set(object, "got", run->got) == 0;
	if (ok && run->below_clock)
		ok = json_object_set_new(object, "below_clock_resolution", json_true()) == 0;
	if (ok && nr_far > 0)
		ok = json_object_set(object, "outliers", far) == 0;
	json_t *runs = json_object_get(document, "runs");
	if (ok)
		ok = (place < json_array_size(runs) ? json_array_set(runs, place, object)
		                                    : json_array_append(runs, object)) == 0;
	json_decref(object);
	json_decref(far);
	return ok ? 0 : hc_fail_memory("no memory for the results");
}

static bool is_same(const json_t *object, const struct results_run *run) {
	return strcmp(json_string_value(json_object_get(object, "bench")), run->bench) == 0 &&
	       strcmp(json_string_value(json_object_get(object, "metric")), run->metric) == 0 &&
	       json_equal(json_object_get(object, "case"), run->params);
}

/* before and after, in one array. Freed by the caller; NULL: no memory. */
static double *joined(const json_t *before, const double *after, size_t nr_after, size_t *ret_nr) {
	size_t nr = json_array_size(before);
	double *all = calloc(nr + nr_after + 1, sizeof(*all));
	for (size_t i = 0; all && i < nr; i++)
		all[i] = json_number_value(json_array_get(before, i));
	if (all && nr_after > 0)
		memcpy(all + nr, after, nr_after * sizeof(*all));
	*ret_nr = nr + nr_after;
	return all;
}

static int add_samples(json_t *document, const struct results_run *run, size_t place) {
	json_t *before = json_incref(json_array_get(json_object_get(document, "runs"), place));
	struct results_run both = *run;
	double *samples = joined(json_object_get(before, "samples"), run->samples, run->nr_samples, &both.nr_samples);
	double *warmup = joined(json_object_get(before, "warmup"), run->warmup, run->nr_warmup, &both.nr_warmup);
	both.samples = samples;
	both.warmup = warmup;
	both.got = json_object_get(before, "got");
	both.below_clock = run->below_clock || json_is_true(json_object_get(before, "below_clock_resolution"));
	int r = samples && warmup ? put_run(document, &both, place) : hc_fail_memory("no memory for samples");
	free(samples);
	free(warmup);
	json_decref(before);
	return r;
}

int results_add(json_t *document, const struct results_run *run, size_t earlier) {
	const json_t *runs = json_object_get(document, "runs");
	for (size_t i = 0; i < earlier && i < json_array_size(runs); i++)
		if (is_same(json_array_get(runs, i), run))
			return add_samples(document, run, i);
	return put_run(document, run, SIZE_MAX);
}

/* ---- The file ------------------------------------------------------------ */

struct results_file {
	char *path; /* as given: for messages, and what is replaced where fd is -1 */
	int fd;     /* standard output, a device or a pipe; -1 */
};

struct results_file *results_file_close(struct results_file *file) {
	if (!file)
		return NULL;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
	return NULL;
}

static int fail_path(int r, const struct results_file *file) {
	return hc_fail_prefix(r, "the results can't be written to '%s'", file->path);
}

/* What is at path now decides how it is written. */
static int choose_way(struct results_file *file) {
	struct stat st;
	if (stat(file->path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		int r = hc_whole_file_check(file->path);
		return r < 0 ? fail_path(r, file) : 0;
	}
	/* Opening a FIFO would wait for its reader. */
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (file->fd < 0 && errno == ENXIO && S_ISFIFO(st.st_mode))
		return fail_path(hc_fail(ENXIO, "nobody reads this FIFO"), file);
	if (file->fd < 0 || fcntl(file->fd, F_SETFL, 0) < 0)
		return hc_fail_errno(errno, "the results can't be written to '%s'", file->path);
	return 0;
}

int results_file_open(const char *path, struct results_file **ret_file) {
	struct results_file *file = calloc(1, sizeof(*file));
	if (!file)
		return hc_fail_memory("no memory for the results file");
	file->fd = -1;
	file->path = strdup(path);
	int r = 0;
	if (!file->path) {
		r = hc_fail_memory("no memory for the results file");
	} else if (strcmp(path, "-") == 0) {
		file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		if (file->fd < 0)
			r = hc_fail_errno(errno, "the results can't be written to standard output");
	} else {
		r = choose_way(file);
	}
	if (r < 0)
		results_file_close(file);
	else
		*ret_file = file;
	return r;
}

int results_file_commit(struct results_file *file, const json_t *document) {
	char *text = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
	size_t len = text ? strlen(text) : 0;
	/* The line's end takes the place of the text's. */
	if (!text)
		return hc_fail_memory("no memory for the text of the results");
	text[len] = '\n';

	int r;
	if (file->fd < 0) {
		r = hc_whole_file_write(file->path, text, len + 1);
		if (r < 0)
			r = fail_path(r, file);
	} else {
		r = hc_write_all(file->fd, text, len + 1);
		bool standard = strcmp(file->path, "-") == 0;
		if (r < 0)
			r = hc_fail_errno(-r, "the results can't be written to %s%s%s", standard ? "" : "'",
			        standard ? "standard output" : file->path, standard ? "" : "'");
	}
	free(text);
	return r;
}
