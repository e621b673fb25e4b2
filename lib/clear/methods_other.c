/* An architecture without methods of its own. */
#include "clear/methods.h"

const struct hc_method hc_methods[] = {
        {.name = "memset", .needs = "", .block = 64, .clear = hc_method_memset},
};

const unsigned hc_nr_methods = sizeof(hc_methods) / sizeof(hc_methods[0]);

const struct hc_method_preferences hc_method_preferences = {
        .few = {{"memset", 0}},
        .cached = {{"memset", 0}},
        .streaming = {{"memset", 0}},
        .few_up_to = 512,
        .streams_from = 4096,
};
