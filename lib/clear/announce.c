#include "clear/announce.h"

#include <stdint.h>

/*
 * Those of compiler-rt's asan_interface_internal.h, tsan_interface.h and msan_interface.h (the first
 * and the last are in its public headers too), with the types that gcc knows them by. The default
 * visibility makes them references to whoever has them.
 */
#define FROM_SANITIZER __attribute__((weak, visibility("default")))

/* The first address in the range that must not be touched, or NULL. */
FROM_SANITIZER void *__asan_region_is_poisoned(void *begin, size_t size);
/* "noabort" means that the program's halt_on_error decides, as in the interceptor of memset(). */
FROM_SANITIZER void __asan_report_store_n_noabort(void *p, long size);
FROM_SANITIZER void __asan_report_load_n_noabort(void *p, long size);
FROM_SANITIZER void __asan_poison_memory_region(const volatile void *p, size_t size);
FROM_SANITIZER void __asan_unpoison_memory_region(const volatile void *p, size_t size);
FROM_SANITIZER void __tsan_write_range(void *p, long size);
FROM_SANITIZER void __tsan_read_range(void *p, long size);
FROM_SANITIZER void __msan_unpoison(const volatile void *p, size_t size);

void hc_announce_write(void *p, size_t len) {
	if (__asan_region_is_poisoned && __asan_report_store_n_noabort) {
		char *bad = __asan_region_is_poisoned(p, len);
		if (bad)
			__asan_report_store_n_noabort(bad, (char *)p + len - bad);
	}
	if (__tsan_write_range)
		__tsan_write_range(p, (long)len);
	if (__msan_unpoison)
		__msan_unpoison(p, len);
}

void hc_announce_read(const void *p, size_t len) {
	/* Neither function writes through its pointer. */
	void *begin = (void *)(uintptr_t)p;
	if (__asan_region_is_poisoned && __asan_report_load_n_noabort) {
		char *bad = __asan_region_is_poisoned(begin, len);
		if (bad)
			__asan_report_load_n_noabort(bad, (char *)begin + len - bad);
	}
	if (__tsan_read_range)
		__tsan_read_range(begin, (long)len);
}

bool hc_announce_free(void *p, size_t len) {
	if (!__asan_poison_memory_region)
		return false;
	__asan_poison_memory_region(p, len);
	return true;
}

void hc_announce_given(void *p, size_t len) {
	if (__asan_unpoison_memory_region)
		__asan_unpoison_memory_region(p, len);
}
