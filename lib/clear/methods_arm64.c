#include "clear/methods.h"

#include "clear/arm64.h"
#include "sys/processor.h"

const struct hc_method hc_methods[] = {
        {"stp", "", 0, false, 64, hc_arm64_stp},
        {"stnp", "", 0, true, 64, hc_arm64_stnp},
        /*
         * The block is the processor's (DCZID_EL0): 64 bytes on nearly all, 256 on A64FX, up to 2048.
         * Whether it passes the cache is the processor's choice too, so it isn't called streaming.
         */
        {"dczva", "dczva", HC_FEATURE_BIT(HC_FEATURE_DCZVA), false, 512, hc_arm64_dczva},
        {"memset", "", 0, false, 64, hc_method_memset},
};

const unsigned hc_nr_methods = sizeof(hc_methods) / sizeof(hc_methods[0]);

_Static_assert(sizeof(hc_methods) / sizeof(hc_methods[0]) <= HC_METHODS_MAX, "raise HC_METHODS_MAX");

/*
 * dc zva for both uses, as Linux clears pages (arch/arm64/lib/clear_page.S): it needs no read
 * of the line, and cores that see a run of it stop allocating by themselves. stnp is but a
 * hint, which many cores don't take: where it pays, a measured profile says so.
 */
const struct hc_method_preferences hc_method_preferences = {
        .few = {{"stp", 0}},
        .cached = {{"dczva", 0}, {"stp", 0}},
        .streaming = {{"dczva", 0}, {"stnp", 0}},
        .few_up_to = 512,
        .streams_from = 4096,
};
