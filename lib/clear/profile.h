/*
 * The file format of profiles: small, text, line by line.
 *
 *     hugeclear-profile/1
 *     # comment lines, and empty ones, anywhere below the first
 *     vendor=AuthenticAMD
 *     family=25
 *     model=1
 *     stepping=1
 *     soon=512:avx2,2097152:stosb,max:avx2-nt
 *     later=2048:avx2,max:clzero
 *
 * The first line is the version. Below it each key stands once, in any order,
 * without spaces; all four that name the processor have to be there, and at
 * least one ladder. A ladder's steps are LENGTH:METHOD, lengths in bytes and
 * rising, "max" in the last; a step is for lengths up to and including its own.
 * Unknown keys are errors: a setting that is dropped in silence would be a
 * choice nobody made. hugeclear-profile(5) says the same to users.
 */
#ifndef HC_CLEAR_PROFILE_H
#define HC_CLEAR_PROFILE_H

#include <stddef.h>

#include "clear/choice.h"

/* A longer file isn't a profile. */
#define HC_PROFILE_BYTES_MAX 16384

/*
 * Reads the text of a profile for this processor. Ladders that it doesn't have
 * are left with 0 steps. Errors as hc_clear_profile_load(), with the line's number.
 * The text may hold anything, NULs too.
 */
int hc_profile_parse(
        const char *text, size_t len, const struct hc_processor_id *processor, struct hc_choice *ret_choice);

/*
 * Writes the text of a profile into buf, with a NUL behind it. Returns its
 * length; -ENOSPC where it would be longer than hc_profile_parse() takes.
 */
int hc_profile_format(const struct hc_choice *choice, const struct hc_processor_id *processor, const char *comment,
        char *buf, size_t buf_size);

/* Reads the file; errors as hc_clear_profile_load(). */
int hc_profile_read(const char *path, const struct hc_processor_id *processor, struct hc_choice *ret_choice);

#endif
