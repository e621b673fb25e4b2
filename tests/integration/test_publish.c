/*
 * CE-05: memory that is cleared with streaming stores and then published by a
 * release store is zero for whoever acquires it. Streaming stores are weakly
 * ordered and a release store on x86 is a plain one: only a fence in the method
 * keeps them apart.
 */
#include "support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <hugeclear/clear.h>

#include "clear/methods.h"

#define SIZE 8192

struct shared {
	_Alignas(64) unsigned char memory[SIZE];
	_Alignas(64) _Atomic unsigned published; /* the round whose memory is clear */
	_Alignas(64) _Atomic unsigned looked;    /* the round that was looked at */
	size_t begin, len;                       /* what is cleared in this round; published with it */
	unsigned rounds;                         /* set before the reader starts */
	unsigned faults;                         /* of the reader, until it ends */
};

static unsigned wait_for(_Atomic unsigned *word, unsigned value) {
	for (unsigned spins = 0; atomic_load_explicit(word, memory_order_acquire) != value; spins++)
		if (spins > 2000)
			sched_yield(); /* there may be one CPU only */
	return value;
}

static void *look(void *arg) {
	struct shared *shared = arg;
	for (unsigned round = 1; round <= shared->rounds; round++) {
		wait_for(&shared->published, round);
		/* From the end: what was stored last is what a missing fence leaves behind. */
		unsigned sum = 0;
		for (size_t i = shared->len; i > 0; i--)
			sum += shared->memory[shared->begin + i - 1];
		shared->faults += sum != 0;
		atomic_store_explicit(&shared->looked, round, memory_order_release);
	}
	return NULL;
}

/* What is looked for is the processor's doing: a sanitizer adds nothing to it but time. */
static unsigned nr_rounds(void) {
	return under_sanitizer() ? 3000 : 100000;
}

static void publish(const struct hc_method *method) {
	struct shared *shared = aligned_alloc(64, sizeof(*shared));
	assert_non_null(shared);
	memset(shared, 0, sizeof(*shared));
	shared->rounds = nr_rounds();
	pthread_t reader;
	assert_int_equal(pthread_create(&reader, NULL, look, shared), 0);
	for (unsigned round = 1; round <= shared->rounds; round++) {
		/* Up to a page, with and without head and tail: enough that the last stores wait for those before. */
		shared->begin = round % 3 == 0 ? round % 64 : 0;
		shared->len = round % 5 == 0 ? round % 4000 + 1 : 64 * (round % 64 + 1);
		memset(shared->memory + shared->begin, 1, shared->len);
		method->clear(shared->memory + shared->begin, shared->len);
		atomic_store_explicit(&shared->published, round, memory_order_release);
		wait_for(&shared->looked, round);
	}
	assert_int_equal(pthread_join(reader, NULL), 0);
	if (shared->faults > 0)
		fail_msg("%s: old bytes were seen in %u of %u rounds", method->name, shared->faults, shared->rounds);
	free(shared);
}

static void test_CE_05_published_memory_is_clear(void **state) {
	(void)state;
	unsigned tried = 0;
	for (unsigned i = 0; i < hc_nr_methods; i++)
		if (hc_methods[i].streaming && hc_clear_method(i)->available) {
			publish(&hc_methods[i]);
			tried++;
		}
	if (tried == 0) {
		puts("no streaming method on this machine");
		skip();
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_CE_05_published_memory_is_clear)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
