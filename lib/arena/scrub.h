/* The scrubber: dirty free frames become clean ones, a step at a time. */
#ifndef HC_ARENA_SCRUB_H
#define HC_ARENA_SCRUB_H

struct hc_arena;

/* Ends the scrubber's thread, if there is one. For closing. */
void hc_scrubber_end(struct hc_arena *arena);

#endif
