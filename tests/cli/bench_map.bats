# bench map from the command line: options, refusals, tables and results, limits and short pools.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell; helpers set the variables
load helpers
load huge_pages

QUICK=(-s 4M -l 2 -p base)

@test "the table and the results of base pages" {
	run_hc bench map "${QUICK[@]}" -o "$BATS_TEST_TMPDIR/x.json"
	expect_status 0
	expect_stdout "4 MiB of fresh memory, 2 loops"
	[ "$(grep -cE '^4 KiB +(demand|populate) +1 +[0-9.]+ \+-' <<<"$stdout")" = 2 ] || seen
	stdout=$(cat "$BATS_TEST_TMPDIR/x.json")
	[ "$(field '.schema')" = hugeclear-results/1 ]
	[ "$(field '[.runs[] | select(.metric == "throughput") | .case.function] | join(",")')" = demand,populate ]
	[ "$(field '.runs[0].case | keys | join(",")')" = backing,function,page_size,size,threads ]
	[ "$(field '[.runs[] | select(.case.function == "demand") | .metric] | join(",")')" = \
		throughput,seconds,munmap_seconds,fault_p50,fault_p99,fault_max ]
	[ "$(field '[.runs[] | select(.case.function == "populate") | .metric] | join(",")')" = \
		throughput,seconds,munmap_seconds,step_p50,step_p99,step_max ]
	[ "$(field '[.runs[] | .samples | length] | unique | join(",")')" = 2 ]
	[ "$(field '[.runs[] | select(.metric != "throughput") | .better] | unique | join(",")')" = lower ]
	# bytes / seconds is the throughput.
	# shellcheck disable=SC2016 # jq's own variables
	field '.runs as $r | ($r[0].samples[0] * $r[1].samples[0] * 1073741824 / 4194304 - 1) | fabs < 1e-6' | grep -qx true
	# p50 <= p99 <= max
	# shellcheck disable=SC2016 # jq's own variables
	field '.runs as $r | $r[3].samples[0] <= $r[4].samples[0] and $r[4].samples[0] <= $r[5].samples[0]' | grep -qx true
}

@test "mmap is map, and perf's own command line is understood" {
	run_hc bench mmap -p 4KB -f demand -s 4MB -l 1
	expect_status 0
	expect_stdout "demand"
	refuse_stdout "populate "
}

@test "BN-13 each loop faults its own pages: the kernel counts them" {
	# 4 MiB are 1024 faults of 4 KiB; each sample of base pages touches them twice: timed, and for single faults
	before=$(awk '$1 == "pgfault" { print $2 }' /proc/vmstat)
	run_hc bench map -s 64M -l 3 -p base -f demand
	expect_status 0
	after=$(awk '$1 == "pgfault" { print $2 }' /proc/vmstat)
	[ $((after - before)) -ge $((4 * 2 * 16384)) ] || seen
}

@test "BN-01 one loop has no deviation" {
	run_hc bench map -s 4M -l 1 -p base
	expect_status 0
	expect_stdout "+- n/a"
	run_hc bench map -s 4M -l 1 -p base --format json
	[ "$(field '[.runs[].stdev_pct] | unique | map(tostring) | join(",")')" = null ]
	refuse_match 'nan|inf[^o]'
}

@test "BN-02 one page, a single fault: repeated until the clock can tell" {
	run_hc bench map -s 4K -l 2 -p base --format json
	expect_status 0
	[ "$(field '.runs[0].got.repeats > 1')" = true ]
	refuse_match 'nan|inf[^o]'
}

@test "SZ-04 BN-14 a size that is no multiple of the page size names the nearest" {
	run_hc bench map -s 5K -p base
	expect_status 64
	expect_stderr "--size: 5 KiB is no multiple of the page size, 4 KiB: the nearest are 4 KiB and 8 KiB"
	run_hc bench map -s 1 -p base
	expect_status 64
	expect_stderr "the nearest is 4 KiB"
	run_hc bench map -s 1.5G
	expect_status 64
	expect_stderr "1536M"
	sizes=$(find /sys/kernel/mm/hugepages -name 'hugepages-*kB' | sed 's/.*-//')
	for size in $sizes; do
		kib=${size%kB}
		run_hc bench map -s "$((kib * 3 / 2))kB" -p "$size"
		expect_status 64
		expect_stderr "is no multiple of the page size"
		run_hc bench map -s 4K -p "$size"
		expect_status 64
		expect_stderr "the nearest is"
	done
}

