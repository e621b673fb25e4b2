/* Journals of `reserve -- CMD`: what they say, whose they are, and what is put back after their owner's death. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugeclear/sys.h>

#include "reserve_journal.h"
#include "reserve_pools.h"

#define MIB (UINT64_C(1) << 20)
#define HEAD "hugeclear-reserve 1\nboot 1234-abcd\nowner 77 1764540000\n"

#define POOL_2M "sys/kernel/mm/hugepages/hugepages-2048kB"
#define NODE_2M(node) "sys/devices/system/node/node" node "/hugepages/hugepages-2048kB"
#define BOOT_ID "proc/sys/kernel/random/boot_id"

/* ---- The text ------------------------------------------------------------------ */

static int parse(const char *text, struct reserve_record *ret_record) {
	return reserve_record_parse(text, strlen(text), ret_record);
}

/* The changes in words: "2097152 0:8 2097152 1:-4 " */
static const char *changes_of(const struct reserve_record *record) {
	static char text[512];
	size_t len = 0;
	text[0] = '\0';
	for (unsigned i = 0; i < record->nr_changes; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%llu %d:%lld ",
		        (unsigned long long)record->changes[i].page_size, record->changes[i].node,
		        (long long)record->changes[i].pages);
	return text;
}

static void expect_changes(const char *lines, const char *expected) {
	char text[2048];
	struct reserve_record record;
	snprintf(text, sizeof(text), "%s%s", HEAD, lines);
	assert_return(parse(text, &record), 0, lines);
	assert_string_equal(record.boot_id, "1234-abcd");
	assert_int_equal(record.owner, 77);
	assert_int_equal(record.since, 1764540000);
	assert_string_equal(changes_of(&record), expected);
	reserve_record_free(&record);
}

static void test_sums(void **state) {
	(void)state;
	expect_changes("", "");
	expect_changes("intent 2097152 -1 0 8\ndone 2097152 0:5 1:3\n", "2097152 0:5 2097152 1:3 ");
	expect_changes("intent 2097152 -1 0 8\ndone 2097152\n", "");
	expect_changes("intent 2097152 0 4 1\ndone 2097152 0:-3\nintent 1073741824 -1 0 1\ndone 1073741824 -1:1\n",
	        "2097152 0:-3 1073741824 -1:1 ");
	/* put back in two steps */
	expect_changes(
	        "intent 2097152 0 0 8\ndone 2097152 0:8\nintent 2097152 0 8 3\ndone 2097152 0:-5\n", "2097152 0:3 ");
	expect_changes("intent 2097152 0 0 8\ndone 2097152 0:8\nintent 2097152 0 8 0\ndone 2097152 0:-8\n", "");
	/* what nodes couldn't give, from the whole machine: from the last node first */
	expect_changes("intent 2097152 -1 0 8\ndone 2097152 0:4 1:4\nintent 2097152 -1 8 2\ndone 2097152 -1:-6\n",
	        "2097152 0:2 ");
	expect_changes("intent 2097152 0 0 4\ndone 2097152 0:4\nintent 2097152 -1 8 2\ndone 2097152 -1:-6\n",
	        "2097152 -1:-2 ");
	/* what was added to the machine as a whole comes before what was added by node */
	expect_changes("intent 2097152 0 0 4\ndone 2097152 0:4\nintent 2097152 -1 4 6\ndone 2097152 -1:2\n"
	               "intent 2097152 -1 6 3\ndone 2097152 -1:-3\n",
	        "2097152 0:3 ");
	/* taken from a node, then added to the machine: two things */
	expect_changes("intent 2097152 0 4 0\ndone 2097152 0:-4\nintent 2097152 -1 0 6\ndone 2097152 -1:6\n",
	        "2097152 0:-4 2097152 -1:6 ");
}

static void test_intents_stay_open(void **state) {
	(void)state;
	struct reserve_record record;
	assert_ok(parse(HEAD "intent 2097152 -1 3 8\n", &record));
	assert_int_equal(record.intent.page_size, 2 * MIB);
	assert_int_equal(record.intent.node, -1);
	assert_int_equal(record.intent.from, 3);
	assert_int_equal(record.intent.to, 8);
	reserve_record_free(&record);
	/* The last line was cut off by the death of its writer. */
	assert_ok(parse(HEAD "intent 2097152 -1 3 8\ndone 2097152 0:", &record));
	assert_int_equal(record.intent.page_size, 2 * MIB);
	assert_int_equal(record.nr_changes, 0);
	reserve_record_free(&record);
	assert_ok(parse(HEAD "intent 2097152 -1 3 8\ndone 2097152 0:5\n", &record));
	assert_int_equal(record.intent.page_size, 0);
	reserve_record_free(&record);
}

