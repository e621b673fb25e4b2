#!/bin/bash
# Runs planted misuses and right uses, and looks at what the sanitizer says. TAP on standard output.
# usage: check-reports.sh PROGRAM [NAME REPORT]...    REPORT: a text that has to be in the report; "" for none
set -u
program=$1
shift

as_wanted() { # EXIT-CODE SAID REPORT
	if [ -n "$3" ]; then
		[ "$1" != 0 ] && [[ $2 == *"$3"* ]]
	else
		[ "$1" = 0 ] && [ -z "$2" ]
	fi
}

count=0 failed=0
printf '1..%d\n' $(($# / 2))
while [ $# -ge 2 ]; do
	name=$1 report=$2
	shift 2
	# Older sanitizers know fewer address layouts than the kernel randomises.
	said=$(setarch -R "$program" "$name" 2>&1)
	code=$?
	count=$((count + 1))
	if as_wanted "$code" "$said" "$report"; then
		printf 'ok %d - %s\n' $count "$name"
	else
		printf 'not ok %d - %s\n' $count "$name"
		printf '# wanted: %s; exit code %d\n' "${report:-no report}" $code
		head -n 30 <<<"$said" | sed 's/^/# /'
		failed=1
	fi
done
exit $failed
