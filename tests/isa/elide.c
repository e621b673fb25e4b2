/*
 * Clears that nobody reads afterwards: a local variable at the end of its function, memory just
 * before its free(). An optimiser that sees into the library may take such a clear for dead. What was
 * cleared is then looked for in the stack and in the heap themselves.
 *
 * check_elide.py builds this with the library's sources, by several compilers and with
 * link-time optimisation. Prints what was wrong; exit code 0 or 1.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <hugeclear/clear.h>

#define SECRET_SIZE 4096
#define PATTERN_SIZE 16

enum way {
	WAY_NOTHING, /* the control: without a clear the secret has to be found */
	WAY_CLEAR,
	WAY_METHOD,
	WAY_AROUND,
	NR_WAYS,
};

static const char *const way_names[NR_WAYS] = {"nothing", "hc_clear", "hc_clear_with", "hc_clear_around"};

/*
 * A heap that keeps what is freed where it was. The library's few small blocks live here too.
 * Not inlined: a compiler is to see malloc() and free() themselves, with all that it knows of them,
 * and not that they hand out parts of an array.
 */
#define OPAQUE __attribute__((noinline))
static _Alignas(64) unsigned char heap[1 << 20];
static size_t heap_used;

OPAQUE void *malloc(size_t size) {
	size_t place = heap_used + 64;
	if (size > sizeof(heap) - place)
		return NULL;
	heap_used = place + (size + 63) / 64 * 64;
	memcpy(heap + place - sizeof(size), &size, sizeof(size));
	void *p = heap + place;
	__asm__("" : "+r"(p));
	return p;
}

OPAQUE void free(void *p) {
	__asm__ volatile("" : : "r"(p)); /* or clang passes something undefined, and takes that free() for wrong */
}

OPAQUE void *calloc(size_t n, size_t size) {
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return malloc(bytes); /* never used before, so zero */
}

OPAQUE void *realloc(void *p, size_t size) {
	void *larger = malloc(size);
	if (p && larger) {
		size_t old;
		memcpy(&old, (unsigned char *)p - sizeof(old), sizeof(old));
		memcpy(larger, p, old < size ? old : size);
	}
	return larger;
}

/* Copied from here by way of registers, so that it is nowhere else but where it was put. Another one for each search. */
static unsigned char pattern[PATTERN_SIZE];

static void next_pattern(void) {
	static unsigned number;
	number++;
	for (unsigned i = 0; i < PATTERN_SIZE; i++)
		pattern[i] = (unsigned char)(0x80u | (number * 29 + i * 7));
}

static void fill(unsigned char *p) {
	for (size_t i = 0; i < SECRET_SIZE; i += PATTERN_SIZE)
		memcpy(p + i, pattern, sizeof(pattern));
	/* The filling isn't what is tested: it stays. */
	__asm__ volatile("" : : "r"(p) : "memory");
}

static bool is_found(const unsigned char *in, size_t len) {
	bool found = memmem(in, len, pattern, sizeof(pattern)) != NULL;
	next_pattern();
	return found;
}

static enum way way;
static const char *method;
static int failed;

/* For the test of this test: what compilers do remove. */
#ifdef PLANTED
#define hc_clear(p, len) (memset((p), 0, (len)), 0)
#endif

static inline __attribute__((always_inline)) void clear_secret(unsigned char *secret) {
	struct hc_clear_opts opts = {.size = sizeof(opts), .method = method};
	int r = 0;
	if (way == WAY_CLEAR)
		r = hc_clear(secret, SECRET_SIZE);
	else if (way == WAY_METHOD)
		r = hc_clear_with(secret, SECRET_SIZE, &opts, NULL);
	else if (way == WAY_AROUND)
		r = hc_clear_around(secret, SECRET_SIZE, secret + SECRET_SIZE / 2, NULL, NULL);
	if (r != 0) {
		printf("%s %s: %s\n", way_names[way], method ? method : "", hc_error_detail());
		failed = 1;
	}
}

static unsigned char stack[1 << 18];

static void with_local(void) {
	unsigned char secret[SECRET_SIZE];
	fill(secret);
	clear_secret(secret);
}

static void with_heap(void) {
	unsigned char *secret = malloc(SECRET_SIZE);
	if (!secret)
		return;
	fill(secret);
	clear_secret(secret);
	free(secret);
}

/* On a stack of its own, which stays as the function left it. */
static void run_on_stack(void (*function)(void)) {
	static ucontext_t caller, callee;
	getcontext(&callee);
	callee.uc_stack.ss_sp = stack;
	callee.uc_stack.ss_size = sizeof(stack);
	callee.uc_link = &caller;
	makecontext(&callee, function, 0);
	swapcontext(&caller, &callee);
}

static void expect(bool found, const char *where) {
	if (found == (way == WAY_NOTHING))
		return;
	printf("%s %s: what was on the %s is %s\n", way_names[way], method ? method : "", where,
	        found ? "still there" : "gone without a clear, so this test sees nothing");
	failed = 1;
}

static void check(void) {
	run_on_stack(with_local);
	expect(is_found(stack, sizeof(stack)), "stack");
	run_on_stack(with_heap);
	expect(is_found(heap, heap_used), "heap");
}

int main(void) {
	/* Its buffer isn't taken from the small heap. */
	setvbuf(stdout, NULL, _IONBF, 0);
	next_pattern();
	for (way = WAY_NOTHING; way < NR_WAYS; way++) {
		method = NULL;
		check();
	}
	const struct hc_clear_method *row;
	way = WAY_METHOD;
	for (unsigned i = 0; (row = hc_clear_method(i)); i++)
		if (row->available) {
			method = row->name;
			check();
		}
	return failed;
}
