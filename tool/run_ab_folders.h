/* Where the results of run-ab are: a folder a side, a file a run. */
#ifndef HC_TOOL_RUN_AB_FOLDERS_H
#define HC_TOOL_RUN_AB_FOLDERS_H

#include <stdbool.h>
#include <stdint.h>

extern const char *const run_ab_side_names[];

struct run_ab_folders {
	const char *wanted; /* NULL: a folder that goes again */
	char *path;         /* owned */
	bool temporary;
};

/* Makes the folders; those of both sides have to be new. 0, or a negative errno with a detail. */
int run_ab_folders_make(struct run_ab_folders *folders);

/* The file of a run. Freed by the caller; NULL: no memory. */
char *run_ab_folders_file(const struct run_ab_folders *folders, int side, uint64_t number);

void run_ab_folders_remove_file(const struct run_ab_folders *folders, int side, uint64_t number);

/* Removes the folders with the files of runs up to last, if they are temporary; frees the path. */
void run_ab_folders_end(struct run_ab_folders *folders, uint64_t last);

#endif
