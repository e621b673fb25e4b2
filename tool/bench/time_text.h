/* Times for people. */
#ifndef HC_BENCH_TIME_TEXT_H
#define HC_BENCH_TIME_TEXT_H

struct bench_time_text {
	char s[16];
};

/* "512 ns", "1.23 us", "298 us", "12.3 ms", "1.20 s"; "-" for what isn't finite. */
struct bench_time_text bench_time_text(double seconds);

#endif
