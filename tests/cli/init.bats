# shellcheck disable=SC2034 # for expect_stderr
load helpers

# boot WORD...: hugeclear as the first process of a pid namespace of its own, with WORDS as the
# kernel's command line. Powering off ends the namespace alone: unshare sees SIGINT.
boot() {
	need_root
	printf '%s ' "$@" >"$BATS_TEST_TMPDIR/cmdline"
	status=0
	# shellcheck disable=SC2016 # for the inner shell
	unshare --pid --fork --mount --propagation private sh -c '
		mount -t proc proc /proc && mount --bind "$1" /proc/cmdline && mount --bind /tmp /tmp && exec "$2" init' \
		sh "$BATS_TEST_TMPDIR/cmdline" "$HC" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
	stdout=$(cat "$BATS_TEST_TMPDIR/stdout")
	stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	[ "$status" = 130 ] || seen
}

@test "init is refused to all but a first process" {
	run_hc init
	expect_status 64
	expect_stderr "init is for the first process of a virtual machine"
}

@test "init runs commands in order, between markers, with their exit codes" {
	boot 'hugeclear.run="status --json"' hugeclear.run=nonesuch quiet 'hugeclear.run="/bin/sh -c '"'exit 7'"'"'
	[[ "$stdout" == "-----BEGIN HUGECLEAR COMMAND 1-----"* ]] || seen
	expect_stdout "-----END HUGECLEAR COMMAND 1: exit code 0-----
-----BEGIN HUGECLEAR COMMAND 2-----

-----END HUGECLEAR COMMAND 2: exit code 64-----
-----BEGIN HUGECLEAR COMMAND 3-----

-----END HUGECLEAR COMMAND 3: exit code 7-----
-----HUGECLEAR DONE: 3 commands run-----"
	sed -n '/COMMAND 1/,/END.*COMMAND 1/p' <<<"$stdout" | sed '1d;$d' | jq -e '.schema == "hugeclear-status/1"'
	expect_stderr "there is no verb 'nonesuch'"
}

@test "init prints the results of a bench between markers of their own" {
	boot 'hugeclear.run="bench clear -s 64K -p base -e 64K -f default -l 2"'
	expect_stdout "-----END HUGECLEAR COMMAND 1: exit code 0-----"
	sed -n '/BEGIN.*RESULTS 1/,/END.*RESULTS 1/p' <<<"$stdout" | sed '1d;$d' |
		jq -e '.schema == "hugeclear-results/1" and (.runs[0].samples | length) == 2'
	[ ! -e /run/hugeclear-results.1.json ]
}

@test "init ends what takes too long, and goes on" {
	boot hugeclear.timeout=1 'hugeclear.run="/bin/sh -c '"'trap : TERM; sleep 60; sleep 60'"'"' hugeclear.run=--version
	expect_stderr "still there after 1 s, and ended: hugeclear.timeout=SECONDS gives more"
	expect_stdout "-----END HUGECLEAR COMMAND 1: exit code 137-----"
	expect_stdout "-----END HUGECLEAR COMMAND 2: exit code 0-----"
}

@test "init ends all that a command has started" {
	boot 'hugeclear.run="/bin/sh -c '"'setsid sleep 987 & (trap : TERM; sleep 986) & exit 3'"'"' \
		'hugeclear.run="/bin/sh -c '"'cat /proc/[0-9]*/comm | grep -c sleep'"'"'
	expect_stdout "-----END HUGECLEAR COMMAND 1: exit code 3-----
-----BEGIN HUGECLEAR COMMAND 2-----
0

-----END HUGECLEAR COMMAND 2"
}

@test "init leaves the console's level as it was" {
	before=$(cat /proc/sys/kernel/printk)
	boot 'hugeclear.run="/bin/cat /proc/sys/kernel/printk"'
	[ "$(cat /proc/sys/kernel/printk)" = "$before" ]
	[ "$(sed -n 2p <<<"$stdout" | cut -c1)" = 1 ] || seen
}

@test "init says which signal ended a command, and which command couldn't be started" {
	boot 'hugeclear.run="/bin/sh -c '"'kill -SEGV \$\$'"'"' hugeclear.run=/nonesuch hugeclear.run=/etc/passwd
	expect_stdout "COMMAND 1: exit code 139"
	expect_stdout "COMMAND 2: exit code 127"
	expect_stdout "COMMAND 3: exit code 126"
	expect_stderr "/nonesuch: No such file or directory"
}

@test "init powers off where the command line can't be read: its last line says that nothing was run, and why" {
	while read -r why words; do
		eval "boot $words"
		# Nothing else stands there.
		[ "$stdout" = "-----HUGECLEAR REFUSED: nothing was run: ${why//_/ }-----" ] || seen
		expect_stderr "nothing is run: ${why//_/ }"
	done <<-'LINES'
		hugeclear.timeout=0:_seconds_are_wanted,_1_to_86400 hugeclear.run=status hugeclear.timeout=0
		hugeclear.run='status:_a_single_quote_is_open hugeclear.run=status "hugeclear.run='status"
		hugeclear.run=:_a_command_is_missing,_as_in_hugeclear.run="status_--json" hugeclear.run=status hugeclear.run=
		the_kernel's_command_line_has_no_hugeclear.run="..." quiet
	LINES
}

@test "init gives its commands no signal that is ignored or blocked" {
	boot 'hugeclear.run="/bin/grep ^Sig[IB] /proc/self/status"'
	# 32 and 33 are the C library's own, which posix_spawn() ignores for whatever it starts.
	[ "$(grep -cE '^Sig(Blk:.0{16}|Ign:.0{7}[01][08]0{7})$' <<<"$stdout")" = 2 ] || seen
}

@test "init has its markers on lines of their own" {
	boot 'hugeclear.run="/usr/bin/printf open"'
	expect_stdout "
open
-----END HUGECLEAR COMMAND 1: exit code 0-----"
}

@test "init mounts nothing over what is mounted" {
	boot 'hugeclear.run="/bin/cat /proc/mounts"'
	[ "$(grep -c ' /sys ' <<<"$stdout")" -le 1 ] || seen
	[ "$(grep -c ' /dev ' <<<"$stdout")" -le 1 ] || seen
	# A bind mount of the same file system is one, too: boot() makes it.
	[ "$(grep -c ' /tmp ' <<<"$stdout")" = 1 ] || seen
}
