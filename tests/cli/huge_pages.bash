# shellcheck shell=bash disable=SC2034 # tests use the variables
# What command tests of huge pages share: load helpers, then load huge_pages.

# field FILTER: of the JSON results in $stdout.
field() {
	jq -r "$1" <<<"$stdout"
}

# ---- Pages and a control group of one's own ---------------------------------

# own_pages N: N more huge pages of the default size; sets page_size (bytes), page (an argument).
own_pages() {
	need_root
	local kib
	kib=$(awk '$1 == "Hugepagesize:" { print $2 }' /proc/meminfo)
	[ "${kib:-32769}" -le 32768 ] || skip "needs huge pages of at most 32 MiB"
	exec 9>/run/hugeclear-test-cgroup.lock
	flock 9
	page_size=$((kib * 1024)) page=${kib}kB
	pool=/sys/kernel/mm/hugepages/hugepages-${kib}kB
	pages_before=$(cat "$pool/nr_hugepages")
	echo $((pages_before + $1)) >"$pool/nr_hugepages"
	[ $(($(cat "$pool/free_hugepages") - $(cat "$pool/resv_hugepages"))) -ge "$1" ] || skip "needs $1 free pages of $page"
}

# own_cgroup: a new control group with the hugetlb controller; sets cgroup and limit (its files' prefix).
# pre: own_pages
own_cgroup() {
	need_root
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	grep -qw hugetlb "$top/cgroup.controllers" 2>/dev/null || skip "the hugetlb controller isn't in cgroup version 2"
	if ! grep -qw hugetlb "$top/cgroup.subtree_control"; then
		echo +hugetlb >"$top/cgroup.subtree_control"
		switched_on=1
	fi
	cgroup=$top/hugeclear-test-bench-$$
	mkdir "$cgroup"
	local kib=${page%kB}
	if [ "$kib" -ge 1024 ]; then limit=$cgroup/hugetlb.$((kib / 1024))MB; else limit=$cgroup/hugetlb.${kib}KB; fi
}

# in_cgroup ARG...: run_hc inside of it.
in_cgroup() {
	status=0
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$HC" "$@" \
		>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
	stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
}

# Nothing is charged to the group: neither pages nor reservations.
expect_uncharged() {
	[ "$(cat "$limit.current")" = 0 ]
	[ ! -e "$limit.rsvd.current" ] || [ "$(cat "$limit.rsvd.current")" = 0 ]
}

teardown() {
	local tries=0
	if [ -n "${cgroup:-}" ]; then
		# A process that was waited for leaves its group a moment later.
		until rmdir "$cgroup" 2>/dev/null || [ $((tries += 1)) -gt 200 ]; do sleep 0.01; done
	fi
	[ -z "${switched_on:-}" ] || echo -hugetlb >"$top/cgroup.subtree_control"
	[ -z "${pages_before:-}" ] || echo "$pages_before" >"$pool/nr_hugepages"
}
