/*
 * How this machine clears: the methods there are, which one is taken for which length, and a
 * profile that changes that.
 *
 * usage: example_choose_method [PROFILE]   PROFILE: as `hugeclear tune` writes it
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hugeclear/clear.h>

static void show_choices(void) {
	static const char *const lengths[] = {"4K", "64K", "2M", "32M", "1G"};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		uint64_t bytes;
		if (hc_size_parse(lengths[i], &bytes) < 0)
			continue;
		printf("%4s: %s when it is used soon, %s when it is used later\n", lengths[i],
		        hc_clear_choice(bytes, HC_INTENT_SOON)->name, hc_clear_choice(bytes, HC_INTENT_LATER)->name);
	}
}

int main(int argc, char **argv) {
	const struct hc_clear_method *method;
	for (unsigned i = 0; (method = hc_clear_method(i)); i++)
		printf("%-12s %-9s %s\n", method->name, method->streaming ? "streaming" : "cached",
		        method->available ? "available" : method->lacks);

	const char *error;
	printf("choices: %s\n", hc_clear_profile(&error));
	if (error)
		printf("HUGECLEAR_PROFILE isn't used: %s\n", error);
	show_choices();

	if (argc > 1) {
		if (hc_clear_profile_load(argv[1]) < 0) {
			fprintf(stderr, "%s\n", hc_error_detail());
			return 1;
		}
		printf("choices: %s\n", hc_clear_profile(NULL));
		show_choices();
		return 0;
	}

	/* A program that knows better can write a profile itself: here, one method for everything. */
	char path[] = "/tmp/hugeclear-example-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	const struct hc_clear_profile_step steps[] = {
	        {.intent = HC_INTENT_LATER, .method = "memset", .up_to = HC_UNKNOWN},
	};
	int r = hc_clear_profile_save(path, "An example: memset for all that is used later.", steps, 1);
	if (r == 0)
		r = hc_clear_profile_load(path);
	if (r == 0)
		show_choices();
	else
		fprintf(stderr, "%s\n", hc_error_detail());
	hc_clear_profile_load(NULL);
	unlink(path);
	return r < 0 ? 1 : 0;
}
