/* A root whose few files come from a fuzzer's input: sections divided by a byte 0x1e. */
#ifndef HC_FUZZ_ROOT_H
#define HC_FUZZ_ROOT_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "sys/root.h"

#define FUZZ_FILES_MAX 8
#define FUZZ_SEPARATOR 0x1e

struct fuzz_root {
	const uint8_t *bytes;
	size_t len;
	/* The i-th section is the text of every file whose path ends in names[i]; NULL ends the list. */
	const char *names[FUZZ_FILES_MAX + 1];
	/* Files that are always the same: pairs of path and text, ended by NULL. */
	const char *fixed[2 * FUZZ_FILES_MAX + 1];
};

static inline int fuzz_root_give(const void *text, size_t len, char *buf, size_t buf_size) {
	if (len >= buf_size)
		return hc_fail(EFBIG, "too long");
	if (memchr(text, '\0', len))
		return hc_fail(EBADMSG, "a NUL byte");
	memcpy(buf, text, len);
	buf[len] = '\0';
	return (int)len;
}

static inline int fuzz_root_read(void *user, const char *path, char *buf, size_t buf_size) {
	const struct fuzz_root *fuzz = user;
	for (size_t i = 0; fuzz->fixed[i]; i += 2)
		if (strcmp(fuzz->fixed[i], path) == 0)
			return fuzz_root_give(fuzz->fixed[i + 1], strlen(fuzz->fixed[i + 1]), buf, buf_size);

	const uint8_t *section = fuzz->bytes, *end = fuzz->bytes + fuzz->len;
	for (size_t i = 0; fuzz->names[i] && section; i++) {
		const uint8_t *next = memchr(section, FUZZ_SEPARATOR, (size_t)(end - section));
		size_t name_len = strlen(fuzz->names[i]), path_len = strlen(path);
		if (path_len >= name_len && strcmp(path + path_len - name_len, fuzz->names[i]) == 0)
			return fuzz_root_give(section, (size_t)((next ? next : end) - section), buf, buf_size);
		section = next ? next + 1 : NULL;
	}
	return hc_fail(ENOENT, "no such file");
}

/* pre: bytes isn't NULL (libFuzzer passes NULL for an empty input only at its start) */
static inline struct hc_root fuzz_root(struct fuzz_root *fuzz) {
	if (!fuzz->bytes)
		fuzz->bytes = (const uint8_t *)"";
	return (struct hc_root){.fd = -1, .path = "/fuzz", .read = fuzz_root_read, .user = fuzz};
}

#endif
