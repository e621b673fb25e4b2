#include "sys/pool_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define LOCK_FOLDER "run"
#define LOCK_FILE "hugeclear.lock"
#define POOLS_FOLDER "sys/kernel/mm/hugepages"

#define POLL_NS (20L * 1000 * 1000)

/* A place to lock: a file that is made where it is missing, or a folder that is there. */
struct place {
	int parent_fd; /* -1 for a folder */
	int fd;
	char name[300]; /* for messages */
};

static void place_close(struct place *place) {
	if (place->fd >= 0)
		close(place->fd);
	if (place->parent_fd >= 0)
		close(place->parent_fd);
	place->fd = place->parent_fd = -1;
}

static int open_lock_file(struct place *place) {
	place->fd = openat(
	        place->parent_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	return place->fd < 0 ? -errno : 0;
}

static int open_folder(const struct hc_root *root, struct place *place) {
	hc_root_name(root, POOLS_FOLDER, place->name, sizeof(place->name));
	place->fd = openat(root->fd, POOLS_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->fd < 0)
		return hc_fail_errno(errno, "%s: no lock can be taken", place->name);
	return 0;
}

static int open_place(const struct hc_root *root, struct place *ret_place) {
	struct place place = {.fd = -1};
	hc_root_name(root, LOCK_FOLDER "/" LOCK_FILE, place.name, sizeof(place.name));
	place.parent_fd = openat(root->fd, LOCK_FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = place.parent_fd < 0 ? -errno : open_lock_file(&place);

	struct stat st;
	if (r == 0 && fstat(place.fd, &st) == 0 && !S_ISREG(st.st_mode))
		r = -EISDIR;
	switch (-r) {
	case 0:
		break;
	case ENOENT:
	case ENOTDIR:
	case EROFS:
	case EACCES:
	case EPERM:
	case ENOSPC:
	case EDQUOT:
		place_close(&place);
		r = open_folder(root, &place);
		break;
	case ELOOP:
	case EISDIR:
	case ENXIO:
		r = hc_fail(EBADMSG, "%s: not a regular file, which the lock of the pools has to be: remove it",
		        place.name);
		break;
	default:
		r = hc_fail_errno(-r, "%s", place.name);
	}
	if (r < 0)
		place_close(&place);
	else
		*ret_place = place;
	return r;
}

/* Whether the locked file is the one that others find under its name: a cleaner of /run may have removed it. */
static bool still_there(const struct place *place) {
	struct stat mine, found;
	if (place->parent_fd < 0)
		return true;
	return fstat(place->fd, &mine) == 0 && fstatat(place->parent_fd, LOCK_FILE, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	       mine.st_ino == found.st_ino && mine.st_dev == found.st_dev;
}

int hc_pool_lock(const struct hc_root *root, unsigned wait_ms, hc_stop_fn stop, void *user, int *ret_fd) {
	struct place place;
	int r = open_place(root, &place);
	if (r < 0)
		return r;

	uint64_t end = hc_clock_ns() + (uint64_t)wait_ms * (HC_NSEC_PER_SEC / 1000);
	for (;;) {
		if (flock(place.fd, LOCK_EX | LOCK_NB) == 0) {
			if (still_there(&place))
				break;
			close(place.fd);
			r = open_lock_file(&place);
			if (r < 0) {
				r = hc_fail_errno(-r, "%s", place.name);
				break;
			}
			if (hc_clock_ns() < end)
				continue;
		} else if (errno != EWOULDBLOCK && errno != EINTR) {
			r = hc_fail_errno(errno, "%s can't be locked", place.name);
			break;
		}
		if (stop && stop(user)) {
			r = hc_fail(ECANCELED, "stopped while another program sets pools");
			break;
		}
		if (hc_clock_ns() >= end) {
			r = hc_fail(EAGAIN,
			        "another program sets pools (it holds the lock on %s) and didn't end within %u s: "
			        "'fuser %s' says which",
			        place.name, wait_ms / 1000, place.name);
			break;
		}
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	if (r == 0) {
		*ret_fd = place.fd;
		place.fd = -1;
	}
	place_close(&place);
	return r;
}

void hc_pool_unlock(int fd) {
	if (fd >= 0)
		close(fd);
}
