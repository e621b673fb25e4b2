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
	[ "$(jq -r .unknown kept/base/001.json)" = A ] || seen
	# Which two belong together is noted.
	[ "$(jq -r .round kept/base/00?.json)" = "$(jq -r .round kept/patched/00?.json)" ] || seen
	[ "$(jq -r .round kept/base/00?.json | sort -u | wc -l)" = 3 ] || seen
	change=$(jq '.rows[0].change_pct' <<<"$stdout")
	run_hc compare --format json kept/base kept/patched
	[ "$(jq '.rows[0].change_pct' <<<"$stdout")" = "$change" ] || seen
	# Not mixed with those of another time.
	run_hc run-ab -n 3 -o kept --base-cmd './result A 1.00' --patched-cmd './result B 2.00'
	expect_status 1
	expect_stderr "kept"
}

# turn NAME VALUE TURNS [WHAT]: a benchmark that notes when it begins and ends each of its turns.
make_turn() {
	cat >turn <<-'END'
		#!/usr/bin/env python3
		import json, os, socket, sys, time
		name, value, turns, what = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), (sys.argv + [""])[4]
		peer = socket.socket(fileno=int(os.environ["HUGECLEAR_TURN_FD"]))
		time.sleep(0.05 if name == "A" else 0)
		log = os.open("turns", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
		for i in range(turns):
		    peer.send(b"?")
		    if peer.recv(1) != b"!":
		        os.write(log, f"{name} alone\n".encode())
		        break
		    os.write(log, f"{name}<".encode())
		    if what == "dies" and i == 1:
		        os.kill(os.getpid(), 9)
		    if what == "fails" and i == 1:
		        sys.exit(7)
		    time.sleep(0.002)
		    os.write(log, f"{name}>".encode())
		    peer.send(b".")
		    if what == "leaves" and i == 1:
		        peer.close()
		        time.sleep(0.1)
		        break
		os.write(log, f"\n{name} ends\n".encode())
		print(json.dumps({"schema": "hugeclear-results/1", "runs": [{"bench": "b", "metric": "m", "case": {"size": 1}, "unit": "s", "better": "lower", "samples": [value]}]}))
	END
	chmod +x turn
}

seen_turns() {
	cat turns
	return 1
}

@test "turns: sample by sample, either first as the seed has it, never both at once" {
	make_turn
	run_hc run-ab -n 1 --turns yes --base-cmd './turn A 1 20' --patched-cmd './turn B 2 20 | cat'
	expect_status 0
	expect_stdout "sample by sample"
	# Warm-up and one run: 40 pairs, each of one turn of each.
	sed 's/[AB] ends//' turns | tr -d '\n' | sed 's/A<A>/A/g; s/B<B>/B/g' >order
	[ "$(wc -c <order)" = 80 ] || seen_turns
	[ "$(fold -w 2 order | sort -u | tr '\n' ' ')" = "AB BA " ] || seen_turns
	nothing_left
}

@test "turns: one that ends early, dies, fails, or takes none" {
	make_turn
	# The other goes on, with all turns its own.
	run_hc run-ab -n 1 --turns yes --base-cmd './turn A 1 3' --patched-cmd './turn B 2 9'
	expect_status 0
	[ "$(grep -o 'B<B>' turns | wc -l)" = 18 ] || seen_turns
	rm turns
	# It waits for one that leaves its turns until that has ended.
	run_hc run-ab -n 1 --turns yes --base-cmd './turn A 1 9 leaves' --patched-cmd './turn B 2 9'
	expect_status 0
	[ "$(sed -n '/A ends/,$p' turns | grep -o 'B<B>' | wc -l)" -ge 14 ] || seen_turns
	for what in dies fails; do
		rm turns
		run_hc run-ab -n 1 --turns yes --base-cmd "exec ./turn A 1 9 $what" --patched-cmd 'exec ./turn B 2 900'
		expect_status 1
		expect_stderr "exit code $([ $what = dies ] && echo 137 || echo 7)"
		[[ "$stderr" != *"of patched"* ]] || seen
	done
	run_hc run-ab -n 1 --turns yes --base-cmd './result A 1.00' --patched-cmd './turn B 2 9'
	expect_status 1
	expect_stderr "base took no turns"
	run_hc run-ab -n 1 --turns perhaps -- clear
	expect_status 64
	nothing_left
}

@test "a benchmark with two sets of options: what they change is compared" {
	run_hc run-ab -n 3 --metric throughput --base '-f base' --patched '-f patched' -- clear -p base -s 4M -l 2 -e 2M
	expect_status 0
	expect_stdout "function=base->patched"
	expect_stdout "sample by sample"
	expect_stdout "the rounds"
	run_hc run-ab -n 3 --turns no --metric throughput -- clear -p base -s 4M -l 2 -e 2M -f base
	expect_status 0
	expect_stdout "one after the other"
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
