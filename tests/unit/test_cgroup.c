/* Which folders hold the limits of this process, in every arrangement of hierarchies, mounts and namespaces. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "sys/cgroup.h"
#include "sys/mountinfo.h"

struct seen {
	char text[8192];
	unsigned stop_after;
};

static int note(void *user, const char *folder, int version) {
	struct seen *seen = user;
	size_t len = strlen(seen->text);
	snprintf(seen->text + len, sizeof(seen->text) - len, "%s%d:%s", len ? " " : "", version, folder);
	return seen->stop_after && --seen->stop_after == 0 ? 7 : 0;
}

static int folders(const char *cgroup, const char *mountinfo, const char *controller, struct seen *seen) {
	char *tree = temp_folder();
	if (cgroup)
		tree_write(tree, "proc/self/cgroup", cgroup);
	if (mountinfo)
		tree_write(tree, "proc/self/mountinfo", mountinfo);
	struct hc_root root;
	assert_ok(hc_root_open(tree, &root));
	seen->text[0] = '\0';
	int r = hc_cgroup_folders(&root, controller, note, seen);
	hc_root_close(&root);
	temp_folder_remove(tree);
	return r;
}

static void expect(const char *cgroup, const char *mountinfo, const char *controller, const char *expected) {
	struct seen seen = {0};
	assert_return(folders(cgroup, mountinfo, controller, &seen), 0, expected);
	assert_string_equal(seen.text, expected);
}

static void expect_none(const char *cgroup, const char *mountinfo, const char *controller) {
	struct seen seen = {0};
	assert_return(folders(cgroup, mountinfo, controller, &seen), -ENOENT, controller);
	assert_string_equal(seen.text, "");
	assert_string_not_equal(hc_error_detail(), "");
}

#define V2 "30 23 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_version_2(void **state) {
	(void)state;
	expect("0::/user.slice/a.scope\n", V2, "memory",
	        "2:sys/fs/cgroup/user.slice/a.scope 2:sys/fs/cgroup/user.slice 2:sys/fs/cgroup");
	expect("0::/\n", V2, "memory", "2:sys/fs/cgroup");
	expect("0::/with:colon/and space\n", V2, "memory",
	        "2:sys/fs/cgroup/with:colon/and space 2:sys/fs/cgroup/with:colon 2:sys/fs/cgroup");
}

/* The tables of a machine whose controllers are spread over both versions. */
static const char hybrid_groups[] = "9:name=systemd:/\n"
                                    "4:memory:/jobs/42\n"
                                    "2:cpu,cpuacct:/\n"
                                    "0::/svc\n";
static const char hybrid_mounts[] = "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
                                    "23 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n"
                                    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
                                    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                                    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
                                    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                                    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
                                    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static void test_hybrid(void **state) {
	(void)state;
	expect(hybrid_groups, hybrid_mounts, "memory",
	        "1:sys/fs/cgroup/memory/jobs/42 1:sys/fs/cgroup/memory/jobs 1:sys/fs/cgroup/memory");
	expect(hybrid_groups, hybrid_mounts, "cpuacct", "1:sys/fs/cgroup/cpu");
	expect(hybrid_groups, hybrid_mounts, "hugetlb", "2:sys/fs/cgroup/unified/svc 2:sys/fs/cgroup/unified");
	/* "systemd" is a hierarchy's name, "mem" and "cpua" parts of words: no controllers, so version 2 is looked at */
	expect(hybrid_groups, hybrid_mounts, "mem", "2:sys/fs/cgroup/unified/svc 2:sys/fs/cgroup/unified");
	expect(hybrid_groups, hybrid_mounts, "cpua", "2:sys/fs/cgroup/unified/svc 2:sys/fs/cgroup/unified");
}

static void test_controller_not_mounted(void **state) {
	(void)state;
	expect_none(NULL, hybrid_mounts, "memory");
	expect_none(hybrid_groups, NULL, "memory");
	expect_none("", hybrid_mounts, "memory");
	expect_none("4:memory:/a\n", hybrid_mounts, "hugetlb");
	expect_none("4:memory:/a\n0::/a\n", V2, "memory"); /* in version 1, of which nothing is mounted */
	expect_none("4:hugetlb:/a\n", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "hugetlb");
}

