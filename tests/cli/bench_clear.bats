# bench clear from the command line: options, refusals, tables and results, limits and short pools.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell; helpers set the variables
load helpers
load huge_pages

# Short runs of few cases: what is tested is what is said and done, not how fast.
QUICK=(-s 4M -l 2 -p base)

leftovers() {
	find "$BATS_TEST_TMPDIR" -name '.hugeclear-*'
}

# ---- The verb ---------------------------------------------------------------

@test "bench without a name, with a wrong one, and its help" {
	run_hc bench
	expect_status 64
	expect_stderr "the name of a benchmark is missing"
	run_hc bench cleer
	expect_status 64
	expect_stderr "did you mean 'clear'?"
	run_hc bench --help
	expect_status 0
	expect_stdout "suite"
	run_hc bench clear --help
	expect_status 0
	expect_stdout "usage: hugeclear bench clear"
	run_hc bench suite --help
	expect_status 0
	expect_stdout "--full"
}

@test "the three columns, their changes, and what they are" {
	run_hc bench clear "${QUICK[@]}"
	expect_status 0
	[ -z "$stderr" ] || seen
	expect_stdout "4 MiB in base pages of "
	expect_stdout ", intent later, 2 loops"
	expect_stdout "base           patched                 default"
	expect_stdout "  4 KiB "
	expect_stdout "  4 MiB "
	expect_stdout "as Linux before the series"
	expect_stdout "default: hugeclear's choice ("
	# No line of the table is too long for a mail.
	[ "$(sed -n '/^  extent/,/^$/p' <<<"$stdout" | awk '{ print length }' | sort -n | tail -n 1)" -le 76 ] || seen
}

@test "results: what is measured, the cold loop apart, one run a case" {
	run_hc bench clear "${QUICK[@]}" -e 4K,whole --format json
	expect_status 0
	[ "$(field .schema)" = hugeclear-results/1 ]
	[ "$(field '.host.kernel')" = "$(uname -r)" ]
	[ "$(field '.host.boot_id')" = "$(cat /proc/sys/kernel/random/boot_id)" ]
	[ "$(field '.runs | length')" = 6 ]
	[ "$(field '[.runs[] | .samples | length] | unique | join(",")')" = 2 ]
	[ "$(field '[.runs[] | .warmup | length] | unique | join(",")')" = 1 ]
	[ "$(field '[.runs[].case.extent] | unique | join(",")')" = 4096,4194304 ]
	[ "$(field '[.runs[].case.function] | unique | join(",")')" = base,default,patched ]
	[ "$(field '[.runs[].case | .size, .threads, .page_size] | unique | join(",")')" = "1,$(getconf PAGESIZE),4194304" ]
	[ "$(field '[.runs[].unit] | unique | join(",")')" = GiB/s ]
	# What isn't part of the work isn't in the case; defaults are left out.
	[ "$(field '[.runs[].case | has("loops") or has("nr_loops") or has("chunk") or has("node") or has("then")] | any')" = false ]
}

@test "mean and deviation in the results are those of the samples" {
	need_tool python3
	run_hc bench clear "${QUICK[@]}" -l 4 -e whole --format json
	expect_status 0
	python3 -c '
import json, statistics, sys
for run in json.load(sys.stdin)["runs"]:
    mean, sd = statistics.fmean(run["samples"]), statistics.stdev(run["samples"])
    assert abs(run["mean"] - mean) < 1e-9 * mean, run
    assert abs(run["stdev_pct"] - 100 * sd / mean) < 1e-6, run
    assert run["n"] == 4 and abs(run["median"] - statistics.median(run["samples"])) < 1e-9 * mean, run
' <<<"$stdout" || seen
}

@test "--format simple: a line a case, seven fields" {
	run_hc bench clear "${QUICK[@]}" -e 64K --format simple
	expect_status 0
	[ "$(wc -l <<<"$stdout")" = 3 ] || seen
	[ "$(awk -F'\t' '{ print NF }' <<<"$stdout" | sort -u)" = 7 ] || seen
	expect_stdout "function=patched,extent=65536"
}

