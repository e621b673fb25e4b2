#!/bin/bash
# Runs a cmocka program and mends its TAP: cmocka 1.1 writes "not ok 1 # SKIP name" for a test that was
# skipped, which counts as failed, and has no place for a reason. The last line that the test printed is it.
# usage: run-cmocka.sh PROGRAM [ARG]...
set -o pipefail
"$@" | awk '
	/^(not )?ok [0-9]+ # SKIP / {
		number = $1 == "not" ? $3 : $2
		name = $0
		sub(/^.*# SKIP /, "", name)
		printf "ok %s - %s # SKIP %s\n", number, name, said
		said = ""
		next
	}
	/^(not )?ok / { said = "" }
	!/^(not )?ok |^1\.\.|^#/ && NF { said = $0 }
	{ print; fflush() }
'
