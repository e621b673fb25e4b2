#include "sys/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/quote.h"

/* No file that is read whole comes near this (the mounts of a host with thousands of containers). */
#define FILE_MAX ((size_t)16 << 20)

struct name_text {
	char s[512];
};

/* By value, so that it can stand in the arguments of hc_fail(). */
static struct name_text name_of(const struct hc_root *root, const char *path) {
	struct name_text name;
	hc_root_name(root, path, name.s, sizeof(name.s));
	return name;
}

const char *hc_root_name(const struct hc_root *root, const char *path, char *buf, size_t buf_size) {
	const char *prefix = root->path ? root->path : "";
	size_t len = strlen(prefix);
	while (len > 0 && prefix[len - 1] == '/')
		len--;
	if (len > INT_MAX)
		len = INT_MAX;
	snprintf(buf, buf_size, "%.*s/%s", (int)len, prefix, path);
	return buf;
}

int hc_root_open(const char *path, struct hc_root *ret_root) {
	bool live = !path || *path == '\0';
	int fd = open(live ? "/" : path, (live ? O_PATH : O_RDONLY) | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int err = errno;
		return hc_fail_errno(
		        err, "%s: a folder with proc/ and sys/ in it is wanted as root", live ? "/" : path);
	}
	*ret_root = (struct hc_root){.fd = fd, .live = live, .path = live ? "" : path};
	return 0;
}

void hc_root_close(struct hc_root *root) {
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

/*
 * Where openat2(2) is missing or forbidden, a path is walked folder by folder
 * without following any link: less can be read than with it, but nothing outside.
 */
static int open_without_links(int root_fd, const char *path, int flags) {
	int fd = -1;
	for (const char *part = path; *part;) {
		char name[NAME_MAX + 1];
		size_t len = strcspn(part, "/");
		const char *rest = part + len + strspn(part + len, "/");
		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
			goto out;
		}
		memcpy(name, part, len);
		name[len] = '\0';
		if (strcmp(name, "..") == 0) {
			errno = EXDEV;
			goto out;
		}
		int next = openat(fd >= 0 ? fd : root_fd, len > 0 ? name : ".",
		        *rest ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : flags | O_NOFOLLOW);
		if (next < 0)
			goto out;
		if (fd >= 0)
			close(fd);
		fd = next;
		part = rest;
	}
	if (fd < 0)
		errno = ENOENT;
	return fd;

out:;
	int saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

/* Returns a descriptor or -1 with errno. */
static int open_below(const struct hc_root *root, const char *path, int flags) {
	/* A FIFO or a terminal in a strange tree must neither block nor become ours. openat2(2) refuses these beside O_PATH. */
	flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY);
	if (root->live)
		return openat(root->fd, path, flags);

	struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_IN_ROOT};
	long fd;
	do /* EAGAIN: something was renamed while ".." was resolved; see openat2(2) */
		fd = syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_without_links(root->fd, path, flags);
	return (int)fd;
}

/* Opens a regular file. Returns the descriptor or a negative errno with a detail. */
static int open_file(const struct hc_root *root, const char *path) {
	int fd = open_below(root, path, O_RDONLY);
	if (fd < 0) {
		int err = errno;
		return hc_fail_errno(err, "%s", name_of(root, path).s);
	}
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return hc_fail(EBADMSG, "%s: not a regular file", name_of(root, path).s);
	}
	return fd;
}

