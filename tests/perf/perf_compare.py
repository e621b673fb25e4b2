#!/usr/bin/env python3
"""How long comparing takes: 1,000 runs of 1,000 samples a side, in under 2 s and 200 MB.

usage: perf_compare.py HUGECLEAR [--rounds N]
       perf_compare.py --self-test

Exit code 0: kept; 1: missed.
"""

import argparse
import contextlib
import io
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from ratios import Table

SECONDS, BYTES = 2, 200e6


def write_side(path, seed):
    generator = random.Random(seed)
    samples = [repr(generator.gauss(10, 0.1)) for _ in range(3000)]
    runs = (f'{{"bench":"clear","metric":"throughput","case":{{"row":{row}}},"unit":"GiB/s","better":"higher",'
            f'"samples":[{",".join(samples[row:row + 1000])}]}}' for row in range(1000))
    with open(path, "w", encoding="ascii") as out:
        out.write(f'{{"schema":"hugeclear-results/1","runs":[{",".join(runs)}]}}')


def run_once(hugeclear, files):
    """(seconds, bytes resident at most)"""
    start = time.monotonic()
    child = subprocess.Popen([hugeclear, "compare", *files], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{hugeclear} compare failed: {child.returncode}")
    return time.monotonic() - start, used.ru_maxrss * 1024


def judge(table, lines):
    seconds, size = statistics.median(line[0] for line in lines), max(line[1] for line in lines)
    table.fact("comparing 1,000 x 1,000 samples a side", f"{seconds:.2f} s", f"< {SECONDS} s", seconds < SECONDS)
    table.fact("memory for it", f"{size / 1e6:.0f} MB", f"< {BYTES / 1e6:.0f} MB", size < BYTES)


def measure(arguments):
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, f"{side}.json") for side in ("base", "patched")]
        for seed, path in enumerate(files):
            write_side(path, seed)
        judge(table, [run_once(arguments.hugeclear, files) for _ in range(arguments.rounds)])
    print(f"{table.kept} kept, {table.missed} missed, {table.out_of_reach} out of reach of this machine")
    return 1 if table.missed else 0


def self_test():
    """The judgements, on numbers made up for them."""
    def missed(lines):
        with contextlib.redirect_stdout(io.StringIO()):
            table = Table()
            judge(table, lines)
        return table.missed

    checks = {
        "quick and small": missed([(1.5, 80e6)] * 3) == 0,
        "slow in the median": missed([(1.5, 80e6), (2.1, 80e6), (2.2, 80e6)]) == 1,
        "large once": missed([(1.5, 80e6), (1.5, 210e6), (1.5, 80e6)]) == 1,
    }
    for number, (what, ok) in enumerate(checks.items(), 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
    print(f"1..{len(checks)}")
    return 0 if all(checks.values()) else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hugeclear")
    parser.add_argument("--rounds", type=int, default=5)
    return measure(parser.parse_args())


sys.exit(main())
