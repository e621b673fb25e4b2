/*
 * The methods of instructions that the processors under our tests lack: their
 * code, with the instruction itself played. Where it needs one of its own, clzero
 * and movdir64b, that is replaced by one that always faults, and a SIGILL handler
 * does its work; AVX-512's stores are plain functions here.
 *
 * So this file takes the methods' sources in once more, under other names. It
 * shows heads, tails and counts, not the instructions.
 */
#include "support/support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/exact.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <ucontext.h>

#include "clear/methods.h"
#include "clear/x86.h"

/* ---- clzero and movdir64b -------------------------------------------------- */

#define PLAYED_CLZERO 0xc1
#define PLAYED_MOVDIR64B 0xd1

/* ud2 is what faults; the byte behind it says which instruction is meant. */
#define HC_CLZERO "ud2; .byte 0xc1"
#define hc_x86_clzero played_clzero
void played_clzero(void *p, size_t len);
#include "../../lib/clear/x86_clzero.c"

static void ud2_movdir64b(void *to, const void *from) {
	__asm__ volatile("ud2; .byte 0xd1" : : "D"(to), "S"(from) : "memory");
}

#define _movdir64b(to, from) ud2_movdir64b(to, from)
#define hc_x86_movdir64b played_movdir64b
void played_movdir64b(void *p, size_t len);
#include "../../lib/clear/x86_movdir64b.c"

static volatile sig_atomic_t nr_played;

static void play(int signal_nr, siginfo_t *signal_info, void *context) {
	(void)signal_nr, (void)signal_info;
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *at = (const unsigned char *)registers[REG_RIP];
	if (at[0] != 0x0f || at[1] != 0x0b)
		abort();
	if (at[2] == PLAYED_CLZERO) {
		/* AMD APM volume 3: the line that holds the address, whatever its low bits. */
		memset((void *)(registers[REG_RAX] & ~63LL), 0, 64);
	} else if (at[2] == PLAYED_MOVDIR64B) {
		/* Intel SDM volume 2: an address that isn't a multiple of 64 is a general protection fault. */
		if (registers[REG_RDI] % 64 != 0)
			abort();
		memcpy((void *)registers[REG_RDI], (const void *)registers[REG_RSI], 64);
	} else {
		abort();
	}
	nr_played++;
	registers[REG_RIP] += 3;
}

/* cmocka has a handler of its own, which it puts in front of each test and takes away behind it. */
static void play_instructions(void) {
	struct sigaction action = {.sa_sigaction = play, .sa_flags = SA_SIGINFO};
	assert_int_equal(sigaction(SIGILL, &action, NULL), 0);
	nr_played = 0;
}

static void test_clzero_played(void **state) {
	(void)state;
	play_instructions();
	check_clears_exactly("clzero", played_clzero, 64);
	assert_true(nr_played > 0);

	/* A page has 64 lines: each is cleared once, and none behind them. */
	struct guarded area = guarded_open(4096);
	nr_played = 0;
	played_clzero(area.begin, 4096);
	assert_int_equal(nr_played, 64);
	assert_memory_is(area.begin, 4096, 0, "clzero, a page");
	guarded_close(&area);
}

static void test_movdir64b_played(void **state) {
	(void)state;
	play_instructions();
	check_clears_exactly("movdir64b", played_movdir64b, 64);
	assert_true(nr_played > 0);
}

/* ---- AVX-512 ---------------------------------------------------------------- */

struct played_zmm {
	unsigned char bytes[64];
};

static struct played_zmm played_zero(void) {
	return (struct played_zmm){{0}};
}

static void played_store(void *to, struct played_zmm value) {
	memcpy(to, &value, sizeof(value));
}

static void played_store_aligned(void *to, struct played_zmm value) {
	assert_int_equal((uintptr_t)to % 64, 0); /* Intel SDM volume 2, VMOVDQA64, VMOVNTDQ: else a fault */
	played_store(to, value);
}

#define __m512i struct played_zmm
#define _mm512_setzero_si512() played_zero()
#define _mm512_storeu_si512(to, value) played_store(to, value)
#define _mm512_store_si512(to, value) played_store_aligned(to, value)
#define _mm512_stream_si512(to, value) played_store_aligned(to, value)
#define hc_x86_avx512 played_avx512
#define hc_x86_avx512_nt played_avx512_nt
void played_avx512(void *p, size_t len);
void played_avx512_nt(void *p, size_t len);
#include "../../lib/clear/x86_avx512.c"

static void test_avx512_played(void **state) {
	(void)state;
	check_clears_exactly("avx512", played_avx512, 256);
	check_clears_exactly_long("avx512", played_avx512);
	check_clears_exactly("avx512-nt", played_avx512_nt, 64);
	check_clears_exactly_long("avx512-nt", played_avx512_nt);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_clzero_played),
	        cmocka_unit_test(test_movdir64b_played),
	        cmocka_unit_test(test_avx512_played),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_played_methods(void **state) {
	(void)state;
	puts("the methods that are played are those of x86-64");
	skip();
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_played_methods)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