@test "wrong options are refused, and nothing is mapped" {
	while read -r code text args; do
		# shellcheck disable=SC2086 # words
		run_hc bench map $args
		expect_status "$code"
		expect_stderr "${text//+/ }"
		[ -z "$stdout" ]
	done <<-'LINES'
		64 --size -s 0
		64 --size -s -1
		64 2^64+bytes+or+more -s 99999999T
		64 --nr_loops -l 0
		64 --threads -t 0
		64 --threads -t 257
		64 'foo'+is+none+of+demand -f foo
		64 --populate-by --populate-by touch
		64 by+one+thread+only -p base --populate-by map -t 2
		64 one+thread+is+watched --victim -t 2
		64 --randomize -r x
		64 populating+has+no+order -f populate -r 7
		64 touching+pages+has+neither -f demand --chunk 2M
		64 touching+pages+has+neither -f demand --populate-by futex
		64 base+pages+are+no+transparent+huge+pages --thp -p base
		64 not+with+transparent+huge+pages --memfd --thp
		64 not+with+transparent+huge+pages --memfd -p base,thp
		64 --cpus --cpus 0-99999
		64 --node --node 0,1
		64 is+not+the+number+of+a+node --node=
		64 --node --node -1
		64 --node --node 0-4294967295
		4 not+online --node 5000
		64 --cpus --cpus 0,99999
		4 no+huge+pages+of+3+MiB -p 3M
		3 at+most+64+times -s 16383P
	LINES
}

@test "an -o that can't be written is found before anything is measured" {
	run_hc bench map "${QUICK[@]}" -o /nonesuch/x.json
	expect_status 1
	expect_stderr "/nonesuch/x.json"
	[ -z "$stdout" ]
}

@test "threads: the total, and by thread" {
	run_hc bench map -s 4M -l 2 -p base -t 1,2 -f demand --format json
	expect_status 0
	[ "$(field '[.runs[] | select(.metric == "throughput") | .case.threads] | join(",")')" = 1,2 ]
	[ "$(field '[.runs[] | select(.metric == "throughput" and .case.threads == 2) | .got.by_thread | length] | join(",")')" = 2 ]
}

@test "an order by a seed, in which every page is touched" {
	before=$(awk '$1 == "pgfault" { print $2 }' /proc/vmstat)
	run_hc bench map -s 64M -l 3 -p base -f demand -r 5
	expect_status 0
	expect_stdout "touched in shuffled order"
	after=$(awk '$1 == "pgfault" { print $2 }' /proc/vmstat)
	[ $((after - before)) -ge $((4 * 2 * 16384)) ] || seen
	run_hc bench map "${QUICK[@]}" -r 0 --format json
	[ "$(field '[.runs[].case | has("random")] | any')" = false ]
}

@test "random order, chunks and ways are named" {
	run_hc bench map "${QUICK[@]}" -r 7 --chunk 64K,1M --populate-by madvise,futex --format json
	expect_status 0
	[ "$(field '[.runs[] | select(.metric == "throughput") | .case | [.function, .random, .chunk, .populate_by] | map(tostring) | join("/")] | join(" ")')" = \
		"demand/7/null/null populate/null/65536/madvise populate/null/65536/futex populate/null/1048576/madvise populate/null/1048576/futex" ]
	[ "$(field '[.runs[] | select(.case.function == "populate" and .metric == "throughput") | .got.populated_by] | join(",")')" = madvise,futex,madvise,futex ]
}

@test "memory of a memfd: populated in each way, and named" {
	run_hc bench map "${QUICK[@]}" -l 1 --memfd --populate-by madvise,futex,fallocate --format json
	expect_status 0
	[ "$(field '[.runs[] | select(.metric == "throughput") | .case | [.function, .memfd, .populate_by] | map(tostring) | join("/")] | join(" ")')" = \
		"demand/true/null populate/true/madvise populate/true/futex populate/true/fallocate" ]
	need_tool strace
	ASAN_OPTIONS=detect_leaks=0 strace -f -o "$BATS_TEST_TMPDIR/trace" -e trace=memfd_create "$HC" bench map "${QUICK[@]}" -l 1 -f demand --memfd >/dev/null
	grep -q 'memfd_create(.*) = [0-9]' "$BATS_TEST_TMPDIR/trace"
	run_hc bench map -s 64M -l 1 -f demand --memfd
	expect_status 0
	refuse_stdout "THP"
}

