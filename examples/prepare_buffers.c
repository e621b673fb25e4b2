/*
 * Buffers that are used again and again: cleared past the cache by all threads while nobody
 * waits for them, in steps so that the work can be called off; and one at the last moment,
 * for somebody who is about to touch one byte of it.
 *
 * usage: example_prepare_buffers [SIZE]
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hugeclear/clear.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
	(void)signal_number;
	interrupted = 1;
}

static int called_off(void *user) {
	(void)user;
	return interrupted;
}

static void show(void *user, uint64_t done, uint64_t total) {
	fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64 " MiB", (const char *)user, done >> 20, total >> 20);
}

int main(int argc, char **argv) {
	uint64_t size;
	if (hc_size_parse(argc > 1 ? argv[1] : "256M", &size) < 0) {
		fprintf(stderr, "%s\n", hc_error_detail());
		return 64;
	}
	char words[HC_SIZE_TEXT_MAX];
	if (hc_size_format(size, words, sizeof(words)) == 0)
		printf("two buffers of %s, library %u.%u.%u\n", words, hc_version() / 1000000,
		        hc_version() / 1000 % 1000, hc_version() % 1000);

	char *buffer = malloc(size), *next = malloc(size);
	if (!buffer || !next || size == 0) {
		fprintf(stderr, "no memory for two buffers of %" PRIu64 " bytes\n", size);
		free(buffer);
		free(next);
		return 1;
	}
	memset(buffer, 0xa5, size);
	memset(next, 0xa5, size);

	/* For later: two threads, past the cache, and within 1 MiB of work it sees that it is called off. */
	signal(SIGINT, on_interrupt);
	char name[] = "prepared";
	struct hc_clear_opts opts = {
	        .size = sizeof(opts),
	        .intent = HC_INTENT_LATER,
	        .threads = 2,
	        .chunk = 1 << 20,
	        .stop = called_off,
	        .progress = show,
	        .user = name,
	};
	struct hc_clear_report report = {.size = sizeof(report)};
	int r = hc_clear_with(buffer, size, &opts, &report);
	fprintf(stderr, "\n");
	if (r < 0)
		fprintf(stderr, "%s; %" PRIu64 " bytes are zero\n", hc_error_detail(), report.done);
	else
		printf("%u threads with %s, at most %" PRIu64 " us between two stop checks\n", report.threads,
		        report.method, report.longest_step_ns / 1000);

	/* For now: byte 12345 is what we touch next, so its surroundings come last and stay in the cache. */
	const char *touch = next + (size > 12345 ? 12345 : 0);
	if (r == 0)
		r = hc_clear_around(next, size, touch, NULL, NULL);
	/* The short form: cached as far as the cache goes, this thread alone. */
	if (r == 0)
		r = hc_clear(next, size);
	if (r < 0)
		fprintf(stderr, "%s\n", hc_error_detail());
	else if (hc_is_clear(buffer, size) != 1 || hc_is_clear(next, size) != 1)
		r = -1;

	free(buffer);
	free(next);
	return r < 0 ? 1 : 0;
}
