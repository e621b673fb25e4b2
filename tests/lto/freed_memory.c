/*
 * CE-10: what is cleared before it is given away is clear, though nobody reads
 * it as the compiler sees it. Built as one program, library and all, with
 * link-time optimisation: it sees free() behind the clear.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/clear.h>

#include "clear/methods.h"

#define SIZE 4000
/* malloc() keeps its own words at the start of what is free. */
#define KEPT 64

static void fill(volatile unsigned char *p) {
	for (size_t i = 0; i < SIZE; i++)
		p[i] = 0xa5;
}

/* The next malloc() of this size gives the same memory again, with what was left in it. */
static int look(const char *what, uintptr_t was_at) {
	unsigned char *memory = malloc(SIZE);
	volatile unsigned char *p = memory;
	unsigned old = 0;
	for (size_t i = KEPT; i < SIZE; i++)
		old += p[i] == 0xa5;
	bool same = (uintptr_t)memory == was_at;
	free(memory);
	if (!same) {
		printf("not ok - %s: malloc() gave other memory, so that nothing can be said\n", what);
		return 1;
	}
	printf("%sok - %s%s\n", old > 0 ? "not " : "", what, old > 0 ? ": old bytes are still there" : "");
	return old > 0;
}

/* flatten: the method becomes part of this function, where the optimiser sees its stores before the free(). */
__attribute__((flatten)) static void clear_and_free(unsigned char *p) {
	hc_method_memset(p, SIZE);
	free(p);
}

static int by_method(void) {
	unsigned char *p = malloc(SIZE);
	uintptr_t at = (uintptr_t)p;
	fill(p);
	clear_and_free(p);
	return look("the method called memset", at);
}

static int by_hc_clear(void) {
	unsigned char *p = malloc(SIZE);
	uintptr_t at = (uintptr_t)p;
	fill(p);
	hc_clear(p, SIZE);
	free(p);
	return look("hc_clear", at);
}

int main(void) {
	hc_clear_choice(1, HC_INTENT_SOON); /* the first choice allocates */
	int failed = by_method();
	failed |= by_hc_clear();
	puts("1..2");
	return failed;
}