@test "a chunk that is no whole number of pages is rounded up to one, once, and that is said" {
	# In pages of 4096 bytes: 1 is one page, 4097 are two, and 8 GiB are all of the 4 MiB.
	[ "$(getconf PAGESIZE)" = 4096 ] || skip "the sizes are of pages of 4096 bytes"
	run_hc bench map "${QUICK[@]}" -f populate --chunk 1,4096,4097,8G,0
	expect_status 0
	expect_stdout "note: a chunk of 1 B is one of 4 KiB in pages of 4 KiB: pages come whole"
	expect_stdout "note: a chunk of 4097 B is one of 8 KiB in pages of 4 KiB: pages come whole"
	expect_stdout "note: a chunk of 8 GiB is one of 4 MiB in pages of 4 KiB: there is no more"
	refuse_stdout "a chunk of 4 KiB"
	run_hc bench map "${QUICK[@]}" -f populate --chunk 1,4096,4097,8G,0 --format json
	[ "$(field '[.runs[] | select(.metric == "throughput") | .case.chunk] | map(tostring) | join(",")')" = 4096,8192,4194304,null ]
}

@test "populating counts the threads that had work" {
	# 1 MiB is one call to the kernel: one thread works, however many wait beside it.
	run_hc bench map -s 1M -l 1 -p base -t 4 -f populate --format json
	expect_status 0
	[ "$(field '.runs[0].got.threads')" = 1 ] || seen
}

@test "pages that are left out are said to be" {
	need_tool python3
	status=0
	python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])' "$HC" bench map -s 64M -l 1 -f demand >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout") stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	expect_status 0
	expect_stdout "transparent huge pages aren't measured: they are off"
}

@test "PL-05 huge pages that a limit leaves too few of are said to be left out" {
	own_pages 3
	own_cgroup
	echo "$page_size" >"$limit.max"
	in_cgroup bench map -s $((3 * page_size)) -l 1 -f demand
	expect_status 0
	expect_stdout "aren't measured: "
	expect_uncharged
}

@test "cycles: counted, or why not" {
	run_hc bench map "${QUICK[@]}" -c
	expect_status 0
	[[ "$stdout" == *"cycles a page"* || "$stdout" == *"note: cycles aren't counted: "* ]] || seen
}

@test "victims: an idle machine first, then what happens meanwhile" {
	run_hc bench map "${QUICK[@]}" -s 64M -l 1 --victim
	expect_status 0
	expect_stdout "a victim on the same CPU (CPU "
	expect_stdout "preemption "
	[ "$(grep -cE '^ +idle +[0-9]+( +[0-9.]+ (ns|us|ms|s)){6}$' <<<"$stdout")" -ge 1 ] || seen
	run_hc bench map "${QUICK[@]}" -s 64M -l 1 --victim --format json
	[ "$(field '[.runs[] | select(.case.function == "idle") | .metric | select(startswith("victim_same_cpu"))] | length')" = 6 ]
	[ "$(field '[.runs[] | select(.case.function != "idle" and .metric == "victim_same_cpu_wakeup_max") | .samples[0] > 0] | unique | join(",")')" = true ]
}

@test "victims: how many their p99 is of, and none of fewer than 100" {
	# One base page is there in microseconds: a round of a victim takes a millisecond.
	run_hc bench map -s 4K -p base -f demand -l 1 --victim -o "$BATS_TEST_TMPDIR/x.json"
	expect_status 0
	expect_stdout "-: of fewer than 100 there is no p99"
	[ "$(grep -cE '^4 KiB +demand +[0-9]{1,2} +- ' <<<"$stdout")" -ge 1 ] || seen
	stdout=$(cat "$BATS_TEST_TMPDIR/x.json")
	[ "$(field '[.runs[] | select(.case.function == "demand" and (.metric | endswith("wakeup_p99")))] | length')" = 0 ]
	field '.runs[] | select(.case.function == "demand" and .metric == "throughput") | .got.victim_same_cpu_wakeup | (.n < 100 and (has("p99") | not))' | grep -qx true
	field '[.runs[] | select(.case.function == "idle") | .got | .watched_seconds >= 0.5 and (.victim_same_cpu_wakeup | .n >= 100 and has("p99"))] | all' | grep -qx true
}

