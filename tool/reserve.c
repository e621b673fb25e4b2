/* hugeclear reserve: sets pools of huge pages, for good or while a command runs. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>
#include <hugeclear/sys.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "cli.h"
#include "reserve_args.h"
#include "reserve_journal.h"
#include "reserve_pools.h"
#include "reserve_run.h"

#define VERB "reserve"

/* Tries beyond the first where fewer pages came. Each may take the kernel seconds when memory is in pieces. */
#define RETRIES 5

#define REQUESTS_MAX 256

struct call {
	const char *root;
	bool dry_run, compact, force, all_or_nothing, recover;
	struct reserve_request requests[REQUESTS_MAX];
	unsigned nr_requests;
	char **command; /* NULL: none */
	bool changes;   /* by the plan: not all pools are as wanted already */
	struct reserve_signals signals;
	struct reserve_journal *journal; /* where what is done may have to be undone */
	FILE *out;                       /* standard output belongs to CMD where there is one */
};

static void print_help(void) {
	printf("usage: hugeclear reserve SIZE[@NODE]=[+|-]PAGES... [OPTION]... [-- CMD [ARG]...]\n"
	       "       hugeclear reserve --recover\n"
	       "\n"
	       "Sets how many huge pages the kernel keeps: in all, or on one node; to a number, or by a\n"
	       "difference with + or -. PAGES with a unit is a size: 2M=1GiB is 2M=512. With CMD, runs it\n"
	       "and puts back the difference afterwards.\n"
	       "\n"
	       "      --compact         compact memory where fewer pages came, and try again\n"
	       "      --force           leave less than 5 %% of memory to others\n"
	       "      --all-or-nothing  where fewer came, put everything back\n"
	       "  -n, --dry-run         say what would be done; needs no permission\n"
	       "      --recover         put back what a 'reserve -- CMD' that was killed left behind\n"
	       "      --root DIR        work on the proc/, sys/ and run/ of this folder\n"
	       "  -h, --help            this text\n"
	       "\n"
	       "Pages in use or reserved by programs are never taken. Exit code 3: fewer came than\n"
	       "asked for. With CMD its own: 127 where there is no such program, 128 + N after signal N.\n");
}

/* ---- Options ------------------------------------------------------------------- */

static int take_request(struct call *call, const char *text) {
	struct reserve_request request;
	if (reserve_args_parse(text, &request) < 0)
		return cli_usage(VERB, "%s", hc_error_detail());
	for (unsigned i = 0; i < call->nr_requests; i++)
		if (call->requests[i].page_size == request.page_size && call->requests[i].node == request.node)
			return cli_usage(
			        VERB, "%s is asked for twice", reserve_pool_text(request.page_size, request.node).s);
	if (call->nr_requests == REQUESTS_MAX)
		return cli_usage(VERB, "more than %d pools at once", REQUESTS_MAX);
	call->requests[call->nr_requests++] = request;
	return 0;
}

