#!/usr/bin/env bats
# hugeclear compare: what it prints, what it refuses, and its exit codes.

load helpers

setup() {
	B=$HC_TEST_FIXTURES/bench
	P=$HC_TEST_SOURCE/examples/published
}

# expect_words TEXT: in standard output, however its lines are folded.
expect_words() {
	[[ "$(tr -s ' \n' ' ' <<<"$stdout")" == *"$1"* ]] || seen
}

# made SIDE FACTOR...: a file a factor in $BATS_TEST_TMPDIR/SIDE, whose times are that many seconds.
made() {
	local side=$1 i=0 factor
	shift
	mkdir -p "$BATS_TEST_TMPDIR/$side"
	for factor; do
		i=$((i + 1))
		cat >"$BATS_TEST_TMPDIR/$side/$i.json" <<-END
			{"schema":"hugeclear-results/1","host":{"kernel":"6"},"runs":[
			{"bench":"map","metric":"seconds","case":{"size":1048576},"unit":"s","better":"lower","samples":[$factor]}]}
		END
	done
}

@test "the published tables come out as posted, in 72 columns" {
	run_hc compare "$P/milan-demand-base.json" "$P/milan-demand-patched.json"
	expect_status 0
	expect_stdout "     11.82 +- 0.67 %      16.48 +- 0.30 %  +39.42 %   +38.34 to +40.52 %"
	expect_stdout "     17.51 +- 1.19 %      40.03 +- 7.26 % +128.61 % +107.86 to +149.46 %"
	expect_stdout "GB = 10^9"
	expect_stdout "Within one run a side"
	expect_stdout "lkml.indiana.edu"
	# But for the names of files, which nobody can fold.
	[ "$(grep -v '^base:\|^patched:\|https' <<<"$stdout" | awk '{ if (length($0) > 72) print }')" = "" ] || seen
	run_hc compare "$P/bergamo-seconds-base.json" "$P/bergamo-seconds-patched.json"
	expect_stdout "-50.64 %"
	expect_stdout "2.026x as fast"
}

@test "verdicts, and --fail-if-slower in the sense of the metric" {
	made base 10 10.1 9.9 10
	made patched 11 11.1 10.9 11
	run_hc compare "$BATS_TEST_TMPDIR/base" "$BATS_TEST_TMPDIR/patched"
	expect_status 0
	expect_stdout "slower, 0.909x as fast"
	expect_stdout "+10.00 %"
	run_hc compare --fail-if-slower 9.9 "$BATS_TEST_TMPDIR/base" "$BATS_TEST_TMPDIR/patched"
	expect_status 2
	expect_stderr "slower by 9.9 % or more in 1 of 1 rows"
	run_hc compare --fail-if-slower 10.1 "$BATS_TEST_TMPDIR/base" "$BATS_TEST_TMPDIR/patched"
	expect_status 0
	# The other way round it is faster, by less of a larger time.
	run_hc compare --fail-if-slower 0 "$BATS_TEST_TMPDIR/patched" "$BATS_TEST_TMPDIR/base"
	expect_status 0
	expect_stdout "faster, 1.100x as fast"
}

@test "lists with commas are pooled like a folder; a file twice isn't two runs" {
	made base 10 10.1 9.9
	made patched 11 11.1 10.9
	cd "$BATS_TEST_TMPDIR"
	run_hc compare --format json base patched
	folder=$(jq -c .rows <<<"$stdout")
	run_hc compare --format json base/1.json,base/2.json,base/3.json patched/1.json,patched/2.json,patched/3.json
	[ "$(jq -c .rows <<<"$stdout")" = "$folder" ] || seen
	[ "$(jq -r '.rows[0] | [.verdict, .base.n, .statistics_of] | join(" ")' <<<"$stdout")" = "slower 3 runs" ] || seen
	run_hc compare base/1.json,base/1.json patched
	expect_status 1
	expect_stderr "base/1.json: given twice"
	cp base/1.json a,b.json
	run_hc compare a,b.json patched/1.json
	expect_status 0
}

@test "BN-01 one sample: no deviation, no verdict, and no failure" {
	run_hc compare --fail-if-slower 0 "$B/n1-b.json" "$B/n1-a.json"
	expect_status 0
	expect_stdout "one sample: no deviation"
	expect_stderr "1 of 1 rows have no verdict"
	run_hc compare --format json "$B/n1-a.json" "$B/n1-b.json"
	[ "$(jq -c '.rows[0] | [.base.stdev_pct, .interval_pct, .verdict, .p]' <<<"$stdout")" = "[null,null,null,null]" ] || seen
}

@test "BN-02 a base of 0 has no percentage, nor inf or nan" {
	for format in text markdown json; do
		run_hc compare --format $format "$B/zero-a.json" "$B/zero-b.json"
		expect_status 0
		expect_stdout "base is 0"
		refuse_match '\b(inf|nan)\b'
	done
}

@test "BN-04 what is far from the others is shown with the medians" {
	run_hc compare "$B/outlier-a.json" "$B/outlier-b.json"
	expect_stdout "-28.50 %"
	expect_stdout "t -0.997, df 4.00, p 0.375"
	expect_stdout "1 of 5 far from the others, as 30; medians 10 and 10"
}

