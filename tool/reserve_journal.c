#include "reserve_journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define FILE_PREFIX "reserve."
#define FILE_TEXT_MAX ((size_t)1 << 20)
#define FILES_MAX 1024
#define LOCK_WAIT_NS (UINT64_C(10) * HC_NSEC_PER_SEC)

struct reserve_journal {
	int folder_fd, fd; /* -1: in memory alone */
	char name[64];     /* in the folder */
	bool must_write;   /* an error of writing is one; false once pools are put back, which nothing may stop */
	struct reserve_record record;
};

/* The folder with the journals below a root. */
struct folder {
	int root_fd, fd;
	char path[256]; /* for messages */
};

static int close_fd(int fd) {
	if (fd >= 0)
		close(fd);
	return -1;
}

static void folder_close(struct folder *folder) {
	folder->fd = close_fd(folder->fd);
	folder->root_fd = close_fd(folder->root_fd);
}

/*
 * Every part is opened without following a link, and the folder has to be one that nobody
 * else can put files into: what stands there is acted on as root.
 */
static int folder_open(const char *root, bool make, struct folder *ret_folder) {
	struct folder folder = {.root_fd = -1, .fd = -1};
	bool live = !root || *root == '\0';
	snprintf(folder.path, sizeof(folder.path), "%s/%s", live ? "" : root, RESERVE_FOLDER);
	const char *name = strchr(RESERVE_FOLDER, '/') + 1;
	int run_fd = -1, r = 0;

	folder.root_fd = open(live ? "/" : root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder.root_fd >= 0)
		run_fd = openat(folder.root_fd, "run", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run_fd < 0)
		r = hc_fail_errno(errno, "%s", folder.path);
	else if (make && mkdirat(run_fd, name, 0700) < 0 && errno != EEXIST)
		r = hc_fail_errno(errno, "%s can't be made", folder.path);
	if (r == 0) {
		folder.fd = openat(run_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (folder.fd < 0) {
			int err = errno;
			/* Whoever put it there may not tell us what to do. */
			r = err == ELOOP || err == ENOTDIR
			            ? hc_fail(EPERM, "%s is a symbolic link or no folder: remove it", folder.path)
			            : hc_fail_errno(err, "%s", folder.path);
		}
	}
	struct stat st;
	if (r == 0 && fstat(folder.fd, &st) < 0)
		r = hc_fail_errno(errno, "%s", folder.path);
	if (r == 0 && (st.st_uid != geteuid() || (st.st_mode & 022) != 0))
		r = hc_fail(EPERM,
		        "%s isn't used: it belongs to user %u and has mode %04o, but has to be user %u's alone",
		        folder.path, st.st_uid, st.st_mode & 07777, geteuid());
	close_fd(run_fd);
	if (r < 0)
		folder_close(&folder);
	else
		*ret_folder = folder;
	return r;
}

static int folder_lock(const struct folder *folder) {
	uint64_t end = hc_clock_ns() + LOCK_WAIT_NS;
	while (flock(folder->fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return hc_fail_errno(errno, "%s can't be locked", folder->path);
		if (hc_clock_ns() >= end)
			return hc_fail(EAGAIN, "%s: another program holds its lock: 'fuser %s' says which",
			        folder->path, folder->path);
		nanosleep(&(struct timespec){.tv_nsec = 10L * 1000 * 1000}, NULL);
	}
	return 0;
}

static void read_boot_id(const struct folder *folder, char *boot_id, size_t size) {
	int fd = openat(
	        folder->root_fd, "proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? 0 : read(fd, boot_id, size - 1);
	close_fd(fd);
	boot_id[n < 0 ? 0 : n] = '\0';
	boot_id[strspn(boot_id, "0123456789abcdefABCDEF-")] = '\0';
	/* A tree that has none: it is the same boot as long as that is so. */
	if (*boot_id == '\0')
		snprintf(boot_id, size, "-");
}

/* ---- One journal ------------------------------------------------------------ */

struct reserve_journal *reserve_journal_new(void) {
	struct reserve_journal *journal = malloc(sizeof(*journal));
	if (journal)
		*journal = (struct reserve_journal){.folder_fd = -1, .fd = -1, .must_write = true};
	return journal;
}

void reserve_journal_put_back(struct reserve_journal *journal) {
	journal->must_write = false;
}

bool reserve_journal_is_kept(const struct reserve_journal *journal) {
	return journal->fd >= 0;
}

const struct reserve_record *reserve_journal_record(const struct reserve_journal *journal) {
	return &journal->record;
}

/* Adds whole lines in one write. What was written in part is cut off again. */
static int append(const struct reserve_journal *journal, const char *text, size_t len) {
	if (journal->fd < 0)
		return 0;
	off_t end = lseek(journal->fd, 0, SEEK_END);
	ssize_t n = write(journal->fd, text, len);
	if (n == (ssize_t)len)
		return 0;
	int err = n < 0 ? errno : ENOSPC;
	if (end >= 0 && n > 0 && ftruncate(journal->fd, end) < 0)
		err = errno;
	if (!journal->must_write)
		return 0;
	return hc_fail_errno(err, RESERVE_FOLDER "/%s can't be written", journal->name);
}

/* pre: the folder is locked */
static int make_file(struct reserve_journal *journal, const struct folder *folder) {
	int fd = -1;
	for (unsigned i = 0; fd < 0 && i < 100; i++) {
		snprintf(journal->name, sizeof(journal->name), FILE_PREFIX "%d.%u", getpid(), i);
		fd = openat(
		        folder->fd, journal->name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return hc_fail_errno(errno, "%s/%s can't be made", folder->path, journal->name);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int err = errno;
		close(fd);
		return hc_fail_errno(err, "%s/%s can't be locked", folder->path, journal->name);
	}
	journal->fd = fd;

	char head[256];
	int len = snprintf(head, sizeof(head), "hugeclear-reserve 1\nboot %s\nowner %d %" PRId64 "\n",
	        journal->record.boot_id, journal->record.owner, journal->record.since);
	int r = append(journal, head, (size_t)len);
	if (r < 0) {
		unlinkat(folder->fd, journal->name, 0);
		journal->fd = close_fd(journal->fd);
	}
	return r;
}

int reserve_journal_keep(struct reserve_journal *journal, const char *root) {
	struct folder folder;
	int r = folder_open(root, true, &folder);
	if (r < 0)
		return r;
	read_boot_id(&folder, journal->record.boot_id, sizeof(journal->record.boot_id));
	journal->record.owner = getpid();
	journal->record.since = time(NULL);
	r = folder_lock(&folder);
	if (r == 0) {
		r = make_file(journal, &folder);
		flock(folder.fd, LOCK_UN);
	}
	if (r == 0) {
		journal->folder_fd = folder.fd;
		folder.fd = -1;
	}
	folder_close(&folder);
	return r;
}

struct reserve_journal *reserve_journal_close(struct reserve_journal *journal) {
	if (!journal)
		return NULL;
	if (journal->fd >= 0 && journal->record.nr_changes == 0 && journal->record.intent.page_size == 0)
		unlinkat(journal->folder_fd, journal->name, 0);
	close_fd(journal->fd);
	close_fd(journal->folder_fd);
	reserve_record_free(&journal->record);
	free(journal);
	return NULL;
}

int reserve_journal_intend(struct reserve_journal *journal, uint64_t page_size, int node, uint64_t from, uint64_t to) {
	char text[160];
	int len = snprintf(
	        text, sizeof(text), "intent %" PRIu64 " %d %" PRIu64 " %" PRIu64 "\n", page_size, node, from, to);
	int r = append(journal, text, (size_t)len);
	if (r == 0)
		journal->record.intent = (struct reserve_intent){
		        .page_size = page_size, .node = node, .from = from, .to = to};
	return r;
}

int reserve_journal_done(struct reserve_journal *journal, uint64_t page_size, const struct reserve_change *changes,
        unsigned nr_changes) {
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return hc_fail_memory("no memory for a line of the journal");
	fprintf(out, "done %" PRIu64, page_size);
	for (unsigned i = 0; i < nr_changes; i++)
		if (changes[i].pages != 0)
			fprintf(out, " %d:%" PRId64, changes[i].node, changes[i].pages);
	fputc('\n', out);
	int r = fclose(out) == 0 ? append(journal, text, len) : hc_fail_memory("no memory for a line of the journal");
	free(text);
	/* In memory it holds anyway: it is what happened. */
	for (unsigned i = 0; i < nr_changes; i++) {
		int added = changes[i].pages != 0 ? reserve_record_add(&journal->record, &changes[i]) : 0;
		r = r < 0 ? r : added;
	}
	journal->record.intent.page_size = 0;
	return r;
}

/* ---- Those that were left ---------------------------------------------------- */

static int read_record(int fd, struct reserve_record *ret_record) {
	char *text = malloc(FILE_TEXT_MAX + 1);
	if (!text)
		return hc_fail_memory("no memory to read it");
	size_t len = 0;
	ssize_t n = 0;
	while (len <= FILE_TEXT_MAX && (n = pread(fd, text + len, FILE_TEXT_MAX + 1 - len, (off_t)len)) > 0)
		len += (size_t)n;
	int r = n < 0 ? hc_fail_errno(errno, "can't be read") : reserve_record_parse(text, len, ret_record);
	free(text);
	return r;
}

/* Takes a file that nobody holds. Returns its descriptor; -EAGAIN without a detail where it isn't ours to take. */
static int adopt(const struct folder *folder, const char *name) {
	int fd = openat(folder->fd, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		int err = errno;
		close_fd(fd);
		return err == ENOENT ? -EAGAIN : hc_fail_errno(err, "can't be opened");
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		close(fd);
		return hc_fail(EPERM, "not a file of user %u", geteuid());
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int err = errno;
		close(fd);
		return err == EWOULDBLOCK ? -EAGAIN : hc_fail_errno(err, "can't be locked");
	}
	/* Another may have dealt with it between opening and locking. */
	if (fstat(fd, &st) < 0 || st.st_nlink == 0) {
		close(fd);
		return -EAGAIN;
	}
	return fd;
}

static bool is_other_boot(const struct folder *folder, const struct reserve_record *record) {
	char boot_id[sizeof(record->boot_id)];
	read_boot_id(folder, boot_id, sizeof(boot_id));
	return strcmp(boot_id, record->boot_id) != 0;
}

/* Returns 1 where it was without an owner, else 0 or a negative errno. */
static int pick_up(const struct folder *folder, const char *name, bool look_only,
        void (*each)(void *user, const struct reserve_left *left), void *user) {
	char path[sizeof(folder->path) + 300];
	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	struct reserve_left left = {.path = path};
	struct reserve_record record = {0};
	struct reserve_journal *journal = NULL;

	int r = folder_lock(folder);
	if (r < 0)
		return r;
	int fd = adopt(folder, name);
	flock(folder->fd, LOCK_UN);
	if (fd == -EAGAIN)
		return 0;

	r = fd < 0 ? fd : read_record(fd, &record);
	left.torn = r == -ENODATA;
	if (r == 0) {
		left.other_boot = is_other_boot(folder, &record);
		journal = reserve_journal_new();
		if (!journal)
			r = hc_fail_memory("no memory for the journal");
	}
	if ((left.torn || left.other_boot) && !look_only)
		unlinkat(folder->fd, name, 0);
	/* Nothing is written where it is only looked at, nor removed: the journal is in memory then. */
	if (r == 0 && !look_only && !left.other_boot) {
		journal->folder_fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 3);
		if (journal->folder_fd < 0) {
			r = hc_fail_errno(errno, "can't be kept open");
		} else {
			journal->fd = fd;
			fd = -1;
		}
	}
	if (r == 0) {
		snprintf(journal->name, sizeof(journal->name), "%s", name);
		journal->record = record;
		record = (struct reserve_record){0};
		left.journal = journal;
	}
	left.error = left.torn ? 0 : r;
	each(user, &left);
	reserve_journal_close(journal);
	reserve_record_free(&record);
	close_fd(fd);
	return 1;
}

static void free_names(char **names, unsigned nr) {
	for (unsigned i = 0; i < nr; i++)
		free(names[i]);
	free(names);
}

/* The names first, as the folder changes meanwhile. */
static int list_names(const struct folder *folder, char ***ret_names, unsigned *ret_nr) {
	char **names = calloc(FILES_MAX, sizeof(*names));
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!names || !dir) {
		int err = names ? errno : ENOMEM;
		if (!dir)
			close_fd(fd);
		else
			closedir(dir);
		free(names);
		return hc_fail_errno(err, "%s", folder->path);
	}
	unsigned nr = 0;
	const struct dirent *entry;
	int r = 0;
	errno = 0;
	while (r == 0 && nr < FILES_MAX && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, FILE_PREFIX, strlen(FILE_PREFIX)) != 0 ||
		        strlen(entry->d_name) >= sizeof(((struct reserve_journal *)NULL)->name))
			continue;
		names[nr] = strdup(entry->d_name);
		if (names[nr])
			nr++;
		else
			r = hc_fail_memory("no memory for the names in %s", folder->path);
	}
	if (r == 0 && errno != 0)
		r = hc_fail_errno(errno, "%s", folder->path);
	closedir(dir);
	if (r < 0) {
		free_names(names, nr);
		return r;
	}
	*ret_names = names;
	*ret_nr = nr;
	return 0;
}

int reserve_journals_left(
        const char *root, bool look_only, void (*each)(void *user, const struct reserve_left *left), void *user) {
	struct folder folder;
	char **names = NULL;
	unsigned nr = 0;
	int r = folder_open(root, false, &folder);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = list_names(&folder, &names, &nr);
	int seen = 0;
	for (unsigned i = 0; r == 0 && i < nr; i++) {
		int picked = pick_up(&folder, names[i], look_only, each, user);
		if (picked < 0)
			r = picked;
		else
			seen += picked;
	}
	if (names)
		free_names(names, nr);
	folder_close(&folder);
	return r < 0 ? r : seen;
}