/* Returns -1 where there is work to do, else an exit code. */
static int parse_options(int argc, char **argv, struct call *call) {
	enum { COMPACT = 256, FORCE, ALL_OR_NOTHING, RECOVER, ROOT };
	static const struct option options[] = {
	        {"compact", no_argument, NULL, COMPACT},
	        {"force", no_argument, NULL, FORCE},
	        {"all-or-nothing", no_argument, NULL, ALL_OR_NOTHING},
	        {"dry-run", no_argument, NULL, 'n'},
	        {"recover", no_argument, NULL, RECOVER},
	        {"root", required_argument, NULL, ROOT},
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	/* What follows "--" is CMD: getopt_long() would mix it with the requests before. */
	int end = 1;
	while (end < argc && strcmp(argv[end], "--") != 0)
		end++;
	if (end < argc) {
		call->command = argv + end + 1;
		if (!*call->command)
			return cli_usage(VERB, "a command is missing behind '--'");
		/* Most likely a variable that isn't set. */
		if (**call->command == '\0') {
			cli_error(VERB, "the command behind '--' is empty: the name of a program is wanted");
			return HC_EXIT_FAILED;
		}
	}

	for (int c; (c = getopt_long(end, argv, ":nh", options, NULL)) != -1;) {
		switch (c) {
		case COMPACT:
			call->compact = true;
			break;
		case FORCE:
			call->force = true;
			break;
		case ALL_OR_NOTHING:
			call->all_or_nothing = true;
			break;
		case RECOVER:
			call->recover = true;
			break;
		case ROOT:
			/* Most likely a variable that isn't set: that mustn't mean the machine itself. */
			if (*optarg == '\0')
				return cli_usage(VERB, "--root: a folder is wanted");
			call->root = optarg;
			break;
		case 'n':
			call->dry_run = true;
			break;
		case 'h':
			print_help();
			return HC_EXIT_OK;
		default:
			return cli_bad_option(VERB, c, argv, options);
		}
	}
	for (int i = optind; i < end; i++) {
		int code = take_request(call, argv[i]);
		if (code != 0)
			return code;
	}
	if (call->nr_requests == 0 && (!call->recover || call->command))
		return cli_usage(VERB, "what to reserve is missing, as in 2M=512");
	if (call->nr_requests > 0 && !call->command && cli_check_output(VERB) != HC_EXIT_OK)
		return HC_EXIT_FAILED;
	return -1;
}

/* ---- One pool ------------------------------------------------------------------- */

static struct hc_pool_request pool_request(const struct reserve_request *request) {
	return (struct hc_pool_request){.size = sizeof(struct hc_pool_request),
	        .page_size = request->page_size,
	        .node = request->node,
	        .relative = request->relative,
	        .pages = request->pages};
}

static struct hc_pool_opts pool_opts(const struct call *call) {
	return (struct hc_pool_opts){.size = sizeof(struct hc_pool_opts),
	        .root = call->root,
	        .compact = call->compact,
	        .force = call->force,
	        .all_or_nothing = call->all_or_nothing,
	        .retries = RETRIES,
	        .stop = cli_interrupted};
}

/* "2 MiB: 0 -> 512 pages (1 GiB)", with a remark behind it. */
static void print_pool(const struct call *call, const struct reserve_request *request, uint64_t before, uint64_t now,
        const char *remark) {
	fprintf(call->out, "%s: ", reserve_pool_text(request->page_size, request->node).s);
	if (before == HC_UNKNOWN)
		fprintf(call->out, "unknown -> ");
	else if (before != now)
		fprintf(call->out, "%" PRIu64 " -> ", before);
	uint64_t bytes;
	if (now == HC_UNKNOWN)
		fprintf(call->out, "unknown%s\n", remark);
	else if (!hc_mul_ok(now, request->page_size, &bytes))
		fprintf(call->out, "%s%s\n", hc_counted(now, "page").s, remark);
	else
		fprintf(call->out, "%s (%s)%s\n", hc_counted(now, "page").s, hc_size_rounded(bytes).s, remark);
}

/* Says what went wrong with a pool and returns the exit code for it. */
static int fail_pool(int r, const struct hc_pool_result *result) {
	int code = cli_fail(VERB, r);
	/* Not memory of this process: where that is short, no count has been read. */
	return r == -ENOMEM && result->now != HC_UNKNOWN ? HC_EXIT_LESS : code;
}

/* ---- The plan -------------------------------------------------------------------- */

static bool lowers(const struct call *call, const struct reserve_request *request) {
	struct hc_pool_request pool = pool_request(request);
	struct hc_pool_opts opts = pool_opts(call);
	struct hc_pool_result result = {.size = sizeof(result)};
	opts.dry_run = 1;
	hc_pool_set(&pool, &opts, &result);
	if (result.before == HC_UNKNOWN || result.wanted == HC_UNKNOWN)
		return request->relative && request->pages < 0;
	return result.wanted < result.before;
}

/*
 * What gives memory back comes first, then the largest pages, as they need the largest
 * free pieces. Requests for one page size stay in the order in which they were given.
 */
static void order_requests(struct call *call) {
	bool lower[REQUESTS_MAX], gives_back[REQUESTS_MAX];
	for (unsigned i = 0; i < call->nr_requests; i++)
		lower[i] = lowers(call, &call->requests[i]);
	for (unsigned i = 0; i < call->nr_requests; i++) {
		gives_back[i] = true;
		for (unsigned k = 0; k < call->nr_requests; k++)
			if (call->requests[k].page_size == call->requests[i].page_size)
				gives_back[i] = gives_back[i] && lower[k];
	}
	for (unsigned i = 1; i < call->nr_requests; i++) {
		struct reserve_request request = call->requests[i];
		bool back = gives_back[i];
		unsigned k = i;
		for (; k > 0 &&
		        (back != gives_back[k - 1] ? back : request.page_size > call->requests[k - 1].page_size);
		        k--) {
			call->requests[k] = call->requests[k - 1];
			gives_back[k] = gives_back[k - 1];
		}
		call->requests[k] = request;
		gives_back[k] = back;
	}
}

/* Opening it for writing changes nothing, and is the one question that knows of capabilities and read-only mounts. */
static int check_permission(const struct hc_pool_result *result) {
	if (result->path[0] == '\0' || strlen(result->path) + 1 >= sizeof(result->path))
		return 0;
	int fd = open(result->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EACCES || errno == EPERM)
		return hc_fail(
		        errno, "%s can't be written: %s: setting the pool needs root", result->path, strerror(errno));
	return hc_fail_errno(errno, "%s can't be written", result->path);
}

/*
 * Looks at everything before anything is changed, with what the requests before it take
 * counted in. Returns the exit code of the first that can't be; a dry run goes through all.
 */
static int check_plan(struct call *call) {
	int code = HC_EXIT_OK;
	int64_t pending = 0;
	for (unsigned i = 0; i < call->nr_requests; i++) {
		const struct reserve_request *request = &call->requests[i];
		struct hc_pool_request pool = pool_request(request);
		struct hc_pool_opts opts = pool_opts(call);
		struct hc_pool_result result = {.size = sizeof(result)};
		opts.dry_run = 1;
		opts.pending = pending;
		int r = hc_pool_set(&pool, &opts, &result);
		bool follows = false;
		for (unsigned k = 0; k < i; k++)
			follows |= call->requests[k].page_size == request->page_size;
		/* The one before it changes what there is, by node in a way that only the kernel knows. */
		bool later = follows && (r == -EINVAL || r == -EBUSY);
		call->changes |= later || (r == 0 && result.wanted != result.before);
		if (r == 0) {
			int64_t bytes;
			if (__builtin_mul_overflow(
			            (int64_t)(result.wanted - result.before), (int64_t)request->page_size, &bytes) ||
			        __builtin_add_overflow(pending, bytes, &pending))
				pending = INT64_MAX;
		}
		if (call->dry_run) {
			uint64_t wanted = result.wanted;
			if (wanted == HC_UNKNOWN && !request->relative)
				wanted = (uint64_t)request->pages;
			print_pool(call, request, result.before, wanted,
			        later                            ? ", depends on the one before (dry run)"
			        : r < 0                          ? ", would be refused (dry run)"
			        : result.wanted == result.before ? ", already so (dry run)"
			                                         : " (dry run)");
			/* Who only wants to know may well lack the permission to do it; that is worth a word. */
			if (r == 0 && result.wanted != result.before && check_permission(&result) < 0)
				cli_warn(VERB, "%s", hc_error_detail());
		} else if (r == 0 && result.wanted != result.before) {
			r = check_permission(&result);
		}
		if (r < 0 && !later) {
			int failed = fail_pool(r, &result);
			code = code == HC_EXIT_OK ? failed : code;
			if (!call->dry_run)
				break;
		}
	}
	return code;
}

/* ---- The work ---------------------------------------------------------------------- */

static int set_pools(struct call *call) {
	int code = HC_EXIT_OK;
	for (unsigned i = 0; i < call->nr_requests; i++) {
		if (cli_interrupted(NULL))
			return HC_EXIT_INTERRUPTED;
		const struct reserve_request *request = &call->requests[i];
		struct hc_pool_request pool = pool_request(request);
		struct hc_pool_opts opts = pool_opts(call);
		struct hc_pool_result result = {.size = sizeof(result)};
		int r = reserve_pools_change(call->journal, &pool, &opts, &result);
		if (r == 0 || result.now != result.before)
			print_pool(call, request, result.before, result.now,
			        result.now == result.before ? ", already so" : "");
		if (r < 0) {
			code = fail_pool(r, &result);
			/* Fewer than asked for may still be of use, and so may the other pools. */
			if (code != HC_EXIT_LESS || call->all_or_nothing)
				return code;
		}
	}
	return code;
}

/* Without a writable /run a command can still have its pages; only a SIGKILL then leaves them behind. */
static int open_journal(struct call *call) {
	if (!call->command && !call->all_or_nothing)
		return HC_EXIT_OK;
	call->journal = reserve_journal_new();
	if (!call->journal) {
		cli_error(VERB, "out of memory");
		return HC_EXIT_FAILED;
	}
	int r = call->command && call->changes ? reserve_journal_keep(call->journal, call->root) : 0;
	switch (-r) {
	case 0:
		return HC_EXIT_OK;
	case EROFS:
	case ENOENT:
	case EACCES:
		cli_warn(
		        VERB, "%s; so nobody will put the pools back should this process be killed", hc_error_detail());
		return HC_EXIT_OK;
	default:
		return cli_fail(VERB, r);
	}
}

static int run_requests(struct call *call) {
	order_requests(call);
	int code = check_plan(call);
	if (call->dry_run || code != HC_EXIT_OK)
		return code;
	cli_catch_interrupts();
	code = open_journal(call);
	if (code != HC_EXIT_OK)
		return code;

	code = set_pools(call);
	if (!call->command) {
		if (code != HC_EXIT_OK && call->all_or_nothing)
			reserve_pools_undo(call->journal, call->root);
		return code;
	}
	reserve_signals_hold(&call->signals);
	if (cli_interrupted(NULL))
		code = HC_EXIT_INTERRUPTED;
	if (code == HC_EXIT_OK || (code == HC_EXIT_LESS && !call->all_or_nothing))
		code = reserve_run(call->command, &call->signals);
	reserve_pools_undo(call->journal, call->root);
	return code;
}

/* What couldn't be recovered is a failure only of a call that asked for it. */
static int run_call(struct call *call) {
	int recovered = reserve_pools_recover(call->root, call->dry_run, call->recover);
	int code = call->nr_requests == 0 ? HC_EXIT_OK : run_requests(call);
	return code == HC_EXIT_OK && call->recover ? recovered : code;
}

int hc_verb_reserve(int argc, char **argv) {
	struct call *call = calloc(1, sizeof(*call));
	if (!call) {
		cli_error(VERB, "out of memory");
		return HC_EXIT_FAILED;
	}
	int code = parse_options(argc, argv, call);
	if (code < 0) {
		reserve_signals_keep_pipe(&call->signals);
		call->out = call->command ? stderr : stdout;
		code = run_call(call);
	}
	reserve_journal_close(call->journal);
	free(call);
	return code;
}
