# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell; helpers set the variables
load helpers

@test "without a verb: usage" {
	run_hc
	expect_status 64
	expect_stderr "a verb is missing"
	expect_stderr "try 'hugeclear --help'"
	[ -z "$stdout" ]
}

@test "an unknown verb names the nearest one" {
	run_hc hlep
	expect_status 64
	expect_stderr "there is no verb 'hlep': did you mean 'help'?"
	run_hc frobnicate
	expect_status 64
	expect_stderr "there is no verb 'frobnicate'"
	[[ "$stderr" != *"did you mean"* ]]
}

@test "an option before the verb is refused" {
	run_hc --json
	expect_status 64
	expect_stderr "there is no option '--json' before the verb"
}

@test "--version is the version of the build" {
	run_hc --version
	expect_status 0
	want=$(sed -n "s/^ *version: '\([0-9.]*\)',\$/\1/p" "$HC_TEST_SOURCE/meson.build" | head -n 1)
	[ "$stdout" = "hugeclear $want" ] || seen
	[ -z "$stderr" ]
}

@test "--help goes to standard output and shows every exit code" {
	run_hc --help
	expect_status 0
	[ -z "$stderr" ]
	for code in "0 ok" "1 failed" "3 got less" "4 not available" "64 usage" "130 interrupted"; do
		expect_stdout "$code"
	done
	help=$stdout
	run_hc help
	[ "$stdout" = "$help" ] || seen
}

@test "every verb has --help, 'help VERB' shows the same, and both exit 0" {
	verbs=$("$HC" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | grep -vx help || true)
	for verb in $verbs; do
		run_hc "$verb" --help
		expect_status 0
		expect_stdout "usage: hugeclear $verb"
		text=$stdout
		run_hc help "$verb"
		expect_status 0
		[ "$stdout" = "$text" ] || seen
	done
	run_hc help nonesuch
	expect_status 64
}

@test "output that can't be written is an error" {
	status=0
	"$HC" --help >/dev/full 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" = 1 ]
	grep -q "No space left on device" "$BATS_TEST_TMPDIR/stderr"

	status=0
	"$HC" --help >&- 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" = 1 ]
	grep -q "standard output couldn't be written: Bad file descriptor" "$BATS_TEST_TMPDIR/stderr"
}

# full VERB ARG...: with a full disk as standard output, which has to be named by that verb.
full() {
	local verb=$1
	shift
	status=0
	"$HC" "$@" >/dev/full 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	stdout='' stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	expect_status 1
	[ "$(grep -c "standard output\|No space" "$BATS_TEST_TMPDIR/stderr")" = 1 ] || seen
	expect_stderr "hugeclear $verb: "
	expect_stderr "No space left on device"
}

@test "a full disk behind standard output: one error with its reason and the verb, exit code 1" {
	full status status
	full status status --json
	full status status --help
	full bench bench --help
	full "bench clear" bench clear -s 1M -p base -l 1 -e whole
	full "bench clear" bench clear -s 1M -p base -l 1 -e whole -o -
	full "bench clear" bench clear -s 1M -p base -l 1 -e whole --format json
	full "bench suite" bench suite -s 1M
	full tune tune -n -s 1M --seconds 1
	tree numa/one-node-empty-pool-on-node1
	full reserve reserve --root "$root" 2M=+1 --dry-run
}

@test "standard output closed or not for writing: said before anything is measured or changed" {
	for call in "status" "tune -o $BATS_TEST_TMPDIR/profile --seconds 60" "bench clear -s 1M -l 100000" \
		"bench map -s 1M -l 100000 -o -" "bench suite" "reserve --root $BATS_TEST_TMPDIR/root 2M=5"; do
		tree numa/one-node-empty-pool-on-node1
		for how in closed read-only; do
			status=0
			# shellcheck disable=SC2086 # words
			case $how in
			closed) timeout 20 "$HC" $call >&- 2>"$BATS_TEST_TMPDIR/stderr" || status=$? ;;
			*) timeout 20 "$HC" $call 1</dev/null 2>"$BATS_TEST_TMPDIR/stderr" || status=$? ;;
			esac
			stdout='' stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
			expect_status 1
			expect_stderr "standard output is closed, or not open for writing"
			[ "$(wc -l <"$BATS_TEST_TMPDIR/stderr")" = 1 ] || seen
		done
	done
	[ "$(cat "$root/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")" = 1024 ]
	[ ! -e "$BATS_TEST_TMPDIR/profile" ]
}

@test "a word in HUGECLEAR_PROCESSOR_MASK that is no feature: said with the known ones" {
	for call in "status" "bench clear" "tune -n"; do
		# shellcheck disable=SC2086 # words
		HUGECLEAR_PROCESSOR_MASK=clzero,avx run_hc $call
		expect_status 64
		expect_stderr "HUGECLEAR_PROCESSOR_MASK: 'avx' is no feature of a processor"
		expect_stderr "avx512f"
		[ -z "$stdout" ]
	done
	HUGECLEAR_PROCESSOR_MASK=clzero,avx run_hc status --help
	expect_status 0
	expect_stdout "usage:"
	HUGECLEAR_PROCESSOR_MASK=avx2,dczva, run_hc status
	expect_status 0
}

@test "a closed pipe ends it with SIGPIPE, or with an error where that is ignored" {
	# sleep, so that the reader is gone before anything is written
	bash -c '{ sleep 0.3; "$1" --help; echo "$?" >"$2"; } | true' - "$HC" "$BATS_TEST_TMPDIR/code" || true
	[ "$(cat "$BATS_TEST_TMPDIR/code")" = 141 ]
	bash -c 'trap "" PIPE; { sleep 0.3; "$1" --help 2>/dev/null; echo "$?" >"$2"; } | true' - "$HC" "$BATS_TEST_TMPDIR/code" || true
	[ "$(cat "$BATS_TEST_TMPDIR/code")" = 1 ]
}

@test "all standard descriptors closed: no crash, usage still 64" {
	status=0
	"$HC" nonesuch <&- >&- 2>&- || status=$?
	[ "$status" = 64 ]
}
