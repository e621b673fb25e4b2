/* Changing pools so that it can be undone: now, or by somebody later. */
#ifndef HC_TOOL_RESERVE_POOLS_H
#define HC_TOOL_RESERVE_POOLS_H

#include <stdbool.h>

#include <hugeclear/sys.h>

#include "reserve_journal.h"

/*
 * hc_pool_set(), recorded in journal (unless NULL): what is going to be done before it is, and
 * what has come of it afterwards, by node. opts->node_changed isn't used. Where the
 * journal can't be written nothing is changed.
 */
int reserve_pools_change(struct reserve_journal *journal, const struct hc_pool_request *request,
        const struct hc_pool_opts *opts, struct hc_pool_result *result);

/*
 * Puts back by difference what the journal has, as far as pages are neither in use nor
 * reserved: at first by node, then what a node can't give from the whole machine. Says
 * on standard error what was put back, and what wasn't and why. True where nothing is left.
 */
bool reserve_pools_undo(struct reserve_journal *journal, const char *root);

/*
 * Puts back what others left behind that were killed; look_only only says what there
 * is. wanted: it was asked for, so that having nothing to do, or no permission, is said too.
 * Returns an exit code: HC_EXIT_FAILED where something couldn't be read or put back.
 */
int reserve_pools_recover(const char *root, bool look_only, bool wanted);

#endif
