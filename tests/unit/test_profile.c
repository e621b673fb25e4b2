/* Profiles: what is read, what is refused with which line, what is written. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hugeclear/clear.h>

#include "clear/profile.h"
#include "sys/processor.h"

static const struct hc_processor_id milan = {.vendor = "AuthenticAMD", .family = 25, .model = 1, .stepping = 1};

#define HEAD "hugeclear-profile/1\nvendor=AuthenticAMD\nfamily=25\nmodel=1\nstepping=1\n"

static int parse(const char *text, struct hc_choice *ret_choice) {
	return hc_profile_parse(text, strlen(text), &milan, ret_choice);
}

static const char *method_for(const struct hc_choice *choice, enum hc_intent intent, uint64_t len) {
	struct hc_packed_ladder packed;
	hc_ladder_pack(&choice->ladders[intent], &packed);
	return hc_methods[hc_ladder_method(&packed, len)].name;
}

/* ---- Reading ------------------------------------------------------------------ */

/* "memset" is on every architecture; a second name makes steps tell apart. */
static const char *other_name(void) {
	for (unsigned i = 0; hc_clear_method(i); i++)
		if (hc_clear_method(i)->available && strcmp(hc_clear_method(i)->name, "memset") != 0)
			return hc_clear_method(i)->name;
	return "memset";
}

static void test_reads_ladders(void **state) {
	(void)state;
	const char *other = other_name();
	char text[1024];
	snprintf(text, sizeof(text),
	        "hugeclear-profile/1\n# any order, empty lines\n\nlater=max:%s\nstepping=1\nmodel=1\n"
	        "soon=512:memset,2097152:%s,max:memset\nfamily=25\nvendor=AuthenticAMD\n",
	        other, other);
	struct hc_choice choice;
	assert_ok(parse(text, &choice));
	assert_string_equal(method_for(&choice, HC_INTENT_SOON, 512), "memset");
	assert_string_equal(method_for(&choice, HC_INTENT_SOON, 513), other);
	assert_string_equal(method_for(&choice, HC_INTENT_SOON, 2097152), other);
	assert_string_equal(method_for(&choice, HC_INTENT_SOON, 2097153), "memset");
	assert_string_equal(method_for(&choice, HC_INTENT_LATER, 0), other);
	assert_string_equal(method_for(&choice, HC_INTENT_LATER, UINT64_MAX), other);

	assert_ok(parse(HEAD "soon=max:memset\n", &choice));
	assert_int_equal(choice.ladders[HC_INTENT_LATER].nr_steps, 0);
}

