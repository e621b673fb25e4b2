#!/bin/bash
# Replays a fuzzer's seed corpus, then goes on from it for some seconds (HC_FUZZ_SECONDS, 1 unless set).
# What it finds stays beside the build: new inputs in NAME.corpus, one that fails as NAME-crash-...
# usage: run-fuzzer.sh FUZZER CORPUS
set -eu
fuzzer=$1 corpus=$2
[ -n "$(ls -A "$corpus")" ] || {
	echo "no seed corpus: $corpus"
	exit 1
}
mkdir -p "$fuzzer.corpus"
"$fuzzer" -runs=0 "$corpus"
exec "$fuzzer" -max_total_time="${HC_FUZZ_SECONDS:-1}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	-artifact_prefix="$fuzzer-" "$fuzzer.corpus" "$corpus"