@test "victims: the idle machine is watched as long as the longest sample, half a second at least" {
	# Where that takes more than half a second; there is room for a counted sample that is slower than the first.
	run_hc bench map -s 1500M -p base -f populate -l 1 --victim --format json
	# shellcheck disable=SC2016 # jq's own variables
	field '([.runs[] | select(.case.function == "populate") | .got.watched_seconds] | max) as $worked |
		([.runs[] | select(.case.function == "idle") | .got.watched_seconds] | max) >= 0.7 * ([$worked, 5] | min)' | grep -qx true || seen
}

@test "ways that can't bring in transparent huge pages leave those out that nobody asked for" {
	grep -qE '\[(always|madvise)\]' /sys/kernel/mm/transparent_hugepage/enabled || skip "transparent huge pages are off"
	run_hc bench map -s 64M -l 1 -f populate --populate-by madvise,fallocate,map
	expect_status 0
	for way in fallocate map; do
		expect_stdout "note: transparent huge pages aren't measured by $way: it can't bring them in"
		[ "$(grep -cE "THP +populate $way " <<<"$stdout")" = 0 ] || seen
		[ "$(grep -cE "^[0-9]+ KiB +populate $way " <<<"$stdout")" = 1 ] || seen
	done
	[ "$(grep -cE "THP +populate madvise " <<<"$stdout")" = 1 ] || seen
	for words in "-p thp" "-p thp,base" --thp; do
		# shellcheck disable=SC2086 # words
		run_hc bench map -s 64M -l 1 -f populate --populate-by fallocate $words
		expect_status 64
		expect_stderr "not for transparent huge pages"
	done
}

# without_thp ARG...: run_hc where prctl(PR_SET_THP_DISABLE) was called.
without_thp() {
	need_tool python3
	status=0
	python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])' "$HC" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout") stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
}

@test "TH-01 TH-02 THP switched off for the process: base pages are called that, and --thp is refused" {
	without_thp bench map -p thp,base -s 4M -l 1
	expect_status 0
	expect_stdout "note: base pages: no transparent huge page came ("
	expect_stdout "PR_SET_THP_DISABLE"
	refuse_stdout "THP  "
	# They are measured once.
	[ "$(grep -cE '^4 KiB +demand' <<<"$stdout")" = 1 ] || seen
	without_thp bench map -p thp -s 4M -l 1 --format json
	[ "$(field '[.runs[].case | .backing, .page_size] | unique | map(tostring) | join(",")')" = 4096,base ]
	without_thp bench map --thp -s 4M -l 1 -o "$BATS_TEST_TMPDIR/x.json"
	expect_status 4
	expect_stderr "PR_SET_THP_DISABLE"
	[ -z "$stdout" ]
	[ ! -e "$BATS_TEST_TMPDIR/x.json" ]
}

@test "TH-03 a kernel without THP: base pages are called that, and --thp is refused" {
	need_tool python3
	for words in "-p thp" "--thp"; do
		status=0
		# shellcheck disable=SC2086 # words
		python3 "$HC_TEST_SOURCE/tests/cli/without_calls.py" thp "$HC" bench map $words -s 4M -l 1 \
			>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
		stdout=$(cat "$BATS_TEST_TMPDIR/stdout") stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
		[ "$status" != 77 ] || skip "$stderr"
		if [ "$words" = --thp ]; then
			expect_status 4
			[ -z "$stdout" ]
		else
			expect_status 0
			expect_stdout "note: base pages: no transparent huge page came ("
		fi
	done
}

@test "NM-08 without memory policies: works, and a node can't be asked for" {
	need_tool python3
	for errno in 1 38; do
		status=0
		python3 "$HC_TEST_SOURCE/tests/cli/without_calls.py" $errno "$HC" bench map "${QUICK[@]}" >/dev/null 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
		[ "$status" != 77 ] || skip "$(cat "$BATS_TEST_TMPDIR/stderr")"
		[ "$status" = 0 ]
		status=0
		python3 "$HC_TEST_SOURCE/tests/cli/without_calls.py" $errno "$HC" bench map "${QUICK[@]}" --node 0 -o "$BATS_TEST_TMPDIR/x.json" \
			>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
		[ "$status" = 4 ]
		stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
		[[ "$stderr" == *"--node 0: "*"run without --node"* ]] || seen
		[ ! -e "$BATS_TEST_TMPDIR/x.json" ]
	done
}

