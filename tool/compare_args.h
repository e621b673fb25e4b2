/* The sides of a comparison as they stand on a command line: files, lists of them, folders. */
#ifndef HC_TOOL_COMPARE_ARGS_H
#define HC_TOOL_COMPARE_ARGS_H

#include "results/compare.h"

/* Files of one side; a boot or a process each. */
#define COMPARE_FILES_MAX 10000

/*
 * Reads "FILE[,FILE...]", each of which may be a folder, of which all *.json are read, in the order of their
 * names. A file whose own name has a comma is taken as it is. Returns 0 and a side for compare_side_free(), or
 * a negative errno with a detail: of results_read(); -EEXIST for a file that is given twice; -ENOENT for a folder
 * without results; -E2BIG.
 */
int compare_side_read(const char *argument, struct compare_side *ret_side);

/* Leaves the side empty. */
void compare_side_free(struct compare_side *side);

#endif
