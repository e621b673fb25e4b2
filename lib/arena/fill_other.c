#include "arena/fill.h"

hc_fill_fn hc_fill_choose(void) {
	return hc_fill_portable;
}
