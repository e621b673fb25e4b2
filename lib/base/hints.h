/*
 * What may stand behind an errno, for messages: a limit of this process, its value and how to
 * raise it, or a filter of system calls. Each is "" where nothing of that kind is in force, else begins with " (".
 */
#ifndef HC_BASE_HINTS_H
#define HC_BASE_HINTS_H

struct hc_hint {
	char s[224];
};

/* EMFILE, EFBIG and ENOMEM: the limits of open files, of files' sizes, and of address space or private memory. */
struct hc_hint hc_hint_limit(int err);

/* After a thread or a process couldn't be started, pthread_create(3) or fork(2): EAGAIN and ENOMEM have more reasons there. */
struct hc_hint hc_hint_start(int err);

/* After a system call that needs no privilege: EPERM, EACCES or ENOSYS under a seccomp filter, as containers have. */
struct hc_hint hc_hint_forbidden(int err);

#endif
