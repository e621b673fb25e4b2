/* The kernel's notation of CPU and node lists: one grammar for all that read it. */
#ifndef HC_BASE_IDLIST_H
#define HC_BASE_IDLIST_H

/* Numbers above this are refused. The kernel's NR_CPUS and MAX_NUMNODES are far lower. */
#define HC_IDLIST_MAX 65535

/* first, first-last or first-last:used/group: of every group numbers the first used ones. */
struct hc_idlist_range {
	unsigned first, last, used, group;
};

/*
 * Reads "0-3,8,16-31:2/4" and calls add for each range in turn; what it returns
 * below 0 ends the reading and is returned. One trailing newline is fine, an empty
 * text has no ranges. -EINVAL with the text and the place, also where it names far
 * more numbers than there can be; -ERANGE for a number above HC_IDLIST_MAX.
 */
int hc_idlist_parse(const char *text, int (*add)(void *arg, const struct hc_idlist_range *range), void *arg);

#endif
