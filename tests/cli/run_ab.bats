#!/usr/bin/env bats
# hugeclear run-ab: order, processes, what is kept, and how runs that fail end.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	# result VALUE: prints a results file; what was run is noted.
	cat >result <<-'END'
		#!/bin/sh
		echo "$1" >>order
		n=$(wc -l <order)
		printf '{"schema":"hugeclear-results/1","host":{},"unknown":"%s","runs":[{"bench":"b","metric":"m","case":{"size":1},"unit":"s","better":"lower","samples":[%s%s]}]}' "$1" "$2" "$n"
	END
	chmod +x result
	export TMPDIR=$BATS_TEST_TMPDIR
}

nothing_left() {
	[ -z "$(find . -name 'hugeclear-run-ab*')" ] || seen
}

@test "each side in each round, in an order that the seed makes, after one to warm up" {
	run_hc run-ab -n 5 --base-cmd './result A 1.00' --patched-cmd './result B 2.00'
	expect_status 0
	expect_stdout "5 runs a side"
	expect_stdout "slower"
	[ "$(wc -l <order)" = 12 ] || seen
	# Pairs: one of each in any order, and not always the same first.
	[ "$(paste -d '' - - <order | sort -u | tr '\n' ' ')" = "AB BA " ] || seen
	nothing_left
	mv order first
	run_hc run-ab -n 5 --base-cmd './result A 1.00' --patched-cmd './result B 2.00'
	cmp first order
	rm order
	run_hc run-ab -n 5 --seed 7 --base-cmd './result A 1.00' --patched-cmd './result B 2.00'
	if cmp -s first order; then seen; fi
}

@test "results are kept as they were printed, and compare reads them" {
	run_hc run-ab -n 3 -o kept --base-cmd './result A 1.00' --patched-cmd './result B 2.00' --format json
	expect_status 0
	[ "$(find kept -type f | sort | tr '\n' ' ')" = "$(printf 'kept/%s.json ' base/00{1,2,3} patched/00{1,2,3})" ] || seen
	grep -q '"unknown":"A"' kept/base/001.json
	change=$(jq '.rows[0].change_pct' <<<"$stdout")
	run_hc compare --format json kept/base kept/patched
	[ "$(jq '.rows[0].change_pct' <<<"$stdout")" = "$change" ] || seen
	# Not mixed with those of another time.
	run_hc run-ab -n 3 -o kept --base-cmd './result A 1.00' --patched-cmd './result B 2.00'
	expect_status 1
	expect_stderr "kept"
}

@test "a benchmark with two sets of options: what they change is compared" {
	run_hc run-ab -n 3 --metric throughput --base '-f base' --patched '-f patched' -- clear -p base -s 4M -l 2 -e 2M
	expect_status 0
	expect_stdout "function=base->patched"
	run_hc run-ab -n 3 --metric throughput --fail-if-slower 99 --format json -- clear -p base -s 4M -l 2 -e 2M -f base
	expect_status 0
	[ "$(jq -r '.rows[0].base.runs' <<<"$stdout")" = 3 ] || seen
	nothing_left
}

@test "a run that fails ends it, with its code where that says something, and nothing left" {
	run_hc run-ab -n 3 --base-cmd 'exit 7' --patched-cmd './result B 2.00'
	expect_status 1
	expect_stderr "base ended with exit code 7"
	run_hc run-ab -n 3 --base-cmd 'exit 3' --patched-cmd './result B 2.00'
	expect_status 3
	run_hc run-ab -n 3 --base-cmd 'echo nonsense' --patched-cmd './result B 2.00'
	expect_status 1
	expect_stderr "run 1 of base"
	run_hc run-ab -n 3 --base-cmd 'kill -9 $$' --patched-cmd './result B 2.00'
	expect_status 1
	expect_stderr "exit code 137"
	run_hc run-ab -n 3 -- nobench
	expect_status 64
	nothing_left
	TMPDIR=/nowhere run_hc run-ab -n 3 --base-cmd true --patched-cmd true
	expect_status 1
	expect_stderr "/nowhere"
}

@test "interrupted: what is there is compared, and nothing left" {
	cat >slow <<-'END'
		#!/bin/sh
		[ ! -e order ] || [ "$(wc -l <order)" -lt 10 ] || { touch waiting; exec sleep 60; }
		exec ./result "$@"
	END
	chmod +x slow
	"$HC" run-ab -n 20 --base-cmd 'exec ./slow A 1.00' --patched-cmd 'exec ./slow B 2.00' >stdout 2>stderr &
	local pid=$! code=0
	for _ in $(seq 100); do [ -e waiting ] && break || sleep 0.05; done
	kill -TERM $pid
	wait $pid || code=$?
	status=$code stdout=$(cat stdout)
	# shellcheck disable=SC2034
	stderr=$(cat stderr)
	expect_status 130
	expect_stdout "4 runs a side"
	expect_stdout "slower"
	nothing_left
}

@test "usage" {
	run_hc run-ab
	expect_status 64
	expect_stderr "benchmark is missing"
	run_hc run-ab --base-cmd x
	expect_status 64
	run_hc run-ab --base-cmd x --patched-cmd y -- clear
	expect_status 64
	for n in 0 1001 -1 x; do
		run_hc run-ab -n "$n" -- clear
		expect_status 64
	done
}
