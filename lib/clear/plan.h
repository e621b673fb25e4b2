/* What the calls that clear have in common: checks, and how the work is cut. */
#ifndef HC_CLEAR_PLAN_H
#define HC_CLEAR_PLAN_H

#include <stddef.h>

#include <hugeclear/clear.h>

#include "clear/methods.h"
#include "clear/steps.h"

/* -EINVAL for NULL, -EOVERFLOW where it wraps. pre: len > 0 */
int hc_plan_check_range(const void *p, size_t len);

/* The steps of a clear of len bytes with these options (checked by hc_opts_check()), without their chunks. */
void hc_plan_steps(const struct hc_clear_opts *opts, size_t len, struct hc_steps *ret_steps);

/* How the steps are cut for so many threads, those that run; 0: for the caller alone. pre: hc_plan_steps() */
void hc_plan_chunks(const struct hc_clear_opts *opts, unsigned threads, struct hc_steps *steps);

/* The named method, or the choice for what it will be given. Errors of hc_method_wanted(). pre: hc_plan_chunks() */
int hc_plan_method(const struct hc_clear_opts *opts, enum hc_intent intent, const struct hc_steps *steps,
        const struct hc_method **ret_method);

#endif
