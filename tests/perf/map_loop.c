/* What `bench map` is compared with: the loop that anybody would write. usage: map_loop demand|populate PAGE-BYTES BYTES LOOPS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
	if (argc != 5)
		return 64;
	size_t page = strtoull(argv[2], NULL, 10), size = strtoull(argv[3], NULL, 10);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | __builtin_ctzll(page) << MAP_HUGE_SHIFT;
	if (strcmp(argv[1], "populate") == 0)
		flags |= MAP_POPULATE;
	for (long loops = atol(argv[4]); loops > 0; loops--) {
		double start = now();
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p == MAP_FAILED)
			return 1;
		for (size_t at = 0; at < size && !(flags & MAP_POPULATE); at += page)
			*(volatile char *)(p + at) = 0;
		printf("%.9f\n", now() - start);
		munmap(p, size);
	}
}