static void test_texts_that_are_none(void **state) {
	(void)state;
	struct reserve_record record;
	assert_error(parse("", &record), ENODATA);
	assert_error(parse("hugeclear-res", &record), ENODATA);
	assert_error(parse("hugeclear-reserve 1\nboot x\nowner 1 ", &record), ENODATA);
	assert_error(parse("hugeclear-reserve 2\nwhatever\n", &record), ENOTSUP);
	static const char *const corrupt[] = {
	        "\n",
	        "hugeclear-reserve\n",
	        "hugeclear-reserve 1\nboot \nowner 1 1\n",
	        "hugeclear-reserve 1\nboot a b\nowner 1 1\n",
	        "hugeclear-reserve 1\nboot 0123456789012345678901234567890123456789012345678901234567890123\nowner 1 "
	        "1\n",
	        "hugeclear-reserve 1\nowner 1 1\nboot x\n",
	        "hugeclear-reserve 1\nboot x\nowner 0 1\n",
	        "hugeclear-reserve 1\nboot x\nowner 99999999999 1\n",
	        HEAD "\n",
	        HEAD "frobnicate\n",
	        HEAD "intent 2097152 -1 0 8 \n",
	        HEAD "intent 2097152 -2 0 8\n",
	        HEAD "intent 2097152 65536 0 8\n",
	        HEAD "intent 2097152 -1 -1 8\n",
	        HEAD "intent 3145728 -1 0 8\n",
	        HEAD "intent 0 -1 0 8\n",
	        HEAD "intent 18446744073709551616 -1 0 8\n",
	        HEAD "intent 2097152 -1 0 281474976710657\n",
	        HEAD "intent 2097152 -1 0 8\nintent 2097152 -1 0 8\n",
	        HEAD "done 2097152 0:8\n",
	        HEAD "intent 2097152 -1 0 8\ndone 1073741824 0:8\n",
	        HEAD "intent 2097152 -1 0 8\ndone 2097152 0:0\n",
	        HEAD "intent 2097152 -1 0 8\ndone 2097152 0\n",
	        HEAD "intent 2097152 -1 0 8\ndone 2097152 0:8,1:8\n",
	        HEAD "intent 2097152 -1 0 8\ndone 2097152 0:281474976710656\n"
	             "intent 2097152 -1 0 8\ndone 2097152 0:1\n",
	};
	for (size_t i = 0; i < sizeof(corrupt) / sizeof(*corrupt); i++)
		assert_return(parse(corrupt[i], &record), -EBADMSG, corrupt[i]);

	char nul[] = HEAD "intent 2097152 -1 0 8\n";
	nul[sizeof(HEAD) + 3] = '\0';
	assert_return(reserve_record_parse(nul, sizeof(nul) - 1, &record), -EBADMSG, "a NUL byte");
	assert_detail_has("line 4");
	char *large = calloc(1, (1 << 20) + 1);
	assert_non_null(large);
	assert_return(reserve_record_parse(large, (1 << 20) + 1, &record), -EBADMSG, "1 MiB and a byte");
	free(large);
}

/* ---- Files ---------------------------------------------------------------------- */

/* numa/one-node-empty-pool-on-node1: node 0 has 1024 pages of 2 MiB, all free, node 1 none */
static char *machine(void) {
	char *tree = tree_unpack("numa/one-node-empty-pool-on-node1.tree");
	tree_write(tree, "run/", "");
	tree_write(tree, BOOT_ID, "1234-abcd\n");
	return tree;
}

static const char *in(const char *tree, const char *path) {
	static char full[1024];
	snprintf(full, sizeof(full), "%s/%s", tree, path);
	return full;
}

static unsigned long long count(const char *tree, const char *path) {
	unsigned long long n = 0;
	FILE *f = fopen(in(tree, path), "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llu", &n), 1);
	fclose(f);
	return n;
}

