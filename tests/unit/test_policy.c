/* Memory policy: what the kernel was told is what it says, and a refusal is never taken for success. */
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hugeclear/hugeclear.h>

#include "support/seccomp.h"
#include "sys/policy.h"
#include "sys/root.h"
#include "sys/topology.h"

/* Skips where the kernel, or whoever runs the tests, has no policies. */
static struct hc_idset *usable_nodes(void) {
	struct hc_idset *nodes = NULL;
	int r = hc_policy_allowed(&nodes);
	if (r < 0) {
		assert_true(r == -EPERM || r == -ENOSYS);
		printf("%s\n", hc_error_detail());
		skip();
	}
	assert_true(hc_idset_count(nodes) > 0);
	return nodes;
}

static void *map_page(size_t *ret_len) {
	*ret_len = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, *ret_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	return p;
}

/* What the kernel says of the memory at p: a mode, and one node or, with -1, none. */
static void expect_policy(void *p, int wanted_mode, int node) {
	enum { WORDS = 512, BITS = 8 * sizeof(unsigned long) };
	unsigned long mask[WORDS] = {0};
	int mode = -1;
	assert_int_equal(syscall(SYS_get_mempolicy, &mode, mask, WORDS * BITS, p, MPOL_F_ADDR), 0);
	assert_int_equal(mode, wanted_mode);
	for (int word = 0; word < WORDS; word++)
		assert_true(mask[word] == (node / BITS == word && node >= 0 ? 1ul << (node % BITS) : 0));
}

static void test_NM_05_binding_is_what_the_kernel_says(void **state) {
	(void)state;
	struct hc_idset *nodes = usable_nodes();
	size_t len;
	void *p = map_page(&len);
	/* each allowed node by itself: with maxnode one bit too low the highest of a mask is lost, and EINVAL is all there is */
	for (int id = -1; (id = hc_idset_next(nodes, id + 1)) >= 0;) {
		struct hc_idset *one = hc_idset_new();
		assert_ok(hc_idset_add(one, (unsigned)id));
		int r = hc_policy_bind(p, len, MPOL_BIND, one, 0);
		if (r == -EINVAL) { /* a node without memory */
			hc_idset_free(one);
			continue;
		}
		assert_return(r, 0, "hc_policy_bind");
		expect_policy(p, MPOL_BIND, id);
		hc_idset_free(one);
	}
	assert_ok(hc_policy_bind(p, len, MPOL_DEFAULT, NULL, 0));
	expect_policy(p, MPOL_DEFAULT, -1);
	munmap(p, len);
	hc_idset_free(nodes);
}

/* A cpuset that takes the node away can't be had on a machine with one: what is refused is compared alone. */
static void test_NM_06_nodes_beyond_the_cpuset(void **state) {
	(void)state;
	struct hc_idset *wanted, *allowed;
	assert_ok(hc_idset_parse("0-1,8", &wanted));
	assert_ok(hc_idset_parse("0-1,8-9", &allowed));
	assert_ok(hc_policy_check(wanted, allowed));
	allowed = hc_idset_free(allowed);
	assert_ok(hc_idset_parse("0,9", &allowed));
	assert_error(hc_policy_check(wanted, allowed), EINVAL);
	assert_detail_has("memory on nodes 1,8 is wanted, but this process's cpuset doesn't allow them, only 0,9");
	hc_idset_free(wanted);
	assert_ok(hc_idset_parse("1", &wanted));
	assert_error(hc_policy_check(wanted, allowed), EINVAL);
	assert_detail_has("memory on node 1 is wanted, but this process's cpuset doesn't allow it, only 0,9");
	hc_idset_free(wanted);
	hc_idset_free(allowed);
}

static void test_node_of_pages(void **state) {
	(void)state;
	struct hc_idset *nodes = usable_nodes();
	size_t len;
	void *resident = map_page(&len), *absent = map_page(&len);
	*(volatile char *)resident = 1;
	void *pages[2] = {resident, absent};
	int on[2] = {-1, -1};
	assert_ok(hc_policy_page_nodes(pages, 2, on));
	assert_true(on[0] >= 0 && hc_idset_has(nodes, (unsigned)on[0]));
	assert_int_equal(on[1], -ENOENT);
	munmap(resident, len);
	munmap(absent, len);
	hc_idset_free(nodes);
}

static void test_NM_06_no_such_node(void **state) {
	(void)state;
	struct hc_idset *nodes = usable_nodes(), *none = hc_idset_new();
	unsigned absent = 0;
	while (hc_idset_has(nodes, absent))
		absent++;
	size_t len;
	void *p = map_page(&len);
	assert_ok(hc_idset_add(none, absent));
	assert_error(hc_policy_bind(p, len, MPOL_BIND, none, 0), EINVAL);
	assert_detail_has("was not applied");
	assert_detail_has(hc_idset_text(none));

	/* The kernel takes a mask of which one node is left, and says nothing: the check before it has to. */
	struct hc_root root;
	struct hc_topology *topology = NULL;
	assert_ok(hc_idset_unite(none, nodes));
	assert_ok(hc_root_open(NULL, &root));
	assert_ok(hc_topology_read(&root, NULL, &topology));
	if (!hc_topology_node_by_id(topology, absent)) {
		assert_error(hc_topology_check_memory(topology, none), EINVAL);
		assert_detail_has("not online");
	}
	hc_topology_free(topology);
	hc_root_close(&root);
	munmap(p, len);
	hc_idset_free(none);
	hc_idset_free(nodes);
}

static bool refused(int r, int err) {
	bool ok = r == -err && strstr(hc_error_detail(), err == EPERM ? "forbidden" : "isn't there");
	if (!ok)
		fprintf(stderr, "%d: %s\n", r, hc_error_detail());
	return ok;
}

static bool check_refusals(int err) {
	struct hc_idset *nodes = NULL, *got = NULL;
	size_t len;
	void *p = map_page(&len);
	int on = 99;
	bool ok = hc_idset_parse("0", &nodes) == 0 && refused(hc_policy_bind(p, len, MPOL_BIND, nodes, 0), err) &&
	          strstr(hc_error_detail(), "policy was not applied") && refused(hc_policy_allowed(&got), err) &&
	          refused(hc_policy_page_nodes(&p, 1, &on), err) && !got;
	hc_idset_free(nodes);
	munmap(p, len);
	return ok;
}

static void test_NM_08_forbidden(void **state) {
	(void)state;
	static const int calls[] = {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages};
	with_calls_forbidden(calls, 4, EPERM, check_refusals);
	with_calls_forbidden(calls, 4, ENOSYS, check_refusals);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_NM_05_binding_is_what_the_kernel_says),
	        cmocka_unit_test(test_NM_06_nodes_beyond_the_cpuset),
	        cmocka_unit_test(test_node_of_pages),
	        cmocka_unit_test(test_NM_06_no_such_node),
	        cmocka_unit_test(test_NM_08_forbidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
