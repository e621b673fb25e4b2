/* The tables of `bench clear`, in the form in which kernel developers post them. */
#include <stdio.h>
#include <string.h>

#include "base/counted.h"
#include "base/size.h"
#include "bench/bench_clear.h"
#include "bench/host.h"

/* Extents side by side in a table of functions by extents. */
#define COLUMNS 5

/* One block of tables: cases that differ in function and extent alone. */
struct block {
	const struct clear_bench *bench;
	const struct bench_run *run;
	FILE *out;
	uint64_t threads, chunk;
};

static bool statistics_in(const struct block *block, const struct clear_function *function, uint64_t extent,
        size_t metric, struct statistics *ret_statistics) {
	size_t i = clear_case_of(block->bench, function, extent, block->threads, block->chunk);
	return i != SIZE_MAX && bench_statistics(block->run, i, metric, ret_statistics);
}

/* ---- base, patched, default ---------------------------------------------- */

static void print_cell(FILE *out, bool has, const struct statistics *s) {
	if (!has)
		fprintf(out, "  %6s %6s", "-", "");
	else if (s->has_stdev_pct)
		fprintf(out, "  %6.2f +-%4.*f%%", s->mean, s->stdev_pct < 99.95 ? 1 : 0, s->stdev_pct);
	else
		fprintf(out, "  %6.2f +- n/a ", s->mean);
}

static void print_change(FILE *out, bool has, const struct statistics *base, const struct statistics *value) {
	double pct;
	if (has && statistics_change_pct(base->mean, value->mean, &pct))
		fprintf(out, " %+7.1f%%", pct);
	else
		fprintf(out, " %8s", "n/a");
}

/* pre: the functions are the three */
static void print_three(const struct block *block) {
	FILE *out = block->out;
	fprintf(out, "             base           patched                 default\n"
	             "  extent  GiB/s +-stdev   GiB/s +-stdev   change   GiB/s +-stdev   change\n");
	for (size_t e = 0; e < block->bench->nr_extents; e++) {
		uint64_t extent = block->bench->extents[e];
		struct statistics s[3];
		bool has[3];
		for (size_t f = 0; f < 3; f++)
			has[f] = statistics_in(block, &block->bench->functions[f], extent, CLEAR_THROUGHPUT, &s[f]);
		fprintf(out, "%8s", hc_size_exact(extent).s);
		print_cell(out, has[0], &s[0]);
		print_cell(out, has[1], &s[1]);
		print_change(out, has[0] && has[1], &s[0], &s[1]);
		print_cell(out, has[2], &s[2]);
		print_change(out, has[0] && has[2], &s[0], &s[2]);
		fputc('\n', out);
	}
}

/* ---- Functions by extents ------------------------------------------------ */

struct figure {
	size_t metric;
	const char *title;
	double scale;
	bool longest; /* the largest sample rather than the mean */
};

static double value_of(const struct figure *figure, const struct statistics *s) {
	return (figure->longest ? s->max : s->mean) * figure->scale;
}

static void print_row(const struct block *block, const struct figure *figure, const struct clear_function *function,
        size_t first, size_t last) {
	fprintf(block->out, "%-12s", function->name);
	for (size_t e = first; e < last; e++) {
		struct statistics s;
		if (statistics_in(block, function, block->bench->extents[e], figure->metric, &s))
			fprintf(block->out, " %10.*f", figure->scale == 1 ? 2 : 3, value_of(figure, &s));
		else
			fprintf(block->out, " %10s", "-");
	}
	fputc('\n', block->out);
}

static void print_best(const struct block *block, const struct figure *figure, size_t first, size_t last) {
	fprintf(block->out, "%-12s", "best");
	for (size_t e = first; e < last; e++) {
		const char *best = "-";
		double most = 0;
		for (size_t f = 0; f < block->bench->nr_functions; f++) {
			const struct clear_function *function = &block->bench->functions[f];
			struct statistics s;
			if (function->kind == CLEAR_METHOD &&
			        statistics_in(block, function, block->bench->extents[e], figure->metric, &s) &&
			        s.mean > most) {
				most = s.mean;
				best = function->name;
			}
		}
		fprintf(block->out, " %10s", best);
	}
	fputc('\n', block->out);
}

static void print_matrix(const struct block *block, const struct figure *figure) {
	const struct clear_bench *bench = block->bench;
	size_t nr_methods = 0;
	for (size_t f = 0; f < bench->nr_functions; f++)
		nr_methods += bench->functions[f].kind == CLEAR_METHOD;
	for (size_t first = 0; first < bench->nr_extents; first += COLUMNS) {
		size_t last = first + COLUMNS < bench->nr_extents ? first + COLUMNS : bench->nr_extents;
		fprintf(block->out, "%s%s\n%-12s", figure->metric == CLEAR_THROUGHPUT ? "" : "\n", figure->title,
		        "extent");
		for (size_t e = first; e < last; e++)
			fprintf(block->out, " %10s", hc_size_exact(bench->extents[e]).s);
		fputc('\n', block->out);
		for (size_t f = 0; f < bench->nr_functions; f++)
			print_row(block, figure, &bench->functions[f], first, last);
		if (figure->metric == CLEAR_THROUGHPUT && nr_methods > 1)
			print_best(block, figure, first, last);
	}
}

