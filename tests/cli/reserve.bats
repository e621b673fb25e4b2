# Pools set by the command: on trees of plain files, and (live) on this machine's own, with few pages.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # each test is a subshell; helpers set the variables
load helpers

POOL_2M=sys/kernel/mm/hugepages/hugepages-2048kB
POOL_1G=sys/kernel/mm/hugepages/hugepages-1048576kB
NODES=sys/devices/system/node
LIVE_2M=/$POOL_2M/nr_hugepages
LIVE_1G=/$POOL_1G/nr_hugepages

setup() {
	saved_2m=
	saved_1g=
	pids=()
}

teardown() {
	local pid
	for pid in "${pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null || :
	done
	[ -n "$saved_2m$saved_1g" ] || return 0
	# By the command first, so that no journal is left.
	"$HC" reserve --recover >/dev/null 2>&1 || :
	[ -z "$saved_2m" ] || [ "$(cat $LIVE_2M)" = "$saved_2m" ] || echo "$saved_2m" >$LIVE_2M
	[ -z "$saved_1g" ] || [ "$(cat $LIVE_1G)" = "$saved_1g" ] || echo "$saved_1g" >$LIVE_1G
}

# need_pool FILE: for tests of this machine's own pools; what is there is put back behind the test.
need_pool() {
	need_root
	[ -w "$1" ] || skip "needs $1"
	case $1 in
	"$LIVE_2M") saved_2m=$(cat "$1") ;;
	"$LIVE_1G") saved_1g=$(cat "$1") ;;
	esac
}

# arm TREE with 64 KiB, 2 MiB, 32 MiB and 1 GiB pages: 16384000 kB of memory, 15000000 available
arm() {
	rm -rf "$BATS_TEST_TMPDIR/root"
	tree sysfs/arm64-4k
	mkdir "$root/run"
}

# two nodes, 1024 free pages of 2 MiB on node 0
two_nodes() {
	rm -rf "$BATS_TEST_TMPDIR/root"
	tree numa/one-node-empty-pool-on-node1
	mkdir "$root/run"
}

count() {
	cat "$root/$1/nr_hugepages"
}

# await TEXT CMD...: until CMD prints TEXT, ten seconds at most
await() {
	local want=$1 i
	shift
	for ((i = 0; i < 500; i++)); do
		[ "$("$@" 2>/dev/null)" != "$want" ] || return 0
		sleep 0.02
	done
	echo "after 10 s: not '$want' but '$("$@")'"
	return 1
}

@test "NM-03 a node without memory is refused, with those that have some" {
	tree numa/threadripper-nps4-memoryless
	mkdir "$root/run"
	run_hc reserve --root "$root" --force 2M@0=+1
	expect_status 4
	expect_stderr "node 0 has no memory; nodes with memory: 1-2"
	[ "$(count sys/devices/system/node/node0/hugepages/hugepages-2048kB)" = 0 ]
	run_hc reserve --root "$root" 2M@0=0
	expect_status 0
}

@test "one page is no pages: what a dry run and a recovery say" {
	two_nodes
	run_hc reserve --root "$root" 2M@1=+1 --dry-run
	[ "$stdout" = "2 MiB on node 1: 0 -> 1 page (2 MiB) (dry run)" ] || seen
	mkdir -m 700 "$root/run/hugeclear"
	printf 'hugeclear-reserve 1\nboot -\nowner 1 1764540000\nintent 2097152 0 0 1\ndone 2097152 0:1\nintent 2097152 -1 0 1\n' \
		>"$root/run/hugeclear/reserve.1.0"
	run_hc reserve --root "$root" --recover --dry-run
	expect_stderr "2 MiB on node 0: -1 page to put back"
	expect_stderr "2 MiB: 0 -> 1 page was begun"
}