@test "-f all: every method of this machine by extents" {
	run_hc bench clear "${QUICK[@]}" -l 1 -e 4K,whole -f all
	expect_status 0
	for method in $("$HC" bench clear -f none 2>&1 | sed -n 's/.* is none of \(.*\)$/\1/p' | tr -d ,); do
		case $method in base | patched | default | memset) expect_stdout "$method" ;; esac
	done
	expect_stdout "best"
}

@test "--then, --chunk and lists of threads: metrics of their own" {
	run_hc bench clear "${QUICK[@]}" -e 64K -t 1,2 --then read --format json
	expect_status 0
	[ "$(field '[.runs[].metric] | unique | join(",")')" = clear_throughput,then_throughput,throughput ]
	[ "$(field '[.runs[].case.then] | unique | join(",")')" = read ]
	[ "$(field '[.runs[].case.threads | values] | unique | join(",")')" = 1,2 ]
	# The whole is slower than each of its parts.
	[ "$(field '[.runs[] | select(.metric == "throughput").mean] | max')" != null ]
	# Who touches it next is the reason for soon.
	[ "$(field '[.runs[].case | select(.function == "default").intent] | unique | join(",")')" = soon ]

	run_hc bench clear "${QUICK[@]}" -e whole --chunk 0,1M --format json
	expect_status 0
	[ "$(field '[.runs[] | select(.metric == "longest_step") | .case.chunk] | unique | join(",")')" = 1048576 ]
	[ "$(field '[.runs[] | select(.metric == "longest_step") | .better, .unit] | unique | join(",")')" = lower,s ]
	# base knows no chunks: once.
	[ "$(field '[.runs[] | select(.case.function == "base" and .metric == "throughput")] | length')" = 1 ]
	run_hc bench clear "${QUICK[@]}" -e whole --chunk 1M
	expect_stdout "longest time between two questions to stop"
}

@test "the suite: all parts into one file" {
	run_hc bench suite -s 1M -l 1 -o "$BATS_TEST_TMPDIR/suite.json"
	expect_status 0
	expect_stdout "== "
	[ "$(jq -r '[.runs[] | .case.then // "none"] | unique | join(",")' "$BATS_TEST_TMPDIR/suite.json")" = none,write ]
	run_hc bench suite --full -s 1M -l 1 --format json
	expect_status 0
	# What two parts measured alike is there once, or nobody could read it.
	[ "$(field '[.runs[] | [.bench, .metric, .case]] | length - (unique | length)')" = 0 ]
	[ "$(field '.notes | length - (unique | length)')" = 0 ]
	[ "$(field '[.runs[] | select(.bench == "clear") | .case.function] | unique | join(",")')" = base,default,method,patched ]
	[ "$(field '[.runs[] | select(.bench == "map") | .case.function] | unique | join(",")')" = demand,idle,populate ]
	[ "$(field '[.runs[].case.threads | values] | unique | join(",")')" = 1,2 ]
}

# ---- Cases ------------------------------------------------------------------

@test "SZ-02 SZ-03 SZ-04 sizes and counts that aren't any" {
	for size in 0 1.5G -1 -1KB -0 +2M nan inf 1e3M 0x10M 0.1K "" B 2MM 10€ 2,5G; do
		run_hc bench clear -s "$size"
		expect_status 64
		expect_stderr "--size: "
		[ -z "$stdout" ] || seen
		run_hc bench clear --chunk "${size/#0/x}"
		expect_status 64
	done
	for size in 99999999T 17179869184G 18014398509482112KB 16384P 18446744073709551616; do
		run_hc bench clear -s "$size"
		expect_status 64
		expect_stderr "2^64"
	done
	run_hc bench clear -s 1.5G
	expect_stderr "use 1536M"
	run_hc bench clear -p 1.5G
	expect_status 64
	expect_stderr "use 1536M"
	for count in 0 -1 -0 +2 nan inf 1e3 0x10 1.5 "" 99999999999999999999; do
		run_hc bench clear -l "$count"
		expect_status 64
		expect_stderr "--nr_loops: '$count'"
		run_hc bench clear -t "$count"
		expect_status 64
		expect_stderr "--threads: '$count'"
	done
}

@test "SZ-03 sizes that fit 64 bits and no machine" {
	for size in 16383P 18446744073709551615 18446744073709551614; do
		run_hc bench clear -s "$size"
		expect_status 3
		expect_stderr "wanted; this machine has"
	done
}

