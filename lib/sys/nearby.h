/* The CPUs that memory of a node is brought in and cleared from. */
#ifndef HC_SYS_NEARBY_H
#define HC_SYS_NEARBY_H

#include "sys/idset.h"
#include "sys/root.h"
#include "sys/topology.h"

/*
 * Those of allowed that are on these nodes. For a node that has none (memory alone, or CPUs that aren't
 * allowed) they are those of the nearest node that has some, of equally near ones the lowest; one whose
 * distance isn't known only where no other is there. A node that isn't online has none near. May be empty.
 * -ENOMEM. Freed by the caller.
 */
int hc_nearby_cpus(const struct hc_topology *topology, const struct hc_idset *nodes, const struct hc_idset *allowed,
        struct hc_idset **ret_cpus);

/*
 * The same for the calling thread on this machine; *ret_cpus is NULL where it doesn't matter, as
 * the thread may run on no others, there are none, or the affinity can't be read.
 */
int hc_nearby_cpus_here(const struct hc_root *root, const struct hc_idset *nodes, struct hc_idset **ret_cpus);

#endif