static void test_refuses(void **state) {
	(void)state;
	static const struct {
		const char *text;
		int err;
		const char *detail;
	} rows[] = {
	        {"", EBADMSG, "line 1"},
	        {"\n", EBADMSG, "line 1"},
	        {"hello\n", EBADMSG, "hugeclear tune"},
	        {"hugeclear-profile\n", EBADMSG, "line 1"},
	        {" hugeclear-profile/1\n", EBADMSG, "line 1"},
	        {"hugeclear-profile/2\nnothing=known\n", ENOTSUP, "version 1"},
	        {"hugeclear-profile/10\n", ENOTSUP, "'10'"},
	        {"hugeclear-profile/1\n", EBADMSG, "vendor="},
	        {"hugeclear-profile/1", EBADMSG, "cut off"},
	        {HEAD, EBADMSG, "chooses nothing"},
	        {HEAD "soon=max:memset", EBADMSG, "line 6: cut off"},
	        {HEAD "soon\n", EBADMSG, "line 6"},
	        {HEAD "sooner=max:memset\n", EBADMSG, "line 6: unknown key 'sooner'"},
	        {HEAD "soon =max:memset\n", EBADMSG, "line 6"},
	        {HEAD "model=1\nsoon=max:memset\n", EBADMSG, "line 6: model is there already, in line 4"},
	        {HEAD "soon=\n", EBADMSG, "line 6"},
	        {HEAD "soon=memset\n", EBADMSG, "LENGTH:METHOD"},
	        {HEAD "soon=max:\n", EBADMSG, "line 6"},
	        {HEAD "soon=512:memset\n", EBADMSG, "max:METHOD"},
	        {HEAD "soon=512:memset,\n", EBADMSG, "line 6"},
	        {HEAD "soon=512:memset,512:memset,max:memset\n", EBADMSG, "rise"},
	        {HEAD "soon=max:memset,max:memset\n", EBADMSG, "rise"},
	        {HEAD "soon=max:memset,512:memset\n", EBADMSG, "rise"},
	        {HEAD "soon=1K:memset,max:memset\n", EBADMSG, "'1K'"},
	        {HEAD "soon=-1:memset,max:memset\n", EBADMSG, "'-1'"},
	        {HEAD "soon=18446744073709551616:memset,max:memset\n", EBADMSG, "line 6"},
	        {HEAD "soon=18446744073709551615:memset,max:memset\n", EBADMSG, "line 6"},
	        {HEAD "soon=:memset,max:memset\n", EBADMSG, "line 6"},
	        {HEAD "soon=max:avx1024\n", EBADMSG, "'avx1024'"},
	        {HEAD "soon=max:memset\r\n", EBADMSG, "line 6"},
	        {HEAD "later=1:memset,2:memset,3:memset,4:memset,5:memset,6:memset,7:memset,8:memset,9:memset,10:"
	              "memset,"
	              "11:memset,12:memset,13:memset,14:memset,15:memset,16:memset,max:memset\n",
	                EBADMSG, "at most 16"},
	        {"hugeclear-profile/1\nvendor=AuthenticAMD\nfamily=\nmodel=1\nstepping=1\nsoon=max:memset\n", EBADMSG,
	                "line 3"},
	        {"hugeclear-profile/1\nvendor=AuthenticAMD\nfamily=4294967321\nmodel=1\nstepping=1\nsoon=max:memset\n",
	                EBADMSG, "line 3"}, /* 2^32 + 25 */
	        {"hugeclear-profile/1\nvendor=AuthenticAMD\nfamily=25\nmodel=1\nstepping=0\nsoon=max:memset\n", EXDEV,
	                "hugeclear tune"},
	        {"hugeclear-profile/1\nvendor=AuthenticAMD\nfamily=25\nmodel=17\nstepping=1\nsoon=max:memset\n", EXDEV,
	                "model 17"},
	        {"hugeclear-profile/1\nvendor=AuthenticAM\nfamily=25\nmodel=1\nstepping=1\nsoon=max:memset\n", EXDEV,
	                "'AuthenticAM'"},
	        /* Another processor's methods aren't looked for here: whose it is comes first. */
	        {"hugeclear-profile/1\nvendor=GenuineIntel\nfamily=6\nmodel=143\nstepping=8\nsoon=max:avx1024\n", EXDEV,
	                "GenuineIntel"},
	};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hc_choice choice = {.ladders = {{.nr_steps = 99}}};
		assert_return(parse(rows[i].text, &choice), -rows[i].err, rows[i].text);
		assert_detail_has(rows[i].detail);
		assert_int_equal(choice.ladders[0].nr_steps, 99);
	}

	struct hc_choice choice;
	static const char nul[] = HEAD "soon=max:memset\n\0";
	assert_error(hc_profile_parse(nul, sizeof(nul) - 1, &milan, &choice), EBADMSG);
	char *large = malloc(HC_PROFILE_BYTES_MAX);
	memset(large, '#', HC_PROFILE_BYTES_MAX);
	assert_error(hc_profile_parse(large, HC_PROFILE_BYTES_MAX, &milan, &choice), EBADMSG);
	free(large);
}

