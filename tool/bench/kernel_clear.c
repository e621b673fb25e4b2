#include "bench/kernel_clear.h"

#include "base/arith.h"
#include "base/clock.h"

/* FOLIO_ZERO_LOCALITY_RADIUS: pages on either side of the touched one that are cleared with it. */
#define RADIUS 2

/* MAX_PAGE_ORDER, as the architectures that have 16 or 64 KiB pages set it for them. */
static unsigned largest_order(uint64_t base_page) {
	return base_page >= 65536 ? 13 : base_page >= 16384 ? 11 : 10;
}

void kernel_clear_init(uint64_t base_page, struct kernel_clear *ret_kernel) {
	*ret_kernel = (struct kernel_clear){
	        .base_page = base_page,
	        .gigantic_above = base_page << largest_order(base_page),
	};
	kernel_clear_choose(ret_kernel);
}

static void clear_page(const struct kernel_clear *kernel, char *p, size_t len, uint64_t index) {
	uint64_t offset = index * kernel->base_page;
	kernel->clear(p + offset, hc_min(kernel->base_page, len - offset));
}

void kernel_clear_base(const struct kernel_clear *kernel, char *p, size_t len, size_t touched) {
	uint64_t nr_pages = hc_div_up(len, kernel->base_page), target = touched / kernel->base_page;
	if (len > kernel->gigantic_above) {
		for (uint64_t i = 0; i < nr_pages; i++)
			clear_page(kernel, p, len, i);
		return;
	}

	/*
	 * A window of whole pairs ends at the nearer edge and has the target as the first page of its right half,
	 * which makes it the last of the pairs. What is outside of the window goes first, from the far edge on.
	 */
	uint64_t pairs = hc_min(target, nr_pages - target);
	uint64_t begin = target - pairs, end = target + pairs;
	for (uint64_t i = nr_pages; i > end; i--)
		clear_page(kernel, p, len, i - 1);
	for (uint64_t i = 0; i < begin; i++)
		clear_page(kernel, p, len, i);
	for (; begin < end; begin++, end--) {
		clear_page(kernel, p, len, begin);
		clear_page(kernel, p, len, end - 1);
	}
}

/* Pages [begin, end) in batches. */
static void clear_range(const struct kernel_clear *kernel, char *p, size_t len, uint64_t begin, uint64_t end,
        uint64_t batch, uint64_t *longest_ns) {
	uint64_t stop = hc_min(end * kernel->base_page, len);
	for (uint64_t offset = begin * kernel->base_page, n; offset < stop; offset += n) {
		n = hc_min(batch, stop - offset);
		uint64_t before = longest_ns ? hc_clock_ns() : 0;
		kernel->clear(p + offset, n);
		if (longest_ns)
			*longest_ns = hc_max(*longest_ns, hc_clock_ns() - before);
	}
}

void kernel_clear_patched(
        const struct kernel_clear *kernel, char *p, size_t len, size_t touched, uint64_t batch, uint64_t *longest_ns) {
	uint64_t nr_pages = hc_div_up(len, kernel->base_page), target = touched / kernel->base_page;
	uint64_t left = target > RADIUS ? target - RADIUS : 0;
	uint64_t right = hc_min(target + RADIUS + 1, nr_pages);
	/* A batch is whole pages; a smaller wish is one page. */
	batch = hc_max(hc_align_down(batch ? batch : kernel->batch, kernel->base_page), kernel->base_page);
	clear_range(kernel, p, len, right, nr_pages, batch, longest_ns);
	clear_range(kernel, p, len, 0, left, batch, longest_ns);
	clear_range(kernel, p, len, left, right, batch, longest_ns);
}
