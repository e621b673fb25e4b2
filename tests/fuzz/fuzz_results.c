/* Any text is a results file whose runs are whole, or an error with a detail that names it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "results/results_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct results_document *document) {
	if (document->nr_runs == 0 || !json_is_object(document->host) || !json_is_array(document->notes))
		abort();
	for (size_t i = 0; i < document->nr_runs; i++) {
		const struct results_measured *run = &document->runs[i];
		if (!run->key || !json_is_object(run->params) || run->bench[0] == '\0' || run->unit[0] == '\0')
			abort();
		if (!isfinite(run->mean) || !isfinite(run->median) || !isfinite(run->stdev) || run->stdev < 0)
			abort();
		for (size_t k = 0; k < run->nr_samples; k++)
			if (!isfinite(run->samples[k]))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len ? len : 1);
	if (!text)
		return 0;
	memcpy(text, bytes, len);
	struct results_document *document = NULL;
	int r = results_read_text(text, len, "fuzz", &document);
	if (r == 0)
		check(document);
	else if (document || (r != -EBADMSG && r != -EPROTONOSUPPORT) || strncmp(hc_error_detail(), "fuzz: ", 6) != 0)
		abort();
	results_document_free(document);
	free(text);
	return 0;
}