static struct {
	unsigned seen, errors, torn, other_boot;
	char changes[256];
} left;

static void note(void *user, const struct reserve_left *found) {
	(void)user;
	left.seen++;
	left.errors += found->error < 0;
	left.torn += found->torn;
	left.other_boot += found->other_boot;
	if (found->journal)
		snprintf(left.changes, sizeof(left.changes), "%s", changes_of(reserve_journal_record(found->journal)));
}

static int look(const char *tree, bool look_only) {
	memset(&left, 0, sizeof(left));
	return reserve_journals_left(tree, look_only, note, NULL);
}

static const struct reserve_change eight = {.page_size = 2 * MIB, .node = 0, .pages = 8};

/* Dies in the middle, after what do_it does with its journal. */
static void die_with_journal(const char *tree, void (*do_it)(struct reserve_journal *journal, const char *tree)) {
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct reserve_journal *journal = reserve_journal_new();
		if (!journal || reserve_journal_keep(journal, tree) < 0)
			_exit(1);
		do_it(journal, tree);
		raise(SIGKILL);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void add_eight(struct reserve_journal *journal, const char *tree) {
	(void)tree;
	reserve_journal_intend(journal, 2 * MIB, 0, 0, 8);
	reserve_journal_done(journal, 2 * MIB, &eight, 1);
}

static void test_only_the_dead_leave_journals(void **state) {
	(void)state;
	char *tree = machine();
	assert_int_equal(look(tree, false), 0); /* no folder yet */
	struct reserve_journal *journal = reserve_journal_new();
	assert_ok(reserve_journal_keep(journal, tree));
	assert_true(reserve_journal_is_kept(journal));
	struct stat st;
	assert_int_equal(stat(in(tree, "run/hugeclear"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	add_eight(journal, tree);
	assert_int_equal(look(tree, false), 0); /* its owner lives */

	die_with_journal(tree, add_eight);
	assert_int_equal(look(tree, true), 1);
	assert_int_equal(look(tree, false), 1);
	assert_string_equal(left.changes, "2097152 0:8 ");
	assert_int_equal(left.errors + left.torn + left.other_boot, 0);
	assert_int_equal(look(tree, false), 1); /* nobody has put anything back: it stays */

	/* A second of the same process, and the end of both. */
	struct reserve_journal *second = reserve_journal_new();
	assert_ok(reserve_journal_keep(second, tree));
	reserve_journal_close(second);
	reserve_journal_close(journal); /* has something left */
	assert_int_equal(look(tree, true), 2);
	assert_null(reserve_journal_close(NULL));
	temp_folder_remove(tree);
}

static void test_other_boot_and_torn_ones_are_removed(void **state) {
	(void)state;
	char *tree = machine();
	die_with_journal(tree, add_eight);
	tree_write(tree, "run/hugeclear/reserve.5.0", "hugeclear-res");
	tree_write(tree, BOOT_ID, "5678-abcd\n");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(look(tree, i == 0), 2);
		assert_int_equal(left.other_boot, 1);
		assert_int_equal(left.torn, 1);
		assert_int_equal(left.errors, 0);
	}
	assert_int_equal(look(tree, false), 0);
	temp_folder_remove(tree);
}

static void test_strange_files_are_left_alone(void **state) {
	(void)state;
	char *tree = machine();
	die_with_journal(tree, add_eight);
	tree_write(tree, "run/hugeclear/reserve.1.0", HEAD "frobnicate\n");
	tree_write(tree, "run/hugeclear/reserve.2.0", "hugeclear-reserve 2\n");
	tree_write(tree, "run/hugeclear/notes.txt", "not ours\n");
	assert_int_equal(mkdir(in(tree, "run/hugeclear/reserve.3.0"), 0700), 0);
	assert_int_equal(symlink("/etc/passwd", in(tree, "run/hugeclear/reserve.4.0")), 0);
	assert_int_equal(mkfifo(in(tree, "run/hugeclear/reserve.5.0"), 0600), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(look(tree, false), 6);
		assert_int_equal(left.errors, 5);
	}
	assert_int_equal(access(in(tree, "run/hugeclear/notes.txt"), F_OK), 0);
	temp_folder_remove(tree);
}

static void test_folders_of_others_are_not_used(void **state) {
	(void)state;
	char *tree = machine();
	struct reserve_journal *journal = reserve_journal_new();
	assert_int_equal(mkdir(in(tree, "run/hugeclear"), 0700), 0);
	assert_int_equal(chmod(in(tree, "run/hugeclear"), 0777), 0);
	assert_return(reserve_journal_keep(journal, tree), -EPERM, "a folder that all may write to");
	assert_detail_has("run/hugeclear");
	assert_return(look(tree, false), -EPERM, "a folder that all may write to");
	assert_int_equal(rmdir(in(tree, "run/hugeclear")), 0);

	char *elsewhere = temp_folder();
	assert_int_equal(symlink(elsewhere, in(tree, "run/hugeclear")), 0);
	assert_return(reserve_journal_keep(journal, tree), -EPERM, "a link to a folder");
	assert_return(look(tree, false), -EPERM, "a link to a folder");
	assert_int_equal(unlink(in(tree, "run/hugeclear")), 0);
	assert_int_equal(rmdir(in(tree, "run")), 0);
	assert_return(reserve_journal_keep(journal, tree), -ENOENT, "no run/");
	assert_int_equal(look(tree, false), 0);
	assert_false(reserve_journal_is_kept(journal));

	/* In memory alone it works all the same. */
	assert_ok(reserve_journal_intend(journal, 2 * MIB, 0, 0, 8));
	assert_ok(reserve_journal_done(journal, 2 * MIB, &eight, 1));
	assert_string_equal(changes_of(reserve_journal_record(journal)), "2097152 0:8 ");
	reserve_journal_close(journal);
	temp_folder_remove(elsewhere);
	temp_folder_remove(tree);
}

/* ---- Putting back ----------------------------------------------------------------- */

static int change(struct reserve_journal *journal, const char *tree, int node, int64_t pages) {
	struct hc_pool_request request = {
	        .size = sizeof(request), .page_size = 2 * MIB, .node = node, .relative = 1, .pages = pages};
	struct hc_pool_opts opts = {.size = sizeof(opts), .root = tree};
	struct hc_pool_result result = {.size = sizeof(result)};
	return reserve_pools_change(journal, &request, &opts, &result);
}

static void change_three(struct reserve_journal *journal, const char *tree) {
	change(journal, tree, 0, -100);
	change(journal, tree, 1, 8);
	change(journal, tree, -1, 6);
	tree_write(tree, NODE_2M("1") "/free_hugepages", "8\n");
	tree_write(tree, POOL_2M "/free_hugepages", "1030\n");
}

static void expect_counts(const char *tree, unsigned machine_count, unsigned node0, unsigned node1) {
	assert_int_equal(count(tree, POOL_2M "/nr_hugepages"), machine_count);
	assert_int_equal(count(tree, NODE_2M("0") "/nr_hugepages"), node0);
	assert_int_equal(count(tree, NODE_2M("1") "/nr_hugepages"), node1);
}

static void test_what_the_dead_left_is_put_back(void **state) {
	(void)state;
	char *tree = machine();
	die_with_journal(tree, change_three);
	expect_counts(tree, 1030, 924, 8);
	assert_int_equal(reserve_pools_recover(tree, true, false), 0);
	expect_counts(tree, 1030, 924, 8);
	/* Others change counts meanwhile: it goes by difference. */
	tree_write(tree, POOL_2M "/nr_hugepages", "1040\n");
	tree_write(tree, POOL_2M "/free_hugepages", "1040\n");
	assert_int_equal(reserve_pools_recover(tree, false, false), 0);
	expect_counts(tree, 1034, 1024, 0);
	assert_int_equal(look(tree, true), 0);
	assert_int_equal(reserve_pools_recover(tree, false, false), 0);
	expect_counts(tree, 1034, 1024, 0);
	temp_folder_remove(tree);
}

static void test_pages_in_use_stay_until_later(void **state) {
	(void)state;
	char *tree = machine();
	die_with_journal(tree, change_three);
	tree_write(tree, NODE_2M("1") "/free_hugepages", "3\n");
	tree_write(tree, POOL_2M "/free_hugepages", "3\n");
	assert_int_equal(reserve_pools_recover(tree, false, false), 1);
	/* Node 1 gives the 3 that are free there, the machine the 3 that are free in all. */
	assert_int_equal(count(tree, NODE_2M("1") "/nr_hugepages"), 5);
	assert_int_equal(count(tree, NODE_2M("0") "/nr_hugepages"), 1024);
	assert_int_equal(look(tree, true), 1);
	/* Those of node 1 that it couldn't give by itself were taken from the machine; here from node 1. */
	tree_write(tree, NODE_2M("1") "/nr_hugepages", "2\n");
	tree_write(tree, NODE_2M("1") "/free_hugepages", "2\n");
	tree_write(tree, POOL_2M "/free_hugepages", "1000\n");
	assert_int_equal(reserve_pools_recover(tree, false, false), 0);
	assert_int_equal(count(tree, NODE_2M("1") "/nr_hugepages"), 0);
	assert_int_equal(look(tree, true), 0);
	temp_folder_remove(tree);
}

static void test_less_than_was_added_is_forgotten(void **state) {
	(void)state;
	char *tree = machine();
	die_with_journal(tree, change_three);
	tree_write(tree, NODE_2M("1") "/nr_hugepages", "2\n");
	tree_write(tree, NODE_2M("1") "/free_hugepages", "2\n");
	assert_int_equal(reserve_pools_recover(tree, false, false), 0);
	assert_int_equal(count(tree, NODE_2M("1") "/nr_hugepages"), 0);
	assert_int_equal(look(tree, true), 0);
	temp_folder_remove(tree);
}

static unsigned reached;

static void begin_only(struct reserve_journal *journal, const char *tree) {
	char text[32];
	reserve_journal_intend(journal, 2 * MIB, -1, 1024, 1032);
	snprintf(text, sizeof(text), "%u\n", reached);
	tree_write(tree, POOL_2M "/nr_hugepages", text);
	tree_write(tree, POOL_2M "/free_hugepages", text);
}

/* Killed between saying what it is going to do and saying that it is done: the count tells how far it came. */
static void test_what_was_only_begun(void **state) {
	(void)state;
	const struct {
		unsigned reached, expected;
	} cases[] = {{1024, 1024}, {1027, 1024}, {1032, 1024}, {1035, 1027}, {1020, 1020}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *tree = machine();
		reached = cases[i].reached;
		die_with_journal(tree, begin_only);
		assert_int_equal(reserve_pools_recover(tree, false, false), 0);
		assert_int_equal(count(tree, POOL_2M "/nr_hugepages"), cases[i].expected);
		assert_int_equal(look(tree, true), 0);
		temp_folder_remove(tree);
	}
}

/* What stands in a journal can't make anybody take pages in use, or crash: it is checked like any other request. */
static void test_journals_that_lie(void **state) {
	(void)state;
	char *tree = machine();
	tree_write(tree, "run/hugeclear/reserve.1.0",
	        HEAD "intent 4194304 -1 0 8\ndone 4194304 -1:8\nintent 2097152 7 0 9\ndone 2097152 7:9\n");
	tree_write(tree, "run/hugeclear/reserve.2.0", HEAD "intent 2097152 3 0 9\n");
	tree_write(tree, "run/hugeclear/reserve.3.0", HEAD "intent 2097152 -1 0 9\ndone 2097152 -1:-281474976710656\n");
	assert_int_equal(chmod(in(tree, "run/hugeclear"), 0700), 0);
	assert_int_equal(reserve_pools_recover(tree, false, false), 1);
	expect_counts(tree, 1024, 1024, 0);
	temp_folder_remove(tree);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sums),
	        cmocka_unit_test(test_intents_stay_open),
	        cmocka_unit_test(test_texts_that_are_none),
	        cmocka_unit_test(test_only_the_dead_leave_journals),
	        cmocka_unit_test(test_other_boot_and_torn_ones_are_removed),
	        cmocka_unit_test(test_strange_files_are_left_alone),
	        cmocka_unit_test(test_folders_of_others_are_not_used),
	        cmocka_unit_test(test_what_the_dead_left_is_put_back),
	        cmocka_unit_test(test_pages_in_use_stay_until_later),
	        cmocka_unit_test(test_less_than_was_added_is_forgotten),
	        cmocka_unit_test(test_what_was_only_begun),
	        cmocka_unit_test(test_journals_that_lie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