@test "SZ-04 a size that isn't whole pages gets whole pages" {
	run_hc bench clear -p base -s 5000 -l 1 -e whole --format json
	expect_status 0
	[ "$(field '[.runs[].case.size] | unique | join(",")')" = 5000 ]
}

@test "BN-14 sizes below a page, a line, an extent, a chunk" {
	for size in 1 63 64 65 4095 4097; do
		run_hc bench clear -s "$size" -l 1 -p base --format json
		expect_status 0
		[ "$(field '[.runs[] | .samples[0] > 0] | all')" = true ]
		[ "$(field '[.runs[].got.repeats] | min > 1')" = true ]
	done
	# Threads that got nothing to do aren't counted.
	run_hc bench clear -s 64 -t 4 -l 1 -p base
	expect_status 0
	expect_stdout "4 threads, of which only 1 took part"
	run_hc bench clear -s 2M --chunk 4M
	expect_status 64
	expect_stderr "--chunk: 4 MiB is more than the size, 2 MiB"
	run_hc bench clear -s 2M -e 4M
	expect_status 64
	expect_stderr "--extent: 4 MiB is more than the size, 2 MiB"
	run_hc bench clear -s 2M -e 63
	expect_status 64
	expect_stderr "less than a cache line"
}

@test "BN-02 BN-09 no inf and no NaN, also for next to nothing" {
	for then in none read write; do
		run_hc bench clear -s 1 -l 1 -p base --then "$then"
		expect_status 0
		[[ ! "$stdout" =~ (inf|nan|NaN) ]] || seen
		run_hc bench clear -s 1 -l 2 -p base --then "$then" --format json
		expect_status 0
		[ "$(field '[.runs[] | .mean != null and .mean > 0 and .mean < 1e6] | all')" = true ] || seen
	done
}

@test "BN-01 one loop: no deviation" {
	run_hc bench clear "${QUICK[@]}" -l 1 -e whole
	expect_status 0
	expect_stdout "+- n/a"
	run_hc bench clear "${QUICK[@]}" -l 1 -e whole --format json
	[ "$(field '[.runs[].stdev_pct] | unique | length')" = 1 ]
	[ "$(field '.runs[0].stdev_pct')" = null ]
}

@test "BN-09 a language with a decimal comma changes nothing" {
	need_tool localedef
	localedef -i de_DE -f UTF-8 "$BATS_TEST_TMPDIR/de_DE.UTF-8" >/dev/null 2>&1 || skip "de_DE.UTF-8 can't be made here"
	LOCPATH=$BATS_TEST_TMPDIR LC_ALL=de_DE.UTF-8 run_hc bench clear "${QUICK[@]}" -e whole
	expect_status 0
	[[ ! "$stdout" =~ [0-9],[0-9] ]] || seen
	LOCPATH=$BATS_TEST_TMPDIR LC_ALL=de_DE.UTF-8 run_hc bench clear "${QUICK[@]}" -e whole --format json
	expect_status 0
	[ "$(field '.runs[0].samples | length')" = 2 ]
	LOCPATH=$BATS_TEST_TMPDIR LC_ALL=de_DE.UTF-8 run_hc bench clear "${QUICK[@]}" -e whole --format simple
	[[ ! "$stdout" =~ [0-9],[0-9] ]] || seen
}

@test "CE-09 methods that aren't there, by name" {
	run_hc bench clear -f avx1024
	expect_status 64
	expect_stderr "'avx1024' is none of base, patched, default, all, "
	[ "$(uname -m)" = x86_64 ] || return 0
	# A feature can be taken away; on a processor that never had it the answer is the same.
	HUGECLEAR_PROCESSOR_MASK=avx2,avx512f,clzero,movdir64b run_hc bench clear -f avx2-nt
	expect_status 4
	expect_stderr "method 'avx2-nt' needs a processor with avx2"
	expect_stderr "available: "
	HUGECLEAR_PROCESSOR_MASK=clzero run_hc bench clear -f clzero
	expect_status 4
	expect_stderr "needs a processor with clzero"
	HUGECLEAR_PROCESSOR_MASK=all run_hc bench clear "${QUICK[@]}" -e whole --format json
	expect_status 0
	[[ "$(field '[.runs[].got.method // empty] | join(",")')" != *avx* ]] || seen
}

