#include "base/opts.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* No option struct comes near this; a larger size field is an uninitialised one. */
#define OPTS_SIZE_MAX 4096

int hc_opts_check(const void *opts, size_t known, void *ret_opts) {
	if (!opts) {
		memset(ret_opts, 0, known);
		memcpy(ret_opts, &known, sizeof(known));
		return 0;
	}

	size_t given;
	memcpy(&given, opts, sizeof(given));
	if (given < sizeof(size_t) || given > OPTS_SIZE_MAX)
		return hc_fail(EINVAL, "option struct with its size field at %zu: set it to sizeof(the struct)", given);

	const unsigned char *bytes = opts;
	for (size_t i = known; i < given; i++)
		if (bytes[i] != 0)
			return hc_fail(E2BIG,
			        "option struct of %zu bytes has a setting at byte %zu that this library "
			        "(which knows %zu bytes) is too old for",
			        given, i, known);

	memset(ret_opts, 0, known);
	memcpy(ret_opts, opts, given < known ? given : known);
	memcpy(ret_opts, &known, sizeof(known));
	return 0;
}