static void test_method_that_is_not_here(void **state) {
	(void)state;
	const struct hc_clear_method *lacking = NULL;
	for (unsigned i = 0; hc_clear_method(i) && !lacking; i++)
		if (!hc_clear_method(i)->available)
			lacking = hc_clear_method(i);
	if (!lacking) {
		puts("this processor has every method");
		skip();
	}
	char text[256];
	snprintf(text, sizeof(text), HEAD "soon=max:%s\n", lacking->name);
	struct hc_choice choice;
	assert_error(parse(text, &choice), EOPNOTSUPP);
	assert_detail_has(lacking->needs);
	assert_detail_has("line 6");
}

/* ---- Files ---------------------------------------------------------------------- */

static char *path_in(const char *folder, const char *name) {
	static char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static const struct hc_clear_profile_step all_memset[] = {
        {HC_INTENT_SOON, "memset", 1000},
        {HC_INTENT_LATER, "memset", HC_UNKNOWN},
        {HC_INTENT_SOON, "memset", HC_UNKNOWN},
};

static void test_saves_and_loads(void **state) {
	(void)state;
	char *folder = temp_folder();
	char *path = path_in(folder, "a profile");
	const struct hc_clear_method *before = hc_clear_choice(64 << 20, HC_INTENT_LATER);

	mode_t mask = umask(027);
	assert_ok(hc_clear_profile_save(path, "measured by a test\non one machine", all_memset, 3));
	umask(mask);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(count_files(folder), 1);

	assert_ok(hc_clear_profile_load(path));
	const char *error = "";
	assert_string_equal(hc_clear_profile(&error), path);
	assert_null(error);
	for (uint64_t len = 0; len < UINT64_C(1) << 40; len = len * 2 + 1) {
		assert_string_equal(hc_clear_choice(len, HC_INTENT_SOON)->name, "memset");
		assert_string_equal(hc_clear_choice(len, HC_INTENT_LATER)->name, "memset");
	}

	/* A profile that fails leaves the one before. */
	tree_write(folder, "bad", "hugeclear-profile/1\nrubbish\n");
	char bad[4096];
	snprintf(bad, sizeof(bad), "%s/bad", folder);
	assert_error(hc_clear_profile_load(bad), EBADMSG);
	assert_detail_has("line 2");
	assert_detail_has(bad);
	assert_error(hc_clear_profile_load(path_in(folder, "none")), ENOENT);
	assert_error(hc_clear_profile_load(folder), EBADMSG);
	assert_error(hc_clear_profile_load(""), ENOENT);
	assert_string_equal(hc_clear_choice(64 << 20, HC_INTENT_LATER)->name, "memset");

	assert_ok(hc_clear_profile_load(NULL));
	assert_string_equal(hc_clear_profile(NULL), "built-in");
	assert_ptr_equal(hc_clear_choice(64 << 20, HC_INTENT_LATER), before);
	temp_folder_remove(folder);
}

static void test_intent_that_is_left_out_stays_built_in(void **state) {
	(void)state;
	char *folder = temp_folder();
	char *path = path_in(folder, "profile");
	const struct hc_clear_method *before = hc_clear_choice(64 << 20, HC_INTENT_LATER);
	const struct hc_clear_profile_step soon[] = {{HC_INTENT_SOON, "memset", HC_UNKNOWN}};
	assert_ok(hc_clear_profile_save(path, NULL, soon, 1));
	assert_ok(hc_clear_profile_load(path));
	assert_string_equal(hc_clear_choice(1, HC_INTENT_SOON)->name, "memset");
	assert_ptr_equal(hc_clear_choice(64 << 20, HC_INTENT_LATER), before);
	assert_ok(hc_clear_profile_load(NULL));
	temp_folder_remove(folder);
}

static void test_save_refuses_steps(void **state) {
	(void)state;
	char *folder = temp_folder();
	char *path = path_in(folder, "profile");
	static const struct hc_clear_profile_step wrong[][2] = {
	        {{HC_INTENT_SOON, "memset", 5}, {HC_INTENT_SOON, "memset", 5}},
	        {{HC_INTENT_SOON, "memset", 5}, {HC_INTENT_SOON, "memset", 6}},
	        {{HC_INTENT_SOON, "memset", HC_UNKNOWN}, {HC_INTENT_LATER, "memset", 6}},
	        {{HC_INTENT_SOON, "memset", HC_UNKNOWN}, {HC_INTENT_SOON, "memset", HC_UNKNOWN}},
	        {{HC_INTENT_SOON, "avx1024", 5}, {HC_INTENT_SOON, "memset", HC_UNKNOWN}},
	        {{HC_INTENT_SOON, NULL, 5}, {HC_INTENT_SOON, "memset", HC_UNKNOWN}},
	        {{(enum hc_intent)2, "memset", 5}, {HC_INTENT_SOON, "memset", HC_UNKNOWN}},
	};
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_error(hc_clear_profile_save(path, NULL, wrong[i], 2), EINVAL);
	assert_error(hc_clear_profile_save(path, NULL, all_memset, 0), EINVAL);
	assert_error(hc_clear_profile_save(path, NULL, NULL, 1), EINVAL);
	assert_error(hc_clear_profile_save(NULL, NULL, all_memset, 3), EINVAL);
	assert_error(hc_clear_profile_save("", NULL, all_memset, 3), EINVAL);

	char *comment = malloc(HC_PROFILE_BYTES_MAX + 1);
	for (unsigned i = 0; i < HC_PROFILE_BYTES_MAX; i++)
		comment[i] = i % 50 == 49 ? '\n' : 'x';
	comment[HC_PROFILE_BYTES_MAX] = '\0';
	assert_error(hc_clear_profile_save(path, comment, all_memset, 3), ENOSPC);
	/* Lines were cut at 1000 bytes: one that fits is there whole, one that doesn't is an error. */
	memset(comment, 'y', HC_PROFILE_BYTES_MAX);
	assert_error(hc_clear_profile_save(path, comment, all_memset, 3), ENOSPC);
	comment[HC_PROFILE_BYTES_MAX - 1] = '\0';
	assert_error(hc_clear_profile_save(path, comment, all_memset, 3), ENOSPC);
	assert_int_equal(count_files(folder), 0);
	comment[5000] = '\0';
	assert_ok(hc_clear_profile_save(path, comment, all_memset, 3));
	char saved[HC_PROFILE_BYTES_MAX] = "";
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(saved, 1, sizeof(saved) - 1, f) > 5000);
	fclose(f);
	char *line = strstr(saved, "# yyyy");
	assert_non_null(line);
	assert_int_equal(strcspn(line, "\n"), 5002);
	free(comment);
	temp_folder_remove(folder);
}

