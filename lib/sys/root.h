/*
 * The replaceable root: every read of /proc and /sys, and every write, goes
 * through one of these, so that captured trees of other machines are test input.
 *
 * Paths are relative to the root and have no leading slash: "proc/meminfo".
 * Symbolic links in a replaced root can't lead out of it.
 */
#ifndef HC_SYS_ROOT_H
#define HC_SYS_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hc_root {
	int fd;           /* the folder; close-on-exec */
	bool live;        /* this machine itself: probes and processor features belong to it */
	const char *path; /* "" for this machine, else as given and not copied: for messages, put before "/proc/..." */
	/*
	 * Test doubles for files whose content depends on what was written (the pool
	 * files). Same contracts as hc_root_read/_write; NULL, or -ENOSYS from one of
	 * them: the file system.
	 */
	int (*read)(void *user, const char *path, char *buf, size_t buf_size);
	int (*write)(void *user, const char *path, const char *text);
	void *user;
};

/*
 * path NULL or "" is this machine; any other has to outlive the root. -ENOENT,
 * -ENOTDIR, -EACCES with a detail. Undone by hc_root_close().
 */
int hc_root_open(const char *path, struct hc_root *ret_root);

/* pre: opened, or zeroed with fd -1 */
void hc_root_close(struct hc_root *root);

/*
 * Reads a small file as text: at most buf_size - 1 bytes, NUL behind them.
 * Returns the number of bytes; a negative errno with a detail naming the whole
 * path (-ENOENT is usual and not a fault); -EFBIG where it is longer; -EBADMSG
 * where it holds a NUL byte or isn't a regular file.
 */
int hc_root_read(const struct hc_root *root, const char *path, char *buf, size_t buf_size);

/* As hc_root_read() for a file of any length up to 16 MiB; *ret_text is freed by the caller. */
int hc_root_read_all(const struct hc_root *root, const char *path, char **ret_text, size_t *ret_len);

/*
 * A file with one unsigned decimal number and nothing else but white space
 * behind it. -EBADMSG with the text where it isn't one (an empty file too),
 * -ERANGE above 64 bits.
 */
int hc_root_read_u64(const struct hc_root *root, const char *path, uint64_t *ret_value);

/* Writes text in one write(2) to a file that exists. Errors with the path and what to do. */
int hc_root_write(const struct hc_root *root, const char *path, const char *text);

/*
 * Calls each(user, name) for the entries of a folder without "." and "..", in
 * no order, until one returns non-zero (which is passed on). -ENOENT etc. with a detail.
 */
int hc_root_list(const struct hc_root *root, const char *path, int (*each)(void *user, const char *name), void *user);

bool hc_root_exists(const struct hc_root *root, const char *path);

/* The whole path for messages: "/proc/meminfo", "/tmp/tree/proc/meminfo". Cut where it doesn't fit. */
const char *hc_root_name(const struct hc_root *root, const char *path, char *buf, size_t buf_size);

#endif
