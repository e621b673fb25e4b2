#!/usr/bin/env python3
"""The one line that counts all tests tells the truth: every way in which a test can end is counted as what it is."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "build-support"))
sys.path.insert(0, str(ROOT / "tests" / "exports"))
import public_api  # noqa: E402
import tally  # noqa: E402


def statuses(*run):
    return [status for status, _, _ in tally.test_results("name", *run)]


def last_line(rows, expected, ci):
    """What the sum of these rows prints last, and its exit code."""
    os.environ["CI"] = ci
    with tempfile.TemporaryDirectory() as folder:
        results, skips = pathlib.Path(folder, "results"), pathlib.Path(folder, "skips")
        results.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        skips.write_text(expected, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = tally.total(results, skips)
    return out.getvalue().splitlines()[-1], code


def logged(text):
    """Rows and exit code of a testlog with this text (None: there is none)."""
    with tempfile.TemporaryDirectory() as folder:
        testlog, results = pathlib.Path(folder, "testlog.json"), pathlib.Path(folder, "results")
        if text is not None:
            testlog.write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            code = tally.log(results, "runner", testlog)
        return results.read_text(encoding="utf-8"), code


def main():
    tap = public_api.Tap()

    def same(title, found, expected):
        tap.line(title, [] if found == expected else [f"found {found}", f"expected {expected}"])

    same("each line of TAP is one test", statuses("FAIL", 1, "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP why\n"),
         ["passed", "failed", "skipped"])
    same("a title may start with a dash", tally.test_results("name", "OK", 0, "1..2\nok 1 -o FILE\nok 2 - b\n"),
         [("passed", "name: -o FILE", ""), ("passed", "name: b", "")])
    same("several plans in one program add up", statuses("OK", 0, "1..1\nok 1 - a\n1..1\nok 1 - b\n"), ["passed"] * 2)
    same("a program that dies half-way fails besides", statuses("ERROR", -11, "1..3\nok 1 - a\n"), ["passed", "failed"])
    same("a program that dies at its end fails besides", statuses("ERROR", 1, "1..1\nok 1 - a\n"),
         ["passed", "failed"])
    same("a plan at the end counts", statuses("OK", 0, "ok 1 a\nok 2 b\n1..2\n"), ["passed"] * 2)
    same("more tests than planned fail", statuses("OK", 0, "1..1\nok 1 a\nok 2 b\n"), ["passed", "passed", "failed"])
    same("a planned test that never ran fails", statuses("ERROR", 0, "1..1\n"), ["failed"])
    same("a program without TAP is one test", statuses("OK", 0, "words\n"), ["passed"])
    same("and fails as one", statuses("FAIL", 3, "words\n"), ["failed"])
    same("a timeout fails", statuses("TIMEOUT", -9, ""), ["failed"])
    same("exit code 77 is a skip, its last words the reason", tally.test_results("name", "SKIP", 77, "needs root\n"),
         [("skipped", "name", "needs root")])
    same("a plan of none with a reason is a skip", tally.test_results("name", "SKIP", 0, "1..0 # SKIP no pages\n"),
         [("skipped", "name", "no pages")])
    same("a reason in front of the line is kept", tally.test_results("name", "OK", 0, "1..1\n# why\nok 1 - a # SKIP\n"),
         [("skipped", "name: a", "why")])

    same("what a failed test says about itself is its reason",
         tally.test_results("name", "FAIL", 1, "1..2\nnot ok 1 - a\n# 1 != 2\n# line 3\nok 2 - b\n"),
         [("failed", "name: a", "1 != 2 / line 3"), ("passed", "name: b", "")])
    same("a suite that ran nothing fails", logged(""), ("failed\trunner\tsuite\tnothing ran\nended\trunner\t\t\n", 1))
    same("a runner without a log fails", logged(None), ("failed\trunner\tsuite\tnothing ran\nended\trunner\t\t\n", 1))

    rows = [("passed", "r", "a", ""), ("skipped", "r", "b", "why")]
    same("a skip counts as a skip", last_line(rows, "", "false"), ("1 passed, 0 failed, 1 skipped", 0))
    same("one that nobody expects fails in CI", last_line(rows, "", "true"), ("1 passed, 1 failed, 0 skipped", 1))
    same("one that is expected doesn't", last_line(rows, "cpus 1 | r/b\n", "true"), ("1 passed, 0 failed, 1 skipped", 0))
    same("its condition has to hold", last_line(rows, "not cpus 1 | r/b\n", "true"), ("1 passed, 1 failed, 0 skipped", 1))
    with_skip = [("passed", "r", "a", ""), ("skipped", "r", "vm_two", "there is no kernel for it")]
    tally.has_network = lambda: False
    with open(ROOT / "tests/expected-skips", encoding="utf-8") as file:
        ours = file.read()
    same("virtual machines are expected to be skipped without a network", last_line(with_skip, ours, "true"),
         ("1 passed, 0 failed, 1 skipped", 0))
    tally.has_network = lambda: True
    root = os.geteuid
    os.geteuid = lambda: 0
    same("and with one they are not, where root runs the tests", last_line(with_skip, ours, "true"),
         ("1 passed, 1 failed, 0 skipped", 1))
    os.geteuid = root
    same("a failure is a failure", last_line([("failed", "r", "a", "")], "", "false"),
         ("0 passed, 1 failed, 0 skipped", 1))
    same("no test at all is no success", last_line([], "", "false"), ("0 passed, 0 failed, 0 skipped", 1))
    began, ended = ("began", "r", "", ""), ("ended", "r", "", "")
    same("a runner that began and ended is none of the tests", last_line([began, *rows[:1], ended], "", "false"),
         ("1 passed, 0 failed, 0 skipped", 0))
    same("one that died on the way fails", last_line([*rows[:1], began], "", "false"),
         ("1 passed, 1 failed, 0 skipped", 1))
    same("also where it had been run before", last_line([began, *rows[:1], ended, began], "", "false"),
         ("1 passed, 1 failed, 0 skipped", 1))
    return tap.plan()


sys.exit(main())
