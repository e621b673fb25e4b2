/* hugeclear status --json; the keys are documented in hugeclear-status(1) and only added to. */
#include "status.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/clear.h>

#include "base/error.h"
#include "choices.h"

#define SCHEMA "hugeclear-status/1"

/*
 * Builders pass NULL (no memory) on: put() and append() then do nothing, and what is
 * missing is found once, at the end, through failed.
 */
static void put(json_t *object, const char *key, json_t *value, int *failed) {
	if (json_object_set_new(object, key, value) < 0)
		*failed = 1;
}

static void append(json_t *array, json_t *value, int *failed) {
	if (json_array_append_new(array, value) < 0)
		*failed = 1;
}

/* Unknown, and what no JSON reader takes as an integer, is null. */
static json_t *number(uint64_t value) {
	return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *number_or_0_is_unknown(uint64_t value) {
	return value ? number(value) : json_null();
}

/* 1, 0, -1 unknown */
static json_t *truth(int value) {
	return value < 0 ? json_null() : json_boolean(value);
}

static json_t *id_or_none(int id) {
	return id < 0 ? json_null() : json_integer(id);
}

/*
 * Paths and names come from elsewhere and needn't be UTF-8, which JSON has to be: bytes
 * that aren't are replaced by U+FFFD. NULL is null.
 */
static json_t *text(const char *s) {
	if (!s)
		return json_null();
	json_t *string = json_string(s);
	if (string)
		return string;

	char *copy = malloc(strlen(s) * 3 + 1);
	if (!copy)
		return NULL;
	size_t len = 0;
	for (; *s; s++) {
		if ((unsigned char)*s < 0x80) {
			copy[len++] = *s;
		} else {
			memcpy(copy + len, "\xef\xbf\xbd", 3);
			len += 3;
		}
	}
	copy[len] = '\0';
	string = json_string(copy);
	free(copy);
	return string;
}

/* "" is null */
static json_t *text_or_unknown(const char *s) {
	return s && *s ? text(s) : json_null();
}

static json_t *words(const char *list, int *failed) {
	json_t *array = json_array();
	while (*list) {
		size_t len = strcspn(list, " ");
		if (len > 0)
			append(array, json_stringn(list, len), failed);
		list += len + (list[len] == ' ');
	}
	return array;
}

/* "avx512f(zmm state off) avx2(masked)": the reasons have spaces, the names don't. */
static json_t *masked_features(const char *list, int *failed) {
	json_t *array = json_array();
	while (*list) {
		size_t name_len = strcspn(list, " (");
		const char *rest = list + name_len;
		json_t *feature = json_object();
		put(feature, "name", json_stringn(list, name_len), failed);
		if (*rest == '(') {
			size_t reason_len = strcspn(rest + 1, ")");
			put(feature, "reason", json_stringn(rest + 1, reason_len), failed);
			rest += 1 + reason_len;
			rest += *rest == ')';
		} else {
			put(feature, "reason", json_null(), failed);
		}
		append(array, feature, failed);
		list = rest + strspn(rest, " ");
	}
	return array;
}

static json_t *kernel(const struct status *status, int *failed) {
	const struct hc_kernel *k = hc_machine_kernel(status->machine);
	json_t *object = json_object();
	put(object, "release", text_or_unknown(k->release), failed);
	put(object, "preemption", text_or_unknown(k->preemption), failed);
	put(object, "boot_id", text_or_unknown(k->boot_id), failed);
	return object;
}

static json_t *processor(const struct status *status, int *failed) {
	const struct hc_processor *p = hc_machine_processor(status->machine);
	int features_known = !status->root || *p->features || *p->features_masked;
	json_t *object = json_object();
	put(object, "architecture", text_or_unknown(p->architecture), failed);
	put(object, "vendor", text_or_unknown(p->vendor), failed);
	put(object, "model_name", text_or_unknown(p->model_name), failed);
	put(object, "family", p->family ? json_integer(p->family) : json_null(), failed);
	put(object, "model", p->family ? json_integer(p->model) : json_null(), failed);
	put(object, "stepping", p->family ? json_integer(p->stepping) : json_null(), failed);
	put(object, "features", features_known ? words(p->features, failed) : json_null(), failed);
	put(object, "features_masked", features_known ? masked_features(p->features_masked, failed) : json_null(),
	        failed);
	put(object, "virtualised", truth(p->virtualised), failed);
	put(object, "hypervisor", text_or_unknown(p->hypervisor), failed);
	put(object, "l1d_bytes", number_or_0_is_unknown(p->l1d), failed);
	put(object, "l2_bytes", number_or_0_is_unknown(p->l2), failed);
	put(object, "l3_bytes", number_or_0_is_unknown(p->l3), failed);
	put(object, "cached_up_to_bytes", number(p->cached_up_to), failed);
	return object;
}

static json_t *cpus(const struct status *status, int *failed) {
	const struct hc_cpus *c = hc_machine_cpus(status->machine);
	json_t *object = json_object();
	put(object, "online", text(hc_idset_text(c->online)), failed);
	put(object, "allowed", c->allowed ? text(hc_idset_text(c->allowed)) : json_null(), failed);
	put(object, "quota_us", number(c->quota_us), failed);
	put(object, "period_us", number(c->period_us), failed);
	put(object, "default_threads", json_integer(c->default_threads), failed);
	put(object, "default_threads_why", text(c->default_threads_why), failed);
	return object;
}

static void append_choices(json_t *array, const char *name, enum hc_intent intent, int *failed) {
	struct hc_clear_profile_step steps[HC_CLEAR_PROFILE_STEPS_MAX];
	unsigned n = cli_choices(intent, steps);
	for (unsigned i = 0; i < n; i++) {
		json_t *choice = json_object();
		put(choice, "intent", text(name), failed);
		put(choice, "up_to_bytes", number(steps[i].up_to), failed);
		put(choice, "method", text(steps[i].method), failed);
		append(array, choice, failed);
	}
}

static json_t *clearing(const struct status *status, int *failed) {
	if (status->root)
		return json_null();

	const char *error;
	const char *source = hc_clear_profile(&error);
	json_t *object = json_object(), *choices = json_array(), *methods = json_array();
	put(object, "source", text(source), failed);
	put(object, "source_error", text(error), failed);
	append_choices(choices, "soon", HC_INTENT_SOON, failed);
	append_choices(choices, "later", HC_INTENT_LATER, failed);
	put(object, "choices", choices, failed);

	const struct hc_clear_method *m;
	for (unsigned i = 0; (m = hc_clear_method(i)); i++) {
		json_t *method = json_object();
		put(method, "name", text(m->name), failed);
		put(method, "needs", text(m->needs), failed);
		put(method, "streaming", json_boolean(m->streaming), failed);
		put(method, "available", json_boolean(m->available), failed);
		put(method, "lacks", text(m->lacks), failed);
		append(methods, method, failed);
	}
	put(object, "methods", methods, failed);
	return object;
}

static json_t *memory(const struct status *status, int *failed) {
	const struct hc_memory *m = hc_machine_memory(status->machine);
	json_t *object = json_object();
	put(object, "total_bytes", number(m->total), failed);
	put(object, "free_bytes", number(m->free), failed);
	put(object, "available_bytes", number(m->available), failed);
	put(object, "swap_total_bytes", number(m->swap_total), failed);
	put(object, "swap_free_bytes", number(m->swap_free), failed);
	put(object, "anon_huge_pages_bytes", number(m->anon_huge_pages), failed);
	put(object, "hugetlb_bytes", number(m->hugetlb), failed);
	put(object, "hugetlb_elsewhere_bytes", number(m->hugetlb_elsewhere), failed);
	put(object, "base_page_size_bytes", number(m->base_page_size), failed);
	put(object, "default_huge_page_size_bytes", number(m->default_huge_page_size), failed);
	put(object, "has_hugetlb", truth(m->has_hugetlb), failed);
	return object;
}

static json_t *node_pools(const struct status *status, unsigned id, int *failed) {
	json_t *array = json_array();
	const struct hc_pool *pool;
	for (unsigned i = 0; (pool = hc_machine_pool(status->machine, i)); i++) {
		const struct hc_node_pool *here = hc_machine_node_pool(status->machine, id, pool->page_size);
		if (!here)
			continue;
		json_t *object = json_object();
		put(object, "page_size_bytes", number(here->page_size), failed);
		put(object, "total", number(here->total), failed);
		put(object, "free", number(here->free), failed);
		put(object, "surplus", number(here->surplus), failed);
		put(object, "persistent", number(here->persistent), failed);
		append(array, object, failed);
	}
	return array;
}

static json_t *nodes(const struct status *status, int *failed) {
	json_t *array = json_array();
	const struct hc_node *node, *other;
	for (unsigned i = 0; (node = hc_machine_node(status->machine, i)); i++) {
		json_t *object = json_object(), *distances = json_object();
		put(object, "id", json_integer(node->id), failed);
		put(object, "cpus", text(hc_idset_text(node->cpus)), failed);
		put(object, "nr_cpus", json_integer(hc_idset_count(node->cpus)), failed);
		put(object, "has_memory", json_boolean(node->has_memory), failed);
		put(object, "total_bytes", number(node->mem_total), failed);
		put(object, "free_bytes", number(node->mem_free), failed);
		put(object, "nearest_memory", id_or_none(node->nearest_memory), failed);
		put(object, "nearest_cpus", id_or_none(node->nearest_cpus), failed);
		for (unsigned k = 0; (other = hc_machine_node(status->machine, k)); k++) {
			char key[16];
			snprintf(key, sizeof(key), "%u", other->id);
			int distance = hc_machine_node_distance(status->machine, node->id, other->id);
			put(distances, key, id_or_none(distance), failed);
		}
		put(object, "distances", distances, failed);
		put(object, "pools", node_pools(status, node->id, failed), failed);
		append(array, object, failed);
	}
	return array;
}

static json_t *pools(const struct status *status, int *failed) {
	json_t *array = json_array();
	const struct hc_pool *pool;
	for (unsigned i = 0; (pool = hc_machine_pool(status->machine, i)); i++) {
		json_t *object = json_object();
		put(object, "page_size_bytes", number(pool->page_size), failed);
		put(object, "default", json_boolean(pool->is_default), failed);
		put(object, "total", number(pool->total), failed);
		put(object, "free", number(pool->free), failed);
		put(object, "reserved", number(pool->reserved), failed);
		put(object, "available", number(pool->available), failed);
		put(object, "surplus", number(pool->surplus), failed);
		put(object, "persistent", number(pool->persistent), failed);
		put(object, "overcommit", number(pool->overcommit), failed);
		put(object, "cgroup_left_bytes", number(pool->cgroup_bytes_left), failed);
		put(object, "cgroup_limit_file", text(pool->cgroup_limit_file), failed);
		put(object, "cgroup_limit_is_reservation",
		        pool->cgroup_limit_file ? json_boolean(pool->cgroup_limit_is_reservation) : json_null(),
		        failed);
		append(array, object, failed);
	}
	return array;
}

static json_t *thp(const struct status *status, int *failed) {
	const struct hc_thp *t = hc_machine_thp(status->machine);
	json_t *object = json_object(), *sizes = json_array();
	put(object, "present", truth(t->present), failed);
	put(object, "enabled", text_or_unknown(t->enabled), failed);
	put(object, "defrag", text_or_unknown(t->defrag), failed);
	put(object, "shmem_enabled", text_or_unknown(t->shmem_enabled), failed);
	put(object, "page_size_bytes", number(t->pmd_size), failed);
	put(object, "use_zero_page", truth(t->use_zero_page), failed);
	put(object, "process_disabled", truth(t->process_disabled), failed);

	const struct hc_mthp *size;
	for (unsigned i = 0; (size = hc_machine_mthp(status->machine, i)); i++) {
		json_t *entry = json_object();
		put(entry, "page_size_bytes", number(size->page_size), failed);
		put(entry, "enabled", text_or_unknown(size->enabled), failed);
		append(sizes, entry, failed);
	}
	put(object, "sizes", sizes, failed);
	return object;
}

static json_t *mounts(const struct status *status, int *failed) {
	json_t *array = json_array();
	const struct hc_hugetlbfs *mount;
	for (unsigned i = 0; (mount = hc_machine_hugetlbfs(status->machine, i)); i++) {
		json_t *object = json_object();
		put(object, "path", text(mount->path), failed);
		put(object, "page_size_bytes", number(mount->page_size), failed);
		put(object, "size_limit_bytes", number(mount->size_limit), failed);
		put(object, "min_size_bytes", number(mount->min_size), failed);
		append(array, object, failed);
	}
	return array;
}

static json_t *limits(const struct status *status, int *failed) {
	const struct hc_limits *l = hc_machine_limits(status->machine);
	json_t *object = json_object();
	put(object, "locked_memory_soft_bytes", number(l->locked_memory_soft), failed);
	put(object, "locked_memory_hard_bytes", number(l->locked_memory_hard), failed);
	put(object, "locked_memory_applies", truth(l->locked_memory_applies), failed);
	put(object, "address_space_bytes", number(l->address_space), failed);
	put(object, "memory_cgroup_left_bytes", number(l->memory_cgroup_left), failed);
	put(object, "memory_cgroup_file", text(l->memory_cgroup_file), failed);
	return object;
}

static json_t *kernel_features(const struct status *status, int *failed) {
	json_t *array = json_array();
	const struct hc_kernel_feature *feature;
	for (unsigned i = 0; (feature = hc_machine_kernel_feature(status->machine, i)); i++) {
		json_t *object = json_object();
		put(object, "name", text(feature->name), failed);
		put(object, "available", truth(feature->available), failed);
		put(object, "reason", text(feature->reason), failed);
		append(array, object, failed);
	}
	return array;
}

static json_t *warnings(const struct status *status, int *failed) {
	json_t *array = json_array();
	const char *warning;
	for (unsigned i = 0; (warning = hc_machine_warning(status->machine, i)); i++)
		append(array, text(warning), failed);
	return array;
}

int status_print_json(const struct status *status) {
	unsigned v = hc_version();
	char version[40];
	snprintf(version, sizeof(version), "%u.%u.%u", v / 1000000, v / 1000 % 1000, v % 1000);

	int failed = 0;
	json_t *all = json_object();
	put(all, "schema", text(SCHEMA), &failed);
	put(all, "version", text(version), &failed);
	put(all, "root", text(status->root), &failed);
	put(all, "kernel", kernel(status, &failed), &failed);
	put(all, "processor", processor(status, &failed), &failed);
	put(all, "cpus", cpus(status, &failed), &failed);
	put(all, "clearing", clearing(status, &failed), &failed);
	put(all, "memory", memory(status, &failed), &failed);
	put(all, "nodes", nodes(status, &failed), &failed);
	put(all, "pools", pools(status, &failed), &failed);
	put(all, "thp", thp(status, &failed), &failed);
	put(all, "hugetlbfs", mounts(status, &failed), &failed);
	put(all, "limits", limits(status, &failed), &failed);
	put(all, "kernel_features", kernel_features(status, &failed), &failed);
	put(all, "warnings", warnings(status, &failed), &failed);

	char *dump = failed ? NULL : json_dumps(all, JSON_INDENT(2));
	json_decref(all);
	if (!dump)
		return hc_fail_memory("no memory for the JSON text");
	puts(dump);
	free(dump);
	return 0;
}
