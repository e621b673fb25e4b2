#include "bench/pinning.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>

/* NULL: no memory. Freed by CPU_FREE(). */
static cpu_set_t *set_of(int cpu, size_t *ret_size) {
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	*ret_size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	if (set) {
		CPU_ZERO_S(*ret_size, set);
		CPU_SET_S((size_t)cpu, *ret_size, set);
	}
	return set;
}

static int set_affinity(pthread_attr_t *attr, int cpu) {
	size_t size;
	cpu_set_t *set = set_of(cpu, &size);
	int err = set ? pthread_attr_setaffinity_np(attr, size, set) : ENOMEM;
	if (set)
		CPU_FREE(set);
	return err;
}

int pinned_start(int cpu, pthread_t *ret_thread, void *(*fn)(void *arg), void *arg) {
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);
	if (err)
		return err;
	if (cpu >= 0)
		err = set_affinity(&attr, cpu);
	if (err == 0)
		err = pthread_create(ret_thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return err;
}

int pin_to(int cpu) {
	size_t size;
	cpu_set_t *set = set_of(cpu, &size);
	int err = set ? pthread_setaffinity_np(pthread_self(), size, set) : ENOMEM;
	if (set)
		CPU_FREE(set);
	return err;
}
