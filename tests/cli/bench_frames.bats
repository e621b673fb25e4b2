#!/usr/bin/env bats
# shellcheck disable=SC2154 # helpers set the variables
# hugeclear bench frames and bench arena: tables, results, and what can't be measured.

load helpers

field() {
	jq -r "$1" <<<"$stdout"
}

setup() {
	[ "$(getconf PAGESIZE)" = 4096 ] || skip "the sizes are of pages of 4096 bytes"
}

@test "frames: every function, of recycled and of fresh memory" {
	run_hc bench frames -s 256M -l 2 -f all --descriptors both -t 1,2
	expect_status 0
	expect_stdout "65536 frames, 4 MiB of descriptors"
	for function in base serial parallel deferred clear memset; do
		expect_stdout "recycled  $function"
	done
	expect_stdout "fresh     deferred"
	refuse_stdout "fresh     clear"
	expect_stdout "memset is that of glibc $(getconf GNU_LIBC_VERSION | cut -d' ' -f2)"
	run_hc bench frames -s 256M -l 3 -f base,parallel,clear -t 2 --format json
	expect_status 0
	# 256 MiB of 4 KiB frames are 65536 descriptors of 64 bytes: 2^22 bytes, 2^-8 GiB; a TiB is 4096 times as much.
	[ "$(field '[.runs[] | select(.metric == "seconds")] | length')" = 3 ]
	[ "$(field '[.runs[] | select(.case.function == "parallel")] | map({(.metric): .samples[0]}) | add
		| ((.seconds_per_tib / .seconds - 4096) | fabs < 1e-6) and ((.throughput * .seconds * 256 - 1) | fabs < 1e-6)
		and (.first_frame >= .seconds * 0.5)')" = true ]
	[ "$(field '[.runs[] | select(.case.function == "clear" and .metric == "first_frame")] | length')" = 0 ]
	[ "$(field '.runs[] | select(.case.function == "base" and .metric == "seconds") | .got.bytes_by_node["0"]')" = 268435456 ]
}

@test "frames: what doesn't fit, and what makes no sense" {
	run_hc bench frames -s 64P
	expect_status 3
	expect_stderr "1 PiB of descriptors"
	expect_stderr "enough for"
	run_hc bench frames -s 100
	expect_status 64
	expect_stderr "less than a frame"
	run_hc bench frames -s 1M --frame 3000
	expect_status 1
	expect_stderr "not a power of two"
	run_hc bench frames -f clear --descriptors fresh
	expect_status 64
	for words in "-f some" "--descriptors old" "-t 0" "--frame 0" "x"; do
		# shellcheck disable=SC2086 # words
		run_hc bench frames $words
		expect_status 64
	done
}

@test "arena: every function, alone and written, beside the kernel's" {
	run_hc bench arena -p base -s 4M -l 2 -F 4K,64K
	expect_status 0
	for function in any pinned clean soon later mmap; do
		grep -qE "^4 KiB +- +$function +1 " <<<"$stdout" || seen
		grep -qE "^64 KiB +write +$function +1 " <<<"$stdout" || seen
	done
	run_hc bench arena -p base -s 4M -l 2 -F 64K -f clean,mmap -t 1,2 --scrubber --format json
	expect_status 0
	# A frame's time is what is left of a second for each operation.
	[ "$(field '[.runs[] | select(.case.function == "clean" and .case.then == null and .case.threads == 2)] | map({(.metric): .samples[0]}) | add
		| ((.seconds * .operations - 1) | fabs < 1e-9) and (.get_p50 <= .get_p99) and (.get_p99 <= .get_max)')" = true ]
	[ "$(field '[.runs[] | select(.case.function == "mmap" and .case.scrubber != null)] | length')" = 0 ]
}

@test "arena: what makes no sense" {
	for words in "-F 3K" "-F 1K" "-f some" "--then maybe" "-t 0"; do
		# shellcheck disable=SC2086 # words
		run_hc bench arena -p base -s 4M $words
		expect_status 64
	done
	run_hc bench arena -p base -s 4M -F 2M -t 3 -l 1 -f any --then none
	expect_status 3
	expect_stderr "nothing to measure"
}
