#include "bench/lists.h"

#include <string.h>

#include "cli.h"

int bench_read_size_or_0(const struct bench_list *list, const char *item, uint64_t *ret_value) {
	*ret_value = 0;
	return strcmp(item, "0") == 0 ? 0 : cli_size(list->verb, list->option, item, ret_value);
}

int bench_read_count(const struct bench_list *list, const char *item, uint64_t *ret_value) {
	return cli_count(list->verb, list->option, item, 1, list->most, ret_value);
}

static int add_number(void *user, const char *item) {
	const struct bench_list *list = user;
	uint64_t value;
	int code = list->read(list, item, &value);
	if (code)
		return code;
	for (size_t i = 0; i < *list->nr; i++)
		if (list->values[i] == value)
			return 0;
	if (*list->nr == list->max)
		return cli_usage(list->verb, "%s: more than %zu values", list->option, list->max);
	list->values[(*list->nr)++] = value;
	return 0;
}

int bench_read_list(struct bench_list list, const char *text) {
	*list.nr = 0;
	return cli_list(list.verb, list.option, text, add_number, &list);
}
