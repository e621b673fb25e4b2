/* The choice in force in this process, and where it comes from. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/clear.h>

#include "base/error.h"
#include "clear/choice.h"
#include "clear/methods.h"
#include "clear/profile.h"
#include "sys/processor.h"
#include "sys/root.h"

static struct {
	pthread_once_t once;
	struct hc_packed_ladder ladders[HC_NR_INTENTS];
	/* Written by the first call and by hc_clear_profile_load(), which its caller serialises. */
	char path[PATH_MAX];
	char error[HC_ERROR_DETAIL_MAX];
} current = {.once = PTHREAD_ONCE_INIT};

/* A profile's ladders where it has them, the built-in ones elsewhere. */
static void put_all_in_force(const struct hc_choice *profile) {
	struct hc_choice built_in;
	struct hc_caches caches = {0};
	struct hc_root root;
	if (hc_root_open(NULL, &root) == 0) {
		hc_caches_read(&root, &caches);
		hc_root_close(&root);
	}
	hc_choice_built_in(hc_processor_here()->features, &caches, &built_in);

	for (unsigned intent = 0; intent < HC_NR_INTENTS; intent++) {
		bool given = profile && profile->ladders[intent].nr_steps > 0;
		hc_ladder_pack(given ? &profile->ladders[intent] : &built_in.ladders[intent], &current.ladders[intent]);
	}
}

static int load(const char *path) {
	struct hc_choice profile;
	size_t len = strlen(path);
	if (len == 0)
		return hc_fail(ENOENT, "the path of the profile is empty");
	if (len >= sizeof(current.path))
		return hc_fail(ENAMETOOLONG, "the path of the profile has %zu bytes, %zu are possible", len,
		        sizeof(current.path) - 1);
	int r = hc_profile_read(path, hc_processor_here(), &profile);
	if (r < 0)
		return r;
	put_all_in_force(&profile);
	memcpy(current.path, path, len + 1);
	return 0;
}

static void first_choice(void) {
	put_all_in_force(NULL);
	const char *path = secure_getenv("HUGECLEAR_PROFILE");
	if (path && *path && load(path) < 0) {
		struct hc_error error;
		hc_error_save(0, &error);
		memcpy(current.error, error.detail, sizeof(current.error));
	}
}

const struct hc_method *hc_choice_method(uint64_t len, enum hc_intent intent) {
	pthread_once(&current.once, first_choice);
	return &hc_methods[hc_ladder_method(&current.ladders[intent], len)];
}

const struct hc_clear_method *hc_clear_choice(size_t len, enum hc_intent intent) {
	const struct hc_method *method = hc_choice_method(
	        len, hc_intent_name((unsigned)intent) ? intent : HC_INTENT_SOON);
	return hc_clear_method((unsigned)(method - hc_methods));
}

int hc_clear_profile_load(const char *path) {
	pthread_once(&current.once, first_choice);
	if (path) {
		int r = load(path);
		if (r < 0)
			return r;
	} else {
		put_all_in_force(NULL);
		current.path[0] = '\0';
	}
	current.error[0] = '\0';
	return 0;
}

const char *hc_clear_profile(const char **ret_error) {
	pthread_once(&current.once, first_choice);
	if (ret_error)
		*ret_error = current.error[0] ? current.error : NULL;
	return current.path[0] ? current.path : "built-in";
}
