#!/usr/bin/env bats
# hugeclear report: the page is valid, has the figures of its results, and Chromium shows it whole.

load helpers

# Measured once: small, and of base pages, which everybody has.
setup_file() {
	load helpers
	"$HC" bench clear -p base -s 2M -l 3 -e 4K,64K,2M -f all -o "$BATS_FILE_TMPDIR/clear.json" >/dev/null
	"$HC" bench map -p base -s 2M -l 3 --victim -o "$BATS_FILE_TMPDIR/map.json" >/dev/null
}

setup() {
	R=$BATS_FILE_TMPDIR
	P=$HC_TEST_SOURCE/examples/published
	page=$BATS_TEST_TMPDIR/report.html
}

look() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$BATS_TEST_DIRNAME/look_at_page.py" "$@"
}

# Names that try to end what they stand in, and others that are hard to place.
hostile() {
	python3 - "$1" <<-'END'
		import json, sys
		evil = "</title></style></script><script>console.error('x')</script><img src=x onerror=alert(1)>\"'&\u202e\u0007\u009b31m"
		def run(bench, metric, unit, case, samples):
		    return {"bench": bench, "metric": metric, "unit": unit, "better": "higher", "case": case, "samples": samples}
		word = "<b onx=\"y\" 'z'>&amp;&#60;\u202e"
		runs = [run(word, f"{word}{i}", word, {evil: evil, "n": i}, [1.0 + i, 2.0, -3.5]) for i in range(8)]
		runs += [run("clear", "throughput", "GiB/s", {"function": f, "extent": e, "x": 1.5}, [1e-3, 5.0, 5e5] * 70)
		         for f in (evil, "base", "W" * 300, "\u4e2d" * 200) for e in (1, 4096, 9007199254740991)]
		runs += [run("clear", "throughput", "GiB/s", {"function": f"f{i}", "extent": 4096 << i % 40}, [1e100, 0.0])
		         for i in range(140)]
		runs += [run("map", "throughput", "s", {"function": f, "page_size": e, "backing": evil}, [1e-7, 5.0, -2])
		         for f in (evil, "base") for e in (1, 4096)]
		json.dump({"schema": "hugeclear-results/1", "runs": runs, "notes": [evil] * 200, "source": evil, "interrupted": True,
		           "host": {"kernel": evil, "processor": evil, "pools": [{"page_size": 5, "total": evil}], "cpus": -4}},
		          open(sys.argv[1], "w", encoding="utf-8"))
	END
}

@test "report: wrong usage, and what can't be read or written" {
	run_hc report
	expect_status 64
	expect_stderr "the result files are missing"
	run_hc report "$R/clear.json"
	expect_status 64
	expect_stderr "-o FILE, or -o - for standard output"
	run_hc report --base "$R/clear.json" -o "$page"
	expect_status 64
	expect_stderr "--base and --patched come together"

	echo before >"$page"
	run_hc report "$R/clear.json" "$R/none.json" -o "$page"
	expect_status 1
	expect_stderr "none.json: No such file"
	echo '{"schema":"hugeclear-results/1","runs":[' >"$BATS_TEST_TMPDIR/cut.json"
	run_hc report "$BATS_TEST_TMPDIR/cut.json" -o "$page"
	expect_status 1
	expect_stderr "cut.json: line 2"
	run_hc report --base "$P/milan-demand-base.json" --patched "$R/clear.json" -o "$page"
	expect_status 5
	expect_stderr "nothing to compare"
	[ "$(cat "$page")" = before ]
	run_hc report "$R/clear.json" -o "$BATS_TEST_TMPDIR/no/folder.html"
	expect_status 1
	expect_stderr "no/folder.html"
	[ "$(ls "$BATS_TEST_TMPDIR")" = "$(printf '%s\n' cut.json report.html stderr stdout)" ]
}

@test "report: figures and changes are those of the results, in a valid page" {
	run_hc report --title 'of <two> & more' "$R/clear.json" "$R/map.json" -o "$page"
	expect_status 0
	[ -z "$stdout$stderr" ] || seen
	look text "$page" "$R/clear.json" "$R/map.json"
	grep -qF '<h1>of &lt;two&gt; &amp; more</h1>' "$page"
	run_hc report --title 'of <two> & more' "$R/clear.json" "$R/map.json" -o -
	expect_status 0
	cmp "$BATS_TEST_TMPDIR/stdout" "$page"
	# Tables of mails have no samples.
	run_hc report "$P"/*.json -o "$page"
	expect_status 0
	look text "$page" "$P"/*.json
}

@test "report: base against patched is what compare says" {
	run_hc compare --format json "$P/milan-demand-base.json" "$P/milan-demand-patched.json"
	jq -r '.rows[] | [.base.value, .patched.value, .change_pct, .interval_pct[]] | @tsv' <<<"$stdout" | tr '\t' '\n' >"$BATS_TEST_TMPDIR/right"
	run_hc report --base "$P/milan-demand-base.json" --patched "$P/milan-demand-patched.json" -o "$page"
	expect_status 0
	look text "$page"
	# The mail: 11.82 to 16.48 and 17.51 to 40.03 GB/s.
	grep -qF '>+39.4&nbsp;%<' "$page"
	grep -qF '>+128.6&nbsp;%<' "$page"
	grep -o 'data-value="[^"]*"' "$page" | cut -d'"' -f2 >"$BATS_TEST_TMPDIR/shown"
	python3 -c '
import math, sys
right, shown = ([float(line) for line in open(path)] for path in sys.argv[1:])
assert len(right) == len(shown) == 10 and all(map(lambda a, b: math.isclose(a, b, rel_tol=1e-12), right, shown)), (right, shown)
' "$BATS_TEST_TMPDIR/right" "$BATS_TEST_TMPDIR/shown"
}

@test "report: hostile names stay text, and plots within bounds" {
	hostile "$BATS_TEST_TMPDIR/hostile.json"
	run_hc report "$BATS_TEST_TMPDIR/hostile.json" -o "$page" --title $'\xff\x1b[31m</h1>'
	expect_status 0
	look text "$page"
	grep -qF 'more than 200 samples, 200 of them are drawn' "$page"
	grep -qF 'More cases are in the tables alone' "$page"
	grep -qF '<li>100 notes more</li>' "$page"
	# 1,000 groups of a case each.
	python3 -c '
import json
print(json.dumps({"schema": "hugeclear-results/1", "runs": [{"bench": f"b{i}", "metric": f"m{i}", "unit": "s", "better": "lower",
    "case": {"n": i}, "samples": [1.5, 2.5]} for i in range(1000)]}))' >"$BATS_TEST_TMPDIR/many.json"
	run_hc report "$BATS_TEST_TMPDIR/many.json" -o "$page"
	expect_status 0
	expect_text_of_page "The first 24 of 1000 groups of cases have plots"
	[ "$(grep -c '<figure>' "$page")" = 48 ]
	look text "$page" "$BATS_TEST_TMPDIR/many.json"
}

expect_text_of_page() {
	grep -qF -e "$1" "$page"
}

@test "report: Chromium shows all of it at 400 and 1200 pixels, and complains of nothing" {
	need_tool chromium
	hostile "$BATS_TEST_TMPDIR/hostile.json"
	run_hc report --base "$P/milan-demand-base.json" --patched "$P/milan-demand-patched.json" "$R/clear.json" "$R/map.json" -o "$page"
	run_hc report "$BATS_TEST_TMPDIR/hostile.json" -o "$BATS_TEST_TMPDIR/hostile.html"
	look browser "$BATS_TEST_TMPDIR" "$page" "$BATS_TEST_TMPDIR/hostile.html"
}