@test "absolute, by difference, by node, by size" {
	two_nodes
	run_hc reserve --root "$root" 2M=1536
	expect_status 0
	[ "$stdout" = "2 MiB: 1024 -> 1536 pages (3 GiB)" ] || seen
	[ "$(count $POOL_2M)" = 1536 ]
	run_hc reserve --root "$root" 2M=+1
	[ "$stdout" = "2 MiB: 1536 -> 1537 pages (3 GiB)" ] || seen
	run_hc reserve --root "$root" 2M@0=-10
	[ "$stdout" = "2 MiB on node 0: 1024 -> 1014 pages (1.98 GiB)" ] || seen
	[ "$(count $NODES/node0/hugepages/hugepages-2048kB)" = 1014 ]
	run_hc reserve --root "$root" 2M@1=1GiB
	[ "$stdout" = "2 MiB on node 1: 0 -> 512 pages (1 GiB)" ] || seen
	run_hc reserve 2048kB@1=-1022M --root "$root"
	[ "$stdout" = "" ] || seen
	echo 512 >"$root/$NODES/node1/hugepages/hugepages-2048kB/free_hugepages"
	run_hc reserve 2048kB@1=-1022M --root "$root"
	[ "$stdout" = "2 MiB on node 1: 512 -> 1 page (2 MiB)" ] || seen
	run_hc reserve 2M@1=+0 --root "$root"
	expect_status 0
	[ "$stdout" = "2 MiB on node 1: 1 page (2 MiB), already so" ] || seen
}

