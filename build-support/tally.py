#!/usr/bin/env python3
"""Counts test results of all runners.

usage: tally.py log RESULTS RUNNER TESTLOG   append what a `meson test` run logged (testlog.json) to RESULTS
       tally.py tap RESULTS RUNNER NAME EXIT_CODE FILE   the same from a file of TAP
       tally.py sum RESULTS EXPECTED_SKIPS   print failures, skips, and the one line that counts; exit code 0 or 1

RESULTS has a line for each test: passed, failed or skipped; the runner; the test; a reason,
separated by tabs. Before a runner stands a line "began", behind what it gave a line "ended": one that
began and didn't end died on the way, and counts as failed.
"""

import collections
import fnmatch
import json
import os
import pathlib
import re
import sys

TAP_LINE = re.compile(r"(?P<not>not )?ok\b\s*(?P<number>\d+)?\s*(?:- )?\s*(?P<title>[^#]*?)\s*"
                      r"(?:#\s*(?P<directive>SKIP|TODO)\S*\s*(?P<reason>.*))?$", re.IGNORECASE)
PLAN = re.compile(r"1\.\.(?P<count>\d+)(?:\s*#\s*SKIP\S*\s*(?P<reason>.*))?$", re.IGNORECASE)

# Lines that a failed test may say about itself.
MAX_TAIL = 12
# Lines that are shown of what its program wrote to standard error.
MAX_STDERR = 60


def tap_results(text):
    """(planned, skip reason of the whole, [(status, title, reason)]) of TAP output."""
    planned, whole, results, notes = 0, None, [], []
    tail = []  # what stands behind the last line of a test: why it failed
    for line in text.splitlines():
        line = line.strip()
        if found := PLAN.fullmatch(line):
            planned += int(found["count"])
            whole = found["reason"] if int(found["count"]) == 0 else None
        elif found := TAP_LINE.fullmatch(line):
            title, reason = found["title"], found["reason"] or ""
            directive = (found["directive"] or "").upper()
            if directive == "SKIP":
                # cmocka gives the test's name where the reason belongs; the reason stands in front.
                if not title:
                    title, reason = reason, ""
                reason = reason or " ".join(notes)
                status = "skipped"
            else:
                status = "failed" if found["not"] else "passed"
            tail = []
            results.append((status, title or f"test {found['number']}", reason, tail))
            notes = []
        elif line:
            notes.append(line.lstrip("# "))
            tail.append(line.lstrip("# "))
    return planned, whole, [
        (status, title, " / ".join(behind[:MAX_TAIL]) if status == "failed" else reason)
        for status, title, reason, behind in results
    ]


def test_results(name, result, returncode, stdout):
    """[(status, title, reason)] of one test program as meson logged it."""
    bad = result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS")
    planned, whole, found = tap_results(stdout)
    if not found and not planned:
        if whole is not None or result == "SKIP":
            notes = [line for line in stdout.splitlines() if line.strip()]
            return [("skipped", name, whole or (notes[-1].strip() if notes else ""))]
        return [("failed" if bad else "passed", name, f"{result.lower()}, exit code {returncode}" if bad else "")]
    results = [(status, f"{name}: {title}", reason) for status, title, reason in found]
    # A program that dies half-way, or runs less than it planned, fails besides what it did.
    if planned != len(found):
        results.append(("failed", name, f"{planned} tests were planned, {len(found)} ran ({result.lower()})"))
    elif bad and not any(status == "failed" for status, _, _ in results):
        results.append(("failed", name, f"{result.lower()}, exit code {returncode}"))
    return results


def read_testlog(testlog):
    """The tests that meson logged; none where there is no log."""
    try:
        lines = pathlib.Path(testlog).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    return [json.loads(line) for line in lines]


def append(path, runner, tests):
    """Counts and appends tests, each (results, standard error); tells of those that failed."""
    rows, told = [], []
    for found, errors in tests:
        rows += found
        failures = [row for row in found if row[0] == "failed"]
        for _, title, reason in failures:
            told += [f"failed: {title}", *(f"    {line}" for line in reason.split(" / "))]
        if failures:
            told += errors.splitlines()[-MAX_STDERR:]
    if not rows:
        rows.append(("failed", "suite", "nothing ran"))
    with open(path, "a", encoding="utf-8") as out:
        for status, title, reason in rows:
            out.write("\t".join((status, runner, title.replace("\t", " "), reason.replace("\t", " "))) + "\n")
        out.write(f"ended\t{runner}\t\t\n")
    failed = sum(status == "failed" for status, _, _ in rows)
    print(f"{failed} of {len(rows)} failed" if failed else f"{len(rows)} ok", *told, sep="\n")
    return 1 if failed else 0


