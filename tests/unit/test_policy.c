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

static void test_NM_05_binding_is_what_the_kernel_says(void **state) {
	(void)state;
	struct hc_idset *nodes = usable_nodes(), *got = NULL;
	size_t len;
	void *p = map_page(&len);
	int mode = -1;
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
		assert_ok(hc_policy_get_at(p, &mode, &got));
		assert_int_equal(mode, MPOL_BIND);
		assert_string_equal(hc_idset_text(got), hc_idset_text(one));
		got = hc_idset_free(got);
		hc_idset_free(one);
	}
	assert_ok(hc_policy_bind(p, len, MPOL_DEFAULT, NULL, 0));
	assert_ok(hc_policy_get_at(p, &mode, &got));
	assert_true(mode == MPOL_DEFAULT && hc_idset_count(got) == 0);
	hc_idset_free(got);
	munmap(p, len);
	hc_idset_free(nodes);
}

static void test_policy_of_the_thread(void **state) {
	(void)state;
	struct hc_idset *nodes = usable_nodes(), *got = NULL, *before = NULL;
	int mode, mode_before;
	assert_ok(hc_policy_get_thread(&mode_before, &before));
	assert_ok(hc_policy_set_thread(MPOL_INTERLEAVE, nodes));
	assert_ok(hc_policy_get_thread(&mode, &got));
	assert_int_equal(mode, MPOL_INTERLEAVE);
	assert_true(hc_idset_count(got) > 0 && hc_idset_is_subset(got, nodes));
	hc_idset_free(got);
	assert_ok(hc_policy_set_thread(mode_before, hc_idset_count(before) > 0 ? before : NULL));
	hc_idset_free(before);
	hc_idset_free(nodes);
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
	assert_error(hc_policy_set_thread(MPOL_BIND, none), EINVAL);

	/* The kernel takes a mask of which one node is left, and says nothing: the check before it has to. */
	struct hc_root root;
	struct hc_topology *topology = NULL;
	assert_ok(hc_idset_unite(none, nodes));
	assert_ok(hc_root_open(NULL, &root));
	assert_ok(hc_topology_read(&root, NULL, &topology));
	if (!hc_idset_has(hc_topology_nodes_online(topology), absent)) {
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
	int mode = 99, on = 99;
	bool ok = hc_idset_parse("0", &nodes) == 0 && refused(hc_policy_bind(p, len, MPOL_BIND, nodes, 0), err) &&
	          strstr(hc_error_detail(), "policy was not applied") &&
	          refused(hc_policy_set_thread(MPOL_BIND, nodes), err) &&
	          strstr(hc_error_detail(), "policy was not applied") &&
	          refused(hc_policy_get_thread(&mode, &got), err) && refused(hc_policy_get_at(p, &mode, &got), err) &&
	          refused(hc_policy_allowed(&got), err) && refused(hc_policy_page_nodes(&p, 1, &on), err) &&
	          mode == 99 && !got;
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
	        cmocka_unit_test(test_policy_of_the_thread),
	        cmocka_unit_test(test_node_of_pages),
	        cmocka_unit_test(test_NM_06_no_such_node),
	        cmocka_unit_test(test_NM_08_forbidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
