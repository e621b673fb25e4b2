#include "sys/pool_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arith.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/opts.h"
#include "base/size.h"
#include "sys/idset.h"
#include "sys/meminfo.h"
#include "sys/page_sizes.h"
#include "sys/pool_counts.h"
#include "sys/pool_lock.h"
#include "sys/topology.h"

#define COMPACT_FILE "proc/sys/vm/compact_memory"

#define RETRIES_MAX 100
#define RETRY_NS (50L * 1000 * 1000)
#define LOCK_WAIT_MS 30000

/* The part of memory that stays available to others unless forced: 1/20 is 5 %. */
#define KEEP_PART 20

/* One call. */
struct setting {
	const struct hc_root *root;
	struct hc_pool_request request;
	struct hc_pool_opts opts;
	char file[HC_POOL_FILE_MAX]; /* relative to root */
	char what[96];               /* "of 2 MiB on node 1", behind a number of pages in messages */
	struct hc_pool_result result;
};

struct node_count {
	unsigned node;
	uint64_t persistent;
};

struct node_counts {
	struct node_count *counts;
	size_t nr;
	uint64_t page_size;
	const struct hc_root *root;
};

static int read_now(struct setting *s, struct hc_pool_counts *ret_counts) {
	int r = hc_pool_counts_read(s->root, s->request.page_size, s->request.node, ret_counts);
	s->result.now = r < 0 ? HC_UNKNOWN : ret_counts->persistent;
	return r;
}

/* ---- Nodes ---------------------------------------------------------------- */

static int add_node_count(void *user, const char *name) {
	struct node_counts *nodes = user;
	unsigned node;
	if (!hc_node_of_folder(name, &node))
		return 0;
	struct hc_node_pool pool;
	if (hc_node_pool_read(nodes->root, nodes->page_size, node, NULL, &pool) < 0 || pool.persistent == HC_UNKNOWN)
		return 0;
	if ((nodes->nr & (nodes->nr - 1)) == 0) {
		size_t room = nodes->nr ? nodes->nr * 2 : 1;
		struct node_count *counts = realloc(nodes->counts, room * sizeof(*counts));
		if (!counts)
			return hc_fail_memory("no memory for the counts of %s", hc_counted(room, "node").s);
		nodes->counts = counts;
	}
	nodes->counts[nodes->nr++] = (struct node_count){.node = node, .persistent = pool.persistent};
	return 0;
}

/* What can't be read stays empty: it is only told, nothing depends on it. */
static void read_nodes(const struct setting *s, struct node_counts *ret_nodes) {
	*ret_nodes = (struct node_counts){.page_size = s->request.page_size, .root = s->root};
	if (!s->opts.node_changed || s->opts.dry_run)
		return;
	if (s->request.node >= 0 || hc_root_list(s->root, HC_NODES_FOLDER, add_node_count, ret_nodes) < 0)
		ret_nodes->nr = 0;
}

static void tell_nodes(const struct setting *s, const struct node_counts *before) {
	if (!s->opts.node_changed || s->opts.dry_run || s->result.now == HC_UNKNOWN)
		return;
	if (s->request.node >= 0) {
		if (s->result.now != s->result.before)
			s->opts.node_changed(
			        s->opts.user, (unsigned)s->request.node, (int64_t)(s->result.now - s->result.before));
		return;
	}
	for (size_t i = 0; i < before->nr; i++) {
		struct hc_node_pool pool;
		if (hc_node_pool_read(s->root, before->page_size, before->counts[i].node, NULL, &pool) == 0 &&
		        pool.persistent != HC_UNKNOWN && pool.persistent != before->counts[i].persistent)
			s->opts.node_changed(s->opts.user, before->counts[i].node,
			        (int64_t)(pool.persistent - before->counts[i].persistent));
	}
}

/* ---- Checks ---------------------------------------------------------------- */

/* 0 as well where the kernel doesn't tell. */
static int check_node_has_memory(const struct setting *s) {
	char text[4096];
	struct hc_idset *with_memory = NULL;
	int r = 0;
	if (s->request.node < 0 || hc_root_read(s->root, HC_NODES_FOLDER "/has_memory", text, sizeof(text)) < 0 ||
	        hc_idset_parse(text, &with_memory) < 0)
		return 0;
	if (!hc_idset_has(with_memory, (unsigned)s->request.node))
		r = hc_fail(ENODEV, "node %d has no memory; nodes with memory: %s", s->request.node,
		        hc_idset_text(with_memory));
	hc_idset_free(with_memory);
	return r;
}