def log(path, runner, testlog):
    return append(path, runner, [
        (
            test_results(test["name"].split(" / ")[-1], test["result"], test["returncode"], test.get("stdout") or ""),
            test.get("stderr") or "",
        )
        for test in read_testlog(testlog)
    ])


def tap(path, runner, name, code, file):
    text = pathlib.Path(file).read_text(encoding="utf-8", errors="replace")
    return append(path, runner, [(test_results(name, "OK" if code == "0" else "ERROR", code, text), "")])


def huge_page_sizes():
    return [int(path.name[len("hugepages-"):-2]) * 1024
            for path in pathlib.Path("/sys/kernel/mm/hugepages").glob("hugepages-*kB")]


def cpu_flags():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return found[1].split() if found else []


def cgroup_controllers():
    """Those of version 2, which beside version 1 is mounted in a folder of its own."""
    paths = [pathlib.Path(folder, "cgroup.controllers") for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")]
    return " ".join(path.read_text(encoding="ascii") for path in paths if path.exists()).split()


def has_network():
    """A way out of this machine: a default route of IPv4 that is up (RTF_UP, route(8))."""
    try:
        routes = pathlib.Path("/proc/net/route").read_text(encoding="ascii").splitlines()[1:]
    except FileNotFoundError:
        return False
    return any(fields[1] == "00000000" and int(fields[3], 16) & 1 for fields in map(str.split, routes))


def has_thp():
    path = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return path.exists() and "[never]" not in path.read_text(encoding="ascii")


def condition_holds(words):
    """What tests/expected-skips may ask for."""
    if words[0] == "not":
        return not condition_holds(words[1:])
    if words == ["root"]:
        return os.geteuid() == 0
    if words == ["network"]:
        return has_network()
    if words == ["thp"]:
        return has_thp()
    if words[0] == "cpu":
        return words[1] in cpu_flags()
    if words[0] == "page":
        return int(words[1]) in huge_page_sizes()
    if words[0] == "nodes":
        return len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) >= int(words[1])
    if words[0] == "cpus":
        return len(os.sched_getaffinity(0)) >= int(words[1])
    if words[0] == "cgroup":
        return words[1] in cgroup_controllers()
    raise SystemExit(f"expected-skips: there is no condition '{' '.join(words)}'")


def expected_skips(path):
    """Patterns of the tests that may be skipped here."""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line:
            condition, pattern = (part.strip() for part in line.split("|", 1))
            if condition_holds(condition.split()):
                yield pattern


def total(path, expected):
    in_ci = os.environ.get("CI") == "true"
    allowed = list(expected_skips(expected))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    shown = {"failed": [], "skipped": []}
    under_way = collections.Counter()
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line]
    for status, runner, *_ in rows:
        under_way[runner] += (status == "began") - (status == "ended")
    rows += [["failed", runner, "the runner", "it began and didn't end"]
             for runner, began in under_way.items() if began > 0]
    for status, runner, title, reason in rows:
        if status in ("began", "ended"):
            continue
        counts[status] += 1
        name = f"{runner}/{title}"
        if status == "skipped" and not any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed):
            reason = f"not in tests/expected-skips: {reason}"
            if in_ci:
                counts["skipped"] -= 1
                counts["failed"] += 1
                status, reason = "failed", f"skipped, {reason}"
        if status != "passed":
            shown[status].append(f"{status}: {name}" + (f" ({reason})" if reason else ""))
    for status in ("skipped", "failed"):
        print("".join(line + "\n" for line in shown[status]), end="")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "log":
        return log(*arguments[1:])
    if len(arguments) == 6 and arguments[0] == "tap":
        return tap(*arguments[1:])
    if len(arguments) == 3 and arguments[0] == "sum":
        return total(*arguments[1:])
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
