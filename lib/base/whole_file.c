#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define TRIES_MAX 100
/* As the kernel, path_resolution(7). */
#define LINKS_MAX 40

int hc_write_all(int fd, const void *bytes, size_t len) {
	const char *next = bytes;
	while (len > 0) {
		ssize_t n = write(fd, next, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		next += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The callers put the path in front. */
static int fail_with(int err) {
	return hc_fail(err, "%s", strerror(err));
}

/* ---- What is replaced --------------------------------------------------------- */

struct place {
	char target[PATH_MAX]; /* links followed, also one to what isn't there yet */
	int folder_len;        /* bytes of target up to the last slash, with it; 0: the working folder */
	bool exists;
	struct stat st; /* where it exists */
};

static int take_new_name(const char *path, char target[PATH_MAX]) {
	size_t len = strlen(path);
	if (len == 0)
		return hc_fail(ENOENT, "a file's name is needed");
	if (path[len - 1] == '/')
		return hc_fail(ENOENT, "there is no such folder, and a file's name is needed");
	if (len >= PATH_MAX)
		return fail_with(ENAMETOOLONG);
	memcpy(target, path, len + 1);
	return 0;
}

/* Puts what the link at target names in its place. 0 where it is no link, 1, or a negative errno with a detail. */
static int follow_link(char target[PATH_MAX]) {
	char name[PATH_MAX], whole[PATH_MAX];
	ssize_t len = readlink(target, name, sizeof(name) - 1);
	if (len < 0)
		return errno == ENOENT || errno == EINVAL ? 0 : fail_with(errno);
	name[len] = '\0';
	const char *slash = strrchr(target, '/');
	int folder_len = slash && name[0] != '/' ? (int)(slash - target) + 1 : 0;
	int n = snprintf(whole, sizeof(whole), "%.*s%s", folder_len, target, name);
	if (n < 0 || n >= PATH_MAX)
		return fail_with(ENAMETOOLONG);
	int r = take_new_name(whole, target);
	return r < 0 ? r : 1;
}

/* As open(2) with O_CREAT: a link to what isn't there says where it shall be. */
static int find_new(const char *path, struct place *place) {
	int r = take_new_name(path, place->target);
	if (r < 0)
		return r;
	for (unsigned links = 0; (r = follow_link(place->target)) > 0; links++)
		if (links == LINKS_MAX)
			return fail_with(ELOOP);
	return r;
}

static int check_old(const struct place *place) {
	if (S_ISDIR(place->st.st_mode))
		return hc_fail(EISDIR, "it is a folder, a file's name is needed");
	if (!S_ISREG(place->st.st_mode))
		return hc_fail(EINVAL, "it isn't a regular file");
	return faccessat(AT_FDCWD, place->target, W_OK, AT_EACCESS) < 0 ? fail_with(errno) : 0;
}

static int find_place(const char *path, struct place *place) {
	*place = (struct place){.exists = true};
	int r;
	/* The kernel goes first: it doesn't follow others' links in folders that all may write (protected_symlinks, proc(5)). */
	if (stat(path, &place->st) == 0) {
		r = realpath(path, place->target) ? check_old(place) : fail_with(errno);
	} else if (errno == ENOENT) {
		place->exists = false;
		r = find_new(path, place);
	} else {
		r = fail_with(errno);
	}
	if (r < 0)
		return r;
	const char *slash = strrchr(place->target, '/');
	place->folder_len = slash ? (int)(slash - place->target) + 1 : 0;
	return r;
}

/* ---- A file beside it ----------------------------------------------------------- */

/* The umask applies, as mkstemp() wouldn't let it. Returns a descriptor. */
static int open_beside(const struct place *place, char name[PATH_MAX]) {
	int err = EEXIST;
	for (unsigned i = 0; err == EEXIST && i < TRIES_MAX; i++) {
		int n = snprintf(
		        name, PATH_MAX, "%.*s.hugeclear-%d-%u.tmp", place->folder_len, place->target, (int)getpid(), i);
		if (n < 0 || n >= PATH_MAX)
			return fail_with(ENAMETOOLONG);
		int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd >= 0)
			return fd;
		err = errno;
	}
	return hc_fail_errno(err, "no new file can be made in its folder");
}

/* Only root may give files away: else the new one belongs to who writes it. */
static int keep_owner_and_mode(const struct place *place, int fd) {
	struct stat st;
	if (!place->exists)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != place->st.st_uid || st.st_gid != place->st.st_gid) &&
	        fchown(fd, place->st.st_uid, place->st.st_gid) < 0 && errno != EPERM)
		return -errno;
	return fchmod(fd, place->st.st_mode & 0777) < 0 ? -errno : 0;
}

/* A rename is on the disk when its folder is; where that can't be synced, the file is whole all the same. */
static void sync_folder(const struct place *place) {
	char folder[PATH_MAX] = ".";
	if (place->folder_len > 0)
		snprintf(folder, sizeof(folder), "%.*s", place->folder_len, place->target);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

int hc_whole_file_check(const char *path) {
	struct place place;
	char name[PATH_MAX];
	int r = find_place(path, &place);
	if (r < 0)
		return r;
	int fd = open_beside(&place, name);
	if (fd < 0)
		return fd;
	close(fd);
	unlink(name);
	return 0;
}

int hc_whole_file_write(const char *path, const void *bytes, size_t len) {
	struct place place;
	char name[PATH_MAX];
	int r = find_place(path, &place);
	if (r < 0)
		return r;
	int fd = open_beside(&place, name);
	if (fd < 0)
		return fd;
	r = hc_write_all(fd, bytes, len);
	if (r == 0)
		r = keep_owner_and_mode(&place, fd);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(name, place.target) < 0)
		r = -errno;
	if (r < 0) {
		unlink(name);
		return fail_with(-r);
	}
	sync_folder(&place);
	return 0;
}
