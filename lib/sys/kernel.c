#include "sys/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sys/warnings.h"

void hc_kernel_free(struct hc_kernel *kernel) {
	free((void *)(uintptr_t)kernel->release);
	free((void *)(uintptr_t)kernel->preemption);
	free((void *)(uintptr_t)kernel->boot_id);
	*kernel = (struct hc_kernel){0};
}

/* The file's first line, "" where it can't be read: many are for root, or not there. */
static void read_line(const struct hc_root *root, const char *path, char *line, size_t line_size) {
	int r = hc_root_read(root, path, line, line_size);
	line[r < 0 ? 0 : strcspn(line, "\n")] = '\0';
}

static bool has_word(const char *text, const char *word) {
	size_t len = strlen(word);
	for (const char *p = text; (p = strstr(p, word)) != NULL; p += len)
		if ((p == text || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
			return true;
	return false;
}

/* "none voluntary (full) lazy": the word in round brackets. */
static bool read_chosen(const char *text, char *word, size_t word_size) {
	const char *open = strchr(text, '(');
	size_t len = open ? strcspn(open + 1, ") ") : 0;
	if (len == 0 || len >= word_size || open[1 + len] != ')')
		return false;
	memcpy(word, open + 1, len);
	word[len] = '\0';
	return true;
}

/*
 * From the most to the least certain: what is switched on now (root, with debugfs
 * mounted), the real-time kernel's own file, what was asked for at boot, and the
 * words of the build, which scripts/mkcompile_h of the kernel puts into its
 * version: PREEMPT_RT, PREEMPT_DYNAMIC, or PREEMPT for full as well as lazy.
 */
static const char *read_preemption(const struct hc_root *root, char *word, size_t word_size) {
	char line[4096];
	read_line(root, "sys/kernel/debug/sched/preempt", line, sizeof(line));
	if (read_chosen(line, word, word_size))
		return word;
	read_line(root, "sys/kernel/realtime", line, sizeof(line));
	if (strcmp(line, "1") == 0)
		return "rt";

	char version[1024];
	read_line(root, "proc/sys/kernel/version", version, sizeof(version));
	if (*version == '\0')
		read_line(root, "proc/version", version, sizeof(version));
	if (has_word(version, "PREEMPT_RT"))
		return "rt";
	if (has_word(version, "PREEMPT_DYNAMIC")) {
		static const char *const modes[] = {"none", "voluntary", "full", "lazy"};
		const char *chosen = "dynamic";
		read_line(root, "proc/cmdline", line, sizeof(line));
		/* The last one on the command line counts. */
		for (char *rest = line, *option; (option = strsep(&rest, " ")) != NULL;)
			for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
				if (strncmp(option, "preempt=", 8) == 0 && strcmp(option + 8, modes[i]) == 0)
					chosen = modes[i];
		return chosen;
	}
	return has_word(version, "PREEMPT") ? "preemptible" : "";
}

int hc_kernel_read(const struct hc_root *root, struct hc_warnings *warnings, struct hc_kernel *ret_kernel) {
	char release[256], boot_id[128], word[32];
	read_line(root, "proc/sys/kernel/osrelease", release, sizeof(release));
	if (*release == '\0')
		hc_warn(warnings, "the kernel's release isn't in proc/sys/kernel/osrelease");
	read_line(root, "proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));

	struct hc_kernel kernel = {
	        .release = strdup(release),
	        .preemption = strdup(read_preemption(root, word, sizeof(word))),
	        .boot_id = strdup(boot_id),
	};
	if (!kernel.release || !kernel.preemption || !kernel.boot_id) {
		hc_kernel_free(&kernel);
		return hc_fail_memory("no memory for the names of the kernel");
	}
	*ret_kernel = kernel;
	return 0;
}
