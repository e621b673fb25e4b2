# shellcheck shell=bash disable=SC2034,SC2154 # dev and its files share variables
# Runs every test, keeps what each gave (build/results/...), and counts it in one line at the end.

start_results() { # NAME
	results=build/results/$1
	rm -rf "$results"
	mkdir -p "$results"
	: >"$results/all"
	started_at=$SECONDS
}

# A line about a runner that is counted by what it gives: tally.py writes the "ended" that has to follow.
begin() { # RUNNER
	printf 'began\t%s\t\t\n' "$1" >>"$results/all"
}

# Prints failures, skips, and as the last line how many there are; fails where one failed.
finish_results() {
	printf '\n%d seconds; logs are in %s\n' $((SECONDS - started_at)) "$results"
	build-support/tally.py sum "$results/all" tests/expected-skips
}

# One step that passes or fails as a whole; what it printed is shown where it fails.
step() { # RUNNER NAME CMD...
	local runner=$1 name=$2 log="$results/$1.$2.log" began=$SECONDS status=passed reason=
	shift 2
	if ! "$@" >"$log" 2>&1; then
		status=failed
		reason="see $log"
		tail -n 60 "$log"
	fi
	printf '%s\t%s\t%s\t%s\n' "$status" "$runner" "$name" "$reason" >>"$results/all"
	printf '%-8s %-14s (%d s) %s\n' "$runner" "$name" $((SECONDS - began)) "$status"
	[ "$status" = passed ]
}

# Configures and compiles a build, as two steps.
build_step() { # BUILD
	step "$1" configure configure "$1" && step "$1" compile compile "$1"
}

# Runs suites of a build, $rounds times where that is set. A suite that runs nothing, and a program that
# dies, count as failed.
suites() { # BUILD SUITE...
	local build=$1 suite
	shift
	for suite; do
		local name="${rounds:+long.}$build.$suite" began=$SECONDS run=()
		# These have a use for huge pages.
		case $suite in integration | cli | cli_long) run=(run_with_pages) ;; esac
		rm -f "build/$build/meson-logs/$name.json"
		begin "$name"
		# Sanitizers of this age don't know how far newer kernels spread addresses.
		"${run[@]}" setarch -R meson test -C "build/$build" --no-rebuild --print-errorlogs \
			--suite "$suite" --repeat "${rounds:-1}" --logbase "$name" </dev/null >"$results/$name.log" 2>&1 || :
		printf '%-8s %-14s (%d s) ' "${rounds:+long }$build" "$suite" $((SECONDS - began))
		build-support/tally.py log "$results/all" "$name" "build/$build/meson-logs/$name.json" || :
	done
}

# Runs a program that prints TAP.
tap_program() { # RUNNER NAME CMD...
	local runner=$1 name=$2 out="$results/$1.$2.tap" began=$SECONDS status=0
	shift 2
	begin "$runner"
	"$@" </dev/null >"$out" 2>"$results/$runner.$name.log" || status=$?
	printf '%-8s %-14s (%d s) ' "$runner" "$name" $((SECONDS - began))
	build-support/tally.py tap "$results/all" "$runner" "$name" "$status" "$out" || :
}

# Process groups of their own that run beside this one, and end with it; and what each prints.
beside=()
beside_logs=()
trap 'for group in "${beside[@]}"; do kill -- -"$group" 2>/dev/null || :; done' EXIT

# Many tests wait more than they work, or run one at a time: others fill the gaps.
start_beside() { # LOG CMD...
	local log=$1
	shift
	set -m
	"$@" >"$results/$log" 2>&1 </dev/null &
	beside+=($!)
	beside_logs+=("$log")
	set +m
}

# Waits for those that were started last, until so many are left, and shows what they printed.
wait_beside() { # LEFT
	while [ ${#beside[@]} -gt "$1" ]; do
		# What it failed in is in the results, and that it died is seen there.
		wait "${beside[-1]}" || :
		cat "$results/${beside_logs[-1]}"
		unset 'beside[-1]' 'beside_logs[-1]'
	done
}

# Threads that use an arena, for longer than among the unit tests, in what time others leave.
stress() { # BUILD SECONDS
	step "$1" "stress_$2_s" env HC_STRESS_SECONDS="$2" nice -n 15 setarch -R "build/$1/tests/unit/test_arena_stress" || :
}

lint_beside() {
	renice -n 10 "$BASHPID" >/dev/null
	! step lint configure configure lint || lint_all || :
	printf 'ended\tlint\t\t\n' >>"$results/all"
}

short_tier() {
	begin lint
	start_beside lint.log lint_beside
	# What touches pools has to wait for command tests that run beside.
	if build_step gcc; then
		recover_pages
		suites gcc unit integration
		start_beside gcc.cli.out suites gcc cli
		suites gcc checks isa vm
	fi
	build_step clang && suites clang unit isa
	if build_step asan; then
		suites asan unit fuzz
		wait_beside 1
		suites asan integration
		start_beside asan.cli.out suites asan cli
	fi
	if build_step tsan; then
		suites tsan unit
		# A minute of it in all builds, while the command tests wait more than they work.
		stress tsan 32
		stress asan 20
		wait_beside 1
		suites tsan integration
	fi
	build_step arm64 && suites arm64 arm64
	wait_beside 0
}

# What takes too long for every change.
long_tier() {
	rounds=1 HC_FUZZ_SECONDS=${HC_FUZZ_SECONDS:-60} suites asan fuzz
	rounds=1 HC_EVERY_BUILD=1 suites gcc isa
	rounds=1 suites asan cli_long
	# What goes wrong only sometimes: threads, and processes that change the same pools.
	rounds=${HC_ROUNDS:-20} suites tsan unit integration
	rounds=${HC_ROUNDS:-20} suites gcc integration
	# The timeout of a test is 120 s.
	rounds=1 HC_STRESS_SECONDS=100 suites asan unit
	rounds=1 HC_STRESS_SECONDS=100 suites tsan unit
	step lint clang_tidy_deep lint_clang_tidy_deep || :
	build_step release || :
	tap_program long verdicts tests/long/check_verdicts.py
	tap_program long pages_given_back tests/long/check_pages_given_back.py
	tap_program long bare_debian tests/long/debootstrap.sh "$results"
}

run_tests() { # LONG
	need_packages build test lint arm64
	[ "$1" = 0 ] || need_packages long
	start_results test
	fetch_kernel
	# This build is as the one that is released.
	hugeclear=build/gcc/tool/hugeclear
	short_tier || :
	[ "$1" = 0 ] || long_tier || :
	finish_results
}