@test "CE-10 figures stay below what a cache could do" {
	run_hc bench clear -p base -s 64M -l 1 --format json
	expect_status 0
	# A core's L1 takes at most 64 bytes a cycle: some 400 GB/s.
	[ "$(field '[.runs[] | .mean < 400] | all')" = true ] || seen
}

@test "BN-12 BN-13 memory is there before anything reads it" {
	run_hc bench clear -p thp -s 4M -l 1 --then read -e whole
	expect_status 0
	# Read without having been written, all pages would be one page of zeros: no system call says so, but
	# strace shows what comes before the first question for the time.
	need_tool strace
	# LeakSanitizer, where it is built in, can't work beside strace.
	ASAN_OPTIONS=detect_leaks=0 strace -f -o "$BATS_TEST_TMPDIR/trace" -e trace=madvise,mincore "$HC" bench clear -p base -s 4M -l 1 --then read -e whole >/dev/null
	grep -Eq 'madvise\(.*, 4194304, (MADV_POPULATE_WRITE|0x17)[^)]*\) = 0' "$BATS_TEST_TMPDIR/trace" ||
		{ cat "$BATS_TEST_TMPDIR/trace" && false; }
	grep -Eq 'mincore\(.*, 4194304, .*\) = 0' "$BATS_TEST_TMPDIR/trace"
}

@test "TH-02 THP switched off for the process: base pages, and labelled so" {
	need_tool python3
	[ -d /sys/kernel/mm/transparent_hugepage ] || skip "needs a kernel with THP"
	status=0
	python3 -c '
import ctypes, os, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
os.execv(sys.argv[1], sys.argv[1:])' "$HC" bench clear -p thp -s 4M -l 1 -e whole --format json \
		>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout") stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	expect_status 0
	[ "$(field '[.runs[].case.backing] | unique | join(",")')" = base ]
	expect_stdout "no transparent huge page came (THP are off for this process"
}

@test "NM-06 nodes that aren't there" {
	for node in "" -1 0,1 0-4294967295 99999999999999999999 x; do
		run_hc bench clear --node "$node"
		expect_status 64
		expect_stderr "is not the number of a node; online: "
	done
	for node in 512 4711; do
		[ ! -e /sys/devices/system/node/node$node ] || continue
		run_hc bench clear --node "$node"
		expect_status 4
		expect_stderr "node $node is not online; online nodes: "
	done
}

@test "NM-06 a node that is there is in the results" {
	run_hc bench clear "${QUICK[@]}" -e whole --node 0 --format json
	[ "$status" = 0 ] || skip "the memory can't be bound here"
	[ "$(field '[.runs[].case.node] | unique | join(",")')" = 0 ]
}

# without_policy ERRNO ARG...: run_hc where mbind, set_mempolicy, get_mempolicy and move_pages fail.
without_policy() {
	status=0
	python3 "$HC_TEST_SOURCE/tests/cli/without_calls.py" "$1" "$HC" "${@:2}" \
		>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
	stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
}

@test "NM-08 memory policy forbidden: works without a node, never claims one" {
	need_tool python3
	for errno in 1 38; do # EPERM, ENOSYS
		without_policy $errno bench clear "${QUICK[@]}" -e whole --format json
		[ "$status" != 77 ] || skip "$stderr"
		expect_status 0
		[ "$(field '[.runs[].case | has("node")] | any')" = false ]
		without_policy $errno bench clear "${QUICK[@]}" -e whole --node 0 --format json -o "$BATS_TEST_TMPDIR/x.json"
		expect_status 4
		expect_stderr "--node 0: the memory policy was not applied"
		expect_stderr "run without --node"
		[ -z "$stdout" ] || seen
		[ ! -e "$BATS_TEST_TMPDIR/x.json" ]
	done
}

@test "page sizes that this machine lacks" {
	run_hc bench clear -p 3M
	expect_status 4
	expect_stderr "3 MiB"
	run_hc bench clear -p "$(getconf PAGESIZE)" -s 1M -l 1 -e whole --format json
	expect_status 0
	[ "$(field '.runs[0].case.backing')" = base ]
}

