/*
 * The lock of the machine's pools: one setter at a time, so that nobody's "read,
 * add, write" runs in the middle of another's.
 *
 * flock(2) on run/hugeclear.lock below root: it ends with its holder however that
 * ends, so a file that was left behind means nothing, and nobody but root can hold
 * up root. Where the file can't be made (a container's read-only /run, a captured
 * tree without one, no permission), the folder of the pools in /sys itself is
 * locked, which needs no writable place. Two setters that see the same /run take the same one
 * of the two.
 */
#ifndef HC_SYS_POOL_LOCK_H
#define HC_SYS_POOL_LOCK_H

#include <hugeclear/hugeclear.h>

#include "sys/root.h"

/*
 * Takes the lock and returns 0, waiting wait_ms at most. -EAGAIN with the path where
 * another held it all that time; -ECANCELED where stop (may be NULL) said so;
 * -EBADMSG where something else than a file stands in its place; else errors of opening.
 * Undone by hc_pool_unlock(). The descriptor is close-on-exec.
 */
int hc_pool_lock(const struct hc_root *root, unsigned wait_ms, hc_stop_fn stop, void *user, int *ret_fd);

/* fd < 0 holds nothing */
void hc_pool_unlock(int fd);

#endif
