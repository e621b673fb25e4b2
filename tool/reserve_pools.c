#include "reserve_pools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hugeclear/hugeclear.h>

#include "base/counted.h"
#include "base/error.h"
#include "base/size.h"
#include "cli.h"
#include "reserve_args.h"

#define VERB "reserve"

/* Tries of putting back: each after 50 ms. */
#define UNDO_RETRIES 10

/* ---- Changing ----------------------------------------------------------------- */

struct changes {
	uint64_t page_size;
	struct reserve_change *changes;
	unsigned nr, room;
	int64_t sum;
	bool lost; /* no memory for one */
};

static void add_node(void *user, unsigned node, int64_t pages) {
	struct changes *changes = user;
	if (changes->nr == changes->room) {
		unsigned room = changes->room ? changes->room * 2 : 4;
		struct reserve_change *more = realloc(changes->changes, room * sizeof(*more));
		if (!more) {
			changes->lost = true;
			return;
		}
		changes->changes = more;
		changes->room = room;
	}
	changes->changes[changes->nr++] = (struct reserve_change){
	        .page_size = changes->page_size, .node = (int)node, .pages = pages};
	changes->sum += pages;
}

/*
 * What has come of a request. A change is recorded by node, where that is all of it: others may have
 * changed the nodes' counts meanwhile, or nobody shows them. Undoing is recorded as what it
 * undoes, wherever the kernel took the pages.
 */
static int record_done(struct reserve_journal *journal, const struct hc_pool_request *request,
        const struct hc_pool_result *result, const struct changes *changes, const struct reserve_change *undone) {
	/* Not known: the intent stays open, and undoing looks at the count. */
	if (result->now == HC_UNKNOWN || result->before == HC_UNKNOWN)
		return 0;
	int64_t pages = (int64_t)(result->now - result->before);
	if (!undone && !changes->lost && changes->sum == pages)
		return reserve_journal_done(journal, request->page_size, changes->changes, changes->nr);
	struct reserve_change whole = {
	        .page_size = request->page_size, .node = undone ? undone->node : request->node, .pages = pages};
	return reserve_journal_done(journal, request->page_size, &whole, 1);
}

/* undone: the change that this undoes, or NULL */
static int change_recorded(struct reserve_journal *journal, const struct hc_pool_request *request,
        const struct hc_pool_opts *opts, const struct reserve_change *undone, struct hc_pool_result *result) {
	struct hc_pool_opts look = *opts;
	look.dry_run = 1;
	int r = hc_pool_set(request, &look, result);
	bool partly = r == -EBUSY && opts->as_far_as_possible;
	if ((r < 0 && !partly) || result->wanted == result->before)
		return r;
	r = reserve_journal_intend(journal, request->page_size, request->node, result->before, result->wanted);
	if (r < 0)
		return r;

	struct changes changes = {.page_size = request->page_size};
	struct hc_pool_opts set = *opts;
	set.node_changed = add_node;
	/* One user for both: stop has none. */
	set.user = &changes;
	r = hc_pool_set(request, &set, result);
	struct hc_error error;
	hc_error_save(r, &error);
	int recorded = record_done(journal, request, result, &changes, undone);
	free(changes.changes);
	return r < 0 ? hc_error_restore(&error) : recorded;
}

int reserve_pools_change(struct reserve_journal *journal, const struct hc_pool_request *request,
        const struct hc_pool_opts *opts, struct hc_pool_result *result) {
	return journal ? change_recorded(journal, request, opts, NULL, result) : hc_pool_set(request, opts, result);
}

/* ---- Undoing -------------------------------------------------------------------- */

static struct hc_pool_request difference(uint64_t page_size, int node, int64_t pages) {
	return (struct hc_pool_request){.size = sizeof(struct hc_pool_request),
	        .page_size = page_size,
	        .node = node,
	        .relative = 1,
	        .pages = pages};
}

static int count_now(const char *root, uint64_t page_size, int node, uint64_t *ret_now) {
	struct hc_pool_request request = difference(page_size, node, 0);
	struct hc_pool_opts opts = {.size = sizeof(opts), .root = root, .dry_run = 1};
	struct hc_pool_result result = {.size = sizeof(result)};
	int r = hc_pool_set(&request, &opts, &result);
	if (r == 0)
		*ret_now = result.before;
	return r;
}

