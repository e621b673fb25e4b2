/* Which pages a benchmark works on, and how many bytes of them. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "bench/harness.h"
#include "bench/room.h"
#include "cli.h"

static struct hc_machine *machine;

static int read_machine(void **state) {
	(void)state;
	return hc_machine_read(NULL, &machine);
}

static int free_machine(void **state) {
	(void)state;
	machine = hc_machine_free(machine);
	return 0;
}

static void free_notes(struct bench_run *run) {
	for (size_t i = 0; i < run->nr_notes; i++)
		free(run->notes[i]);
	free(run->notes);
}

static void test_TH_01_the_size_of_base_pages_is_no_huge_page(void **state) {
	(void)state;
	struct room_page page;
	char base[32];
	snprintf(base, sizeof(base), "%ld", sysconf(_SC_PAGESIZE));
	assert_int_equal(room_read_page("test", base, &page), 0);
	assert_int_equal(page.kind, HC_PAGES_BASE);
	assert_int_equal(room_read_page("test", "base", &page), 0);
	assert_int_equal(page.kind, HC_PAGES_BASE);
	assert_int_equal(room_read_page("test", "thp", &page), 0);
	assert_int_equal(page.kind, HC_PAGES_THP);
	assert_int_equal(room_read_page("test", "2M", &page), 0);
	assert_int_equal(page.kind, HC_PAGES_HUGETLB);
	assert_int_equal(page.page_size, 2097152);
	assert_true(page.given);
	assert_int_equal(room_read_page("test", "thpp", &page), HC_EXIT_USAGE);
	assert_int_equal(page.page_size, 2097152);
}

static void test_room_of_base_pages_is_below_the_memory(void **state) {
	(void)state;
	uint64_t room = room_of(machine, &(struct room_page){.kind = HC_PAGES_BASE}, -1);
	assert_true(room > 0);
	assert_true(room < hc_machine_memory(machine)->total);
	assert_int_equal(room_of(machine, &(struct room_page){.kind = HC_PAGES_HUGETLB, .page_size = 3 << 20}, -1), 0);
}

static void test_NM_06_node_numbers(void **state) {
	(void)state;
	struct bench_run run = {.verb = "test", .machine = machine};
	static const char *const wrong[] = {
	        "", "-1", "+0", " 0", "0 ", "0,1", "0-1", "0x0", "x", "65536", "18446744073709551616"};
	int node = -1;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (room_read_node(&run, wrong[i], &node) != HC_EXIT_USAGE)
			fail_msg("'%s' was taken", wrong[i]);
	assert_int_equal(room_read_node(&run, "4711", &node), HC_EXIT_UNAVAILABLE);
	assert_int_equal(node, -1);
}

static void test_a_size_that_fits_is_got_whole(void **state) {
	(void)state;
	struct bench_run run = {.verb = "test", .machine = machine};
	struct room_page page = {.given = true, .kind = HC_PAGES_BASE};
	uint64_t bytes;
	assert_int_equal(room_plan(&run, "cleared", 5000, -1, &page, &bytes), 0);
	assert_int_equal(bytes, 5000);
	room_note_rounds(&run, "cleared", 5000, bytes);
	room_note_rounds(&run, "cleared", 5000, 8192);
	assert_int_equal(run.nr_notes, 0);
}

static void test_a_size_above_all_memory_is_done_in_rounds_and_that_is_said(void **state) {
	(void)state;
	struct bench_run run = {.verb = "test", .machine = machine};
	struct room_page page = {.given = true, .kind = HC_PAGES_BASE};
	uint64_t bytes, total = hc_machine_memory(machine)->total;
	assert_int_equal(room_plan(&run, "mapped", total + 1, -1, &page, &bytes), 0);
	assert_true(bytes > 0 && bytes < total);
	room_note_rounds(&run, "mapped", total + 1, bytes);
	assert_int_equal(run.nr_notes, 1);
	assert_contains(run.notes[0], "are mapped");
	free_notes(&run);
	/* 64 rounds are some minutes; more than that is a slip. */
	assert_int_equal(room_plan(&run, "mapped", UINT64_MAX, -1, &page, &bytes), HC_EXIT_LESS);
}

static void test_a_page_size_that_is_not_there(void **state) {
	(void)state;
	struct bench_run run = {.verb = "test", .machine = machine};
	struct room_page page = {.given = true, .kind = HC_PAGES_HUGETLB, .page_size = 3 << 20};
	uint64_t bytes;
	assert_int_equal(room_plan(&run, "cleared", 1 << 20, -1, &page, &bytes), HC_EXIT_UNAVAILABLE);
}

/* What isn't given is chosen, and why is said. */
static void test_a_page_is_chosen_for_what_there_is_room(void **state) {
	(void)state;
	struct bench_run run = {.verb = "test", .machine = machine};
	struct room_page page = {.given = false};
	uint64_t bytes, huge = 0, wanted = hc_machine_memory(machine)->total;
	/* No machine has all of its memory in pools. */
	assert_int_equal(room_plan(&run, "cleared", wanted, -1, &page, &bytes), 0);
	assert_int_not_equal(page.kind, HC_PAGES_HUGETLB);
	assert_int_equal(run.nr_notes, 1);
	assert_contains(run.notes[0], "too few hugetlb pages");
	const struct hc_pool *pool;
	for (unsigned i = 0; (pool = hc_machine_pool(machine, i)); i++)
		if (room_of(machine, &(struct room_page){.kind = HC_PAGES_HUGETLB, .page_size = pool->page_size}, -1) >
		        0)
			huge = pool->page_size;
	if (huge) {
		page = (struct room_page){.given = false};
		assert_int_equal(room_plan(&run, "cleared", 1, -1, &page, &bytes), 0);
		assert_int_equal(page.kind, HC_PAGES_HUGETLB);
		assert_int_equal(page.page_size, huge);
	}
	free_notes(&run);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_TH_01_the_size_of_base_pages_is_no_huge_page),
	        cmocka_unit_test(test_room_of_base_pages_is_below_the_memory),
	        cmocka_unit_test(test_NM_06_node_numbers),
	        cmocka_unit_test(test_a_size_that_fits_is_got_whole),
	        cmocka_unit_test(test_a_size_above_all_memory_is_done_in_rounds_and_that_is_said),
	        cmocka_unit_test(test_a_page_size_that_is_not_there),
	        cmocka_unit_test(test_a_page_is_chosen_for_what_there_is_room),
	};
	return cmocka_run_group_tests(tests, read_machine, free_machine);
}