/* Docker with version 1 and no cgroup namespace: the mount shows a part of the hierarchy only. */
static void test_mount_of_a_part(void **state) {
	(void)state;
	const char *mounts =
	        "50 40 0:26 /docker/ab12 /sys/fs/cgroup/hugetlb ro,nosuid master:12 - cgroup cgroup rw,hugetlb\n";
	expect("7:hugetlb:/docker/ab12\n", mounts, "hugetlb", "1:sys/fs/cgroup/hugetlb");
	expect("7:hugetlb:/docker/ab12/x/y\n", mounts, "hugetlb",
	        "1:sys/fs/cgroup/hugetlb/x/y 1:sys/fs/cgroup/hugetlb/x 1:sys/fs/cgroup/hugetlb");
	expect_none("7:hugetlb:/docker/ab123\n", mounts, "hugetlb");
	expect_none("7:hugetlb:/other\n", mounts, "hugetlb");
	/* With the whole hierarchy mounted somewhere too, more of the groups above are seen there. */
	expect("7:hugetlb:/docker/ab12\n",
	        "50 40 0:26 /docker/ab12 /sys/fs/cgroup/hugetlb ro - cgroup cgroup rw,hugetlb\n"
	        "51 40 0:26 / /host/cg rw - cgroup cgroup rw,hugetlb\n",
	        "hugetlb", "1:host/cg/docker/ab12 1:host/cg/docker 1:host/cg");
	expect("7:hugetlb:/docker/ab12\n",
	        "51 40 0:26 / /host/cg rw - cgroup cgroup rw,hugetlb\n"
	        "52 40 0:26 /docker/ab12 /sys/fs/cgroup/hugetlb ro - cgroup cgroup rw,hugetlb\n",
	        "hugetlb", "1:host/cg/docker/ab12 1:host/cg/docker 1:host/cg");
}

static void test_cgroup_namespace(void **state) {
	(void)state;
	/* a process that joined the namespace from outside of its root */
	expect_none("0::/../peer\n", V2, "hugetlb");
	/* a mount made outside, two levels above the namespace's root: only its top is known to be above us */
	expect("0::/\n", "30 23 0:26 /../.. /cg rw - cgroup2 cgroup2 rw\n", "hugetlb", "2:cg");
	expect("0::/a/b\n", "30 23 0:26 /.. /cg rw - cgroup2 cgroup2 rw\n", "hugetlb", "2:cg");
	/* another group's folder beside ours */
	expect_none("0::/\n", "30 23 0:26 /../peer /cg rw - cgroup2 cgroup2 rw\n", "hugetlb");
	expect("0::/../peer/a\n", "30 23 0:26 /../peer /cg rw - cgroup2 cgroup2 rw\n", "hugetlb", "2:cg/a 2:cg");
}

static void test_names_that_look_like_dots(void **state) {
	(void)state;
	expect("0::/..a/b..\n", V2, "hugetlb", "2:sys/fs/cgroup/..a/b.. 2:sys/fs/cgroup/..a 2:sys/fs/cgroup");
}

static void test_hidden_mounts(void **state) {
	(void)state;
	/* version 2 was there first, then a tmpfs was put over it with version 2 below that */
	expect("0::/a\n",
	        "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	        "31 30 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
	        "32 31 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
	        "hugetlb", "2:sys/fs/cgroup/unified/a 2:sys/fs/cgroup/unified");
	/* an empty folder over the only one */
	expect_none("0::/a\n",
	        "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	        "31 23 0:27 / /sys/fs rw - tmpfs tmpfs rw\n",
	        "hugetlb");
	/* a neighbour whose name starts the same hides nothing; two at one place: the later */
	expect("0::/a\n",
	        "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
	        "31 30 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
	        "33 23 0:27 / /c rw - tmpfs tmpfs rw\n",
	        "hugetlb", "2:cg/a 2:cg");
}

/* pivot_root(2) puts the root under what was mounted before: it stands behind that, but hides nothing. */
static void test_root_that_came_later(void **state) {
	(void)state;
	expect("0::/a\n",
	        "30 28 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	        "28 27 0:22 / /sys rw - sysfs sysfs rw\n"
	        "27 1 254:0 / / rw - ext4 /dev/vda rw\n",
	        "hugetlb", "2:sys/fs/cgroup/a 2:sys/fs/cgroup");
	/* not so one that it isn't mounted on; the parents that go round in a circle end somewhere */
	expect_none("0::/a\n",
	        "40 41 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
	        "41 40 0:26 / /x rw - tmpfs tmpfs rw\n"
	        "42 1 0:27 / / rw - tmpfs tmpfs rw\n",
	        "hugetlb");
}

