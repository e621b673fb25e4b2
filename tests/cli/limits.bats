# Limits of the process that somebody set: the error names the limit, its value and how to raise it.
# shellcheck disable=SC2034,SC2154 # helpers share variables
load helpers

# Looking for leaks takes a thread and descriptors of its own.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

# limited OPTION VALUE ARG...: run_hc under ulimit OPTION VALUE.
limited() {
	local option=$1 value=$2
	shift 2
	status=0
	(
		ulimit -S "$option" "$value"
		exec "$HC" "$@"
	) >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&- || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
	stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
}

# Sanitizers reserve terabytes of addresses.
need_address_limit() {
	limited -v 60000 --version
	[ "$status" = 0 ] || skip "needs a build that runs in 60 MB of addresses"
}

@test "ulimit -v: the limit of address space" {
	need_address_limit
	for call in "tune -n -s 128M --seconds 1" "bench map -s 128M -p base -l 1" "bench clear -s 128M -p base -l 1"; do
		# shellcheck disable=SC2086 # words
		limited -v 60000 $call
		[ "$status" != 0 ] || seen
		expect_stderr "60000 KiB"
		expect_stderr "ulimit -v"
	done
}

@test "ulimit -v: threads, whose stacks don't fit" {
	need_address_limit
	# 8 MiB a stack: there is room for the memory and not for these.
	limited -v 60000 bench map -s 4M -p base -l 1 -t 40
	expect_stdout "the limit of address space is 60000 KiB: raise it with ulimit -v"
}

@test "ulimit -n: the limit of open files" {
	for call in "tune -n -s 1M --seconds 1" "bench map -s 1M -p base -l 1" "bench clear -s 1M -p base -l 1"; do
		# shellcheck disable=SC2086 # words
		limited -n 5 $call
		expect_status 1
		expect_stderr "the limit of open files is 5: raise it with ulimit -n"
	done
	tree numa/one-node-empty-pool-on-node1
	limited -n 4 reserve --root "$root" 2M=5
	expect_status 1
	expect_stderr "the limit of open files is 4: raise it with ulimit -n"
}

@test "ulimit -f: the limit of a file's size, of a memfd, a result and standard output" {
	limited -f 10 bench map -s 8M -p base -l 1 --populate-by fallocate
	[ "$status" != 0 ] || seen
	expect_stderr "the limit of a file's size is 10 KiB: raise it with ulimit -f"
	limited -f 0 bench clear -s 1M -p base -l 1 -e whole -o "$BATS_TEST_TMPDIR/result"
	expect_status 1
	# The files of the output have the limit too.
	status=0
	(
		ulimit -S -f 0
		exec "$HC" status >"$BATS_TEST_TMPDIR/stdout" 2> >(cat >"$BATS_TEST_TMPDIR/stderr")
	) || status=$?
	[ "$status" = 1 ]
}

@test "ulimit -u: the limit of processes" {
	need_root
	status=0
	# Of a user that has no other process; root isn't bound by it.
	setpriv --reuid 64321 --regid 64321 --clear-groups --inh-caps=-all --bounding-set=-all \
		bash -c 'ulimit -S -u 1; exec "$@"' - "$HC" bench map -s 1M -p base -l 1 \
		>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout") stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	expect_status 1
	expect_stderr "the limit of processes is 1: raise it with ulimit -u; or it is the cgroup's pids.max"
}