@test "several at once: what gives back first, then the largest, whatever the order given" {
	arm
	echo 5 >"$root/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages"
	echo 5 >"$root/sys/kernel/mm/hugepages/hugepages-64kB/free_hugepages"
	run_hc reserve --root "$root" 2M=2 32M=64M 64K=1 1G=1
	expect_status 0
	[ "$stdout" = "64 KiB: 5 -> 1 page (64 KiB)
1 GiB: 0 -> 1 page (1 GiB)
32 MiB: 0 -> 2 pages (64 MiB)
2 MiB: 0 -> 2 pages (4 MiB)" ] || seen
	two_nodes
	run_hc reserve --root "$root" 2M=1025 2M@1=+3 2M@0=-1
	[ "$(printf '%s\n' "$stdout" | cut -d: -f1 | tr '\n' ,)" = "2 MiB,2 MiB on node 1,2 MiB on node 0," ] || seen
}

@test "PL-10 fewer come than asked for: exit code 3 names wanted and got; what came is kept" {
	arm
	# With 358 surplus pages a file that says N means N - 358 persistent ones: 4096 written reads as 3738.
	echo 1382 >"$root/$POOL_2M/nr_hugepages"
	echo 358 >"$root/$POOL_2M/surplus_hugepages"
	run_hc reserve --root "$root" 2M=4096
	expect_status 3
	[ "$stdout" = "2 MiB: 1024 -> 3738 pages (7.3 GiB)" ] || seen
	expect_stderr "4096 pages of 2 MiB wanted, 3738 there (1024 before)"
	expect_stderr "what came is kept"
}

@test "PL-10 all or nothing is for all pools of the call" {
	arm
	echo 1382 >"$root/$POOL_2M/nr_hugepages"
	echo 358 >"$root/$POOL_2M/surplus_hugepages"
	echo 1 >"$root/$POOL_1G/free_hugepages"
	run_hc reserve --root "$root" --all-or-nothing 2M=4096 1G=1
	expect_status 3
	expect_stderr "4096 pages of 2 MiB wanted, 3738 there"
	expect_stderr "1 GiB: 1 -> 0 pages (0 B), put back"
	[ "$(count $POOL_1G)" = 0 ]
	# The others are kept without it.
	run_hc reserve --root "$root" 2M=4096 1G=1
	expect_status 3
	[ "$(count $POOL_1G)" = 1 ]
}

@test "5 % of memory stay, over all pools of the call, unless forced; nothing is changed then" {
	arm
	# 14180800 kB may go: 6924 pages of 2 MiB, or 13 of 1 GiB and 268 of 2 MiB
	run_hc reserve --root "$root" 2M=6925
	expect_status 1
	expect_stderr "6924 pages in all are possible"
	run_hc reserve --root "$root" 2M=269 1G=13
	expect_status 1
	expect_stderr "268 pages in all are possible"
	[ "$(count $POOL_1G)" = 0 ]
	run_hc reserve --root "$root" --dry-run 2M=269 1G=13
	expect_status 1
	expect_stdout "1 GiB: 0 -> 13 pages (13 GiB) (dry run)"
	expect_stdout "2 MiB: 0 -> 269 pages (538 MiB), would be refused (dry run)"
	run_hc reserve --root "$root" 2M=268 1G=13
	expect_status 0
	run_hc reserve --root "$root" 2M=6925 --force
	expect_status 0
	run_hc reserve --root "$root" 2M=8001 --force
	expect_status 1
	expect_stderr "more than the machine's memory"
}

@test "pages in use or reserved are never taken, also when forced" {
	arm
	echo 100 >"$root/$POOL_2M/nr_hugepages"
	echo 60 >"$root/$POOL_2M/free_hugepages"
	echo 25 >"$root/$POOL_2M/resv_hugepages"
	run_hc reserve --root "$root" --force 2M=64
	expect_status 1
	expect_stderr "64 pages of 2 MiB wanted, 100 there, of which 35 can go"
	[ "$(count $POOL_2M)" = 100 ]
	run_hc reserve --root "$root" 2M=65
	expect_status 0
}

@test "a dry run says what would be done and writes nothing" {
	two_nodes
	find "$root" -type f -exec md5sum {} + | sort >"$BATS_TEST_TMPDIR/before"
	run_hc reserve --root "$root" -n 2M=1536 2M@1=-5
	expect_status 0
	[ "$stdout" = "2 MiB: 1024 -> 1536 pages (3 GiB) (dry run)
2 MiB on node 1: 0 -> unknown, depends on the one before (dry run)" ] || seen
	run_hc reserve --root "$root" -n 2M=1024
	[ "$stdout" = "2 MiB: 1024 pages (2 GiB), already so (dry run)" ] || seen
	run_hc reserve --root "$root" -n 2M=0 -- false
	expect_status 0
	find "$root" -type f -exec md5sum {} + | sort | diff "$BATS_TEST_TMPDIR/before" -
}

@test "usage errors say what to write, and change nothing" {
	arm
	while IFS='|' read -r argument says; do
		run_hc reserve --root "$root" 2M=1 "$argument"
		expect_status 64
		expect_stderr "$says"
		[ "$(count $POOL_2M)" = 0 ]
	done <<-'END'
		1G|write SIZE=PAGES
		1G=|the pages are missing
		1G=1536M|the nearest are 1G and 2G
		1.5G=1|page size
		3M=1|3M is no page size
		1G@x=1|a node's number is wanted
		1G=99999999999999999999|
		2097152=2|2 MiB is asked for twice
		--frobnicate|there is no option '--frobnicate'
	END
	run_hc reserve --root "" 2M=1
	expect_status 64
	run_hc reserve
	expect_status 64
	expect_stderr "what to reserve is missing"
	run_hc reserve --root "$root" 2M=1 --
	expect_status 64
	expect_stderr "a command is missing"
	run_hc reserve --root "$root" -- true
	expect_status 64
	run_hc reserve --root "$BATS_TEST_TMPDIR/nonesuch" 2M=1
	expect_status 1
	expect_stderr "nonesuch"
}

@test "a page size, a node, or huge pages that aren't there: exit code 4, and the others aren't changed" {
	arm
	run_hc reserve --root "$root" 2M=1 16G=1
	expect_status 4
	expect_stderr "64 KiB, 2 MiB, 32 MiB, 1 GiB"
	[ "$(count $POOL_2M)" = 0 ]
	two_nodes
	run_hc reserve --root "$root" 2M=1030 2M@5=1
	expect_status 4
	expect_stderr "there is no node 5; online: 0-1"
	[ "$(count $POOL_2M)" = 1024 ]
	rm -rf "$root"
	tree sysfs/no-hugepages-dir
	run_hc reserve --root "$root" 2M=1
	expect_status 4
	expect_stderr "this kernel has no huge pages"
}

@test "PL-11 the file is absent: error with its path, and a dry run still prints" {
	two_nodes
	rm "$root/$POOL_2M/nr_hugepages"
	run_hc reserve --root "$root" 2M=512
	expect_status 1
	expect_stderr "$POOL_2M/nr_hugepages"
	expect_stderr "No such file or directory"
	run_hc reserve --root "$root" 2M=512 --dry-run
	expect_status 1
	expect_stdout "2 MiB: unknown -> 512 pages (1 GiB), would be refused (dry run)"
}

@test "PL-11 as an ordinary user: error with the path, and a dry run still prints (live)" {
	need_pool $LIVE_2M
	as_nobody reserve 2M=+1
	expect_status 1
	expect_stderr "$LIVE_2M"
	expect_stderr "Permission denied"
	as_nobody reserve 2M=+1 --dry-run
	expect_status 0
	expect_stdout "(dry run)"
	expect_stderr "warning: $LIVE_2M can't be written: Permission denied: setting the pool needs root"
	# What is so already needs nobody.
	as_nobody reserve 2M=+0 --dry-run
	expect_status 0
	[ -z "$stderr" ] || seen
	[ "$(cat $LIVE_2M)" = "$saved_2m" ]
}

@test "as an ordinary user with a command: the lack of permission is the first error, and the only one (live)" {
	need_pool $LIVE_2M
	as_nobody reserve 2M=+1 -- touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	[ "$stderr" = "hugeclear reserve: $LIVE_2M can't be written: Permission denied: setting the pool needs root" ] || seen
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	# Where nothing is to be changed there is nothing to put back either.
	as_nobody reserve 2M=+0 -- true
	expect_status 0
	[[ "$stderr" != *warning* ]] || seen
}

@test "an empty command is an error before anything is reserved" {
	two_nodes
	run_hc reserve --root "$root" 2M=1 -- ''
	expect_status 1
	expect_stderr "the command behind '--' is empty"
	[ "$(count $POOL_2M)" = 1024 ]
	[ -z "$(ls -A "$root/run")" ]
}

@test "PL-11 /sys is read-only: error with the path, and a dry run still prints (live)" {
	need_pool $LIVE_2M
	need_tool unshare
	read_only() {
		status=0
		unshare -m sh -c 'mount -o remount,bind,ro /sys && exec "$@"' - "$HC" "$@" \
			>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
		stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
		stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	}
	read_only reserve 2M=+1
	expect_status 1
	expect_stderr "$LIVE_2M"
	expect_stderr "Read-only file system"
	read_only reserve 2M=+1 --dry-run
	expect_status 0
	expect_stdout "(dry run)"
	expect_stderr "Read-only file system"
}

@test "a read-only /run: pools are set, and who runs a command is warned (live)" {
	need_pool $LIVE_2M
	need_tool unshare
	status=0
	unshare -m sh -c 'mount -t tmpfs -o ro none /run && exec "$@"' - "$HC" reserve 2M=+8 -- cat $LIVE_2M \
		>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	[ "$status" = 0 ]
	[ "$(cat "$BATS_TEST_TMPDIR/stdout")" = $((saved_2m + 8)) ]
	grep -q "nobody will put the pools back should this process be killed" "$BATS_TEST_TMPDIR/stderr"
	[ "$(cat $LIVE_2M)" = "$saved_2m" ]
}

@test "two at once: ten times +1 is +10" {
	two_nodes
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$HC" reserve --root "$root" 2M=+1 >"$BATS_TEST_TMPDIR/out.$i" &
	done
	wait
	[ "$(count $POOL_2M)" = 1034 ]
	# each has added one of its own
	[ "$(cat "$BATS_TEST_TMPDIR"/out.* | sort -u | wc -l)" = 10 ]
}

@test "two at once: ten times +1 is +10 (live)" {
	need_pool $LIVE_2M
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$HC" reserve 2M=+1 &
	done
	wait
	[ "$(cat $LIVE_2M)" = $((saved_2m + 10)) ]
	run_hc reserve 2M=-10
	expect_status 0
	[ "$(cat $LIVE_2M)" = "$saved_2m" ]
}

@test "absolute, differences and sizes; the kernel has what is printed (live)" {
	need_pool $LIVE_2M
	free=$(cat /$POOL_2M/free_hugepages)
	run_hc reserve 2M=$((saved_2m + 8))
	expect_status 0
	expect_stdout "2 MiB: $saved_2m -> $((saved_2m + 8)) pages"
	[ "$(cat $LIVE_2M)" = $((saved_2m + 8)) ]
	[ "$(cat /$POOL_2M/free_hugepages)" = $((free + 8)) ]
	run_hc reserve 2M=+4M
	[ "$(cat $LIVE_2M)" = $((saved_2m + 10)) ]
	run_hc reserve 2M=-10
	expect_status 0
	[ "$(cat $LIVE_2M)" = "$saved_2m" ]
	run_hc reserve 2M=+0
	expect_stdout "already so"
	node=/$NODES/node0/hugepages/hugepages-2048kB/nr_hugepages
	if [ -e "$node" ]; then
		before=$(cat "$node")
		run_hc reserve 2M@0=+2
		expect_status 0
		[ "$(cat "$node")" = $((before + 2)) ]
		run_hc reserve 2M@0="$before"
		expect_status 0
		[ "$(cat "$node")" = "$before" ]
	fi
	run_hc reserve 2M@777=1
	expect_status 4
	expect_stderr "there is no node 777"
}

@test "a 1 GiB page comes before smaller ones, or not, and exit code and counts say which (live)" {
	need_pool $LIVE_2M
	need_pool $LIVE_1G
	available=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
	[ "$available" -gt 4194304 ] || skip "needs 4 GiB of available memory"
	run_hc reserve 2M=+8 1G=+1
	[ "${stdout%%:*}" = "1 GiB" ] || [ "$status" = 3 ] || seen
	[ "$(cat $LIVE_1G)" = $((saved_1g + (status == 0))) ]
	run_hc reserve 2M=-8 1G="$saved_1g"
	expect_status 0
}

@test "reserved pages are never taken (live)" {
	need_pool $LIVE_2M
	run_hc reserve 2M=+8
	expect_status 0
	# Maps 6 pages without touching them, which reserves them. 0x40000 is MAP_HUGETLB, 21 << 26 asks for 2 MiB.
	python3 -c '
import mmap, time
held = mmap.mmap(-1, 6 << 21, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000 | 21 << 26)
print("held", flush=True)
time.sleep(60)' >"$BATS_TEST_TMPDIR/held" &
	pids+=($!)
	await held cat "$BATS_TEST_TMPDIR/held"
	can_go=$(($(cat /$POOL_2M/free_hugepages) - $(cat /$POOL_2M/resv_hugepages)))
	run_hc reserve --force 2M=-$((can_go + 1))
	expect_status 1
	expect_stderr "$can_go can go: the others are in use or reserved"
	[ "$(cat $LIVE_2M)" = $((saved_2m + 8)) ]
	[ "$(cat /$POOL_2M/surplus_hugepages)" = 0 ] || skip "surplus pages are in use here"
	run_hc reserve 2M=-2
	expect_status 0
	[ "$(cat /$POOL_2M/surplus_hugepages)" = 0 ]
	kill -KILL "${pids[0]}"
	await 0 cat /$POOL_2M/resv_hugepages
	run_hc reserve 2M=-6
	expect_status 0
}

@test "with a command: it has the pages, its output and exit code are its own, and pools are put back" {
	two_nodes
	echo 2 >"$root/$NODES/node1/hugepages/hugepages-2048kB/free_hugepages"
	run_hc reserve --root "$root" 2M=+8 2M@1=+2 -- sh -c 'cat "$1/$2/nr_hugepages"; exit 7' - "$root" $POOL_2M
	expect_status 7
	[ "$stdout" = 1032 ] || seen
	expect_stderr "2 MiB: 1024 -> 1032 pages (2.02 GiB)"
	expect_stderr "2 MiB: 1032 -> 1024 pages (2 GiB), put back"
	[ "$(count $POOL_2M)" = 1024 ]
	[ -z "$(ls "$root/run/hugeclear")" ]
	[ "$(stat -c %a "$root/run/hugeclear")" = 700 ]
}

@test "with a command: what others change meanwhile stays" {
	two_nodes
	run_hc reserve --root "$root" 2M=2000 -- "$HC" reserve --root "$root" 2M=+5
	expect_status 0
	[ "$(count $POOL_2M)" = 1029 ]
	run_hc reserve --root "$root" 2M=-29 -- "$HC" reserve --root "$root" 2M=+6
	expect_status 0
	[ "$(count $POOL_2M)" = 1035 ]
}

@test "with a command that isn't there, can't be run, or is ended by a signal: 127, 126, 128 + N" {
	two_nodes
	run_hc reserve --root "$root" 2M=+8 -- nonesuch-command
	expect_status 127
	expect_stderr "nonesuch-command: No such file or directory"
	[ "$(count $POOL_2M)" = 1024 ]
	run_hc reserve --root "$root" 2M=+8 -- /etc/passwd
	expect_status 126
	[ "$(count $POOL_2M)" = 1024 ]
	run_hc reserve --root "$root" 2M=+8 -- sh -c 'kill -KILL $$'
	expect_status 137
	[ "$(count $POOL_2M)" = 1024 ]
}

@test "with a command and fewer pages: it runs with what came, but not with --all-or-nothing" {
	arm
	echo 358 >"$root/$POOL_2M/nr_hugepages"
	echo 358 >"$root/$POOL_2M/surplus_hugepages"
	echo 9000 >"$root/$POOL_2M/free_hugepages"
	run_hc reserve --root "$root" 2M=4096 -- echo ran
	expect_status 0
	[ "$stdout" = ran ] || seen
	expect_stderr "4096 pages of 2 MiB wanted, 3738 there"
	echo 358 >"$root/$POOL_2M/nr_hugepages"
	run_hc reserve --root "$root" --all-or-nothing 2M=4096 -- echo ran
	expect_status 3
	[ "$stdout" = "" ] || seen
}

@test "SIGTERM is passed on to the command, and pools are put back" {
	two_nodes
	"$HC" reserve --root "$root" 2M=+8 -- sh -c 'echo $$ >"$1"; exec sleep 60' - "$BATS_TEST_TMPDIR/pid" 3>&- &
	reserve=$!
	await 1032 count $POOL_2M
	await 1 sh -c 'wc -l <"$1"' - "$BATS_TEST_TMPDIR/pid"
	kill -TERM $reserve
	status=0
	wait $reserve || status=$?
	[ "$status" = 143 ]
	[ "$(count $POOL_2M)" = 1024 ]
	run kill -0 "$(cat "$BATS_TEST_TMPDIR/pid")"
	[ "$status" != 0 ]
}

@test "^C reaches the command once, and pools are put back when that has ended" {
	two_nodes
	# Counts each arrival of the signal for half a second after the first. It keeps busy, so that a second
	# one finds it running and doesn't become one with a first that still waits.
	cat >"$BATS_TEST_TMPDIR/cmd.py" <<-'END'
		import os, signal, sys, time
		arrived, arrive = os.pipe()
		os.set_blocking(arrive, False)
		os.set_blocking(arrived, False)
		signal.set_wakeup_fd(arrive)
		signal.signal(signal.SIGINT, lambda *_: None)
		print("ready", flush=True)
		seen, end = b"", time.monotonic() + 30
		while time.monotonic() < end:
		    try:
		        more = os.read(arrived, 100)
		    except BlockingIOError:
		        continue
		    if not seen:
		        end = time.monotonic() + 0.5
		    seen += more
		open(sys.argv[1], "w").write("INT " * len(seen))
		sys.exit(9)
	END
	python3 - "$HC" "$root" "$BATS_TEST_TMPDIR/cmd.py" "$BATS_TEST_TMPDIR/got" <<-'END'
		import os, pty, sys
		hc, root, *cmd = sys.argv[1:]
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(hc, [hc, "reserve", "--root", root, "2M=+8", "--", "python3", *cmd])
		seen = b""
		while b"ready" not in seen:
		    seen += os.read(terminal, 1000)
		os.write(terminal, b"\x03")
		try:
		    while os.read(terminal, 1000):
		        pass
		except OSError:
		    pass
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 9)
	END
	[ "$(cat "$BATS_TEST_TMPDIR/got")" = "INT " ]
	[ "$(count $POOL_2M)" = 1024 ]
}

@test "the reader of its messages is gone: pools are put back all the same" {
	two_nodes
	{
		"$HC" reserve --root "$root" 2M=+8 -- sleep 0.3 2>&1
		echo $? >"$BATS_TEST_TMPDIR/code"
	} | true
	await 0 cat "$BATS_TEST_TMPDIR/code"
	[ "$(count $POOL_2M)" = 1024 ]
}

# begin [ARG...]: a reserve -- CMD, with CMD running; sets reserve and cmd to the two processes. 3>&- as bats waits for it.
begin() {
	rm -f "$BATS_TEST_TMPDIR/pid"
	"$HC" reserve "$@" -- sh -c 'echo $$ >"$1"; exec sleep 60' - "$BATS_TEST_TMPDIR/pid" 3>&- 2>/dev/null &
	reserve=$!
	await 1 sh -c 'wc -l <"$1"' - "$BATS_TEST_TMPDIR/pid"
	cmd=$(cat "$BATS_TEST_TMPDIR/pid")
	pids+=("$cmd")
}

# killed [ARG...]: the same, with reserve killed while CMD runs on.
killed() {
	begin "$@"
	kill -KILL "$reserve"
	wait "$reserve" || :
}

@test "SIGKILL in the middle: the next reserve puts back what was left, by difference" {
	two_nodes
	killed --root "$root" 2M=+8 2M@1=+2
	[ "$(count $POOL_2M)" = 1032 ]
	[ "$(find "$root/run/hugeclear" -type f | wc -l)" = 1 ]
	echo 2 >"$root/$NODES/node1/hugepages/hugepages-2048kB/free_hugepages"
	run_hc reserve --root "$root" --dry-run --recover
	expect_status 0
	expect_stderr "2 MiB: -8 pages to put back"
	[ "$(count $POOL_2M)" = 1032 ]
	run_hc reserve --root "$root" 2M=+1
	expect_status 0
	expect_stderr "ended before its pools were put back: that is done now"
	expect_stderr "2 MiB: 1032 -> 1024 pages (2 GiB), put back"
	expect_stderr "2 MiB on node 1: 2 -> 0 pages (0 B), put back"
	[ "$stdout" = "2 MiB: 1024 -> 1025 pages (2 GiB)" ] || seen
	[ -z "$(ls "$root/run/hugeclear")" ]
	run_hc reserve --root "$root" --recover
	expect_status 0
	[ "$stdout" = "nothing was left to put back" ] || seen
	[ "$(count $POOL_2M)" = 1025 ]
}

@test "SIGKILL in the middle of several, and several that put back at once: each once" {
	two_nodes
	begin --root "$root" 2M=+8
	first=$reserve
	begin --root "$root" 2M=+3
	kill -KILL "$first" "$reserve"
	wait "$first" || :
	wait "$reserve" || :
	[ "$(count $POOL_2M)" = 1035 ]
	for i in 1 2 3 4 5 6; do
		"$HC" reserve --root "$root" --recover >/dev/null 2>&1 &
	done
	wait
	[ "$(count $POOL_2M)" = 1024 ]
	[ -z "$(ls "$root/run/hugeclear")" ]
}

@test "SIGKILL in the middle: put back by 'reserve --recover' (live)" {
	need_pool $LIVE_2M
	killed 2M=+8
	[ "$(cat $LIVE_2M)" = $((saved_2m + 8)) ]
	run_hc reserve --recover
	expect_status 0
	expect_stderr "put back"
	[ "$(cat $LIVE_2M)" = "$saved_2m" ]
}

# What went wrong: what was put back machine-wide was recorded by node, so that the next call undid that.
@test "SIGKILL between setting a pool and recording it: put back, once (live)" {
	need_pool $LIVE_2M
	run_hc reserve 2M=+8 -- true
	run_hc reserve 2M=+8
	expect_status 0
	cat >/run/hugeclear/reserve.1.9 <<-END
		hugeclear-reserve 1
		boot $(cat /proc/sys/kernel/random/boot_id)
		owner 1 1764540000
		intent 2097152 -1 $saved_2m $((saved_2m + 8))
	END
	run_hc reserve --recover
	expect_status 0
	expect_stderr "2 MiB: $((saved_2m + 8)) -> $saved_2m page"
	[ ! -e /run/hugeclear/reserve.1.9 ]
	run_hc reserve --recover
	[ "$stdout" = "nothing was left to put back" ] || seen
	[ "$(cat $LIVE_2M)" = "$saved_2m" ]
}

@test "one that still runs is left alone by others" {
	two_nodes
	run_hc reserve --root "$root" 2M=+8 -- "$HC" reserve --root "$root" --recover
	expect_status 0
	[ "$stdout" = "nothing was left to put back" ] || seen
	[ "$(count $POOL_2M)" = 1024 ]
}

@test "a command that leaves somebody behind with pages in use: the rest is put back, those later (live)" {
	need_pool $LIVE_2M
	# Touches 3 pages in a process of its own, which outlives the command.
	cat >"$BATS_TEST_TMPDIR/daemon.py" <<-'END'
		import mmap, os, sys, time
		ready, go = os.pipe()
		if os.fork() == 0:
		    os.setsid()
		    held = mmap.mmap(-1, 3 << 21, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x40000 | 21 << 26)
		    for page in range(3):
		        held[page << 21] = 1
		    with open(sys.argv[1], "w") as pid:
		        print(os.getpid(), file=pid)
		    os.write(go, b"x")
		    time.sleep(60)
		    os._exit(0)
		os.close(go)
		sys.exit(os.read(ready, 1) != b"x")
	END
	run_hc reserve 2M=+8 -- python3 "$BATS_TEST_TMPDIR/daemon.py" "$BATS_TEST_TMPDIR/pid" 3>&-
	daemon=$(cat "$BATS_TEST_TMPDIR/pid")
	pids+=("$daemon")
	expect_status 0
	others=$(($(cat $LIVE_2M) - saved_2m))
	# What others have free here may go in place of what is in use.
	[ "$others" -le 3 ]
	if [ "$saved_2m" = 0 ]; then
		[ "$others" = 3 ]
		expect_stderr "3 pages can't be put back yet, being in use or reserved"
		run_hc reserve --recover
		expect_status 1
		[ "$(cat $LIVE_2M)" = 3 ]
	fi
	kill -KILL "$daemon"
	await "$saved_2m" sh -c '"$1" reserve --recover >/dev/null 2>&1; cat "$2"' - "$HC" $LIVE_2M
	run_hc reserve --recover
	expect_status 0
	[ "$stdout" = "nothing was left to put back" ] || seen
}

@test "journals of another boot are removed, broken ones left alone and named" {
	two_nodes
	mkdir -p "$root/proc/sys/kernel/random"
	echo 1111-2222 >"$root/proc/sys/kernel/random/boot_id"
	killed --root "$root" 2M=+8
	echo 3333-4444 >"$root/proc/sys/kernel/random/boot_id"
	echo rubbish >"$root/run/hugeclear/reserve.1.0"
	run_hc reserve --root "$root" --recover
	expect_status 1
	expect_stderr "before the last boot: nothing to do"
	expect_stderr "run/hugeclear/reserve.1.0: line 1 makes no sense: 'rubbish'"
	[ "$(count $POOL_2M)" = 1032 ]
	[ "$(ls "$root/run/hugeclear")" = reserve.1.0 ]
	# It doesn't keep anybody from setting pools.
	run_hc reserve --root "$root" 2M=1040
	expect_status 0
}

@test "a folder of journals that others may write to isn't used" {
	two_nodes
	mkdir "$BATS_TEST_TMPDIR/elsewhere"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$root/run/hugeclear"
	run_hc reserve --root "$root" 2M=+8 -- echo ran
	expect_status 1
	[ "$stdout" = "" ] || seen
	[ "$(count $POOL_2M)" = 1024 ]
	[ -z "$(ls "$BATS_TEST_TMPDIR/elsewhere")" ]
	rm "$root/run/hugeclear"
	mkdir -m 777 "$root/run/hugeclear"
	chmod 777 "$root/run/hugeclear"
	run_hc reserve --root "$root" 2M=+8 -- echo ran
	expect_status 1
	expect_stderr "mode 0777"
	[ "$(count $POOL_2M)" = 1024 ]
}

# SIGXFSZ ended the command between setting a pool and recording it; ignored, "put back" waited for the journal.
@test "a limit of file sizes stops no pool from being put back" {
	need_tool prlimit
	two_nodes
	local size ran=0 refused=0 real=$HC
	limited() { prlimit --fsize="$size" "$real" "$@"; }
	HC=limited
	for ((size = 0; size < 260; size += 10)); do
		run_hc reserve --root "$root" 2M=+8 -- true
		case $status in
		0) ran=$((ran + 1)) ;;
		1) refused=$((refused + 1)) ;;
		*) seen ;;
		esac
		[ "$(count $POOL_2M)" = 1024 ] || seen
		[ -z "$(ls "$root/run/hugeclear")" ] || seen
	done
	# Too little for its head, for its lines, and enough: all three were there.
	[ "$ran" -ge 3 ]
	[ "$refused" -ge 3 ]
}