static void test_odd_lines(void **state) {
	(void)state;
	expect("garbage\n:::\n0:\n0::relative\n0::/good",
	        "x\n30 23\n\n30 x 0:1 / / rw - cgroup2 c rw\n - \n"
	        "40 23 0:26 / /mnt/a\\040b\\134c rw - cgroup2 cgroup2\n",
	        "hugetlb", "2:mnt/a b\\c/good 2:mnt/a b\\c");
	expect("0::/a\n", "40 23 0:26 / / rw - cgroup2 cgroup2 rw\n", "hugetlb", "2:a 2:.");
	/* mounts that are each other's parent */
	expect("0::/a\n",
	        "40 41 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
	        "41 40 0:26 / /cg/x rw - tmpfs tmpfs rw\n",
	        "hugetlb", "2:cg/a 2:cg");
}

static void test_path_too_long(void **state) {
	(void)state;
	char *cgroup = NULL;
	size_t size;
	FILE *f = open_memstream(&cgroup, &size);
	assert_non_null(f);
	fputs("0::", f);
	for (unsigned i = 0; i < 3000; i++)
		fputs("/ab", f);
	fclose(f);
	struct seen seen = {0};
	assert_return(folders(cgroup, V2, "hugetlb", &seen), -ENAMETOOLONG, "9000 bytes of path");
	free(cgroup);
}

static void test_each_can_stop(void **state) {
	(void)state;
	struct seen seen = {.stop_after = 2};
	assert_int_equal(folders("0::/a/b\n", V2, "hugetlb", &seen), 7);
	assert_string_equal(seen.text, "2:sys/fs/cgroup/a/b 2:sys/fs/cgroup/a");
}

static int count_members(void *user, const char *folder, int version) {
	(void)version;
	char path[8192], line[64];
	snprintf(path, sizeof(path), "/%s/cgroup.procs", folder);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (atoi(line) == getpid())
			++*(unsigned *)user;
	fclose(f);
	return 1; /* the process's own group is the first */
}

/* The oracle on the live machine is the group's own list of members. */
static void test_live_group_has_this_process(void **state) {
	(void)state;
	struct hc_root root;
	assert_ok(hc_root_open(NULL, &root));
	static const char *const controllers[] = {"memory", "cpu", "hugetlb"};
	unsigned looked_at = 0;
	for (size_t i = 0; i < 3; i++) {
		unsigned members = 0;
		int r = hc_cgroup_folders(&root, controllers[i], count_members, &members);
		if (r == -ENOENT || r == 0)
			continue;
		assert_int_equal(r, 1);
		assert_int_equal(members, 1);
		looked_at++;
	}
	hc_root_close(&root);
	if (looked_at == 0) {
		print_message("no cgroup hierarchy is mounted here\n");
		skip();
	}
}

static void test_unescape(void **state) {
	(void)state;
	char text[] = "a\\040b\\011\\012\\134040\\400\\08\\\\000\\04";
	hc_mount_unescape(text);
	assert_string_equal(text, "a b\t\n\\040\\400\\08\\\\000\\04");
	char octal[] = "\\303\\251";
	hc_mount_unescape(octal);
	assert_string_equal(octal, "\303\251");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_version_2),
	        cmocka_unit_test(test_hybrid),
	        cmocka_unit_test(test_controller_not_mounted),
	        cmocka_unit_test(test_mount_of_a_part),
	        cmocka_unit_test(test_cgroup_namespace),
	        cmocka_unit_test(test_names_that_look_like_dots),
	        cmocka_unit_test(test_hidden_mounts),
	        cmocka_unit_test(test_root_that_came_later),
	        cmocka_unit_test(test_odd_lines),
	        cmocka_unit_test(test_path_too_long),
	        cmocka_unit_test(test_each_can_stop),
	        cmocka_unit_test(test_live_group_has_this_process),
	        cmocka_unit_test(test_unescape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
