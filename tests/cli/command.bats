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
	grep -q "standard output couldn't be written" "$BATS_TEST_TMPDIR/stderr"
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
