/* Profiles as files: read with care, written whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/clear.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/whole_file.h"
#include "clear/profile.h"

/* ---- Reading -------------------------------------------------------------- */

static ssize_t read_fd(int fd, char *buf, size_t buf_size) {
	size_t len = 0;
	while (len < buf_size) {
		ssize_t n = read(fd, buf + len, buf_size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

int hc_profile_read(const char *path, const struct hc_processor_id *processor, struct hc_choice *ret_choice) {
	/* Not blocking: a FIFO must not hold up the program's first clear. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return hc_fail_errno(errno, "profile %s", path);

	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return hc_fail(EBADMSG, "profile %s: not a regular file", path);
	}
	char text[HC_PROFILE_BYTES_MAX];
	ssize_t len = read_fd(fd, text, sizeof(text));
	close(fd);
	if (len < 0)
		return hc_fail_errno((int)-len, "profile %s", path);

	int r = hc_profile_parse(text, (size_t)len, processor, ret_choice);
	return r < 0 ? hc_fail_prefix(r, "profile %s", path) : 0;
}

/* ---- Writing -------------------------------------------------------------- */

static int add_steps(const struct hc_clear_profile_step *steps, size_t nr_steps, struct hc_choice *choice) {
	for (size_t i = 0; i < nr_steps; i++) {
		const struct hc_clear_profile_step *step = &steps[i];
		if (!hc_intent_name((unsigned)step->intent))
			return hc_fail(EINVAL, "step %zu of the profile: there is no intent %d", i, (int)step->intent);
		if (!step->method)
			return hc_fail(EINVAL, "step %zu of the profile names no method", i);
		const struct hc_method *method;
		int r = hc_method_wanted(step->method, &method);
		if (r < 0)
			return hc_fail_prefix(-EINVAL, "step %zu of the profile", i);
		struct hc_ladder *ladder = &choice->ladders[step->intent];
		if (!hc_ladder_add(ladder, step->up_to, (unsigned)(method - hc_methods)))
			return hc_fail(EINVAL,
			        "step %zu of the profile: lengths of an intent have to rise, and it has at most %d "
			        "steps",
			        i, HC_CLEAR_PROFILE_STEPS_MAX);
	}
	for (unsigned intent = 0; intent < HC_NR_INTENTS; intent++)
		if (choice->ladders[intent].nr_steps > 0 && !hc_ladder_is_whole(&choice->ladders[intent]))
			return hc_fail(EINVAL, "the last step of intent \"%s\" has to be for all lengths (HC_UNKNOWN)",
			        hc_intent_name(intent));
	return 0;
}

int hc_clear_profile_save(
        const char *path, const char *comment, const struct hc_clear_profile_step *steps, size_t nr_steps) {
	if (!path || !*path)
		return hc_fail(EINVAL, "no path to write a profile to");
	if (!steps || nr_steps == 0)
		return hc_fail(EINVAL, "a profile without steps chooses nothing");
	struct hc_choice choice = {0};
	int r = add_steps(steps, nr_steps, &choice);
	if (r < 0)
		return r;
	char text[HC_PROFILE_BYTES_MAX];
	int len = hc_profile_format(&choice, hc_processor_here(), comment, text, sizeof(text));
	if (len < 0)
		return len;

	r = hc_whole_file_write(path, text, (size_t)len);
	/* All that is no regular file is one error here. */
	return r < 0 ? hc_fail_prefix(r == -EISDIR ? -EINVAL : r, "profile %s can't be written", hc_quote(path).s) : 0;
}
