# shellcheck shell=bash disable=SC2034,SC2154 # dev and its files share variables
# Huge pages for benches and tests, through `hugeclear reserve`: it gives them back after the
# command, whatever happens to it, and at the next start where it was killed itself.

# Bytes that are asked for of each page size: what the suites and the ratios use at most.
pages_wanted=$((1 << 30))

recover_pages() {
	[ "$(id -u)" != 0 ] || "$hugeclear" reserve --recover >/dev/null || :
}

# The command that a signal has to wait for, while there is one; the signal that came.
attended=
interrupted=

end_interrupted() { # NUMBER
	printf '\ndev: interrupted\n' >&2
	exit $((128 + $1))
}

# INT, TERM and HUP are passed on to the attended command, which has pages to give back, and end
# this script after it.
on_signal() { # NUMBER
	[ -n "$attended" ] || end_interrupted "$1"
	interrupted=$1
	kill -TERM "$attended" 2>/dev/null || :
}
trap 'on_signal 1' HUP
trap 'on_signal 2' INT
trap 'on_signal 15' TERM

run_attended() { # CMD...
	local status
	(
		# A command in the background would ignore ^C.
		trap - INT TERM HUP
		exec "$@"
	) &
	attended=$!
	while :; do
		status=0
		wait "$attended" || status=$?
		# Woken up by a signal while the command goes on: wait again.
		if [ "$status" -le 128 ] || ! kill -0 "$attended" 2>/dev/null; then
			break
		fi
	done
	attended=
	[ -z "$interrupted" ] || end_interrupted "$interrupted"
	return "$status"
}

# Page sizes of the machine up to the bytes wanted, in KiB, largest first.
page_sizes() {
	local folder size
	for folder in /sys/kernel/mm/hugepages/hugepages-*kB; do
		size=${folder##*-}
		size=${size%kB}
		[ ! -e "$folder" ] || [ "$size" -gt $((pages_wanted >> 10)) ] || printf '%s\n' "$size"
	done | sort -rn
}

# What to reserve, best first; each line is the arguments of one try.
page_plans() {
	local sizes available bytes plan size
	mapfile -t sizes < <(page_sizes)
	available=$(awk '$1 == "MemAvailable:" { printf "%.0f", $2 * 1024 }' /proc/meminfo)
	for bytes in $pages_wanted $((pages_wanted / 4)) $((pages_wanted / 16)); do
		# More than a quarter of what is free for each size would crowd out what else runs.
		[ $((bytes * 4)) -le "${available:-0}" ] || continue
		plan=
		for size in "${sizes[@]}"; do
			[ $((size << 10)) -gt "$bytes" ] || plan+=" ${size}kB=+$((bytes / (size << 10)))"
		done
		[ -z "$plan" ] || printf '%s\n' "$plan"
		# Gigantic pages are the first that can't be had once memory is fragmented.
		[ "$plan" = " ${plan##* }" ] || printf '%s\n' " ${plan##* }"
	done
}

# Runs a command with as many huge pages as can be had; without any it runs all the same.
run_with_pages() { # CMD...
	if [ "$(id -u)" != 0 ]; then
		printf 'not root: no huge pages are reserved, what the pools have free is used, THP and base pages else\n'
		run_attended "$@"
		return
	fi
	local plan words status started=build/with-pages.started
	while read -r plan; do
		read -ra words <<<"$plan"
		rm -f "$started"
		status=0
		# The mark tells a command that failed from a reservation that did.
		# shellcheck disable=SC2016 # for the inner shell
		run_attended "$hugeclear" reserve --all-or-nothing "${words[@]}" -- \
			sh -c 'touch "$0" && exec "$@"' "$started" "$@" || status=$?
		[ ! -e "$started" ] || return "$status"
		printf 'huge pages: %s could not be had\n' "$plan"
	done < <(page_plans)
	printf 'no huge pages could be reserved: THP and base pages are used\n'
	run_attended "$@"
}