@test "BN-05 units are converted, or refused by name" {
	run_hc compare "$B/unit-gb-a.json" "$B/unit-gib-b.json"
	expect_status 0
	expect_stdout "+0.00 %"
	expect_stdout "GB = 10^9"
	run_hc compare "$B/unit-unknown.json" "$B/unit-gb-a.json"
	expect_status 5
	expect_stdout "'furlong/s'"
	run_hc compare "$B/unit-unknown.json" "$B/unit-unknown.json"
	expect_status 0
}

@test "BN-06 opposite directions of the same work are refused" {
	run_hc compare "$B/seconds-a.json" "$B/direction-conflict.json"
	expect_status 5
	expect_words "lower is better in"
}

@test "BN-07 different work isn't compared, and another host is named" {
	run_hc compare "$B/pg2m.json" "$B/pg1g.json"
	expect_status 5
	expect_words "differs in page_size: 2M in base, 1G in patched"
	expect_stderr "--across"
	run_hc compare --across page_size "$B/pg2m.json" "$B/pg1g.json"
	expect_status 0
	expect_stdout "page_size=2M->1G"
	run_hc compare "$B/pg2m.json" "$B/pg2m-other-host.json"
	expect_status 0
	expect_words "note: kernel: 6.18.0 in base, 6.1.0 in patched"
}

@test "BN-08 BN-09 files that are none: an error with the name, and no table" {
	touch "$BATS_TEST_TMPDIR/empty.json"
	mkdir "$BATS_TEST_TMPDIR/folder"
	for file in "$B"/{future-schema,no-schema,other-schema,truncated,empty-samples,nan,minus-nan-inf,overflow-number}.json \
		"$BATS_TEST_TMPDIR/empty.json" "$BATS_TEST_TMPDIR/folder" /dev/null "$BATS_TEST_TMPDIR/none.json"; do
		run_hc compare "$B/n1-a.json" "$file"
		expect_status 1
		expect_stderr "$file: "
		[ -z "$stdout" ] || seen
	done
	run_hc compare "$B/unknown-field-same-schema.json" "$B/pg2m.json"
	expect_status 0
}

@test "a hostile case is shown without its control characters, and markdown without its markup" {
	for side in a b; do
		printf '{"schema":"hugeclear-results/1","runs":[{"bench":"b|<b>","metric":"m","case":{"x\\u001b[31m":"\\u001b]0;|"},"unit":"s","better":"lower","samples":[1,2]}]}' \
			>"$BATS_TEST_TMPDIR/$side.json"
	done
	for format in text markdown json; do
		run_hc compare --format $format "$BATS_TEST_TMPDIR/a.json" "$BATS_TEST_TMPDIR/b.json"
		expect_status 0
		[[ "$stdout" != *$'\e'* ]] || seen
	done
	run_hc compare --format markdown "$BATS_TEST_TMPDIR/a.json" "$BATS_TEST_TMPDIR/b.json"
	expect_stdout 'b\|\<b\>'
}

@test "1,000 runs of 1,000 samples a side: within 200 MB" {
	need_tool python3
	! grep -q __asan_init "$HC" || skip "AddressSanitizer has memory of its own"
	python3 - "$BATS_TEST_TMPDIR" <<-'END'
		import random, sys
		random.seed(1)
		samples = [repr(random.gauss(10, 0.1)) for _ in range(3000)]
		for side in "ab":
		    runs = ('{"bench":"clear","metric":"throughput","case":{"row":%d},"unit":"GiB/s","better":"higher","samples":[%s]}'
		            % (row, ",".join(samples[row:row + 1000])) for row in range(1000))
		    with open(f"{sys.argv[1]}/{side}.json", "w") as out:
		        out.write('{"schema":"hugeclear-results/1","runs":[%s]}' % ",".join(runs))
	END
	status=0
	python3 - "$HC" "$BATS_TEST_TMPDIR" <<-'END' || status=$?
		import resource, subprocess, sys
		subprocess.run([sys.argv[1], "compare", f"{sys.argv[2]}/a.json", f"{sys.argv[2]}/b.json"], stdout=subprocess.DEVNULL, check=True)
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		print(f"{used.ru_utime + used.ru_stime:.2f} s, {used.ru_maxrss / 1024:.0f} MiB")
		sys.exit(used.ru_maxrss * 1024 > 200e6)
	END
	[ "$status" = 0 ]
}

@test "usage" {
	run_hc compare
	expect_status 64
	run_hc compare a
	expect_status 64
	expect_stderr "two sides are needed"
	run_hc compare a b c
	expect_status 64
	for pct in "" -1 x 1e3 inf "1 " 0x1; do
		run_hc compare --fail-if-slower "$pct" a b
		expect_status 64
	done
	run_hc compare --format html a b
	expect_status 64
	run_hc compare --help
	expect_status 0
	run_hc compare a,,b "$B/n1-a.json"
	expect_status 1
}
