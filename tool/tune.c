/* hugeclear tune: measures the clearing methods of this machine and writes a profile. */
#include "tune.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/sys.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/size.h"
#include "base/whole_file.h"
#include "bench/resident.h"
#include "choices.h"
#include "cli.h"
#include "table.h"

#define VERB "tune"

#define DEFAULT_SIZE (UINT64_C(256) << 20)
#define MOST_BY_DEFAULT (UINT64_C(1) << 30)
#define LEAST_SIZE (UINT64_C(1) << 20)
#define DEFAULT_SECONDS 20
#define MOST_SECONDS 3600

static const char usage_text[] =
        "usage: hugeclear tune {-o FILE | --dry-run} [OPTION]...\n"
        "\n"
        "Measures which clearing method is fastest on this machine, by extent and by what\n"
        "comes next, on resident memory and with one thread, and writes a profile. It departs\n"
        "from the built-in choice only where another method is more than 3 % faster beyond the\n"
        "noise. Run it on an idle machine.\n"
        "\n"
        "  -o, --output FILE  where the profile goes; programs load it on purpose, with\n"
        "                     HUGECLEAR_PROFILE=FILE or hc_clear_profile_load()\n"
        "  -n, --dry-run      measure and print, write nothing\n"
        "  -s, --size SIZE    memory to measure on, at least 1M (default 256M; more where the\n"
        "                     cache is large, less where there is little memory)\n"
        "      --seconds N    how long to measure, 1 to 3600 (default 20)\n"
        "  -h, --help         this text\n";

struct settings {
	const char *output; /* NULL: a dry run */
	uint64_t size;      /* 0: the default */
	uint64_t seconds;
};

/* Fills in the default, and refuses what doesn't fit. */
static int check_size(const struct hc_machine *machine, uint64_t *size) {
	uint64_t available = hc_machine_memory(machine)->available;
	uint64_t left = hc_machine_limits(machine)->memory_cgroup_left;
	if (left < available)
		available = left;

	/* A hypervisor may claim a cache of any size. */
	uint64_t cache = hc_machine_processor(machine)->l3;
	if (*size == 0) {
		*size = DEFAULT_SIZE;
		while (*size < 2 * cache && *size < MOST_BY_DEFAULT)
			*size *= 2;
		while (available != HC_UNKNOWN && *size > LEAST_SIZE && *size > available / 4)
			*size /= 2;
	}
	if (available != HC_UNKNOWN && *size > available / 10 * 9)
		return hc_fail(ENOMEM, "%s wanted to measure on, %s of memory available: give --size %s or less",
		        hc_size_exact(*size).s, hc_size_rounded(available).s,
		        hc_size_arg((available / 10 * 9) >> 20 << 20).s);
	if (*size < 2 * cache && *size < MOST_BY_DEFAULT)
		cli_warn(VERB, "%s to measure on, and a cache of %s: that is the speed of the cache, not of memory",
		        hc_size_exact(*size).s, hc_size_exact(cache).s);
	return 0;
}

static void show_progress(void *user, uint64_t done, uint64_t total) {
	uint64_t *last_second = user, second = done / HC_NSEC_PER_SEC;
	if (second == *last_second)
		return;
	*last_second = second;
	fprintf(stderr, "\rmeasuring, %llu s of %llu s ", (unsigned long long)second,
	        (unsigned long long)(total / HC_NSEC_PER_SEC));
	fflush(stderr);
}

static const char *intent_name(enum hc_intent intent) {
	return intent == HC_INTENT_SOON ? "soon" : "later";
}

/* Cells with fewer rounds than a choice needs, of one intent. */
static unsigned short_of_rounds(const struct tune *tune, enum hc_intent intent, unsigned least) {
	unsigned n = 0;
	for (unsigned c = 0; c < tune->nr_cells; c++)
		n += tune->cells[c].intent == intent && tune->cells[c].nr_rounds < least;
	return n;
}

static unsigned cells_of(const struct tune *tune, enum hc_intent intent) {
	return short_of_rounds(tune, intent, UINT_MAX);
}

static bool all_have_rounds(const struct tune *tune) {
	return short_of_rounds(tune, HC_INTENT_SOON, TUNE_ROUNDS_LEAST) == 0 &&
	       short_of_rounds(tune, HC_INTENT_LATER, TUNE_ROUNDS_LEAST) == 0;
}