/* ---- All ----------------------------------------------------------------- */

static bool has_metric(const struct block *block, size_t metric) {
	struct statistics s;
	for (size_t e = 0; e < block->bench->nr_extents; e++)
		for (size_t f = 0; f < block->bench->nr_functions; f++)
			if (statistics_in(block, &block->bench->functions[f], block->bench->extents[e], metric, &s))
				return true;
	return false;
}

static void print_heading(const struct clear_bench *bench, const struct bench_run *run, FILE *out) {
	static const char *const thens[] = {"", ", then read", ", then written"};
	char host[256];
	host_line(run->machine, host, sizeof(host));
	char place[128] = "";
	if (bench->memory->node >= 0)
		snprintf(place, sizeof(place), " on node %d", bench->memory->node);
	if (bench->cpus)
		snprintf(place + strlen(place), sizeof(place) - strlen(place), ", by CPUs %.60s", bench->cpus);
	fprintf(out, "%s\n%s in %s pages of %s%s%s, intent %s, %s\n", host, hc_size_exact(bench->size).s,
	        room_kind_name(bench->memory->kind), hc_size_exact(bench->memory->page_size).s, place,
	        thens[bench->then], bench->intent == HC_INTENT_SOON ? "soon" : "later",
	        hc_counted(run->loops_done, "loop").s);
}

/* The least that took part in a case of the block. */
static uint64_t threads_got(const struct block *block) {
	uint64_t least = block->threads;
	for (size_t i = 0; i < block->run->nr_cases; i++) {
		json_t *got = json_object_get(block->run->cases[i].got, "threads");
		if (got && block->bench->works[i].threads == block->threads &&
		        (uint64_t)json_integer_value(got) < least)
			least = (uint64_t)json_integer_value(got);
	}
	return least;
}

static bool has_function(const struct clear_bench *bench, enum clear_kind kind) {
	for (size_t f = 0; f < bench->nr_functions; f++)
		if (bench->functions[f].kind == kind)
			return true;
	return false;
}

/* "avx2-nt", or "stosb (4 KiB), avx2-nt (64 KiB and more)" */
static void print_choice(const struct clear_bench *bench, const struct bench_run *run, FILE *out) {
	const struct clear_function function = {.kind = CLEAR_DEFAULT, .name = "default"};
	const char *before = "";
	for (size_t e = 0; e < bench->nr_extents; e++) {
		size_t i = clear_case_of(bench, &function, bench->extents[e], bench->threads[0], bench->chunks[0]);
		const char *method = i == SIZE_MAX ? NULL
		                                   : json_string_value(json_object_get(run->cases[i].got, "method"));
		if (!method || strcmp(method, before) == 0)
			continue;
		fprintf(out, "%s%s%s%s", *before ? ", " : "", method, *before ? " from " : "",
		        *before ? hc_size_exact(bench->extents[e]).s : "");
		before = method;
	}
}

static void print_legend(const struct clear_bench *bench, const struct bench_run *run, FILE *out) {
	const char *clear = bench->kernel.name;
	if (has_function(bench, CLEAR_BASE))
		fprintf(out, "base: %s, %s at a time, as Linux before the series\n", clear,
		        hc_size_exact(bench->kernel.base_page).s);
	if (has_function(bench, CLEAR_PATCHED))
		fprintf(out, "patched: %s, an extent at a time, as the series; its change is what the idea gains\n",
		        clear);
	if (has_function(bench, CLEAR_DEFAULT)) {
		fprintf(out, "default: hugeclear's choice (");
		print_choice(bench, run, out);
		fprintf(out, "); its change is to base\n");
	}
}

void clear_print(const void *state, const struct bench_run *run, FILE *out) {
	static const struct figure throughput = {CLEAR_THROUGHPUT, "GiB/s", 1, false};
	static const struct figure more[] = {
	        {CLEAR_ALONE, "the clear alone, GiB/s", 1, false},
	        {CLEAR_THEN_ALONE, "what follows it alone, GiB/s", 1, false},
	        {CLEAR_LONGEST_STEP, "longest time between two questions to stop, ms", 1e3, true},
	};
	const struct clear_bench *bench = state;
	bool three = !bench->functions_given;
	print_heading(bench, run, out);
	for (size_t t = 0; t < bench->nr_threads; t++) {
		for (size_t c = 0; c < bench->nr_chunks; c++) {
			struct block block = {bench, run, out, bench->threads[t], bench->chunks[c]};
			fprintf(out, "\n%s", hc_counted(block.threads, "thread").s);
			if (threads_got(&block) < block.threads)
				fprintf(out, ", of which only %llu took part", (unsigned long long)threads_got(&block));
			if (block.chunk)
				fprintf(out, ", chunks of %s", hc_size_exact(block.chunk).s);
			fputc('\n', out);
			if (three)
				print_three(&block);
			else
				print_matrix(&block, &throughput);
			for (size_t m = 0; m < sizeof(more) / sizeof(*more); m++)
				if (has_metric(&block, more[m].metric))
					print_matrix(&block, &more[m]);
		}
	}
	fputc('\n', out);
	print_legend(bench, run, out);
}