@test "PL-01 too few huge pages: wanted, there, and the line that would help" {
	own_pages 1
	own_cgroup
	total=$(cat "$pool/nr_hugepages")
	[ "$(cat "$pool/nr_overcommit_hugepages")" = 0 ] || skip "the pool may grow by itself"
	before=$(cat "$pool/free_hugepages" "$pool/resv_hugepages")
	in_cgroup bench clear -p "$page" -s $((page_size * (total + 1))) -o "$BATS_TEST_TMPDIR/x.json"
	expect_status 3
	expect_stderr "$((total + 1)) pages of "
	expect_stderr " available ("
	expect_stderr "\`hugeclear reserve "
	expect_uncharged
	[ "$(cat "$pool/free_hugepages" "$pool/resv_hugepages")" = "$before" ]
	[ ! -e "$BATS_TEST_TMPDIR/x.json" ]

	# And with as many as are there it works, and gives them back.
	in_cgroup bench clear -p "$page" -s "$page_size" -l 1 -e whole --format json
	expect_status 0
	[ "$(field '.runs[0].case | [.backing, .page_size] | join(",")')" = "hugetlb,$page_size" ]
	expect_uncharged
}

@test "PL-05 a cgroup's fault limit: an error that names it, no signal" {
	own_pages 3
	own_cgroup
	for bytes in "$page_size" 0; do
		echo "$bytes" >"$limit.max"
		in_cgroup bench clear -p "$page" -s $((3 * page_size))
		expect_status 3
		expect_stderr "$limit.max leaves "
		[[ "$stderr" != *"hugeclear reserve"* ]] || seen
		expect_uncharged
	done
	# One page is within the first limit.
	echo "$page_size" >"$limit.max"
	in_cgroup bench clear -p "$page" -s "$page_size" -l 1 -e whole
	expect_status 0
	expect_uncharged
	# Where it isn't asked for, huge pages that can't be had aren't chosen.
	echo 0 >"$limit.max"
	in_cgroup bench clear -s $((3 * page_size)) -l 1 -e whole --format json
	expect_status 0
	[ "$(field '[.runs[].case | select(.backing == "hugetlb" and .page_size == '"$page_size"')] | length')" = 0 ]
}

@test "PL-06 a cgroup's reservation limit: an error that says so" {
	own_pages 3
	own_cgroup
	[ -e "$limit.rsvd.max" ] || skip "this kernel has no reservation limits"
	echo "$page_size" >"$limit.rsvd.max"
	in_cgroup bench clear -p "$page" -s $((3 * page_size))
	expect_status 3
	expect_stderr "cgroup reservation limit $limit.rsvd.max leaves "
	[[ "$stderr" != *"hugeclear reserve"* ]] || seen
	expect_uncharged
}

@test "PL-04 a kernel without MADV_POPULATE_WRITE: still never a signal" {
	own_pages 3
	own_cgroup
	need_tool python3
	status=0
	python3 "$HC_TEST_SOURCE/tests/cli/without_calls.py" populate "$HC" bench clear -p "$page" -s $((2 * page_size)) \
		-l 1 -e whole >/dev/null 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" != 77 ] || skip "$(cat "$BATS_TEST_TMPDIR/stderr")"
	[ "$status" = 0 ]
	echo "$page_size" >"$limit.max"
	status=0
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" python3 "$HC_TEST_SOURCE/tests/cli/without_calls.py" populate \
		"$HC" bench clear -p "$page" -s $((3 * page_size)) >/dev/null 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" = 3 ]
	grep -qF "$limit.max leaves " "$BATS_TEST_TMPDIR/stderr"
	expect_uncharged
}

@test "a size above all memory is cleared in rounds, and that is said" {
	own_pages 2
	total=$(awk '$1 == "MemTotal:" { printf "%.0f", $2 * 1024 }' /proc/meminfo)
	[ "$total" -le $((64 << 30)) ] || skip "takes long on large machines"
	free=$(($(cat "$pool/free_hugepages") - $(cat "$pool/resv_hugepages")))
	run_hc bench clear -p "$page" -s $((total + 1)) -l 1 -e whole -f default --format json
	expect_status 0
	[ "$(field '.runs[0].case.size')" = $((total + 1)) ]
	[ "$(field '.runs[0].got.region')" -le $((free * page_size)) ]
	expect_stdout "each sample goes over the same "
}