/* A guess at the time that all cells need, with some to spare: they don't cost the same. */
static uint64_t seconds_needed(const struct tune *tune, uint64_t seconds) {
	uint64_t done = 0, needed = (uint64_t)tune->nr_cells * TUNE_ROUNDS_LEAST;
	for (unsigned c = 0; c < tune->nr_cells; c++)
		done += hc_min(tune->cells[c].nr_rounds, TUNE_ROUNDS_LEAST);
	return hc_min(2 * hc_div_up(seconds * needed, hc_max(done, 1)), MOST_SECONDS);
}

static void warn_of_few_rounds(const struct tune *tune, const struct settings *settings) {
	unsigned few = short_of_rounds(tune, HC_INTENT_SOON, TUNE_ROUNDS_LEAST) +
	               short_of_rounds(tune, HC_INTENT_LATER, TUNE_ROUNDS_LEAST);
	if (few > 0)
		cli_warn(VERB,
		        "%u of %u cases had fewer than the %d rounds in %llu s that it takes to depart from the "
		        "built-in choice: "
		        "give "
		        "--seconds %llu or more, or a smaller --size than %s",
		        few, tune->nr_cells, TUNE_ROUNDS_LEAST, (unsigned long long)settings->seconds,
		        (unsigned long long)seconds_needed(tune, settings->seconds), hc_size_arg(settings->size).s);
}

/* Medians of all methods, one row a method and one column an extent. */
static int print_speeds(const struct tune *tune, enum hc_intent intent) {
	if (short_of_rounds(tune, intent, 1) == cells_of(tune, intent)) {
		printf("touched %s: there was no time to measure any extent\n\n", intent_name(intent));
		return 0;
	}
	struct cli_table *table = cli_table_new();
	cli_table_column(table, "method", CLI_LEFT);
	for (unsigned c = 0; c < tune->nr_cells; c++)
		if (tune->cells[c].intent == intent)
			cli_table_column(table, hc_size_exact(tune->cells[c].extent).s, CLI_RIGHT);
	for (unsigned m = 0; m < tune->nr_methods; m++) {
		cli_table_row(table);
		cli_table_cell(table, "%s", tune->methods[m]->name);
		for (unsigned c = 0; c < tune->nr_cells; c++) {
			if (tune->cells[c].intent != intent)
				continue;
			double speed = tune_speed(&tune->cells[c], m);
			if (speed > 0)
				cli_table_cell(table, "%.2f", speed);
			else
				cli_table_cell(table, "-");
		}
	}
	printf("touched %s: GiB/s by extent, medians\n", intent_name(intent));
	int r = cli_table_print(table, 2);
	putchar('\n');
	cli_table_free(table);
	return r;
}

static unsigned fastest(const struct tune *tune, const struct tune_cell *cell) {
	unsigned best = cell->builtin;
	for (unsigned m = 0; m < tune->nr_methods; m++)
		if (!cell->dropped[m] && tune_compare(cell, m).ratio > tune_compare(cell, best).ratio)
			best = m;
	return best;
}

static const char *percent(double ratio, char text[16]) {
	snprintf(text, 16, ratio > 0 ? "%+.1f %%" : "?", (ratio - 1) * 100);
	return text;
}

static int print_choices(const struct tune *tune, const unsigned *choices) {
	static const char *const headings[] = {
	        "touched", "extent", "rounds", "built-in", "fastest", "gain", "at least", "profile"};
	struct cli_table *table = cli_table_new();
	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		cli_table_column(table, headings[i], i == 1 || i == 2 || i == 5 || i == 6 ? CLI_RIGHT : CLI_LEFT);
	for (unsigned c = 0; c < tune->nr_cells; c++) {
		const struct tune_cell *cell = &tune->cells[c];
		unsigned best = fastest(tune, cell);
		struct tune_comparison comparison = tune_compare(cell, best);
		bool same = best == cell->builtin;
		char gain[16], at_least[16];

		cli_table_row(table);
		cli_table_cell(table, "%s", intent_name(cell->intent));
		cli_table_cell(table, "%s", hc_size_exact(cell->extent).s);
		cli_table_cell(table, "%u", cell->nr_rounds);
		cli_table_cell(table, "%s", tune->methods[cell->builtin]->name);
		cli_table_cell(table, "%s", cell->nr_rounds ? tune->methods[best]->name : "?");
		cli_table_cell(table, "%s", same ? "" : percent(comparison.ratio, gain));
		cli_table_cell(table, "%s", same ? "" : percent(comparison.at_least, at_least));
		cli_table_cell(
		        table, "%s", choices[c] == cell->builtin ? "as built-in" : tune->methods[choices[c]]->name);
	}
	printf("Fastest against the built-in choice, and what the profile takes\n");
	int r = cli_table_print(table, 2);
	putchar('\n');
	cli_table_free(table);
	return r;
}

