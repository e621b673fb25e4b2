#!/usr/bin/env python3
"""How often `hugeclear run-ab` errs on this machine: the same command on both sides, and one that is slower by 3 %.

usage: check_verdicts.py [--comparisons N] [--runs N] [--hugeclear PATH]

For bench clear and bench map each N comparisons (40) of the command with itself, of which at most a tenth may have a
verdict other than "no difference seen", and N in which patched's samples are multiplied by 0.97 after the run, of which
at least four fifths have to be slower. Both sides are on one CPU and take turns. Prints TAP, and what was seen. Nothing else may run meanwhile.
"""

import argparse
import collections
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCHES = {
    "clear": "bench clear -p thp -s 64M -e 2M -f patched -l 60 --cpus {cpu}",
    "map": "bench map -p thp -s 16M -f populate -l 60 --cpus {cpu}",
}
SLOWER = "import json, sys; d = json.load(sys.stdin)\nfor r in d['runs']: r['samples'] = [s * 0.97 for s in r['samples']]\njson.dump(d, sys.stdout)"


def compared(hugeclear, bench, slowed, runs, seed):
    """The one row of a comparison."""
    base = f"{shlex.quote(hugeclear)} {bench} --format json"
    patched = f"{base} | {shlex.quote(sys.executable)} -c {shlex.quote(SLOWER)}" if slowed else base
    done = subprocess.run([hugeclear, "run-ab", "--turns", "yes", "--runs", str(runs), "--seed", str(seed), "--metric", "throughput", "--format", "json",
                           "--base-cmd", base, "--patched-cmd", patched], stdout=subprocess.PIPE, text=True, check=True)
    (row,) = json.loads(done.stdout)["rows"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--hugeclear", default=str(ROOT / "build" / "release" / "tool" / "hugeclear"))
    arguments = parser.parse_args()
    n, cpu = arguments.comparisons, max(os.sched_getaffinity(0))
    print("1..4")
    number = failed = 0
    for name, bench in BENCHES.items():
        for slowed in (False, True):
            rows = [compared(arguments.hugeclear, bench.format(cpu=cpu), slowed, arguments.runs, seed) for seed in range(n)]
            verdicts = collections.Counter(row["verdict"] for row in rows)
            scatter = statistics.median(row[side]["stdev_pct"] for row in rows for side in ("base", "patched"))
            width = statistics.median(row["interval_pct"][1] - row["interval_pct"][0] for row in rows)
            if slowed:
                ok = verdicts["slower"] >= 0.8 * n
                what = f"bench {name}, slower by 3 %: found in {verdicts['slower']} of {n}"
            else:
                ok = n - verdicts["no difference seen"] <= 0.1 * n
                what = f"bench {name}, equal: {n - verdicts['no difference seen']} of {n} aren't \"no difference seen\""
            number += 1
            failed += not ok
            print(f"# {dict(verdicts)}; runs of a side scatter by {scatter:.2f} %, intervals are {width:.2f} points wide (medians)")
            print(f"{'ok' if ok else 'not ok'} {number} - {what}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