# SIGPIPE and SIGXFSZ are what reserve ignores for itself.
@test "a command is started with the signals that reserve was started with" {
	two_nodes
	ignored() { echo $((0x$(awk '/SigIgn/ { print $2 }' <<<"$1") & (1 << 12 | 1 << 24))); }
	run_hc reserve --root "$root" 2M=+8 -- cat /proc/self/status
	expect_status 0
	[ "$(ignored "$stdout")" = "$(ignored "$(cat /proc/self/status)")" ] || seen
}

# It waited, said that nothing was left, and left it.
@test "another holds the folder of journals: recovering fails, and says so" {
	two_nodes
	killed --root "$root" 2M=+8
	exec {folder}<"$root/run/hugeclear"
	flock "$folder"
	run_hc reserve --root "$root" --recover
	exec {folder}<&-
	expect_status 1
	expect_stderr "another program holds its lock"
	[ "$(count $POOL_2M)" = 1032 ]
	run_hc reserve --root "$root" --recover
	expect_status 0
	[ "$(count $POOL_2M)" = 1024 ]
}

@test "recovering that fails is not hidden by pools that could be set" {
	two_nodes
	mkdir -m 700 "$root/run/hugeclear"
	echo rubbish >"$root/run/hugeclear/reserve.1.0"
	run_hc reserve --root "$root" --recover 2M=+1
	expect_status 1
	[ "$(count $POOL_2M)" = 1025 ]
}
