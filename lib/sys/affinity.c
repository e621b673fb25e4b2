#include "sys/affinity.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#define MASK_BYTES_FIRST ((size_t)1024 / CHAR_BIT)
#define MASK_BYTES_LAST ((size_t)(HC_IDSET_MAX + 1) / CHAR_BIT)

/* The bare call tells how much of the mask it wrote; glibc's wrapper hides that. */
static long getaffinity_here(size_t size, unsigned long *mask) {
	long n = syscall(SYS_sched_getaffinity, 0, size, mask);
	return n < 0 ? -errno : n;
}

int hc_affinity_get(struct hc_idset **ret_allowed) {
	return hc_affinity_get_from(getaffinity_here, ret_allowed);
}

int hc_affinity_get_from(long (*getaffinity)(size_t size, unsigned long *mask), struct hc_idset **ret_allowed) {
	long n = -EINVAL;
	unsigned long *mask = NULL;
	for (size_t size = MASK_BYTES_FIRST; n == -EINVAL && size <= MASK_BYTES_LAST; size *= 2) {
		free(mask);
		mask = calloc(1, size);
		if (!mask)
			return hc_fail_memory("no memory for a mask of %zu CPUs", size * CHAR_BIT);
		n = getaffinity(size, mask);
	}
	struct hc_idset *allowed = NULL;
	int r = n < 0 ? hc_fail_errno((int)-n, "the affinity of this thread can't be read")
	              : hc_idset_from_mask(mask, (unsigned long)n * CHAR_BIT, &allowed);
	free(mask);
	if (r < 0)
		return r;
	if (hc_idset_count(allowed) == 0) {
		hc_idset_free(allowed);
		return hc_fail(ENODATA, "the kernel shows an affinity without any CPU");
	}
	*ret_allowed = allowed;
	return 0;
}

int hc_affinity_parse(const char *text, struct hc_idset **ret_cpus) {
	struct hc_idset *cpus = NULL;
	int r = text ? hc_idset_parse(text, &cpus) : 0;
	if (r == -ERANGE) /* no such CPU, then; the detail is right */
		return -EINVAL;
	if (r < 0)
		return r;
	if (text && hc_idset_count(cpus) == 0) {
		hc_idset_free(cpus);
		return hc_fail(EINVAL, "the list of CPUs is empty: leave it out, or write one as in 0-3,8");
	}
	*ret_cpus = cpus;
	return 0;
}

int hc_affinity_check(const struct hc_idset *wanted, const struct hc_idset *allowed) {
	if (hc_idset_count(wanted) == 0)
		return hc_fail(EINVAL, "an empty CPU list leaves nothing to run on: give one as in 0-3,8, within %s",
		        hc_idset_text(allowed));
	if (hc_idset_is_subset(wanted, allowed))
		return 0;

	struct hc_idset *missing = NULL;
	int r = hc_idset_copy(wanted, &missing);
	if (r < 0)
		return r;
	hc_idset_subtract(missing, allowed);
	r = hc_fail(EINVAL, "CPUs %s wanted, but %s %s not among those this process may use, %s", hc_idset_text(wanted),
	        hc_idset_text(missing), hc_idset_count(missing) == 1 ? "is" : "are", hc_idset_text(allowed));
	hc_idset_free(missing);
	return r;
}

int hc_affinity_set(const struct hc_idset *cpus) {
	unsigned long *mask = NULL, nr_bits = 0;
	int r = hc_idset_mask(cpus, &mask, &nr_bits);
	if (r < 0)
		return r;
	if (syscall(SYS_sched_setaffinity, 0, nr_bits / CHAR_BIT, mask) < 0) {
		int err = errno;
		r = hc_fail_errno(err, "can't pin a thread to the CPUs %s", hc_idset_text(cpus));
	}
	free(mask);
	return r;
}

int hc_affinity_pin(const struct hc_idset *cpus) {
	struct hc_idset *allowed = NULL;
	int r = hc_affinity_get(&allowed);
	if (r < 0)
		return r;
	r = hc_affinity_check(cpus, allowed);
	hc_idset_free(allowed);
	return r < 0 ? r : hc_affinity_set(cpus);
}
