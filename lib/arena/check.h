/* All of an arena's locks at once, for who looks at all of it. */
#ifndef HC_ARENA_CHECK_H
#define HC_ARENA_CHECK_H

#include "arena/arena_object.h"

void hc_arena_lock_all(struct hc_arena *arena);
void hc_arena_unlock_all(struct hc_arena *arena);

#endif
