/*
 * The map object, and the steps that make one, each in a file of its own: backing
 * (an address range of the right kind), populate, survey (what was got), reset.
 */
#ifndef HC_MAP_MAPPING_H
#define HC_MAP_MAPPING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include <hugeclear/map.h>

#include "sys/idset.h"
#include "sys/root.h"

struct hc_map {
	pid_t pid;     /* that opened it: in a forked child the object is not its own */
	char *address; /* NULL: nothing is mapped */
	size_t length; /* as mapped, whole pages: what is unmapped again */
	int fd;        /* -1: no memfd */
	uint64_t base_page;
	bool shared; /* MAP_SHARED, with a memfd or without */
	/* As asked for. */
	enum hc_backing backing;
	unsigned flags;
	enum hc_placement placement;
	struct hc_idset *nodes; /* NULL with the default placement */

	/* Arenas and rings that use its memory; relaxed: who lets go has ended its use before. */
	_Atomic unsigned holders;

	struct hc_map_state state;
	char *shortfall, *threads_shortfall; /* what state points to */
	struct hc_map_part *parts;
	unsigned nr_parts;
};

/* One way to back a map; HC_BACKING_PREFER tries several. */
struct hc_candidate {
	enum hc_page_kind kind;
	uint64_t page_size;
	bool memfd;
	bool shared; /* also without a memfd */
};

/* How populating, or resetting, is to be done. */
struct hc_map_work {
	unsigned threads;
	const char *cpus;
	size_t step;
	enum hc_populate_by by;
	hc_stop_fn stop;
	hc_progress_fn progress;
	hc_map_step_fn step_done;
	void *user;
};

/* What parts of a map can't be had apart: its page size, for base pages and THP a base page. */
uint64_t hc_map_unit(const struct hc_map *map);

/*
 * Maps len bytes as candidate says and the map's flags and nodes ask for, on this machine's root.
 * with_populate: by MAP_POPULATE. What was made is in the map, also after an error.
 */
int hc_backing_make(const struct hc_root *root, struct hc_map *map, const struct hc_candidate *candidate, size_t len,
        void *hint, bool with_populate);

/*
 * For a map that isn't populated: -ENOMEM where a hugetlb cgroup's fault limit or the bound nodes say
 * no already.
 */
int hc_backing_check_demand(const struct hc_root *root, const struct hc_map *map);

/* Brings all pages in, in steps. *done: bytes of finished calls. Doesn't verify. */
int hc_populate_all(const struct hc_root *root, struct hc_map *map, const struct hc_map_work *work, uint64_t *done);

/* Looks at all pages; the map's parts are new. -ENOMEM. */
int hc_survey(const struct hc_root *root, struct hc_map *map);

/* Bytes of the parts. */
uint64_t hc_survey_resident(const struct hc_map *map);

/*
 * Compares the parts with what was asked for, but residency: -EIO, -EPERM, -ENOSYS as hc_map_verify().
 * pre: surveyed
 */
int hc_survey_check(const struct hc_map *map);

/* -EINVAL for NULL, -ECHILD in a forked child. */
int hc_map_check_owner(const struct hc_map *map);

/*
 * While somebody holds a map its memory isn't reset, discarded or unmapped: -EBUSY. -EINVAL for NULL, -ECHILD.
 * For what is built on maps.
 */
int hc_map_hold(struct hc_map *map);
void hc_map_let_go(struct hc_map *map);

/* As hc_map_check_owner(), and -EBUSY where somebody holds the map. */
int hc_map_check_free(const struct hc_map *map, const char *wanted);

/* This machine's root, with room for the descriptors that are needed beside it: -EMFILE, -ENFILE. */
int hc_map_open_root(struct hc_root *ret_root);

/* One byte of vec for each base page of [address + offset, + len): 1 where it is there. */
int hc_map_residency(const struct hc_map *map, size_t offset, size_t len, unsigned char *vec);

#endif
