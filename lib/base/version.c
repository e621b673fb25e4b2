#include <hugeclear/hugeclear.h>

unsigned hc_version(void) {
	return HC_VERSION;
}
