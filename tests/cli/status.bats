load helpers

# json FILTER: what jq makes of the last output.
json() {
	jq -c "$1" "$BATS_TEST_TMPDIR/stdout"
}

# expect_json FILTER VALUE
expect_json() {
	local is
	is=$(json "$1") || {
		echo "not JSON"
		seen
	}
	[ "$is" = "$2" ] || {
		echo "$1 is $is, expected $2"
		seen
	}
}

# status_of: the status of $root in both forms; leaves the text in $text and the JSON as the last output.
status_of() {
	run_hc status --root "$root"
	expect_status 0
	[ -z "$stderr" ] || seen
	text=$stdout
	run_hc status --json --root "$root"
	expect_status 0
	[ -z "$stderr" ] || seen
	[ "$(json .schema)" = '"hugeclear-status/1"' ]
}

expect_text() {
	[[ "$text" == *"$1"* ]] || {
		echo "expected in the text: $1"
		echo "$text"
		return 1
	}
}

# text_row WORD...: a row of the text that has these words in this order, whatever the space between.
text_row() {
	local words="$*"
	local pattern=${words// / +}
	grep -Eq "^ *$pattern\$" <<<"$text" || {
		echo "expected a row: $*"
		echo "$text"
		return 1
	}
}

meminfo_root() {
	root=$BATS_TEST_TMPDIR/root
	put_fixture "meminfo/$1.txt" proc/meminfo
}

@test "status: wrong options, a root that isn't there" {
	run_hc status --jsno
	expect_status 64
	expect_stderr "there is no option '--jsno', or it is the beginning of several: did you mean '--json'?"
	run_hc status -x
	expect_status 64
	expect_stderr "there is no option '-x'"
	run_hc status --json=1
	expect_status 64
	expect_stderr "option '--json' takes no value"
	run_hc status --root
	expect_status 64
	expect_stderr "option '--root' needs a value"
	run_hc status --root ""
	expect_status 64
	run_hc status extra
	expect_status 64
	expect_stderr "'extra' is one argument too many"
	run_hc status --root "$BATS_TEST_TMPDIR/missing"
	expect_status 1
	expect_stderr "$BATS_TEST_TMPDIR/missing"
	[ -z "$stdout" ]
	run_hc status --root "$HC"
	expect_status 1
	expect_stderr "$HC"
}

@test "status: output that can't be written is an error, in both forms" {
	for option in "" --json; do
		status=0
		# shellcheck disable=SC2086 # no argument where empty
		"$HC" status $option >/dev/full 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
		[ "$status" = 1 ]
		grep -q "standard output couldn't be written" "$BATS_TEST_TMPDIR/stderr"
	done
}

@test "status: the same text in a pipe and in a file, without escapes, in any locale" {
	tree numa/cxl-cpuless
	run_hc status --root "$root"
	[[ "$stdout" != *$'\e'* ]]
	[ "$("$HC" status --root "$root" | cat)" = "$stdout" ]
	# a locale with a decimal comma, where there is one
	[ "$(LC_ALL=de_DE.UTF-8 "$HC" status --root "$root")" = "$stdout" ]
}

@test "status: golden output" {
	for name in power9-sparse cxl-cpuless surplus-imbalance; do
		rm -rf "$BATS_TEST_TMPDIR/root"
		tree "numa/$name"
		status_of
		# The path of the tree is of this run.
		diff -u "$FIXTURES/status/$name.txt" <(echo "${text//"$root"/ROOT}")
		diff -u "$FIXTURES/status/$name.json" <(sed -e "s|$root|ROOT|g" -e "s|\"version\": \".*\"|\"version\": \"VERSION\"|" <<<"$stdout")
	done
}

@test "DS-01 no folder of huge pages, an empty one, one that can't be read" {
	tree sysfs/no-hugepages-dir
	status_of
	# What /proc/meminfo has of the default size; the rest isn't known.
	text_row "2 MiB 0 0 0 0 0 0 \? no limit"
	expect_json '.pools | map([.page_size_bytes, .default, .overcommit])' '[[2097152,true,null]]'
	printf 'MemTotal: 1000 kB\nHugepagesize: 2048 kB\n' >"$root/proc/meminfo"
	status_of
	expect_text "2 MiB: default, pool unknown"
	expect_json '.pools[0].total' null
	expect_json .memory.default_huge_page_size_bytes 2097152

	rm -rf "$root"
	tree sysfs/empty-hugepages-dir
	status_of
	expect_text "no hugetlb sizes found"
	expect_json .pools "[]"
}

@test "DS-01 a folder of huge pages that can't be read" {
	need_root
	tree sysfs/arm64-4k
	chmod 755 "$BATS_TEST_TMPDIR" "$root"
	chmod 000 "$root/sys/kernel/mm/hugepages"
	chmod o+x "$(dirname "$BATS_TEST_TMPDIR")" "$(dirname "$(dirname "$BATS_TEST_TMPDIR")")"
	as_nobody status --root "$root"
	expect_status 0
	expect_stdout "Huge page pools"
	as_nobody status --json --root "$root"
	expect_status 0
	expect_json '[.pools[] | select(.page_size_bytes != 2097152)]' "[]"
}

@test "DS-02 a kernel without hugetlb: unknown stays unknown" {
	for name in no-hugetlb-in-kernel gvisor-like-minimal; do
		meminfo_root $name
		status_of
		expect_text "kernel has no hugetlb support"
		expect_json .memory.default_huge_page_size_bytes null
		expect_json .memory.has_hugetlb false
		expect_json .pools "[]"
	done
	expect_json .memory.total_bytes 2147483648 # 2097152 kB
}

@test "DS-02 a page size that is no number" {
	meminfo_root garbage-hugepagesize
	status_of
	expect_json .memory.default_huge_page_size_bytes null
	expect_text "Odd things"
	expect_text "Hugepagesize"
	expect_json '.warnings | length > 0' true
}

@test "DS-04 page sizes of other architectures, sorted as numbers" {
	meminfo_root ppc64-default-16m
	status_of
	expect_text "default huge 16 MiB"
	meminfo_root loong64-default-32m
	status_of
	expect_text "default huge 32 MiB"

	rm -rf "$root"
	tree sysfs/arm64-4k
	status_of
	expect_json '[.pools[].page_size_bytes]' '[65536,2097152,33554432,1073741824]'
	expect_json '[.pools[] | select(.default) | .page_size_bytes]' '[2097152]'
}

@test "DS-04 odd entries are skipped with a warning, an empty counter is unknown" {
	tree sysfs/odd-entries
	status_of
	expect_json '[.pools[].page_size_bytes]' '[2097152,1073741824]'
	expect_json '.pools[1].total' null
	expect_json '.pools[0] | [.total, .free, .available]' '[8,8,8]'
	text_row "2 MiB 8 8 0 8 0 8 0 no limit"
	text_row "1 GiB \? \? \? \? \? \? \? no limit"
	expect_text "hugepages-99999999999999999999kB"
}

@test "DS-05 with meminfo alone, other sizes are a sum" {
	meminfo_root default-1g-plus-2m-pool
	status_of
	expect_text "other sizes hold 2097152 kB"
	expect_json .memory.hugetlb_elsewhere_bytes 2147483648
	expect_json '.pools[0] | [.page_size_bytes, .total, .free]' '[1073741824,15,15]'
}

@test "DS-09 without a hugetlbfs mount: says what works without and how to mount one" {
	tree sysfs/arm64-4k
	put_fixture mounts/none.txt proc/self/mounts
	status_of
	expect_text "anonymous and memfd huge pages work without one"
	expect_text "mount -t hugetlbfs"
	expect_json .hugetlbfs "[]"
}

@test "DS-07, DS-08 hugetlbfs mounts in every spelling" {
	tree sysfs/arm64-4k
	put_fixture mounts/two-sizes-1024M.txt proc/self/mounts
	status_of
	expect_json '[.hugetlbfs[].page_size_bytes] | unique' '[2097152,1073741824]'
	put_fixture mounts/overlay-line-over-4096.txt proc/self/mounts
	status_of
	expect_json '[.hugetlbfs[] | [.path, .page_size_bytes, .size_limit_bytes]]' '[["/huge",1073741824,1073741824]]'
	text_row "1 GiB 1 GiB nothing /huge"
}

@test "PL-02 available is free less reserved" {
	meminfo_root resv-exhausted
	status_of
	expect_json '.pools[0] | [.total, .free, .reserved, .available]' '[3072,2181,2181,0]'
	text_row "2 MiB 3072 2181 2181 0 0 3072 \? no limit"
}

@test "PL-09 persistent is total less surplus" {
	meminfo_root surplus-all-used
	status_of
	expect_json '.pools[0] | [.total, .surplus, .persistent]' '[2560,512,2048]'

	rm -rf "$root"
	tree numa/surplus-imbalance
	status_of
	expect_json '[.nodes[].pools[0] | [.total, .surplus, .persistent]]' '[[200,200,0],[100,0,100]]'
	text_row "0 2 MiB 200 0 200 0"
	text_row "1 2 MiB 100 100 0 100"
}

@test "status: what the tightest hugetlb cgroup leaves, and which file says so" {
	local name size left n=0
	while IFS=$'\t' read -r name size left _; do
		[[ "$name" != "#"* ]] || continue
		rm -rf "$BATS_TEST_TMPDIR/root"
		tree "cgroup/$name"
		run_hc status --json --root "$root"
		expect_status 0
		[ -n "$left" ] && [[ "$left" =~ ^[0-9]+$ ]] || left=null
		bytes=$(numfmt --from=iec "${size%B}")
		expect_json ".pools[] | select(.page_size_bytes == $bytes) | .cgroup_left_bytes" "$left"
		n=$((n + 1))
	done <"$FIXTURES/cgroup/expected.tsv"
	[ $n -gt 10 ]

	rm -rf "$BATS_TEST_TMPDIR/root"
	tree cgroup/v2-nested
	status_of
	text_row "2 MiB 512 512 0 512 0 512 0 2 MiB"
	expect_text "2 MiB more by $root/sys/fs/cgroup/parent/hugetlb.2MB.max; beyond it the first touch fails (SIGBUS)"
	rm -rf "$BATS_TEST_TMPDIR/root"
	tree cgroup/v1-fault-and-rsvd
	status_of
	expect_text "hugetlb.2MB.rsvd.limit_in_bytes; beyond it mmap fails"
}

@test "NM-01 nodes with gaps between their numbers" {
	tree numa/power9-sparse
	status_of
	expect_json '[.nodes[].id]' '[0,8,252,253,254,255]'
	expect_json '[.nodes[] | select(.nr_cpus > 0) | .id]' '[0,8]'
	expect_json '[.nodes[] | select(.pools[0].total == 64) | .id]' '[0,8]'
	expect_json '.nodes[0].pools[0].page_size_bytes' 16777216
	# 129844224 kB
	text_row "8 80 123.83 GiB 118.26 GiB 80-159"
}

@test "NM-02 distances are by node, not by column" {
	tree numa/gaps-33
	status_of
	expect_json '.nodes[] | select(.id == 0) | [.distances["1"], .distances["9"], .distances["33"]]' '[40,80,110]'
	expect_json '.nodes[] | select(.id == 3) | [.distances["3"], .distances["9"], .distances["2"]]' '[10,20,null]'
}

@test "NM-04 a node of memory alone" {
	tree numa/cxl-cpuless
	status_of
	expect_json '.nodes[1] | [.id, .cpus, .nr_cpus, .total_bytes, .nearest_cpus]' '[1,"",0,3221225472,0]'
	expect_json '.nodes[1].pools[0].free' 256
	text_row "1 0 3 GiB 1.5 GiB none; nearest on node 0"
}

@test "CE-08 no cache folder, and absurd caches: cached memory has a bound that isn't 0" {
	tree sysfs/arm64-4k
	status_of
	expect_json '[.processor.l2_bytes, .processor.l3_bytes]' '[null,null]'
	expect_json '.processor.cached_up_to_bytes >= 1048576 and .processor.cached_up_to_bytes <= 67108864' true
	expect_text "L2 ?, L3 ?"

	local cache=$root/sys/devices/system/cpu/cpu0/cache
	local index=0 row
	for row in "1 Data 0K" "2 Unified 0K" "3 Unified 999999999999K"; do
		# shellcheck disable=SC2086 # three words
		set -- $row
		mkdir -p "$cache/index$index"
		echo "$1" >"$cache/index$index/level"
		echo "$2" >"$cache/index$index/type"
		echo "$3" >"$cache/index$index/size"
		index=$((index + 1))
	done
	status_of
	expect_json '.processor.cached_up_to_bytes >= 1048576 and .processor.cached_up_to_bytes <= 67108864' true
}

thp_file() {
	mkdir -p "$root/sys/kernel/mm/transparent_hugepage"
	echo "$2" >"$root/sys/kernel/mm/transparent_hugepage/$1"
}

@test "TH-02 THP set to never is said, with what madvise does then" {
	tree sysfs/arm64-4k
	thp_file enabled "always madvise [never]"
	thp_file defrag "always defer defer+madvise [madvise] never"
	thp_file hpage_pmd_size 2097152
	status_of
	expect_json '.thp | [.present, .enabled, .page_size_bytes, .process_disabled]' '[true,"never",2097152,null]'
	text_row "enabled never: madvise\(\) succeeds and gives base pages"
}

@test "TH-02 THP disabled for the process is said" {
	[ -e /sys/kernel/mm/transparent_hugepage ] || skip "kernel without THP"
	need_tool python3
	# PR_SET_THP_DISABLE is 41
	python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0) and sys.exit(9); os.execv(sys.argv[1], sys.argv[1:])' \
		"$HC" status --json >"$BATS_TEST_TMPDIR/stdout"
	expect_json .thp.process_disabled true
	python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0) and sys.exit(9); os.execv(sys.argv[1], sys.argv[1:])' \
		"$HC" status | grep -q "off by PR_SET_THP_DISABLE"
	run_hc status --json
	expect_json .thp.process_disabled false
}

