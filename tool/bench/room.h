/* Which pages a benchmark works on, of which node, and how much room there is for them. */
#ifndef HC_BENCH_ROOM_H
#define HC_BENCH_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include <hugeclear/map.h>
#include <hugeclear/sys.h>

struct bench_run;

struct room_page {
	bool given; /* by an option; else it is chosen */
	enum hc_page_kind kind;
	uint64_t page_size; /* bytes, of hugetlb pages; else ignored */
};

/* "hugetlb", "thp", "base" */
const char *room_kind_name(enum hc_page_kind kind);

/* --page: a size, "thp" or "base"; the size of base pages is "base" too. 0, or HC_EXIT_USAGE with a message. */
int room_read_page(const char *verb, const char *text, struct room_page *ret_page);

/* --node: the number of a node with memory. 0, or an exit code with a message. */
int room_read_node(const struct bench_run *run, const char *text, int *ret_node);

/*
 * How much new memory of such pages can be had now, on node or, with -1, anywhere: what is available in the
 * pool, below the limits of cgroups, or, for THP and base pages, three quarters of the memory that is
 * available. 0 where there is nothing.
 */
uint64_t room_of(const struct hc_machine *machine, const struct room_page *page, int node);

/*
 * How many bytes to get for a sample in which size bytes are done ("cleared", for messages): size, or
 * where that is more than ever fits the part that the sample goes over in rounds. Fills in a page that wasn't given, the largest of which enough is
 * there, with a note that says why. 0, or an exit code with a message: HC_EXIT_LESS for a
 * size that would take forever, HC_EXIT_UNAVAILABLE for a page size that the machine lacks.
 */
int room_plan(
        struct bench_run *run, const char *done, uint64_t size, int node, struct room_page *page, uint64_t *ret_bytes);

/* How many times the machine's memory a size may be: one sample of more would take minutes. 0, or HC_EXIT_LESS with a message. */
int room_check_rounds(const struct bench_run *run, const char *done, uint64_t size);

/* Whether the machine and this process have transparent huge pages switched on. */
bool room_has_thp(const struct hc_machine *machine);

/* The note on rounds, where bytes are less than size. */
void room_note_rounds(struct bench_run *run, const char *done, uint64_t size, uint64_t bytes);

#endif