static int check_raise(const struct setting *s, const struct hc_pool_counts *counts) {
	int r = check_node_has_memory(s);
	if (r < 0)
		return r;
	struct hc_meminfo meminfo;
	hc_meminfo_read(s->root, NULL, &meminfo);
	uint64_t total = meminfo.total, available = meminfo.available;

	uint64_t wanted = s->result.wanted, bytes = 0;
	if (!hc_mul_ok(wanted, s->request.page_size, &bytes) || (total != HC_UNKNOWN && bytes > total))
		return hc_fail(ERANGE, "%s %s wanted, which is more than the machine's memory (%s)",
		        hc_counted(wanted, "page").s, s->what,
		        total == HC_UNKNOWN ? "unknown" : hc_size_rounded(total).s);
	if (s->opts.force)
		return 0;
	if (total == HC_UNKNOWN || available == HC_UNKNOWN) {
		char name[300];
		return hc_fail(ENODATA,
		        "%s doesn't say how much memory is there and available, of which 5 %% should stay: "
		        "--force raises the pool all the same",
		        hc_root_name(s->root, "proc/meminfo", name, sizeof(name)));
	}

	/* Raising makes surplus pages persistent first, which takes no memory. */
	uint64_t added = wanted - s->result.before;
	uint64_t taken = (added - hc_min(added, counts->surplus)) * s->request.page_size;
	if (s->opts.pending < 0)
		available += hc_min(total, 0 - (uint64_t)s->opts.pending);
	else
		taken = hc_min(UINT64_MAX - taken, (uint64_t)s->opts.pending) + taken;
	uint64_t keep = total / KEEP_PART;
	if (taken <= available && available - taken >= keep)
		return 0;

	uint64_t possible = hc_minus(available, keep + (s->opts.pending > 0 ? (uint64_t)s->opts.pending : 0));
	possible = s->result.before + hc_min(added, counts->surplus) + possible / s->request.page_size;
	return hc_fail(ENOSPC,
	        "%s %s wanted, %" PRIu64 " there: %s more would leave less than 5 %% of the memory to others "
	        "(%s available, %s should stay): %s in all %s possible, --force ignores this",
	        hc_counted(wanted, "page").s, s->what, s->result.before, hc_size_rounded(taken).s,
	        hc_size_rounded(available).s, hc_size_rounded(keep).s, hc_counted(possible, "page").s,
	        possible == 1 ? "is" : "are");
}

/* Cuts result.wanted to what can be had where the options say so. */
static int check_lower(struct setting *s, const struct hc_pool_counts *counts) {
	uint64_t removable = counts->removable, away = s->result.before - s->result.wanted;
	if (removable == HC_UNKNOWN)
		return hc_fail(ENODATA,
		        "pages %s: the kernel doesn't say how many are in use and reserved, so none are taken away",
		        s->what);
	if (away <= removable)
		return 0;
	const char *where =
	        s->request.node >= 0
	                ? " (the kernel doesn't say on which node reserved ones are: all are taken to be on this one)"
	                : "";
	return hc_fail(EBUSY,
	        "%s %s wanted, %" PRIu64 " there, of which %" PRIu64 " can go: the others are in use or reserved%s",
	        hc_counted(s->result.wanted, "page").s, s->what, s->result.before, removable, where);
}

/* Sets result.wanted. */
static int find_wanted(struct setting *s) {
	uint64_t before = s->result.before;
	int64_t pages = s->request.pages;
	uint64_t size = pages < 0 ? 0 - (uint64_t)pages : (uint64_t)pages;
	if (!s->request.relative) {
		if (pages < 0)
			return hc_fail(EINVAL, "%" PRId64 " pages %s wanted: a count is 0 or more", pages, s->what);
		s->result.wanted = size;
	} else if (pages >= 0) {
		if (!hc_add_ok(before, size, &s->result.wanted))
			return hc_fail(ERANGE, "%s %s more wanted, %" PRIu64 " there: 2^64 or more",
			        hc_counted(size, "page").s, s->what, before);
	} else if (size <= before) {
		s->result.wanted = before - size;
	} else if (s->opts.as_far_as_possible) {
		s->result.wanted = 0;
	} else {
		return hc_fail(EINVAL, "%s %s fewer wanted, %" PRIu64 " there: a count is 0 or more",
		        hc_counted(size, "page").s, s->what, before);
	}
	return 0;
}

