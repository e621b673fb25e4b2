/* The tables of `bench map`. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/counted.h"
#include "base/size.h"
#include "bench/bench_map.h"
#include "bench/host.h"
#include "bench/time_text.h"

/* The mean of a metric, or its largest sample; NAN where there is none. */
static double mean_of(const struct bench_run *run, size_t i, size_t metric) {
	struct statistics s;
	return bench_statistics(run, i, metric, &s) ? s.mean : NAN;
}

static double largest_of(const struct bench_run *run, size_t i, size_t metric) {
	struct statistics s;
	return bench_statistics(run, i, metric, &s) ? s.max : NAN;
}

/* "2 MiB", "2 MiB THP" */
static void print_page(const struct map_work *work, FILE *out) {
	char text[40];
	snprintf(text, sizeof(text), "%s%s", hc_size_exact(work->page.page_size).s,
	        work->page.kind == HC_PAGES_THP ? " THP" : "");
	fprintf(out, "%-10s", text);
}

/* "demand", "populate", "populate fallocate 32 MiB" */
static void print_function(const struct map_bench *bench, const struct map_work *work, int width, FILE *out) {
	char text[64];
	snprintf(text, sizeof(text), "%s", map_function_names[work->function]);
	if (work->by != HC_POPULATE_CHOSEN)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", map_by_names[work->by - 1]);
	if (work->chunk)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", hc_size_exact(work->chunk).s);
	else if (bench->nr_chunks > 1 && work->function == FUNCTION_POPULATE)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " usual");
	fprintf(out, " %-*s", width, text);
}

static int function_width(const struct map_bench *bench) {
	bool named = bench->nr_bys > 1 || bench->bys[0] != HC_POPULATE_CHOSEN;
	bool chunked = bench->nr_chunks > 1 || bench->chunks[0] != 0;
	return 8 + (named ? 10 : 0) + (chunked ? 8 : 0);
}

static void print_row(const struct map_bench *bench, const struct bench_run *run, size_t i, FILE *out) {
	const struct map_work *work = &bench->works[i];
	const struct bench_series *series = &run->cases[i].series[MAP_THROUGHPUT];
	struct statistics s;
	if (!bench_statistics(run, i, MAP_THROUGHPUT, &s))
		return;
	print_page(work, out);
	print_function(bench, work, function_width(bench), out);
	fprintf(out, " %3u %7.2f", work->threads, s.mean);
	if (s.has_stdev_pct)
		fprintf(out, " +-%4.*f%%", s.stdev_pct < 99.95 ? 1 : 0, s.stdev_pct);
	else
		fprintf(out, " +- n/a ");
	if (series->has_warmup)
		fprintf(out, " %7.2f", series->warmup);
	else
		fprintf(out, " %7s", "-");
	bool demand = work->function == FUNCTION_DEMAND;
	fprintf(out, " %8s %8s %8s %8s %8s\n", bench_time_text(mean_of(run, i, MAP_SECONDS)).s,
	        bench_time_text(mean_of(run, i, MAP_MUNMAP)).s,
	        bench_time_text(mean_of(run, i, demand ? MAP_FAULT_P50 : MAP_STEP_P50)).s,
	        bench_time_text(mean_of(run, i, demand ? MAP_FAULT_P99 : MAP_STEP_P99)).s,
	        bench_time_text(largest_of(run, i, demand ? MAP_FAULT_MAX : MAP_STEP_MAX)).s);
}

static void print_threads(const struct map_bench *bench, const struct bench_run *run, FILE *out) {
	bool headed = false;
	for (size_t i = 0; i < run->nr_cases; i++) {
		const json_t *by_thread = json_object_get(run->cases[i].got, "by_thread");
		if (!by_thread)
			continue;
		if (!headed)
			fprintf(out, "\nby thread, GiB/s\n");
		headed = true;
		print_page(&bench->works[i], out);
		print_function(bench, &bench->works[i], 8, out);
		for (size_t t = 0; t < json_array_size(by_thread); t++)
			fprintf(out, "%s %6.2f", t > 0 && t % 10 == 0 ? "\n                   " : "",
			        json_real_value(json_array_get(by_thread, t)));
		fputc('\n', out);
	}
}

static void print_cycles(const struct map_bench *bench, const struct bench_run *run, FILE *out) {
	bool headed = false;
	for (size_t i = 0; bench->cycles && i < run->nr_cases; i++) {
		double cycles = mean_of(run, i, MAP_CYCLES);
		if (!isfinite(cycles))
			continue;
		if (!headed)
			fprintf(out, "\ncycles a page\n");
		headed = true;
		print_page(&bench->works[i], out);
		print_function(bench, &bench->works[i], function_width(bench), out);
		fprintf(out, " %12.0f\n", cycles);
	}
}