/*
 * A change that was begun and of which nobody knows how far it came. The count tells, as far
 * as nobody else changed it; beyond what was intended nothing is put back, nor beyond
 * the count before it.
 */
static int settle_intent(struct reserve_journal *journal, const char *root) {
	struct reserve_intent intent = reserve_journal_record(journal)->intent;
	if (intent.page_size == 0)
		return 0;
	uint64_t now = 0;
	int r = count_now(root, intent.page_size, intent.node, &now);
	if (r < 0)
		return r;
	uint64_t low = intent.from < intent.to ? intent.from : intent.to;
	uint64_t high = intent.from < intent.to ? intent.to : intent.from;
	now = now < low ? low : now > high ? high : now;
	struct reserve_change change = {
	        .page_size = intent.page_size, .node = intent.node, .pages = (int64_t)(now - intent.from)};
	return reserve_journal_done(journal, intent.page_size, &change, 1);
}

/* What is left of one change, as others may have been taken together with it. */
static int64_t left_of(const struct reserve_journal *journal, uint64_t page_size, int node) {
	const struct reserve_record *record = reserve_journal_record(journal);
	for (unsigned i = 0; i < record->nr_changes; i++)
		if (record->changes[i].page_size == page_size && record->changes[i].node == node)
			return record->changes[i].pages;
	return 0;
}

/* More was added than is there by now: somebody else took it away, and there is nothing to put back. */
static int forget_beyond(struct reserve_journal *journal, uint64_t page_size, int node, uint64_t now) {
	int64_t left = left_of(journal, page_size, node);
	if (left <= 0 || (uint64_t)left <= now)
		return 0;
	struct reserve_change change = {.page_size = page_size, .node = node, .pages = (int64_t)now - left};
	int r = reserve_journal_intend(journal, page_size, node, now, now);
	return r < 0 ? r : reserve_journal_done(journal, page_size, &change, 1);
}

/* Undoes what is left of a change, at its node or, by_machine, wherever the kernel likes. */
static int undo_change(struct reserve_journal *journal, const char *root, const struct reserve_change *change,
        int64_t left, bool by_machine) {
	uint64_t page_size = change->page_size;
	int node = by_machine ? -1 : change->node;
	struct hc_pool_request request = difference(page_size, node, -left);
	struct hc_pool_opts opts = {
	        .size = sizeof(opts), .root = root, .as_far_as_possible = 1, .retries = UNDO_RETRIES};
	struct hc_pool_result result = {.size = sizeof(result)};
	int r = change_recorded(journal, &request, &opts, change, &result);
	if (result.now == HC_UNKNOWN)
		return r;
	if (result.now != result.before)
		fprintf(stderr, "%s: %" PRIu64 " -> %s (%s), put back\n", reserve_pool_text(page_size, node).s,
		        result.before, hc_counted(result.now, "page").s, hc_size_rounded(result.now * page_size).s);
	struct hc_error error;
	hc_error_save(r, &error);
	int forgotten = by_machine ? 0 : forget_beyond(journal, page_size, node, result.now);
	return r < 0 ? hc_error_restore(&error) : forgotten;
}

/* One change on its way back. */
struct undoing {
	struct reserve_change change;
	bool failed; /* and that was said */
};

/* Whether they are to be added or taken away. */
static struct hc_counted_text pages_left(int64_t left) {
	return hc_counted(left < 0 ? 0 - (uint64_t)left : (uint64_t)left, "page");
}

/* Undoes one, by its node or by the whole machine. */
static void undo_one(struct reserve_journal *journal, const char *root, struct undoing *undoing, bool by_machine) {
	const struct reserve_change *change = &undoing->change;
	int64_t left = left_of(journal, change->page_size, change->node);
	if (left == 0 || undoing->failed || (by_machine && (left < 0 || change->node < 0)))
		return;
	int r = undo_change(journal, root, change, left, by_machine);
	if (r == 0 || r == -EBUSY)
		return;
	undoing->failed = true;
	left = left_of(journal, change->page_size, change->node);
	cli_warn(VERB, "%s: %s can't be put back: %s", reserve_pool_text(change->page_size, change->node).s,
	        pages_left(left).s, hc_error_detail());
}

