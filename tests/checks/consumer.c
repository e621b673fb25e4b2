/* A program of somebody else: C and C++ alike. */
#include <hugeclear/clear.h>
#include <hugeclear/hugeclear.h>
#include <hugeclear/sys.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
	if (hc_version() != HC_VERSION) {
		fprintf(stderr, "the library is %u, the header %u\n", hc_version(), (unsigned)HC_VERSION);
		return 1;
	}
	uint64_t bytes;
	if (hc_size_parse("2M", &bytes) < 0) {
		fprintf(stderr, "%s\n", hc_error_detail());
		return 1;
	}
	unsigned char *memory = (unsigned char *)malloc(bytes);
	if (!memory)
		return 1;
	memset(memory, 0xa5, bytes);
	if (hc_clear(memory, bytes) < 0 || hc_is_clear(memory, bytes) != 1 || memory[bytes - 1] != 0) {
		fprintf(stderr, "not clear: %s\n", hc_error_detail());
		return 1;
	}
	free(memory);

	struct hc_machine *machine;
	if (hc_machine_read(NULL, &machine) < 0) {
		fprintf(stderr, "%s\n", hc_error_detail());
		return 1;
	}
	printf("%s\n", hc_machine_processor(machine)->model_name);
	hc_machine_free(machine);
	return 0;
}
