/* Any command line is a plan whose words are in it, or an error with a detail. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "init_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len + 1);
	if (!text)
		return 0;
	memcpy(text, bytes, len);
	text[len] = '\0';

	struct init_plan *plan = NULL;
	int r = init_plan_read(text, &plan);
	if (r < 0 && (r != -EINVAL || hc_error_detail()[0] == '\0' || plan))
		abort();
	for (unsigned i = 0; r == 0 && i < plan->nr_commands; i++) {
		size_t total = 0;
		for (char **word = plan->commands[i].words; *word; word++)
			total += strlen(*word);
		if (!plan->commands[i].words[0] || total > len)
			abort();
	}
	init_plan_free(plan);
	free(text);
	return 0;
}
