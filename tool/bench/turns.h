/*
 * Taking turns with another benchmark, sample by sample: what the machine's neighbours take from one, they then take
 * from the other as well. Both are children of who hands out the turns (hugeclear run-ab), over a
 * socket that they inherit: a benchmark asks, waits to be told to go, and says when it is done. A socket that closes
 * means that nobody hands them out any more, and the benchmark goes on alone.
 */
#ifndef HC_BENCH_TURNS_H
#define HC_BENCH_TURNS_H

/* The socket's number, in the environment. Taken out of it at the first turn. */
#define TURNS_VARIABLE "HUGECLEAR_TURN_FD"

/* What is sent: each a byte. */
enum { TURNS_ASK = '?', TURNS_GO = '!', TURNS_DONE = '.' };

/* Waits for a turn; at once where none are taken. 0, or -ECANCELED after ^C. For one thread. */
int turn_begin(void);
void turn_end(void);

#endif
