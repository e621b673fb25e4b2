#include "bench/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/error.h"
#include "cli.h"

/* A signal that comes just before poll(2) doesn't end it. */
#define LOOK_EVERY_MS 100

static int turns_fd = -1;

static void look_for_turns(void) {
	static bool looked;
	if (looked)
		return;
	looked = true;
	const char *text = getenv(TURNS_VARIABLE);
	uint64_t number;
	struct stat st;
	if (text && hc_decimal_parse(text, &number) == 0 && number <= INT32_MAX && fstat((int)number, &st) == 0 &&
	        S_ISSOCK(st.st_mode) && fcntl((int)number, F_SETFD, FD_CLOEXEC) == 0)
		turns_fd = (int)number;
	unsetenv(TURNS_VARIABLE);
}

static void go_on_alone(void) {
	close(turns_fd);
	turns_fd = -1;
}

int turn_begin(void) {
	look_for_turns();
	if (turns_fd < 0)
		return 0;
	char byte = TURNS_ASK;
	if (send(turns_fd, &byte, 1, MSG_NOSIGNAL) != 1)
		go_on_alone();
	while (turns_fd >= 0) {
		struct pollfd waiting = {.fd = turns_fd, .events = POLLIN};
		int ready = poll(&waiting, 1, LOOK_EVERY_MS);
		if (cli_interrupted(NULL))
			return hc_fail(ECANCELED, "interrupted while another benchmark had its turn");
		if (ready <= 0)
			continue;
		if (recv(turns_fd, &byte, 1, 0) == 1 && byte == TURNS_GO)
			return 0;
		go_on_alone();
	}
	return 0;
}

void turn_end(void) {
	char byte = TURNS_DONE;
	if (turns_fd >= 0 && send(turns_fd, &byte, 1, MSG_NOSIGNAL) != 1)
		go_on_alone();
}