@test "TH-03 a kernel without THP" {
	tree sysfs/arm64-4k
	status_of
	expect_json '.thp | [.present, .sizes]' '[false,[]]'
	expect_text "THP not available"
}

@test "status: a path that isn't UTF-8 is JSON all the same" {
	tree sysfs/arm64-4k
	mkdir -p "$root/proc/self"
	printf 'none /mnt/\xff\\012x hugetlbfs rw,pagesize=2M 0 0\n' >"$root/proc/self/mounts"
	status_of
	expect_json '.hugetlbfs[0].path' '"/mnt/�\nx"'
	# a newline in a path doesn't break the table
	[[ "$text" != *$'\n'x$'\n'* ]]
}

@test "status: of a tree, nothing of the machine that reads it" {
	tree sysfs/arm64-4k
	status_of
	expect_json '[.clearing, .processor.features, .cpus.allowed, .limits.locked_memory_soft_bytes]' '[null,null,null,null]'
	expect_json '[.kernel_features[].available] | unique' '[null]'
	[[ "$text" != *"Clearing"* ]]
	[[ "$text" != *"What the kernel can do"* ]]
}

# pool_counts: a line for each pool of this machine: page size in bytes, and total,free,reserved,surplus.
pool_counts() {
	local folder size
	for folder in /sys/kernel/mm/hugepages/hugepages-*kB; do
		[ -e "$folder" ] || continue
		size=${folder##*hugepages-}
		echo "$((${size%kB} * 1024)) $(paste -d, "$folder"/{nr,free,resv,surplus}_hugepages)"
	done
}

@test "status: this machine against /proc and /sys" {
	need_tool jq
	run_hc status --json
	expect_status 0
	expect_json .root null
	expect_json .memory.total_bytes "$(awk '/^MemTotal:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)"
	expect_json .kernel.release "\"$(uname -r)\""
	expect_json .kernel.boot_id "\"$(cat /proc/sys/kernel/random/boot_id)\""
	expect_json .processor.architecture "\"$(uname -m)\""
	expect_json .memory.base_page_size_bytes "$(getconf PAGESIZE)"
	expect_json .cpus.default_threads "$(json .cpus.default_threads)"
	expect_json '.cpus.default_threads >= 1' true
	expect_json '[.clearing.choices[].intent] | unique' '["later","soon"]'
	expect_json '[.clearing.choices[].method] - [.clearing.methods[] | select(.available) | .name]' '[]'

	# Other programs may change the counts meanwhile: then it is read again.
	local before still="" size counts
	before=$(pool_counts)
	for _ in {1..50}; do
		run_hc status --json
		if [ "$(pool_counts)" = "$before" ]; then
			still=yes
			break
		fi
		before=$(pool_counts)
	done
	[ "$still" ] || skip "the counts of huge pages don't stand still"
	while read -r size counts; do
		[ -n "$size" ] || continue
		expect_json ".pools[] | select(.page_size_bytes == $size) | [.total, .free, .reserved, .surplus]" "[$counts]"
	done <<<"$before"
	expect_json '[.pools[].page_size_bytes] == ([.pools[].page_size_bytes] | sort)' true
}

@test "status: nodes of this machine against numactl" {
	need_tool numactl jq
	run_hc status --json
	expect_json '.nodes | length' "$(numactl --hardware | awk '/^available:/ { print $2 }')"
	expect_json '.nodes[0].nr_cpus' "$(numactl --hardware | awk '/^node 0 cpus:/ { print NF - 3 }')"
}

@test "status: a terminal gets the text wrapped at its width" {
	need_tool script
	script -qec "stty cols 70; '$HC' status" /dev/null >"$BATS_TEST_TMPDIR/typescript" </dev/null
	[ -s "$BATS_TEST_TMPDIR/typescript" ]
	# Tables of numbers keep their width; the list in "Machine" is text.
	sed -n '/^Machine/,/^\r*$/p' "$BATS_TEST_TMPDIR/typescript" | tr -d '\r' | awk 'length($0) > 70 { print; bad = 1 } END { exit bad }'
}

@test "status: works as an ordinary user" {
	need_root
	as_nobody status
	expect_status 0
	expect_stdout "Machine"
	as_nobody status --json
	expect_status 0
}
