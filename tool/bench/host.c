#include "bench/host.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/counted.h"
#include "results/results_write.h"

static bool set_u64(json_t *object, const char *name, uint64_t value) {
	if (value == HC_UNKNOWN)
		return true;
	/* JSON integers of jansson are signed; no size of a machine is that large. */
	json_t *number = value <= INT64_MAX ? json_integer((json_int_t)value) : results_number((double)value);
	return json_object_set_new(object, name, number) == 0;
}

/* Sizes of caches: 0 is unknown. */
static bool set_cache(json_t *object, const char *name, uint64_t value) {
	return value == 0 || set_u64(object, name, value);
}

/* A text from the machine; one that isn't UTF-8 is left out, as JSON can't hold it. */
static bool set_text(json_t *object, const char *name, const char *text) {
	if (!text || !*text)
		return true;
	json_t *string = json_string(text);
	return !string || json_object_set_new(object, name, string) == 0;
}

static bool set_flag(json_t *object, const char *name, int flag) {
	return flag < 0 || json_object_set_new(object, name, json_boolean(flag)) == 0;
}

static bool set_processor(json_t *host, const struct hc_machine *machine) {
	const struct hc_processor *processor = hc_machine_processor(machine);
	json_t *caches = json_object();
	bool ok = caches && set_cache(caches, "l1d", processor->l1d) && set_cache(caches, "l2", processor->l2) &&
	          set_cache(caches, "l3", processor->l3) && json_object_set(host, "caches", caches) == 0;
	json_decref(caches);
	return ok && set_text(host, "architecture", processor->architecture) &&
	       set_text(host, "processor", *processor->model_name ? processor->model_name : processor->vendor) &&
	       set_text(host, "features", processor->features) &&
	       set_text(host, "features_masked", processor->features_masked) &&
	       set_flag(host, "virtualised", processor->virtualised) &&
	       set_text(host, "hypervisor", processor->hypervisor);
}

static bool set_cpus(json_t *host, const struct hc_machine *machine) {
	const struct hc_cpus *cpus = hc_machine_cpus(machine);
	unsigned nodes = 0;
	while (hc_machine_node(machine, nodes))
		nodes++;
	return set_u64(host, "cpus", hc_idset_count(cpus->online)) && set_u64(host, "nodes", nodes) &&
	       (!cpus->allowed || set_text(host, "cpus_allowed", hc_idset_text(cpus->allowed)));
}

/* Limits of control groups that were in force: numbers from inside of one are no property of the machine. */
static bool set_limits(json_t *host, const struct hc_machine *machine) {
	const struct hc_cpus *cpus = hc_machine_cpus(machine);
	const struct hc_limits *limits = hc_machine_limits(machine);
	json_t *object = json_object();
	bool ok = object != NULL;
	if (ok && cpus->quota_us != HC_UNKNOWN)
		ok = set_u64(object, "cpu_quota_us", cpus->quota_us) &&
		     set_u64(object, "cpu_period_us", cpus->period_us);
	if (ok && limits->memory_cgroup_file)
		ok = set_u64(object, "memory_left", limits->memory_cgroup_left);
	if (ok && json_object_size(object) > 0)
		ok = json_object_set(host, "cgroup", object) == 0;
	json_decref(object);
	return ok;
}

static bool add_pool(json_t *pools, const struct hc_pool *pool) {
	json_t *object = json_object();
	bool ok = object && set_u64(object, "page_size", pool->page_size) && set_u64(object, "total", pool->total) &&
	          set_u64(object, "free", pool->free) && set_u64(object, "reserved", pool->reserved) &&
	          set_u64(object, "surplus", pool->surplus) && set_u64(object, "overcommit", pool->overcommit) &&
	          set_u64(object, "cgroup_left", pool->cgroup_bytes_left) && json_array_append(pools, object) == 0;
	json_decref(object);
	return ok;
}

static bool set_pools(json_t *host, const struct hc_machine *machine) {
	json_t *pools = json_array();
	bool ok = pools != NULL;
	const struct hc_pool *pool;
	for (unsigned i = 0; ok && (pool = hc_machine_pool(machine, i)); i++)
		ok = add_pool(pools, pool);
	ok = ok && json_object_set(host, "pools", pools) == 0;
	json_decref(pools);
	return ok;
}

json_t *host_describe(const struct hc_machine *machine) {
	const struct hc_kernel *kernel = hc_machine_kernel(machine);
	const struct hc_memory *memory = hc_machine_memory(machine);
	const struct hc_thp *thp = hc_machine_thp(machine);
	json_t *host = json_object();
	if (host && set_text(host, "kernel", kernel->release) && set_text(host, "preemption", kernel->preemption) &&
	        set_text(host, "boot_id", kernel->boot_id) && set_processor(host, machine) && set_cpus(host, machine) &&
	        set_u64(host, "memory", memory->total) && set_u64(host, "base_page_size", memory->base_page_size) &&
	        set_text(host, "thp", thp->enabled) && set_text(host, "thp_defrag", thp->defrag) &&
	        (thp->process_disabled != 1 || set_flag(host, "thp_process_disabled", 1)) && set_pools(host, machine) &&
	        set_limits(host, machine))
		return host;
	json_decref(host);
	return NULL;
}

void host_line(const struct hc_machine *machine, char *text, size_t text_size) {
	const struct hc_kernel *kernel = hc_machine_kernel(machine);
	const struct hc_processor *processor = hc_machine_processor(machine);
	const char *name = *processor->model_name ? processor->model_name
	                   : *processor->vendor   ? processor->vendor
	                                          : processor->architecture;
	snprintf(text, text_size, "Linux %s%s%s, %s, %s%s%s%s", kernel->release, *kernel->preemption ? " preempt=" : "",
	        kernel->preemption, name, hc_counted(hc_idset_count(hc_machine_cpus(machine)->online), "CPU").s,
	        processor->virtualised == 1 ? ", virtualised" : "",
	        processor->virtualised == 1 && *processor->hypervisor ? " by " : "",
	        processor->virtualised == 1 ? processor->hypervisor : "");
}