/* True where there were too few for a p99. */
static bool print_victim(const struct map_bench *bench, size_t i, enum victim_where where, FILE *out) {
	const struct map_work *work = &bench->works[i];
	if (work->function == FUNCTION_IDLE)
		fprintf(out, "%-10s", "");
	else
		print_page(work, out);
	print_function(bench, work, function_width(bench), out);
	fprintf(out, " %7" PRIu64, work->victims->at[where][VICTIM_WAKEUP].count);
	bool few = false;
	for (int what = 0; what < VICTIM_WHATS; what++) {
		const struct latency *latency = &work->victims->at[where][what];
		bool any = latency->count > 0, enough = latency->count >= MAP_P99_LEAST;
		few = few || !enough;
		fprintf(out, " %9s %8s", bench_time_text(enough ? (double)latency_at(latency, 0.99) / 1e9 : NAN).s,
		        bench_time_text(any ? (double)latency->max / 1e9 : NAN).s);
	}
	fputc('\n', out);
	return few;
}

static void print_victims(const struct map_bench *bench, const struct bench_run *run, FILE *out) {
	static const char *const titles[] = {
	        [VICTIM_SAME_CPU] = "a victim on the same CPU", [VICTIM_OTHER_CPU] = "a victim on another CPU"};
	const char *preemption = hc_machine_kernel(run->machine)->preemption;
	bool few = false;
	for (int where = 0; bench->victim && where < VICTIM_WHERES; where++) {
		if (where == VICTIM_OTHER_CPU && bench->other_cpu < 0)
			continue;
		fprintf(out, "\n%s (CPU %d), preemption %s\n%-*s %18s %18s %18s\n%-*s %7s %9s %8s %9s %8s %9s %8s\n",
		        titles[where], where == VICTIM_SAME_CPU ? bench->same_cpu : bench->other_cpu,
		        *preemption ? preemption : "unknown", 19 + function_width(bench), "", "wakes up late", "mmap",
		        "fault", 11 + function_width(bench), "", "n", "p99", "worst", "p99", "worst", "p99", "worst");
		for (size_t i = 0; i < run->nr_cases; i++)
			few = print_victim(bench, i, (enum victim_where)where, out) || few;
	}
	if (bench->victim)
		fprintf(out, "\nn: how often it woke up, mapped, and faulted 16 pages\n");
	if (few)
		fprintf(out, "-: of fewer than %d there is no p99: more loops (-l) or more bytes (-s) give one\n",
		        MAP_P99_LEAST);
}

/* What a program pays that calls the library, beyond what is timed. */
static void print_checks(const struct map_bench *bench, const struct bench_run *run, FILE *out) {
	uint64_t longest = 0;
	for (size_t i = 0; i < run->nr_cases; i++) {
		const struct map_work *work = &bench->works[i];
		if (work->nr_samples && work->checks_ns / work->nr_samples > longest)
			longest = work->checks_ns / work->nr_samples;
	}
	if (longest)
		fprintf(out, "not in it: hc_map_open() looks at limits before and at the pages afterwards, up to %s\n",
		        bench_time_text((double)longest / 1e9).s);
}

void map_print(const void *state, const struct bench_run *run, FILE *out) {
	const struct map_bench *bench = state;
	char host[256], place[128] = "";
	host_line(run->machine, host, sizeof(host));
	if (*bench->node)
		snprintf(place, sizeof(place), " on node %s", bench->node);
	if (bench->cpus)
		snprintf(place + strlen(place), sizeof(place) - strlen(place), ", by CPUs %.60s", bench->cpus);
	fprintf(out, "%s\n%s of fresh memory%s, %s%s\n\n", host, hc_size_exact(bench->size).s, place,
	        hc_counted(run->loops_done, "loop").s, bench->random_seed ? ", touched in shuffled order" : "");
	fprintf(out, "%-10s %-*s thr   GiB/s +-stdev    cold     time   munmap      p50      p99  longest\n", "page",
	        function_width(bench), "function");
	for (size_t i = 0; i < run->nr_cases; i++)
		print_row(bench, run, i, out);
	fprintf(out, "\ntime: mmap and every page of it; p50, p99, longest: of a fault, or of a populating call;\n"
	             "cold: GiB/s of the first, uncounted loop; GiB/s and time are each a mean over the loops\n");
	print_checks(bench, run, out);
	print_threads(bench, run, out);
	print_cycles(bench, run, out);
	print_victims(bench, run, out);
}
