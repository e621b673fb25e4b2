/*
 * Files that are replaced whole or not at all: what stands at a path is the old text or the new one,
 * whatever fails, and whenever the process or the machine dies.
 */
#ifndef HC_BASE_WHOLE_FILE_H
#define HC_BASE_WHOLE_FILE_H

#include <stddef.h>

/*
 * Whether hc_whole_file_write() could write there, found out by making and removing a file in the same
 * folder: for programs that work long for what they write. Returns 0, or as that one.
 */
int hc_whole_file_check(const char *path);

/*
 * Writes under another name in the same folder, syncs, and renames over path, which may be there: a
 * symbolic link's target is what is replaced, and its mode, and where possible its owner, stay; where the
 * target isn't there it is made, as open(2) would. A new file's mode is 0666 less the umask.
 *
 * On an error path is as it was, and nothing is left beside it. -EISDIR for a folder, -EINVAL for
 * anything else that is no regular file; -ENOENT also for a name
 * that ends with a slash; -EACCES for a file that mustn't be written, and a link that the kernel doesn't
 * follow (protected_symlinks, proc(5)); the errors of open, write, fsync
 * and rename. The detail doesn't name path: the caller puts it in front.
 */
int hc_whole_file_write(const char *path, const void *bytes, size_t len);

/* write(2) until all is written. 0 or -errno, without a detail. */
int hc_write_all(int fd, const void *bytes, size_t len);

#endif
