/* Many threads open, populate, use, reset and close maps at once: each gets its own, whole and zero, and nothing stays. */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/clear.h>
#include <hugeclear/map.h>

#include "support/huge_pages.h"

#define THREADS 6
#define ROUNDS 40

static _Atomic unsigned wrong;

static int stop_sometimes(void *user) {
	unsigned *left = user;
	return (*left)-- == 0;
}

/* Returns false where something isn't as it has to be. */
static bool one_round(unsigned seed) {
	const size_t len = (size_t)(1 + seed % 5) << 20;
	unsigned left = seed % 7 == 0 ? 1 : 1000;
	struct hc_map_opts opts = {
	        .size = sizeof(opts),
	        .backing = seed % 2 ? HC_BACKING_PREFER : HC_BACKING_BASE,
	        .flags = (seed % 3 == 0 ? HC_MAP_MEMFD : 0) | (seed % 5 ? HC_MAP_POPULATE : 0) | HC_MAP_DONTFORK,
	        .threads = seed % 4 == 0 ? 2 : 1,
	        .step = 256 << 10,
	        .stop = seed % 5 ? stop_sometimes : NULL,
	        .user = &left,
	};
	struct hc_map *map = NULL;
	int r = hc_map_open(len, &opts, &map);
	if (r < 0)
		return r == -ECANCELED && !map;
	unsigned char *p = hc_map_address(map);
	size_t whole = hc_map_length(map);
	bool ok = hc_map_populate(map, NULL, NULL) == 0 && hc_is_clear(p, whole) == 1;
	if (ok) {
		memset(p, (int)(seed | 1) & 0xff, whole);
		struct hc_map_work_opts work = {.size = sizeof(work), .threads = seed % 3 + 1};
		ok = hc_map_reset(map, &work, NULL) == 0 && hc_is_clear(p, whole) == 1;
	}
	ok = ok && hc_map_discard(map, whole / 2, whole / 2, NULL) == 0;
	hc_map_close(map);
	return ok;
}

static void *run_rounds(void *arg) {
	unsigned seed = *(unsigned *)arg;
	for (unsigned i = 0; i < ROUNDS; i++)
		if (!one_round(seed + i * 7919))
			atomic_fetch_add(&wrong, 1);
	return NULL;
}

static void test_threads_that_map_at_once(void **state) {
	(void)state;
	struct hc_map *warm; /* what is loaded at the first clear stays */
	assert_ok(hc_map_open(
	        1, &(struct hc_map_opts){.size = sizeof(struct hc_map_opts), .backing = HC_BACKING_BASE}, &warm));
	assert_ok(hc_map_reset(warm, NULL, NULL));
	hc_map_close(warm);
	const struct holdings before = holdings_now();
	pthread_t threads[THREADS];
	unsigned seeds[THREADS];
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i * 31;
		assert_int_equal(pthread_create(&threads[i], NULL, run_rounds, &seeds[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	const struct holdings after = holdings_now();
	assert_int_equal(after.descriptors, before.descriptors);
	assert_int_equal(after.hugetlb_bytes, before.hugetlb_bytes);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_threads_that_map_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
