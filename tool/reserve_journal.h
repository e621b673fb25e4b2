/*
 * What a running `reserve -- CMD` has changed, so that somebody can put it back should
 * it be killed.
 *
 * One file below run/hugeclear for each, to which lines are only ever added, a whole
 * line with its newline in one write:
 *
 *     hugeclear-reserve 1
 *     boot 7f3c...                    of /proc/sys/kernel/random/boot_id
 *     owner 1234 1764540000           process, and the second in which it began
 *     intent 2097152 -1 0 512         page size, node (-1: the machine), count from, to
 *     done 2097152 0:256 1:256        what has come of it, by node
 *
 * The sum of the done lines is what is still to be put back; an intent without its done
 * may have been carried out, or in part. Putting back adds lines of the same kind.
 *
 * A file belongs to the process that holds a flock(2) on it, which ends with the process
 * however that ends (a process number alone would be another's after a while, or mean nothing
 * in another namespace). Files are made and picked up under a flock on the folder, so that
 * none is seen before it is locked.
 */
#ifndef HC_TOOL_RESERVE_JOURNAL_H
#define HC_TOOL_RESERVE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESERVE_FOLDER "run/hugeclear"

struct reserve_change {
	uint64_t page_size;
	int node;      /* -1: the machine */
	int64_t pages; /* by which the count was changed; never 0 */
};

struct reserve_intent {
	uint64_t page_size; /* 0: none */
	int node;
	uint64_t from, to;
};

/* What a journal says. */
struct reserve_record {
	char boot_id[64];
	int owner;
	int64_t since; /* seconds since 1970 */
	struct reserve_change *changes;
	unsigned nr_changes; /* one for each page size and node */
	struct reserve_intent intent;
};

/*
 * Reads a journal's text, at most 1 MiB. A last line without its newline was never finished
 * and doesn't count. Returns 0; -ENODATA where not even the head is there (nothing had been
 * done yet); -ENOTSUP for another version; -EBADMSG with the line for anything else; -ENOMEM.
 */
int reserve_record_parse(const char *text, size_t len, struct reserve_record *ret_record);
void reserve_record_free(struct reserve_record *record); /* parsed, or all zero */

/*
 * Adds a difference. What is taken from the whole machine undoes what was added to it, and then
 * what was added to nodes. -ENOMEM, -EBADMSG.
 */
int reserve_record_add(struct reserve_record *record, const struct reserve_change *change);

struct reserve_journal;

/* A journal in memory alone. NULL: no memory. */
struct reserve_journal *reserve_journal_new(void);

/*
 * Makes its file below root (NULL or "": this machine). Where that can't be it stays in memory, with a detail:
 * -EROFS, -ENOENT and -EACCES where there is no writable run/; -EPERM for a folder that isn't
 * this user's alone; other errors of writing.
 */
int reserve_journal_keep(struct reserve_journal *journal, const char *root);

/* Frees it and unlocks the file, which is removed where nothing is left to put back. Takes and returns NULL. */
struct reserve_journal *reserve_journal_close(struct reserve_journal *journal);

/* Whether it has a file, which outlives this process. */
bool reserve_journal_is_kept(const struct reserve_journal *journal);

const struct reserve_record *reserve_journal_record(const struct reserve_journal *journal);

/* Before a count is written, and after. On an error of intend() nothing may be changed. */
int reserve_journal_intend(struct reserve_journal *journal, uint64_t page_size, int node, uint64_t from, uint64_t to);
int reserve_journal_done(
        struct reserve_journal *journal, uint64_t page_size, const struct reserve_change *changes, unsigned nr_changes);

/* From here on what can't be written is kept in memory alone: putting back doesn't wait for a disk with room. */
void reserve_journal_put_back(struct reserve_journal *journal);

/* One journal that has no owner any more. */
struct reserve_left {
	const char *path;                /* for messages */
	struct reserve_journal *journal; /* NULL where it can't be read: error, a negative errno, with a detail */
	int error;
	bool other_boot; /* the machine was started anew since: nothing to put back */
	bool torn;       /* its owner died before it had changed anything */
};

/*
 * Calls each() for every journal without an owner. Those of another boot and torn ones are
 * removed behind it unless look_only, the others where nothing is left to put back.
 * Returns the number of journals seen; -EACCES where the folder can't be read; -EPERM as
 * reserve_journal_keep(); -EAGAIN where another program holds the folder's lock; 0 also where there is none.
 */
int reserve_journals_left(
        const char *root, bool look_only, void (*each)(void *user, const struct reserve_left *left), void *user);

#endif
