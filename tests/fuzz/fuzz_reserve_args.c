/* Any argument is a request that means the same when it is written out again, or an error with a detail. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/hugeclear.h>

#include "base/arith.h"
#include "reserve_args.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct reserve_request *request) {
	if (!hc_is_power_of_two(request->page_size) || request->node < -1 || request->node > RESERVE_NODE_MAX ||
	        (!request->relative && request->pages < 0))
		abort();

	char node[16] = "", text[160];
	if (request->node >= 0)
		snprintf(node, sizeof(node), "@%d", request->node);
	snprintf(text, sizeof(text), "%" PRIu64 "%s=%s%" PRId64, request->page_size, node,
	        request->relative && request->pages >= 0 ? "+" : "", request->pages);
	struct reserve_request again;
	if (reserve_args_parse(text, &again) != 0 || again.page_size != request->page_size ||
	        again.node != request->node || again.pages != request->pages || again.relative != request->relative)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
	char *text = malloc(len + 1);
	if (!text)
		return 0;
	memcpy(text, bytes, len);
	text[len] = '\0';

	struct reserve_request request;
	int r = reserve_args_parse(text, &request);
	if (r == 0)
		check(&request);
	else if ((r != -EINVAL && r != -ERANGE) || hc_error_detail()[0] == '\0')
		abort();
	free(text);
	return 0;
}
