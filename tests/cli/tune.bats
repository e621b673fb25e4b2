load helpers

# What parses but fails at once, before anything is measured: a folder that isn't there.
nowhere() {
	echo "$BATS_TEST_TMPDIR/missing/profile"
}

@test "tune: the profile's place has to be said" {
	run_hc tune
	expect_status 64
	expect_stderr "give -o FILE, or --dry-run"
	run_hc tune -o ""
	expect_status 64
	run_hc tune -o "$(nowhere)" extra
	expect_status 64
}

@test "SZ-01 tune --size takes every spelling of a size" {
	local input kind result n=0
	while IFS=$'\t' read -r input kind result _; do
		# at least 1M is wanted here
		[[ "$kind" = len && "$result" =~ ^[0-9]+$ ]] && ((${#result} >= 7)) || continue
		run_hc tune -o "$(nowhere)" --size "$input"
		expect_status 1
		n=$((n + 1))
	done <"$FIXTURES/sizes/sizes.tsv"
	[ $n -gt 10 ]
}

@test "SZ-02, SZ-03 tune --size refuses what is no size, and quotes it" {
	local input kind result n=0
	while IFS=$'\t' read -r input kind result _; do
		[[ "$kind" = len && ("$result" = EINVAL || "$result" = ERANGE) ]] || continue
		printf -v input '%b' "$input"
		run_hc tune -o "$(nowhere)" --size "$input"
		expect_status 64
		expect_stderr "--size"
		n=$((n + 1))
	done <"$FIXTURES/sizes/sizes.tsv"
	[ $n -gt 10 ]
	for input in -1 -1KB -0 +2M nan inf 1e3M 0x10M 1.5G; do
		run_hc tune -o "$(nowhere)" --size "$input"
		expect_status 64
		expect_stderr "'$input'"
	done
	run_hc tune -o "$(nowhere)" --size ""
	expect_status 64
	run_hc tune -o "$(nowhere)" --size 0
	expect_status 64
	run_hc tune -o "$(nowhere)" --size 99999999T
	expect_status 64
	expect_stderr "2^64"
	run_hc tune -o "$(nowhere)" --size 4K
	expect_status 64
	expect_stderr "at least 1M"
}

@test "SZ-02 tune --seconds refuses what is no count, and says the range" {
	for input in -1 -0 +2 nan inf 1e3 0x10 1.5 " 1" "1 " "" 2s 18446744073709551617; do
		run_hc tune -o "$(nowhere)" --seconds "$input"
		expect_status 64
		expect_stderr "'$input'"
	done
	for input in 0 3601 99999999999999999999; do
		run_hc tune -o "$(nowhere)" --seconds "$input"
		expect_status 64
		expect_stderr "from 1 to 3600"
	done
}

@test "tune: more memory than there is" {
	run_hc tune --dry-run --size 16383P
	expect_status 1
	expect_stderr "16383 PiB wanted"
	expect_stderr "--size"
	[ -z "$stdout" ]
}

@test "tune: a place that can't be written is found before measuring" {
	SECONDS=0
	run_hc tune -o "$(nowhere)" --seconds 60
	expect_status 1
	expect_stderr "$(nowhere)"
	run_hc tune -o "$BATS_TEST_TMPDIR" --seconds 60
	expect_status 1
	expect_stderr "it is a folder"
	run_hc tune -o /dev/full --seconds 60
	expect_status 1
	expect_stderr "it isn't a regular file"
	run_hc tune -o /proc/profile --seconds 60
	expect_status 1
	expect_stderr "/proc/profile"
	[ $SECONDS -lt 30 ]
}

@test "tune: a folder without permission is found before measuring" {
	need_root
	mkdir "$BATS_TEST_TMPDIR/locked"
	as_nobody tune -o "$BATS_TEST_TMPDIR/locked/profile" --seconds 60
	expect_status 1
	expect_stderr "Permission denied"
	[ -z "$stdout" ]
}

@test "tune: ^C, SIGTERM and SIGHUP write nothing and leave the old file" {
	# A shell's background jobs ignore SIGINT, and what is ignored stays so: env puts it back.
	for signal in INT TERM HUP; do
		mkdir -p "$BATS_TEST_TMPDIR/out"
		echo old >"$BATS_TEST_TMPDIR/out/profile"
		env --default-signal=INT "$HC" tune -o "$BATS_TEST_TMPDIR/out/profile" --seconds 60 -s 8M \
			>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
		pid=$!
		sleep 1
		kill -s "$signal" "$pid"
		status=0
		wait "$pid" || status=$?
		# shellcheck disable=SC2034 # for expect_stderr
		stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
		expect_status 130
		expect_stderr "interrupted: nothing was written"
		[ "$(cat "$BATS_TEST_TMPDIR/out/profile")" = old ]
		[ "$(ls -A "$BATS_TEST_TMPDIR/out")" = profile ]
	done
}

@test "tune: writes a profile that loads; another processor's and a method that lacks are refused" {
	need_tool jq
	cd "$BATS_TEST_TMPDIR"
	# The memory is as small as a cache, which is said.
	run_hc tune -o mine --seconds 1 -s 8M
	expect_status 0
	expect_stdout "written to mine"
	expect_stdout "GiB/s"
	[ "$(head -n 1 mine)" = "hugeclear-profile/1" ]

	HUGECLEAR_PROFILE=mine run_hc status --json
	expect_status 0
	[ "$(jq -r .clearing.source stdout)" = mine ] || seen
	[ "$(jq -r .clearing.source_error stdout)" = null ] || seen

	sed 's/^vendor=.*/vendor=SomebodyElse/' mine >other
	HUGECLEAR_PROFILE=other run_hc status --json
	expect_status 0
	[ "$(jq -r .clearing.source stdout)" = built-in ] || seen
	jq -r .clearing.source_error stdout | grep -q SomebodyElse || seen
	HUGECLEAR_PROFILE=other run_hc status
	expect_stdout "SomebodyElse"

	HUGECLEAR_PROFILE=missing run_hc status --json
	expect_status 0
	[ "$(jq -r .clearing.source stdout)" = built-in ] || seen
	jq -r .clearing.source_error stdout | grep -q missing || seen
}

@test "tune: a profile with a method that this processor lacks is refused" {
	need_tool jq
	cd "$BATS_TEST_TMPDIR"
	export HUGECLEAR_PROCESSOR_MASK=erms,clzero,avx2,avx512f,movdir64b,dczva
	run_hc tune -o mine --seconds 1 -s 1M
	expect_status 0
	run_hc status --json
	lacks=$(jq -r '[.clearing.methods[] | select(.available | not) | .name][0] // ""' stdout)
	[ -n "$lacks" ] || skip "no method is missing here, even with all features masked"
	sed -e '/^soon=/d' -e '/^later=/d' mine >lacking
	echo "later=max:$lacks" >>lacking
	HUGECLEAR_PROFILE=lacking run_hc status --json
	expect_status 0
	[ "$(jq -r .clearing.source stdout)" = built-in ] || seen
	jq -r .clearing.source_error stdout | grep -q "$lacks" || seen
}

@test "tune: a profile named by the environment doesn't change what is compared with" {
	need_tool jq
	cd "$BATS_TEST_TMPDIR"
	run_hc tune -n --seconds 1 -s 1M
	expect_status 0
	want=$(grep "^touched .*, built-in:" stdout)
	run_hc tune -o mine --seconds 1 -s 1M
	last=$(jq -r '[.clearing.methods[] | select(.available) | .name][-1]' <("$HC" status --json))
	sed -e '/^soon=/d' -e '/^later=/d' -i mine
	printf 'soon=max:%s\nlater=max:%s\n' "$last" "$last" >>mine
	HUGECLEAR_PROFILE=mine run_hc tune -n --seconds 1 -s 1M
	expect_status 0
	[ "$(grep "^touched .*, built-in:" stdout)" = "$want" ] || seen
}

@test "tune: too few rounds are said, with what gives more; what has none has no empty table" {
	# 20 cases of 12 methods or so: the largest alone is more than a second's work.
	run_hc tune -o "$BATS_TEST_TMPDIR/mine" --seconds 1 -s 256M
	expect_status 0
	expect_stderr "cases had fewer than the 7 rounds in 1 s that it takes"
	expect_stderr "give --seconds "
	expect_stderr "smaller --size than 256M"
	seconds=$(sed -n 's/.*give --seconds \([0-9]*\) .*/\1/p' "$BATS_TEST_TMPDIR/stderr")
	[ "$seconds" -gt 1 ] && [ "$seconds" -le 3600 ]
	if grep -A 100 '^method' "$BATS_TEST_TMPDIR/stdout" | grep -qx '[a-z0-9-]*\( *-\)*' ||
		grep -q "nothing was clearly faster" "$BATS_TEST_TMPDIR/mine"; then
		seen
	fi
}

@test "tune --dry-run writes nothing, even with -o" {
	run_hc tune --dry-run -o "$BATS_TEST_TMPDIR/profile" --seconds 1 -s 1M
	expect_status 0
	[ ! -e "$BATS_TEST_TMPDIR/profile" ]
	refuse_stdout "written to"
}

@test "tune: output that can't be written is an error, but the profile is there" {
	status=0
	"$HC" tune -o "$BATS_TEST_TMPDIR/profile" --seconds 1 -s 1M >/dev/full 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" = 1 ]
	grep -q "No space left on device" "$BATS_TEST_TMPDIR/stderr"
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/profile")" = "hugeclear-profile/1" ]
}