@test "a profile that the choice comes from is said, and one that can't be used" {
	export HUGECLEAR_PROFILE=$BATS_TEST_TMPDIR/none.profile
	run_hc bench clear "${QUICK[@]}" -e whole
	expect_status 0
	expect_stdout "the profile isn't used: "
	expect_stdout "none.profile"
}

@test "CPUs and the node stand in the heading" {
	run_hc bench clear "${QUICK[@]}" -e whole --node 0 --cpus "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')"
	[ "$status" = 0 ] || skip "the memory can't be bound here"
	expect_stdout " on node 0, by CPUs "
}

# ---- The results file -------------------------------------------------------

@test "-o: written whole, nothing beside it, and found out first where it can't be" {
	run_hc bench clear "${QUICK[@]}" -e whole -o "$BATS_TEST_TMPDIR/out.json"
	expect_status 0
	expect_stdout "default"
	[ "$(jq -r '.runs | length' "$BATS_TEST_TMPDIR/out.json")" = 3 ]
	[ -z "$(leftovers)" ]

	for path in "$BATS_TEST_TMPDIR/none/out.json" "$BATS_TEST_TMPDIR" /proc/out.json "" "$BATS_TEST_TMPDIR/out.json/x"; do
		run_hc bench clear -s 1G -l 100000 -o "$path"
		expect_status 1
		expect_stderr "the results can't be written to '$path'"
		[ -z "$stdout" ] || seen
	done
	"$HC" bench clear "${QUICK[@]}" -e whole -o - >/dev/full 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" = 1 ]
	grep -q "standard output" "$BATS_TEST_TMPDIR/stderr"
	run_hc bench clear "${QUICK[@]}" -e whole -o /dev/full
	expect_status 1
	expect_stderr "No space left on device"
}

@test "-o of somebody else's folder" {
	need_root
	chmod 755 "$BATS_TEST_TMPDIR"
	mkdir -m 755 "$BATS_TEST_TMPDIR/theirs"
	as_nobody bench clear "${QUICK[@]}" -e whole -o "$BATS_TEST_TMPDIR/theirs/out.json"
	[ "$status" != 126 ] || skip "an ordinary user can't reach the build folder"
	expect_status 1
	expect_stderr "Permission denied"
}

@test "-o -: the results alone on standard output" {
	run_hc bench clear "${QUICK[@]}" -e whole -o -
	expect_status 0
	[ "$(field .schema)" = hugeclear-results/1 ]
	expect_stderr "as Linux before the series"
}

@test "interrupted: prints what it has, writes it marked, exit code 130" {
	"$HC" bench clear "${QUICK[@]}" -l 100000 -e whole -o "$BATS_TEST_TMPDIR/out.json" >"$BATS_TEST_TMPDIR/stdout" 2>&1 &
	pid=$!
	sleep 1
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout") stderr=
	expect_status 130
	expect_stdout "as Linux before the series"
	expect_stdout "interrupted after "
	[ "$(jq -r .interrupted "$BATS_TEST_TMPDIR/out.json")" = true ]
	[ "$(jq -r '.runs[0].samples | length' "$BATS_TEST_TMPDIR/out.json")" -gt 0 ]
	[ -z "$(leftovers)" ]
}

@test "a CPU that may not be used" {
	run_hc bench clear --cpus 4095
	expect_status 64
	expect_stderr "CPU 4095 is not one this process may use: it may use "
	for cpus in "" - 0- "0,," a; do
		run_hc bench clear --cpus "$cpus"
		expect_status 64
	done
	run_hc bench clear "${QUICK[@]}" -e whole --cpus "$(taskset -cp $$ | sed 's/.*: //')" -t 2 --format json
	expect_status 0
	[ "$(field '[.runs[].case | has("cpus")] | all')" = true ]
}

# Opening it waited for a reader, without a word.
@test "results into a FIFO that nobody reads are refused before anything is measured" {
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	run_hc bench clear -s 1M -p base -e whole -l 1 -o "$BATS_TEST_TMPDIR/fifo"
	expect_status 1
	[[ "$stderr" == *"nobody reads this FIFO"* ]] || seen
	[ -z "$stdout" ] || seen
}

@test "what a message repeats of an argument can't command the terminal" {
	run_hc bench clear -s $'1\n\e[31mX'
	expect_status 64
	[[ "$stderr" != *$'\e'* ]] || seen
	[[ "$stderr" == *"1??[31mX"* ]] || seen
}
