/* hugeclear report: result files as one page for people. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/whole_file.h"
#include "cli.h"
#include "compare_args.h"
#include "report_compare.h"
#include "report_page.h"
#include "results/results_read.h"

#define VERB "report"

/* Result files that have a section. */
#define FILES_MAX 1000

static const char usage_text[] =
        "usage: hugeclear report [OPTION]... [RESULTS...] -o FILE\n"
        "\n"
        "Makes one HTML page of result files, with a section each: the machine, tables, and plots of\n"
        "throughput and of every sample. It needs no network and no other file, and has no scripts.\n"
        "\n"
        "  -o, --output FILE     the page, written whole or not at all; - is standard output\n"
        "      --base LIST       compare base with patched: FILE[,FILE...] or a folder, a run each,\n"
        "      --patched LIST    as `hugeclear compare` takes them\n"
        "      --title TEXT      what stands above it\n"
        "  -h, --help            this text\n";

struct settings {
	const char *output, *title, *sides[COMPARE_SIDES];
	bool help;
};

/* What the page is of. */
struct contents {
	struct results_document **documents;
	size_t nr_documents;
	struct compare_side sides[COMPARE_SIDES];
	struct comparison *comparison; /* NULL: none */
};

/* ---- Options -------------------------------------------------------------------- */

static int check(int argc, const struct settings *settings) {
	bool compared = settings->sides[COMPARE_BASE] || settings->sides[COMPARE_PATCHED];
	if (compared && !(settings->sides[COMPARE_BASE] && settings->sides[COMPARE_PATCHED]))
		return cli_usage(VERB, "--base and --patched come together");
	if (optind == argc && !compared)
		return cli_usage(VERB, "the result files are missing");
	if (argc - optind > FILES_MAX)
		return cli_usage(VERB, "%d files are more than fit into a page (%d)", argc - optind, FILES_MAX);
	if (!settings->output || !*settings->output)
		return cli_usage(VERB, "where the page goes is missing: -o FILE, or -o - for standard output");
	return 0;
}

static int parse(int argc, char **argv, struct settings *settings) {
	static const struct option options[] = {
	        {"output", required_argument, NULL, 'o'},
	        {"base", required_argument, NULL, 'B'},
	        {"patched", required_argument, NULL, 'P'},
	        {"title", required_argument, NULL, 'T'},
	        {"help", no_argument, NULL, 'h'},
	        {0},
	};
	int c;
	optind = 0;
	while ((c = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			settings->output = optarg;
			break;
		case 'B':
			settings->sides[COMPARE_BASE] = optarg;
			break;
		case 'P':
			settings->sides[COMPARE_PATCHED] = optarg;
			break;
		case 'T':
			settings->title = optarg;
			break;
		case 'h':
			settings->help = true;
			return 0;
		default:
			return cli_bad_option(VERB, c, argv, options);
		}
	}
	return check(argc, settings);
}

/* ---- What is read --------------------------------------------------------------- */

static int read_documents(struct contents *contents, char **paths, size_t nr) {
	contents->documents = calloc(nr + 1, sizeof(struct results_document *));
	if (!contents->documents)
		return hc_fail(ENOMEM, "no memory for %zu files", nr);
	for (; contents->nr_documents < nr; contents->nr_documents++) {
		int r = results_read(paths[contents->nr_documents], &contents->documents[contents->nr_documents]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_comparison(struct contents *contents, const struct settings *settings) {
	static const struct compare_opts opts = {0};
	int r = 0;
	if (!settings->sides[COMPARE_BASE])
		return 0;
	for (int side = 0; side < COMPARE_SIDES && r == 0; side++)
		r = compare_side_read(settings->sides[side], &contents->sides[side]);
	return r < 0 ? r : compare(contents->sides, &opts, &contents->comparison);
}

static void free_contents(struct contents *contents) {
	comparison_free(contents->comparison);
	for (int side = 0; side < COMPARE_SIDES; side++)
		compare_side_free(&contents->sides[side]);
	for (size_t i = 0; i < contents->nr_documents; i++)
		results_document_free(contents->documents[i]);
	free(contents->documents);
}

/* ---- The page ------------------------------------------------------------------- */

/* All of it, in memory: nothing is written before it is whole. */
static int make_page(const struct contents *contents, const char *title, char **ret_page, size_t *ret_len) {
	FILE *out = open_memstream(ret_page, ret_len);
	if (!out)
		return hc_fail(ENOMEM, "no memory for the page");
	int r = 0;
	report_page_begin(out, title ? title : "hugeclear report");
	report_contents(out, contents->documents, contents->nr_documents, contents->comparison != NULL);
	if (contents->comparison)
		r = report_comparison(out, contents->sides, contents->comparison);
	for (size_t i = 0; i < contents->nr_documents && r == 0; i++)
		r = report_section(out, contents->documents[i], i);
	report_page_end(out);
	int failed = ferror(out);
	if ((fclose(out) != 0 || failed || !*ret_page) && r == 0)
		r = hc_fail(ENOMEM, "no memory for the page");
	return r;
}

static int write_page(const char *output, const char *page, size_t len) {
	if (strcmp(output, "-") == 0) {
		/* Failures are cli_finish()'s. */
		fwrite(page, 1, len, stdout);
		return 0;
	}
	int r = hc_whole_file_write(output, page, len);
	return r < 0 ? hc_fail_prefix(r, "%s", output) : 0;
}

int hc_verb_report(int argc, char **argv) {
	struct settings settings = {.output = ""};
	int code = parse(argc, argv, &settings);
	if (code)
		return code;
	if (settings.help) {
		fputs(usage_text, stdout);
		return 0;
	}
	struct contents contents = {0};
	char *page = NULL;
	size_t len = 0;
	int r = read_documents(&contents, argv + optind, (size_t)(argc - optind));
	if (r == 0)
		r = read_comparison(&contents, &settings);
	if (r == 0 && contents.comparison && contents.comparison->nr_rows == 0) {
		cli_error(VERB, "nothing to compare: no case is on both sides in units that fit");
		code = HC_EXIT_NOT_COMPARABLE;
	} else if (r == 0) {
		r = make_page(&contents, settings.title, &page, &len);
		if (r == 0)
			r = write_page(settings.output, page, len);
	}
	free(page);
	free_contents(&contents);
	return r < 0 ? cli_fail(VERB, r) : code;
}