/* ---- Writing -------------------------------------------------------------- */

static int write_count(const struct setting *s, uint64_t count) {
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64 "\n", count);
	int r = hc_root_write(s->root, s->file, text);
	/* The number is right, so what the kernel doesn't take is any number at all. */
	if (r == -EINVAL)
		return hc_fail(EOPNOTSUPP,
		        "%s: this kernel can't change the number of pages %s while it runs: start it with "
		        "hugepagesz=%s hugepages=%" PRIu64,
		        s->result.path, s->what, hc_size_arg(s->request.page_size).s, count);
	return r;
}

/* Writes and reads back until the count is there, a bounded number of times. 0 also where it isn't: see result.now. */
static int write_until_there(struct setting *s, struct hc_pool_counts *ret_now, const char **ret_compaction) {
	bool compacted = false;
	for (unsigned tries = 0;;) {
		int r = write_count(s, s->result.wanted);
		if (r < 0)
			return r;
		r = read_now(s, ret_now);
		if (r < 0)
			return r;
		uint64_t now = s->result.now;
		if (now == s->result.wanted)
			return 0;
		if (s->opts.stop && s->opts.stop(s->opts.user))
			return hc_fail(ECANCELED, "stopped: %s %s wanted, %" PRIu64 " there (%" PRIu64 " before)",
			        hc_counted(s->result.wanted, "page").s, s->what, now, s->result.before);
		if (s->opts.compact && !compacted && now < s->result.wanted) {
			compacted = true;
			r = hc_root_write(s->root, COMPACT_FILE, "1\n");
			*ret_compaction = r < 0 ? "memory couldn't be compacted" : "even after compacting memory";
			continue;
		}
		if (tries++ == s->opts.retries)
			return 0;
		nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
	}
}

/* Takes what was added away again, but for what is in use by now. 0 where the old count is back. */
static int put_back(struct setting *s) {
	struct hc_pool_counts now;
	int r = read_now(s, &now);
	if (r < 0)
		return r;
	uint64_t count = s->result.before;
	if (s->result.now > count)
		count = s->result.now - hc_min(s->result.now - count, now.removable == HC_UNKNOWN ? 0 : now.removable);
	r = write_count(s, count);
	if (r < 0)
		return r;
	r = read_now(s, &now);
	return r < 0 ? r : s->result.now == s->result.before ? 0 : -EBUSY;
}

/* Fewer came (or more stayed) than wanted: says so, or undoes it. */
static int fall_short(struct setting *s, const char *compaction) {
	uint64_t got = s->result.now;
	const char *why = got > s->result.wanted ? "the kernel keeps the others"
	                  : compaction           ? compaction
	                  : s->opts.compact      ? ""
	                                    : "free memory is in pieces or used up: --compact may help, or fewer pages";
	char kept[128] = "what came is kept";
	if (s->opts.all_or_nothing) {
		int r = put_back(s);
		if (r == 0)
			snprintf(kept, sizeof(kept), "the old count is put back");
		else
			snprintf(kept, sizeof(kept), "the old count couldn't be put back: %" PRIu64 " are there now",
			        s->result.now);
	}
	return hc_fail(ENOMEM, "%s %s wanted, %" PRIu64 " there (%" PRIu64 " before): %s; %s",
	        hc_counted(s->result.wanted, "page").s, s->what, got, s->result.before, why, kept);
}

/* pre: the lock is held unless nothing is written */
static int set_locked(struct setting *s) {
	struct hc_pool_counts counts;
	int r = read_now(s, &counts);
	if (r < 0)
		return r;
	s->result.before = s->result.now;
	r = find_wanted(s);
	if (r < 0 || s->result.wanted == s->result.before)
		return r;

	int busy = 0;
	struct hc_error busy_error;
	if (s->result.wanted > s->result.before) {
		r = check_raise(s, &counts);
	} else {
		r = check_lower(s, &counts);
		if (r == -EBUSY && s->opts.as_far_as_possible) {
			hc_error_save(r, &busy_error);
			busy = r;
			s->result.wanted = s->result.before - counts.removable;
			r = 0;
		}
	}
	if (r < 0 || s->opts.dry_run)
		return r;

	if (s->result.wanted != s->result.before) {
		struct node_counts nodes;
		const char *compaction = NULL;
		read_nodes(s, &nodes);
		r = write_until_there(s, &counts, &compaction);
		if (r == 0 && s->result.now != s->result.wanted)
			r = fall_short(s, compaction);
		struct hc_error error;
		hc_error_save(r, &error);
		tell_nodes(s, &nodes);
		free(nodes.counts);
		if (r < 0)
			return hc_error_restore(&error);
	}
	return busy < 0 ? hc_error_restore(&busy_error) : 0;
}

