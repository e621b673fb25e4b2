/* Tests in a process of their own: what it does to itself, a limit, a mount, a cgroup, ends with it. */
#ifndef HC_TEST_CHILD_H
#define HC_TEST_CHILD_H

#include <stdbool.h>

/*
 * Runs fn in a child. Its printed lines go to stderr. Returns what fn returned, 0 to 125; 126
 * where the child died of a signal.
 */
int in_child(int (*fn)(void *arg), void *arg);

/* In fn: returns 1 where the condition is false, and says so with errno and the library's detail. */
#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			check_failed(__FILE__, __LINE__, #condition);                                                  \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

void check_failed(const char *file, int line, const char *condition);

/* Mounts of this process's own from here on, as root or, where that is allowed, as an ordinary user. */
bool own_mounts(void);

#endif
