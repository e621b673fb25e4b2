/* Signals of a thread that a program didn't start itself. */
#ifndef HC_BASE_SIGNALS_H
#define HC_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/*
 * Blocks in the calling thread, and so in those it starts, what the program may be
 * sent from outside: that belongs to threads it knows. What a thread brings on
 * itself stays: the kernel kills a process for a blocked one of these, past the
 * program's handler (signal(7), sigprocmask(2)).
 */
static inline void hc_signals_block(sigset_t *ret_before) {
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t set;
	sigfillset(&set);
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	/* Added to what is blocked already: the caller may want one of these blocked. */
	pthread_sigmask(SIG_BLOCK, &set, ret_before);
}

#endif