# ---- Limits ------------------------------------------------------------------

@test "PL-01 PL-03 too few huge pages: wanted, there, and the line that would help" {
	own_pages 1
	own_cgroup
	[ "$(cat "$pool/nr_overcommit_hugepages")" = 0 ] || skip "the pool may grow by itself"
	total=$(cat "$pool/nr_hugepages")
	for function in demand populate; do
		in_cgroup bench map -p "$page" -s $((page_size * (total + 1))) -f $function -o "$BATS_TEST_TMPDIR/x.json"
		expect_status 3
		expect_stderr "$((total + 1)) pages of "
		expect_stderr "\`hugeclear reserve "
		expect_uncharged
		[ ! -e "$BATS_TEST_TMPDIR/x.json" ]
	done
	in_cgroup bench map -p "$page" -s "$page_size" -l 1
	expect_status 0
	expect_uncharged
}

@test "PL-05 a cgroup's fault limit: an error that names it, under demand too" {
	own_pages 3
	own_cgroup
	for bytes in "$page_size" 0; do
		echo "$bytes" >"$limit.max"
		for function in demand populate; do
			in_cgroup bench map -p "$page" -s $((3 * page_size)) -f $function
			expect_status 3
			expect_stderr "cgroup fault limit $limit.max leaves "
			[[ "$stderr" != *"hugeclear reserve"* ]] || seen
			expect_uncharged
		done
	done
}

@test "PL-05 the limit sinks while it is measured: SIGBUS of the child is an error with its cause" {
	own_pages 3
	own_cgroup
	in_cgroup bench map -p "$page" -s $((3 * page_size)) -f demand -l 2
	expect_status 0
	(
		until grep -q . "$cgroup/cgroup.procs"; do sleep 0.01; done
		sleep 0.3
		# It isn't taken while more is in use.
		for ((i = 0; i < 1000; i++)); do
			! echo "$page_size" 2>/dev/null >"$limit.max" || break
			sleep 0.005
		done
	) 2>/dev/null &
	in_cgroup bench map -p "$page" -s $((3 * page_size)) -f demand -l 100000 -o "$BATS_TEST_TMPDIR/x.json"
	wait
	expect_status 3
	expect_stderr "cgroup fault limit $limit.max leaves "
	expect_uncharged
	# What was measured until then is told and kept, and said not to be all.
	expect_stdout " demand "
	expect_stdout "note: not all was measured: "
	expect_stdout "interrupted after "
	stdout=$(cat "$BATS_TEST_TMPDIR/x.json")
	[ "$(field '.interrupted, (.runs[0].samples | length > 0)' | paste -sd,)" = true,true ] || seen
	field '.notes[]' | grep -q "^map: not all was measured: .*$limit.max" || seen
}

@test "PL-06 a cgroup's reservation limit: an error that says so" {
	own_pages 3
	own_cgroup
	[ -e "$limit.rsvd.max" ] || skip "this kernel has no reservation limits"
	echo "$page_size" >"$limit.rsvd.max"
	for function in demand populate; do
		in_cgroup bench map -p "$page" -s $((3 * page_size)) -f $function
		expect_status 3
		expect_stderr "cgroup reservation limit $limit.rsvd.max leaves "
		expect_uncharged
	done
}

@test "PL-04 a kernel without MADV_POPULATE_WRITE: populated all the same, and never a signal" {
	own_pages 3
	own_cgroup
	need_tool python3
	status=0
	python3 "$HC_TEST_SOURCE/tests/cli/without_calls.py" populate "$HC" bench map -p "$page" -s $((2 * page_size)) \
		-l 1 --format json >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" != 77 ] || skip "$(cat "$BATS_TEST_TMPDIR/stderr")"
	[ "$status" = 0 ]
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
	[ "$(field '[.runs[] | select(.case.function == "populate") | .got.populated_by] | unique | join(",")')" = futex ]
}

