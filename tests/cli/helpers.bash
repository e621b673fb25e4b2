# What all command tests share. load helpers (bats finds it beside the test).

HC=${HC_TEST_BUILD:?set by meson test}/tool/hugeclear
FIXTURES=${HC_TEST_FIXTURES:?set by meson test}

# A user's own profile and mask must not change what is tested; nor must the language.
unset HUGECLEAR_PROFILE HUGECLEAR_PROCESSOR_MASK
export LC_ALL=C

# tree NAME [DIR]: unpacks fixtures/NAME.tree ("sysfs/arm64-4k") into DIR, by default
# $BATS_TEST_TMPDIR/root; sets root to it.
tree() {
	root=${2:-$BATS_TEST_TMPDIR/root}
	mkdir -p "$root"
	python3 "$FIXTURES/expand-tree.py" "$FIXTURES/$1.tree" "$root"
}

# put_fixture NAME PATH: a fixture file as PATH below $root ("meminfo/x.txt" proc/meminfo).
put_fixture() {
	mkdir -p "$(dirname "$root/$2")"
	cp "$FIXTURES/$1" "$root/$2"
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# need_tool NAME...: a program the test compares with.
need_tool() {
	local name
	for name; do
		command -v "$name" >/dev/null || skip "needs $name"
	done
}

# run_hc ARG...: runs the command; sets status, stdout, stderr. Never fails itself.
run_hc() {
	status=0
	"$HC" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
	stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
}

# The assertions print what they saw: bats shows it where the test fails.
seen() {
	printf '%s\n' "exit code $status" "--- standard output" "$stdout" "--- standard error" "$stderr"
	return 1
}

expect_status() {
	[ "$status" = "$1" ] || {
		echo "expected exit code $1"
		seen
	}
}

# expect_stdout TEXT, expect_stderr TEXT: TEXT stands in it somewhere.
expect_stdout() {
	[[ "$stdout" == *"$1"* ]] || {
		echo "expected in standard output: $1"
		seen
	}
}

expect_stderr() {
	[[ "$stderr" == *"$1"* ]] || {
		echo "expected in standard error: $1"
		seen
	}
}

# refuse_stdout TEXT: it stands nowhere in it.
refuse_stdout() {
	[[ "$stdout" != *"$1"* ]] || {
		echo "not expected in standard output: $1"
		seen
	}
}

# refuse_match REGEX: no line of it matches, whatever the case.
refuse_match() {
	if grep -qiE "$1" <<<"$stdout"; then
		echo "not expected in standard output: $1"
		seen
	fi
}

# as_nobody ARG...: run_hc as an ordinary user (only where the test runs as root).
as_nobody() {
	status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		"$HC" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
	stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
}