static int check_request(struct setting *s) {
	const struct hc_pool_request *request = &s->request;
	if (!hc_is_power_of_two(request->page_size))
		return hc_fail(
		        EINVAL, "%s is no page size: it has to be a power of 2", hc_size_exact(request->page_size).s);
	if (request->node < -1)
		return hc_fail(EINVAL, "node %d: a node is 0 or more, and -1 the whole machine", request->node);
	int r = hc_opts_flag(request->relative, "relative");
	if (r == 0)
		r = hc_opts_flag(s->opts.dry_run, "dry_run");
	if (r == 0)
		r = hc_opts_flag(s->opts.compact, "compact");
	if (r == 0)
		r = hc_opts_flag(s->opts.force, "force");
	if (r == 0)
		r = hc_opts_flag(s->opts.all_or_nothing, "all_or_nothing");
	if (r == 0)
		r = hc_opts_flag(s->opts.as_far_as_possible, "as_far_as_possible");
	if (r < 0)
		return r;
	if (s->opts.retries > RETRIES_MAX)
		return hc_fail(EINVAL, "%u retries wanted: at most %d are possible", s->opts.retries, RETRIES_MAX);

	/* A kernel without NUMA has one node, 0, and no folder for it. */
	if (request->node == 0 && !hc_root_exists(s->root, HC_NODES_FOLDER))
		s->request.node = -1;
	if (s->request.node < 0)
		snprintf(s->what, sizeof(s->what), "of %s", hc_size_exact(request->page_size).s);
	else
		snprintf(s->what, sizeof(s->what), "of %s on node %d", hc_size_exact(request->page_size).s,
		        request->node);
	hc_pool_file(request->page_size, s->request.node, s->file);
	hc_root_name(s->root, s->file, s->result.path, sizeof(s->result.path));
	return 0;
}

/* Opened by the caller's root, or by hc_pool_set() once the options are known: root NULL. */
static int set(const struct hc_root *root, const struct hc_pool_request *request, const struct hc_pool_opts *opts,
        struct setting *s) {
	struct hc_root own = {.fd = -1};
	int lock = -1;
	if (!request)
		return hc_fail(EINVAL, "no request");
	int r = hc_opts_check(request, sizeof(s->request), &s->request);
	if (r == 0)
		r = hc_opts_check(opts, sizeof(s->opts), &s->opts);
	if (r == 0 && !root) {
		r = hc_root_open(s->opts.root, &own);
		root = &own;
	}
	s->root = root;
	if (r == 0)
		r = check_request(s);
	/* What isn't there at all needs no lock to say so; the numbers may be in the middle of being written. */
	if (r == 0)
		r = hc_pool_check(root, s->request.page_size, s->request.node);
	/* A root without a folder is a test's own functions alone: nobody else comes there. */
	if (r == 0 && !s->opts.dry_run && root->fd >= 0)
		r = hc_pool_lock(root, LOCK_WAIT_MS, s->opts.stop, s->opts.user, &lock);
	if (r == 0)
		r = set_locked(s);
	hc_pool_unlock(lock);
	hc_root_close(&own);
	s->root = NULL;
	return r;
}

static int set_and_report(const struct hc_root *root, const struct hc_pool_request *request,
        const struct hc_pool_opts *opts, struct hc_pool_result *result) {
	struct setting s = {
	        .result = {.size = sizeof(s.result), .before = HC_UNKNOWN, .wanted = HC_UNKNOWN, .now = HC_UNKNOWN}};
	int r = hc_report_check(result);
	if (r < 0)
		return r;
	r = set(root, request, opts, &s);
	hc_report_write(&s.result, sizeof(s.result), result);
	return r;
}

int hc_pool_set_at(const struct hc_root *root, const struct hc_pool_request *request, const struct hc_pool_opts *opts,
        struct hc_pool_result *result) {
	return set_and_report(root, request, opts, result);
}

int hc_pool_set(const struct hc_pool_request *request, const struct hc_pool_opts *opts, struct hc_pool_result *result) {
	return set_and_report(NULL, request, opts, result);
}
