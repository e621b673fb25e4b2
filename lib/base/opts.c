#include "base/opts.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* No struct of options or results comes near this; a larger size field is an uninitialised one. */
#define STRUCT_SIZE_MAX 4096

int hc_opts_check(const void *opts, size_t known, void *ret_opts) {
	if (!opts) {
		memset(ret_opts, 0, known);
		memcpy(ret_opts, &known, sizeof(known));
		return 0;
	}

	size_t given;
	memcpy(&given, opts, sizeof(given));
	if (given < sizeof(size_t) || given > STRUCT_SIZE_MAX)
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

int hc_opts_flag(int value, const char *name) {
	return value == 0 || value == 1 ? 0 : hc_fail(EINVAL, "%s is %d: 0 or 1 is possible", name, value);
}

int hc_report_check(const void *report) {
	if (!report)
		return 0;
	size_t given;
	memcpy(&given, report, sizeof(given));
	if (given < sizeof(size_t) || given > STRUCT_SIZE_MAX)
		return hc_fail(EINVAL, "report struct with its size field at %zu: set it to sizeof(the struct)", given);
	return 0;
}

void hc_report_write(const void *from, size_t known, void *report) {
	if (!report)
		return;
	size_t given;
	memcpy(&given, report, sizeof(given));
	memset(report, 0, given);
	memcpy(report, from, given < known ? given : known);
	memcpy(report, &given, sizeof(given));
}