static void test_save_replaces_whole_files_only(void **state) {
	(void)state;
	char *folder = temp_folder();
	char link[4096];
	snprintf(link, sizeof(link), "%s/link", folder);

	/* Through a symbolic link: the file it names is replaced, the link stays. */
	tree_write(folder, "real", "old");
	assert_int_equal(symlink("real", link), 0);
	assert_ok(hc_clear_profile_save(link, NULL, all_memset, 3));
	struct stat st;
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_ok(hc_clear_profile_load(path_in(folder, "real")));
	assert_ok(hc_clear_profile_load(NULL));
	assert_int_equal(count_files(folder), 2);

	/* And where that isn't there, it is made. */
	assert_int_equal(unlink(path_in(folder, "real")), 0);
	assert_ok(hc_clear_profile_save(link, NULL, all_memset, 3));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_ok(hc_clear_profile_load(path_in(folder, "real")));
	assert_ok(hc_clear_profile_load(NULL));
	assert_int_equal(count_files(folder), 2);

	char *fifo = path_in(folder, "fifo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_error(hc_clear_profile_save(fifo, NULL, all_memset, 3), EINVAL);
	assert_error(hc_clear_profile_load(fifo), EBADMSG); /* and doesn't wait for a writer */
	assert_error(hc_clear_profile_save(folder, NULL, all_memset, 3), EINVAL);
	assert_error(hc_clear_profile_save(path_in(folder, "none/profile"), NULL, all_memset, 3), ENOENT);
	assert_error(hc_clear_profile_save(path_in(folder, "real/profile"), NULL, all_memset, 3), ENOTDIR);
	assert_error(hc_clear_profile_save("/dev/null", NULL, all_memset, 3), EINVAL);
	assert_int_equal(count_files(folder), 3);
	temp_folder_remove(folder);
}

/* ---- The environment, in a process of its own ------------------------------------ */

static void say_profile(void) {
	const char *error = NULL;
	const char *method = hc_clear_choice(64 << 20, HC_INTENT_LATER)->name;
	const char *profile = hc_clear_profile(&error);
	printf("[%s] [%s] [%s]", method, profile, error ? error : "");
}

static const char *choice_with(const char *program, const char *profile) {
	static char text[4096];
	char command[8192];
	setenv("HUGECLEAR_PROFILE", profile, 1);
	snprintf(command, sizeof(command), "%s say", program);
	FILE *f = popen(command, "re");
	assert_non_null(f);
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(pclose(f), 0);
	unsetenv("HUGECLEAR_PROFILE");
	return text;
}

static void test_profile_of_the_environment(void **state) {
	(void)state;
	char *folder = temp_folder();
	char *path = path_in(folder, "profile");
	char program[64], wanted[8192];
	snprintf(program, sizeof(program), "/proc/%d/exe", (int)getpid());
	assert_ok(hc_clear_profile_save(path, NULL, all_memset, 3));
	snprintf(wanted, sizeof(wanted), "[memset] [%s] []", path);
	assert_string_equal(choice_with(program, path), wanted);

	assert_contains(choice_with(program, ""), "[built-in] []");
	assert_contains(choice_with(program, "/nowhere/at/all"), "[built-in] [profile /nowhere/at/all: ");
	temp_folder_remove(folder);
}

/* Whoever may not be trusted with the user's rights may not choose files for them to read. */
static void test_set_user_id_ignores_the_environment(void **state) {
	(void)state;
	if (geteuid() != 0) {
		puts("needs root, to make a set-user-ID program");
		skip();
	}
	char *folder = temp_folder();
	char path[512], program[512], command[2048];
	snprintf(path, sizeof(path), "%s/profile", folder);
	snprintf(program, sizeof(program), "%s/program", folder);
	assert_ok(hc_clear_profile_save(path, NULL, all_memset, 3));
	assert_int_equal(chmod(folder, 0755), 0);
	snprintf(command, sizeof(command), "cp /proc/%d/exe '%s' && chown nobody '%s' && chmod 4755 '%s'",
	        (int)getpid(), program, program, program);
	assert_int_equal(system(command), 0);
	assert_contains(choice_with(program, path), "[built-in] []");
	temp_folder_remove(folder);
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "say") == 0) {
		say_profile();
		fflush(stdout);
		_exit(0); /* LeakSanitizer, at an ordinary exit, can't look into a set-user-ID process */
	}
	unsetenv("HUGECLEAR_PROFILE");
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_reads_ladders),
	        cmocka_unit_test(test_refuses),
	        cmocka_unit_test(test_method_that_is_not_here),
	        cmocka_unit_test(test_saves_and_loads),
	        cmocka_unit_test(test_intent_that_is_left_out_stays_built_in),
	        cmocka_unit_test(test_save_refuses_steps),
	        cmocka_unit_test(test_save_replaces_whole_files_only),
	        cmocka_unit_test(test_profile_of_the_environment),
	        cmocka_unit_test(test_set_user_id_ignores_the_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
