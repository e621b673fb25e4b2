/* What the kernel's command line asks for. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "init_words.h"

static struct init_plan *read_line(const char *line) {
	struct init_plan *plan = NULL;
	assert_ok(init_plan_read(line, &plan));
	return plan;
}

static void assert_words(const struct init_command *command, const char *const *words) {
	size_t i = 0;
	for (; words[i]; i++) {
		assert_non_null(command->words[i]);
		assert_string_equal(command->words[i], words[i]);
	}
	assert_null(command->words[i]);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_commands_in_their_order(void **state) {
	(void)state;
	struct init_plan *plan = read_line("console=ttyS0 hugeclear.run=\"reserve 2M=16\"  quiet "
	                                   "hugeclear.run=status hugeclear.run=\"bench clear -s  16M\"\n");
	assert_int_equal(plan->nr_commands, 3);
	assert_words(&plan->commands[0], WORDS("reserve", "2M=16"));
	assert_words(&plan->commands[1], WORDS("status"));
	assert_words(&plan->commands[2], WORDS("bench", "clear", "-s", "16M"));
	assert_int_equal(plan->seconds, 600);
	init_plan_free(plan);
}

/* Documentation/admin-guide/kernel-parameters: double quotes protect blanks, also around the whole parameter. */
static void test_quotes(void **state) {
	(void)state;
	struct init_plan *plan = read_line("\"hugeclear.run=/bin/echo 'two words'  x''y\" hugeclear.timeout=5");
	assert_int_equal(plan->nr_commands, 1);
	assert_words(&plan->commands[0], WORDS("/bin/echo", "two words", "xy"));
	assert_int_equal(plan->seconds, 5);
	init_plan_free(plan);
}

static void test_nothing_and_what_is_not_ours(void **state) {
	(void)state;
	const char *const lines[] = {
	        "", " \n", "quiet hugeclear.ru=x ahugeclear.run=x hugeclear.run", "quiet -- hugeclear.run=x"};
	for (size_t i = 0; i < 4; i++) {
		struct init_plan *plan = read_line(lines[i]);
		assert_int_equal(plan->nr_commands, 0);
		init_plan_free(plan);
	}
}

static void test_what_is_refused(void **state) {
	(void)state;
	const char *const lines[] = {"hugeclear.run=", "hugeclear.run=\"  \"", "hugeclear.run=\"echo 'a\"",
	        "hugeclear.timeout=", "hugeclear.timeout=0", "hugeclear.timeout=-1", "hugeclear.timeout=5s",
	        "hugeclear.timeout=86401", "hugeclear.timeout=18446744073709551617"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct init_plan *plan = NULL;
		assert_int_equal(init_plan_read(lines[i], &plan), -EINVAL);
		assert_null(plan);
	}
}

static void test_as_many_as_are_allowed(void **state) {
	(void)state;
	char line[8192] = "hugeclear.run=\"";
	for (unsigned i = 0; i < INIT_WORDS_MAX; i++)
		strcat(line, "w ");
	strcat(line, "\"");
	init_plan_free(read_line(line));
	line[strlen(line) - 1] = '\0';
	strcat(line, "w\"");
	struct init_plan *plan;
	assert_int_equal(init_plan_read(line, &plan), -EINVAL);

	line[0] = '\0';
	for (unsigned i = 0; i < INIT_COMMANDS_MAX; i++)
		strcat(line, "hugeclear.run=w ");
	init_plan_free(read_line(line));
	strcat(line, "hugeclear.run=w");
	assert_int_equal(init_plan_read(line, &plan), -EINVAL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_commands_in_their_order),
	        cmocka_unit_test(test_quotes),
	        cmocka_unit_test(test_nothing_and_what_is_not_ours),
	        cmocka_unit_test(test_what_is_refused),
	        cmocka_unit_test(test_as_many_as_are_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