struct profile {
	struct hc_clear_profile_step steps[2 * HC_CLEAR_PROFILE_STEPS_MAX];
	size_t nr_steps;
	bool as_builtin; /* nothing departs */
};

static const enum hc_intent intents[] = {HC_INTENT_SOON, HC_INTENT_LATER};

#define NR_INTENTS (sizeof(intents) / sizeof(*intents))

/* Decides, and prints what was measured and decided. */
static int report(const struct tune *tune, struct profile *ret_profile) {
	unsigned choices[TUNE_CELLS_MAX];
	for (unsigned c = 0; c < tune->nr_cells; c++) {
		bool first = c == 0 || tune->cells[c - 1].intent != tune->cells[c].intent;
		choices[c] = tune_choose(&tune->cells[c], tune->nr_methods, first ? UINT_MAX : choices[c - 1]);
	}

	int r = print_speeds(tune, HC_INTENT_SOON);
	if (r == 0)
		r = print_speeds(tune, HC_INTENT_LATER);
	if (r == 0)
		r = print_choices(tune, choices);
	if (r < 0)
		return r;

	struct profile profile = {.nr_steps = 0};
	for (size_t i = 0; i < NR_INTENTS; i++) {
		struct hc_clear_profile_step builtin[HC_CLEAR_PROFILE_STEPS_MAX];
		unsigned nr_builtin = cli_choices(intents[i], builtin);
		struct hc_clear_profile_step *steps = profile.steps + profile.nr_steps;
		unsigned n = tune_steps(tune, intents[i], choices, builtin, nr_builtin, steps);
		char text[HC_CLEAR_PROFILE_STEPS_MAX * 80];

		cli_choices_text(builtin, nr_builtin, text, sizeof(text));
		printf("touched %s, built-in: %s\n", intent_name(intents[i]), text);
		cli_choices_text(steps, n, text, sizeof(text));
		printf("touched %s, profile:  %s\n", intent_name(intents[i]), n ? text : "as built-in");
		profile.nr_steps += n;
	}

	/* A profile without any steps isn't one, but FILE was asked for. */
	profile.as_builtin = profile.nr_steps == 0;
	for (size_t i = 0; i < NR_INTENTS && profile.as_builtin; i++)
		profile.nr_steps += cli_choices(intents[i], profile.steps + profile.nr_steps);
	*ret_profile = profile;
	return 0;
}

static int write_profile(const struct settings *settings, const struct hc_machine *machine, const struct tune *tune,
        const struct profile *profile) {
	const char *as_builtin = all_have_rounds(tune)
	                                 ? "\nnothing was clearly faster: these are the built-in choices"
	                                 : "\ntoo few rounds to find what is faster: these are the built-in choices";
	const struct hc_processor *processor = hc_machine_processor(machine);
	unsigned v = hc_version();
	char comment[512];
	snprintf(comment, sizeof(comment), "by hugeclear tune %u.%u.%u, kernel %s, %s\nmeasured on %s for %llu s%s",
	        v / 1000000, v / 1000 % 1000, v % 1000, hc_machine_kernel(machine)->release, processor->model_name,
	        hc_size_exact(settings->size).s, (unsigned long long)settings->seconds,
	        profile->as_builtin ? as_builtin : "");
	int r = hc_clear_profile_save(settings->output, comment, profile->steps, profile->nr_steps);
	if (r == 0)
		printf("\nwritten to %s: load it with HUGECLEAR_PROFILE or hc_clear_profile_load()\n",
		        settings->output);
	return r;
}

static int get_memory(uint64_t size, struct resident **ret_memory) {
	const struct resident_request request = {
	        .bytes = size, .kind = HC_PAGES_THP, .node = -1, .stop = cli_interrupted};
	int r = resident_get(&request, ret_memory);
	if (r == -ENOMEM)
		hc_fail(ENOMEM, "%s; or give a smaller --size", hc_error_detail());
	return r;
}

