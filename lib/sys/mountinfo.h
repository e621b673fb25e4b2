/* The mount table of this process, proc/self/mountinfo: what is mounted where, and what is hidden by what. */
#ifndef HC_SYS_MOUNTINFO_H
#define HC_SYS_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "sys/root.h"

/* One line of proc_pid_mountinfo(5), unescaped. */
struct hc_mount {
	unsigned long id, parent;
	const char *root;    /* the folder of the file system that is mounted, "/" for all of it */
	const char *point;   /* where, relative to the process's root folder */
	const char *type;    /* "cgroup2" */
	const char *options; /* the super block's: "rw,cpu,cpuacct" */
};

struct hc_mountinfo {
	char *text; /* what the strings of mounts point into */
	struct hc_mount *mounts;
	size_t nr_mounts;
};

/* Lines that make no sense are left out. -ENOMEM, or an error of reading the file. Undone by hc_mountinfo_free(). */
int hc_mountinfo_read(const struct hc_root *root, struct hc_mountinfo *ret_mountinfo);

/* pre: read, or all zero */
void hc_mountinfo_free(struct hc_mountinfo *mountinfo);

/* True where a later mount covers the mount point of mounts[i] or a folder above it, so that its path leads elsewhere. */
bool hc_mountinfo_is_hidden(const struct hc_mountinfo *mountinfo, size_t i);

/* Replaces the kernel's octal escapes (\040 a space, \011, \012, \134) by what they stand for, in place. */
void hc_mount_unescape(char *text);

/* Cuts text at the next separator and returns the part before it; *rest is behind it, or at the end. "" at the end. */
char *hc_mount_field(char **rest, char separator);

/* True where the comma-separated list holds exactly this word. */
bool hc_mount_has_option(const char *options, const char *word);

/*
 * True where path is top or below it, by whole components. *ret_rest is then what
 * is left of path: "" or "/x/y".
 */
bool hc_mount_path_within(const char *path, const char *top, const char **ret_rest);

#endif