/* Reads until the end or until buf is full. Returns the bytes or a negative errno without a detail. */
static ssize_t read_full(int fd, char *buf, size_t size) {
	size_t done = 0;
	while (done < size) {
		ssize_t n = read(fd, buf + done, size - done);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Both readers: fills buf, which may be too small. Returns the bytes, or buf_size where the file is longer. */
static ssize_t read_text(const struct hc_root *root, const char *path, int fd, char *buf, size_t buf_size) {
	ssize_t n = read_full(fd, buf, buf_size);
	if (n < 0)
		return hc_fail_errno((int)-n, "%s", name_of(root, path).s);
	if (memchr(buf, '\0', (size_t)n))
		return hc_fail(EBADMSG, "%s: holds a NUL byte where text is expected", name_of(root, path).s);
	if ((size_t)n < buf_size)
		buf[n] = '\0';
	return n;
}

/* pre: buf_size > 0 */
int hc_root_read(const struct hc_root *root, const char *path, char *buf, size_t buf_size) {
	if (root->read) {
		int r = root->read(root->user, path, buf, buf_size);
		if (r != -ENOSYS)
			return r;
	}
	if (buf_size > INT_MAX)
		buf_size = INT_MAX;
	int fd = open_file(root, path);
	if (fd < 0)
		return fd;
	ssize_t n = read_text(root, path, fd, buf, buf_size);
	close(fd);
	if (n < 0)
		return (int)n;
	if ((size_t)n == buf_size)
		return hc_fail(EFBIG, "%s: longer than %zu bytes", name_of(root, path).s, buf_size - 1);
	return (int)n;
}

/* Grows a buffer until one whole read fits: files of /proc change between two reads, so they are read anew. */
int hc_root_read_all(const struct hc_root *root, const char *path, char **ret_text, size_t *ret_len) {
	for (size_t size = 4096; size <= FILE_MAX * 2; size *= 4) {
		char *buf = malloc(size);
		if (!buf)
			return hc_fail_memory("%s: no memory for %zu bytes", name_of(root, path).s, size);
		int n = hc_root_read(root, path, buf, hc_min(size, FILE_MAX + 1));
		if (n >= 0) {
			*ret_text = buf;
			*ret_len = (size_t)n;
			return 0;
		}
		free(buf);
		if (n != -EFBIG)
			return n;
	}
	return hc_fail(EFBIG, "%s: longer than %zu bytes", name_of(root, path).s, FILE_MAX);
}

int hc_root_read_u64(const struct hc_root *root, const char *path, uint64_t *ret_value) {
	char text[64];
	int n = hc_root_read(root, path, text, sizeof(text));
	if (n == -EFBIG)
		return hc_fail(EBADMSG, "%s: not a number, but a longer text", name_of(root, path).s);
	if (n < 0)
		return n;

	uint64_t value;
	const char *p = text;
	int r = hc_decimal_take(&p, &value);
	if (r == -EINVAL || p[strspn(p, " \t\n")] != '\0')
		return hc_fail(EBADMSG, "%s: not a number: %s", name_of(root, path).s, hc_quote(text).s);
	if (r < 0)
		return hc_fail(ERANGE, "%s: %s is 2^64 or more", name_of(root, path).s, hc_quote(text).s);
	*ret_value = value;
	return 0;
}

/* What somebody who wanted to write there can do about it. */
static const char *write_advice(int err) {
	switch (err) {
	case EACCES:
	case EPERM:
		return " (writing there needs root, and a container may forbid it even then)";
	case EROFS:
		return " (mounted read-only, as containers have it: write on the host)";
	case ENOENT:
		return " (this kernel has no such file)";
	case EINVAL:
		return " (the kernel refuses this value)";
	default:
		return "";
	}
}

int hc_root_write(const struct hc_root *root, const char *path, const char *text) {
	if (root->write) {
		int r = root->write(root->user, path, text);
		if (r != -ENOSYS)
			return r;
	}
	int fd = open_below(root, path, O_WRONLY);
	if (fd < 0) {
		int err = errno;
		return hc_fail(err, "%s can't be opened for writing: %s%s", name_of(root, path).s, strerrordesc_np(err),
		        write_advice(err));
	}
	size_t len = strlen(text);
	ssize_t n;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	int err = n < 0 ? errno : (size_t)n != len ? EIO : 0;
	/*
	 * In a tree of plain files the old text may be longer. It is cut behind the new one, not emptied
	 * before it, so that others who read meanwhile find a number (nearly always: of as many digits).
	 */
	if (err == 0 && !root->live && ftruncate(fd, n) < 0)
		err = errno;
	close(fd);
	if (err != 0)
		return hc_fail(err, "%s written to %s: %s%s", hc_quote(text).s, name_of(root, path).s,
		        strerrordesc_np(err), write_advice(err));
	return 0;
}

int hc_root_list(const struct hc_root *root, const char *path, int (*each)(void *user, const char *name), void *user) {
	int fd = open_below(root, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int err = errno;
		if (fd >= 0)
			close(fd);
		return hc_fail_errno(err, "%s", name_of(root, path).s);
	}

	int r = 0;
	while (r == 0) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry) {
			int err = errno;
			if (err != 0)
				r = hc_fail_errno(err, "%s", name_of(root, path).s);
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = each(user, entry->d_name);
	}
	closedir(dir);
	return r;
}

bool hc_root_exists(const struct hc_root *root, const char *path) {
	int fd = open_below(root, path, O_PATH);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}
