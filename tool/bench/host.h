/* The `host` object of result files: what a reader must know of a machine before comparing numbers. */
#ifndef HC_BENCH_HOST_H
#define HC_BENCH_HOST_H

#include <jansson.h>

#include <hugeclear/sys.h>

/* What isn't known is left out, never guessed. NULL: no memory. */
json_t *host_describe(const struct hc_machine *machine);

/* One line for people: "Linux 6.1.0, AMD EPYC ..., 2 CPUs, virtualised (KVM)". Cut where it doesn't fit. */
void host_line(const struct hc_machine *machine, char *text, size_t text_size);

#endif