@test "^C ends it at once, prints what there is, and leaves no page" {
	own_pages 8
	own_cgroup
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" env --default-signal=INT "$HC" bench map -p "$page" -s $((8 * page_size)) -l 100000 -f demand \
		-o "$BATS_TEST_TMPDIR/x.json" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" &
	pid=$!
	sleep 1
	kill -INT $pid
	status=0
	wait $pid || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout") stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	expect_status 130
	expect_stdout "interrupted after "
	expect_uncharged
	stdout=$(cat "$BATS_TEST_TMPDIR/x.json")
	[ "$(field '.runs[0].samples | length > 0')" = true ]
}

# signal_child SIGNAL: to the process in the group whose parent is in it, too; sets child. pre: samples of
# half a second and more, so that it doesn't end in the meantime
signal_child() {
	local parent pid
	child=
	until [ "$child" ]; do
		# shellcheck disable=SC2094 # each grep reads it anew
		while read -r pid; do
			parent=$(sed -n 's/^PPid:\t//p' "/proc/$pid/status" 2>/dev/null) || continue
			if grep -qx "$parent" "$cgroup/cgroup.procs" && kill "-$1" "$pid"; then child=$pid; fi
		done <"$cgroup/cgroup.procs"
	done
}

@test "the child goes with its parent" {
	own_pages 1
	own_cgroup
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$HC" bench map -p base -s 1G -l 100000 >/dev/null 2>&1 &
	pid_of_bench=$!
	# One that has stopped can't end by itself.
	signal_child STOP
	kill -KILL $pid_of_bench
	wait $pid_of_bench || true
	for ((i = 0; i < 500; i++)); do
		[ -n "$(cat "$cgroup/cgroup.procs")" ] || break
		sleep 0.01
	done
	left=$(cat "$cgroup/cgroup.procs")
	[ -z "$left" ] || kill -KILL "$child"
	[ -z "$left" ]
}

# memory_cgroup: one with a limit of 64 MiB on memory; sets file, its limit. pre: own_pages
memory_cgroup() {
	# Version 1 has a tree of its own for memory.
	if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
		cgroup=/sys/fs/cgroup/memory/hugeclear-test-bench-$$
		file=$cgroup/memory.limit_in_bytes
		mkdir "$cgroup"
	else
		own_cgroup
		[ -e "$cgroup/memory.max" ] || skip "no cgroup may have a memory limit"
		file=$cgroup/memory.max
		[ ! -e "$cgroup/memory.swap.max" ] || echo 0 >"$cgroup/memory.swap.max"
	fi
	echo $((64 << 20)) >"$file"
}

@test "PL-13 a memory cgroup's limit: rounds below it, which is said; hugetlb isn't counted" {
	own_pages 48
	memory_cgroup
	for words in "-p base -r 3" "-p thp"; do
		# shellcheck disable=SC2086 # words
		in_cgroup bench map $words -s 128M -l 1 -o "$BATS_TEST_TMPDIR/x.json"
		expect_status 0
		expect_stdout "128 MiB is more than fits below $file: "
		stdout=$(cat "$BATS_TEST_TMPDIR/x.json")
		field '.runs[0].got.region <= 67108864' | grep -qx true
		field '.host.cgroup.memory_left <= 67108864' | grep -qx true
	done
	in_cgroup bench map -p "$page" -s $((48 * page_size)) -l 1
	expect_status 0
	refuse_stdout "more than fits"
}

@test "PL-13 the memory limit sinks while it is measured: the child is killed and not the bench" {
	own_pages 1
	memory_cgroup
	(
		until grep -q . "$cgroup/cgroup.procs"; do sleep 0.01; done
		sleep 0.3
		# Refused as long as more is in use.
		until echo $((16 << 20)) >"$file"; do sleep 0.01; done
	) &
	in_cgroup bench map -p base -s 40M -l 100000 -f demand -o "$BATS_TEST_TMPDIR/x.json"
	wait
	expect_status 3
	expect_stderr "killed by the kernel for want of memory"
	expect_stderr "$file"
	stdout=$(cat "$BATS_TEST_TMPDIR/x.json")
	[ "$(field '.interrupted')" = true ] || seen
}

@test "a child that somebody kills is no lack of memory" {
	own_pages 1
	own_cgroup
	signal_child KILL &
	in_cgroup bench map -p base -s 1G -l 100000 -f demand
	wait
	expect_status 1
	expect_stderr "somebody killed the child that maps (SIGKILL)"
}