static int measure_and_write(struct settings *settings, const struct hc_machine *machine, struct tune *tune) {
	int r = check_size(machine, &settings->size);
	if (r < 0)
		return r;
	struct resident *memory;
	r = get_memory(settings->size, &memory);
	if (r < 0)
		return r;

	/* What is compared with is the built-in choice, whatever profile the environment names. */
	r = hc_clear_profile_load(NULL);
	if (r == 0) {
		tune_plan(tune, settings->size);
		uint64_t last_second = 0;
		bool progress = cli_progress_wanted();
		r = tune_measure(tune, memory->p, settings->size, settings->seconds * HC_NSEC_PER_SEC, cli_interrupted,
		        progress ? show_progress : NULL, &last_second);
		if (progress && last_second > 0)
			fprintf(stderr, "\r%40s\r", "");
	}
	uint64_t huge = memory->huge_bytes;
	resident_free(memory);
	if (r < 0)
		return r;

	printf("Measured for %llu s on %s of memory", (unsigned long long)settings->seconds,
	        hc_size_exact(settings->size).s);
	if (huge != HC_UNKNOWN)
		printf(", %s of it in huge pages", hc_size_rounded(hc_min(huge, settings->size)).s);
	printf("\n\n");

	struct profile profile;
	r = report(tune, &profile);
	if (r == 0 && !cli_interrupted(NULL))
		warn_of_few_rounds(tune, settings);
	if (r == 0 && cli_interrupted(NULL))
		r = hc_fail(ECANCELED, "interrupted");
	if (r == 0 && settings->output)
		r = write_profile(settings, machine, tune, &profile);
	return r;
}

static int parse_options(int argc, char **argv, struct settings *settings, bool *done) {
	static const struct option options[] = {
	        {"output", required_argument, NULL, 'o'},
	        {"dry-run", no_argument, NULL, 'n'},
	        {"size", required_argument, NULL, 's'},
	        {"seconds", required_argument, NULL, 'S'},
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	bool dry_run = false;
	int c, r = 0;
	while (r == 0 && (c = getopt_long(argc, argv, ":o:ns:h", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			if (!*optarg)
				return cli_usage(VERB, "--output: an empty name is not a file");
			settings->output = optarg;
			break;
		case 'n':
			dry_run = true;
			break;
		case 's':
			r = cli_size(VERB, "--size", optarg, &settings->size);
			if (r == 0 && settings->size < LEAST_SIZE)
				r = cli_usage(VERB, "--size: '%s' is too little to measure on: at least 1M", optarg);
			break;
		case 'S':
			r = cli_count(VERB, "--seconds", optarg, 1, MOST_SECONDS, &settings->seconds);
			break;
		case 'h':
			fputs(usage_text, stdout);
			*done = true;
			return 0;
		default:
			return cli_bad_option(VERB, c, argv, options);
		}
	}
	if (r == 0)
		r = cli_no_arguments(VERB, argc, argv);
	if (r == 0 && (settings->output || dry_run))
		r = cli_check_output(VERB);
	else if (r == 0)
		r = cli_usage(VERB, "where does the profile go? give -o FILE, or --dry-run to write none");
	if (dry_run)
		settings->output = NULL;
	return r;
}

int hc_verb_tune(int argc, char **argv) {
	struct settings settings = {.seconds = DEFAULT_SECONDS};
	bool done = false;
	int r = parse_options(argc, argv, &settings, &done);
	if (r != 0 || done)
		return r;

	struct hc_machine *machine = NULL;
	struct tune *tune = calloc(1, sizeof(*tune));
	cli_catch_interrupts();
	if (!tune)
		r = hc_fail_memory("no memory to keep the samples in");
	/* Better now than after all the measuring. */
	if (r == 0 && settings.output && (r = hc_whole_file_check(settings.output)) < 0)
		hc_fail_prefix(r, "profile %s can't be written", settings.output);
	if (r == 0)
		r = hc_machine_read(NULL, &machine);
	if (r == 0)
		r = measure_and_write(&settings, machine, tune);

	if (r == -ECANCELED)
		cli_error(VERB, "interrupted%s", settings.output ? ": nothing was written" : "");
	hc_machine_free(machine);
	free(tune);
	return r < 0 ? cli_fail(VERB, r) : HC_EXIT_OK;
}
