/* Sets of CPU and node numbers: the kernel's list notation, and its bit masks. */
#ifndef HC_SYS_IDSET_H
#define HC_SYS_IDSET_H

#include <stdbool.h>
#include <stddef.h>

#include <hugeclear/sys.h>

#include "base/idlist.h"

/* Numbers above this are refused: bounds the memory of a set. */
#define HC_IDSET_MAX HC_IDLIST_MAX

/*
 * An opaque growable set. The functions of <hugeclear/sys.h> read it, and take
 * NULL as the empty set; these make it. A set may be read by many threads at
 * once, also its text, which is made when it is asked for first.
 */
struct hc_idset *hc_idset_new(void);                  /* NULL: no memory */
struct hc_idset *hc_idset_free(struct hc_idset *set); /* takes and returns NULL */
int hc_idset_add(struct hc_idset *set, unsigned id);  /* -ERANGE, -ENOMEM */
int hc_idset_copy(const struct hc_idset *set, struct hc_idset **ret_copy);
/* True where every member of small is in large. */
bool hc_idset_is_subset(const struct hc_idset *small, const struct hc_idset *large);
/* Keeps in set what is in other too. */
void hc_idset_intersect(struct hc_idset *set, const struct hc_idset *other);
/* Takes out of set what is in other. */
void hc_idset_subtract(struct hc_idset *set, const struct hc_idset *other);
/* Adds to set what is in other; 0 or -ENOMEM. */
int hc_idset_unite(struct hc_idset *set, const struct hc_idset *other);

/*
 * Reads "0-3,8,16-31:2/4" (the kernel's list, with its group syntax
 * first-last:used/group); one trailing newline is fine and an empty text is the
 * empty set. Numbers may repeat, but a text that names far more of them than
 * there can be is refused. -EINVAL with the text and the place; -ERANGE for a
 * number above HC_IDSET_MAX, before any memory is taken for it; -ENOMEM.
 */
int hc_idset_parse(const char *text, struct hc_idset **ret_set);

/*
 * The set as an array of unsigned long for mbind(2), set_mempolicy(2) and
 * sched_setaffinity(2), zero behind the last member. *ret_nr_bits is a multiple
 * of the bits of a long and at least highest + 2, as mbind's maxnode wants it
 * (the kernel looks at maxnode - 1 bits). Freed by the caller.
 */
int hc_idset_mask(const struct hc_idset *set, unsigned long **ret_mask, unsigned long *ret_nr_bits);

/* From such an array. */
int hc_idset_from_mask(const unsigned long *mask, unsigned long nr_bits, struct hc_idset **ret_set);

#endif