static void say_left(const struct reserve_journal *journal, const struct undoing *undoing) {
	const struct reserve_change *change = &undoing->change;
	int64_t left = left_of(journal, change->page_size, change->node);
	if (left == 0 || undoing->failed)
		return;
	cli_warn(VERB, "%s: %s can't be put back yet, being in use or reserved%s",
	        reserve_pool_text(change->page_size, change->node).s, pages_left(left).s,
	        reserve_journal_is_kept(journal) ? ": 'hugeclear reserve --recover' does it later" : "");
}

bool reserve_pools_undo(struct reserve_journal *journal, const char *root) {
	const struct reserve_record *record = reserve_journal_record(journal);
	reserve_journal_put_back(journal);
	if (settle_intent(journal, root) < 0) {
		cli_warn(VERB, "%s: what was changed can't be told: %s",
		        reserve_pool_text(record->intent.page_size, record->intent.node).s, hc_error_detail());
		return false;
	}

	/* A copy: the journal's own list changes on the way. */
	unsigned nr = record->nr_changes;
	struct undoing *undoings = calloc(nr ? nr : 1, sizeof(*undoings));
	if (!undoings) {
		cli_error(VERB, "out of memory");
		return false;
	}
	for (unsigned i = 0; i < nr; i++)
		undoings[i].change = record->changes[i];
	/* Last changed, first undone. */
	for (unsigned i = nr; i-- > 0;)
		undo_one(journal, root, &undoings[i], false);
	for (unsigned i = nr; i-- > 0;)
		undo_one(journal, root, &undoings[i], true);
	for (unsigned i = 0; i < nr; i++)
		say_left(journal, &undoings[i]);
	free(undoings);
	return record->intent.page_size == 0 && record->nr_changes == 0;
}

/* ---- Recovering ----------------------------------------------------------------- */

struct recovery {
	const char *root;
	bool look_only, wanted;
	unsigned found;
	bool failed;
};

static void say_owner(const struct recovery *recovery, const struct reserve_left *left) {
	const struct reserve_record *record = reserve_journal_record(left->journal);
	char when[32] = "?";
	time_t since = (time_t)record->since;
	struct tm tm;
	if (localtime_r(&since, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(stderr, "%s: process %d (of %s) ended before its pools were put back%s\n", left->path, record->owner,
	        when,
	        left->other_boot      ? ", but that was before the last boot: nothing to do"
	        : recovery->look_only ? ""
	                              : ": that is done now");
}

static void recover_one(void *user, const struct reserve_left *left) {
	struct recovery *recovery = user;
	if (left->error < 0) {
		cli_warn(VERB, "%s: %s; it is left alone: remove it once the pools are as they should be", left->path,
		        hc_error_detail());
		recovery->failed = true;
		return;
	}
	if (left->torn)
		return;
	const struct reserve_record *record = reserve_journal_record(left->journal);
	if (record->nr_changes == 0 && record->intent.page_size == 0)
		return;
	recovery->found++;
	say_owner(recovery, left);
	if (left->other_boot)
		return;
	if (!recovery->look_only) {
		recovery->failed |= !reserve_pools_undo(left->journal, recovery->root);
		return;
	}
	for (unsigned i = 0; i < record->nr_changes; i++) {
		const struct reserve_change *change = &record->changes[i];
		fprintf(stderr, "%s: %s%s to put back\n", reserve_pool_text(change->page_size, change->node).s,
		        change->pages < 0 ? "+" : "-", pages_left(change->pages).s);
	}
	if (record->intent.page_size != 0)
		fprintf(stderr, "%s: %" PRIu64 " -> %s was begun\n",
		        reserve_pool_text(record->intent.page_size, record->intent.node).s, record->intent.from,
		        hc_counted(record->intent.to, "page").s);
}

int reserve_pools_recover(const char *root, bool look_only, bool wanted) {
	struct recovery recovery = {.root = root, .look_only = look_only, .wanted = wanted};
	int r = reserve_journals_left(root, look_only, recover_one, &recovery);
	if (r < 0) {
		/* An ordinary user can't look into root's folder, and has nothing to put back there. */
		if (!wanted && (r == -EACCES || r == -EPERM))
			return HC_EXIT_OK;
		return cli_fail(VERB, r);
	}
	if (wanted && recovery.found == 0 && !recovery.failed)
		printf("nothing was left to put back\n");
	return recovery.failed ? HC_EXIT_FAILED : HC_EXIT_OK;
}
