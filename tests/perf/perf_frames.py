#!/usr/bin/env python3
"""The ratios that arenas have to keep on this machine, measured in turn, with their limits.

usage: perf_frames.py HUGECLEAR [--loops N] [--size SIZE] [--page PAGE]
       perf_frames.py --self-test

Each ratio is of two things from the same loop of one run of `hugeclear bench frames` or `bench arena`; what is
shown is the median over the loops and a 95 % bound of it by the bootstrap. Exit code 0: all
limits kept; 1: one missed; 3: it couldn't be measured.
"""

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys

from ratios import Table, bounds

EXIT_LESS = 3
GIB = 1 << 30


class Run:
    """Samples of one `hugeclear bench`, by some of its case's parameters."""

    def __init__(self, document, *names):
        self.names = names
        self.series = {(*(run["case"].get(name) for name in names), run["metric"]): run["samples"] for run in document["runs"]}

    def samples(self, *key, metric="seconds"):
        return self.series.get((*key, metric), [])

    def ratios(self, one, other, metric="seconds"):
        return [a / b for a, b in zip(self.samples(*one, metric=metric), self.samples(*other, metric=metric))]


def judge_init(table, run, threads):
    """
    Keys are function and threads. Nothing that writes every descriptor is faster than clearing them is: where base takes
    less than five times that, the limit is out of reach, and the one pass is to be as fast as clearing.
    """
    if threads < 2:
        table.not_here("one pass, 2 threads / base", "one CPU only")
        return
    # Clearing by one thread or two, whichever is faster in that loop.
    clear = [min(pair) for pair in zip(run.samples("clear", 1), run.samples("clear", 2))]
    reachable, median, _ = bounds([a / b for a, b in zip(run.samples("base", 2), clear)])
    ratios = run.ratios(("base", 2), ("parallel", 2))
    if reachable >= 5.0:
        table.row("base / one pass, 2 threads, recycled", ratios, "median >= 5.0", lambda low, mid, high: mid >= 5.0)
    else:
        table.beyond("base / one pass, 2 threads, recycled", ratios, "median >= 5.0",
                     f"base takes {median:.2f} times as long as clearing the same bytes past the cache (at least {reachable:.2f})")
    ratios = [a / b for a, b in zip(clear, run.samples("parallel", 2))]
    table.row("clearing the same bytes / one pass", ratios, "median >= 0.85", lambda low, mid, high: mid >= 0.85)


def judge_first(table, run):
    """Keys are function."""
    first = run.samples("deferred", metric="first_frame")
    worst = max(first)
    table.fact("deferred, 1 TiB: the first frame", f"{worst * 1e3:.2f} ms", "< 20 ms in each loop", worst < 20e-3)


def judge_frames(table, run):
    """
    Keys are function and then; of frames of 2 MiB. Writing every line of memory that isn't in the cache takes what it takes, whoever
    hands it out: where mmap with its clear isn't sure to take twice that, the limit is out of reach.
    """
    def row(what, other, one, least):
        table.row(f"2 MiB, {what}", run.ratios(other, one), f"median >= {least:g}", lambda low, mid, high: mid >= least)

    row("clean / mmap, touch, munmap", ("mmap", None), ("clean", None), 300)
    reachable, median, _ = bounds(run.ratios(("mmap", "write"), ("any", "write")))
    if reachable >= 2.0:
        row("clean, every line written / mmap, written", ("mmap", "write"), ("clean", "write"), 2.0)
    else:
        table.beyond("2 MiB, clean, every line written / mmap, written", run.ratios(("mmap", "write"), ("clean", "write")), "median >= 2",
                     f"mmap takes {median:.2f} times what writing the lines of any frame takes (at least {reachable:.2f})")
        row("any, written / clean, written", ("any", "write"), ("clean", "write"), 0.93)
    row("nothing clean, later / mmap", ("mmap", None), ("later", None), 2.0)
    row("nothing clean, soon, written / mmap, written", ("mmap", "write"), ("soon", "write"), 1.0)


def judge_orders(table, run):
    """Keys are frame."""
    table.row("1 GiB frame, pinned / 4 KiB frame, pinned", run.ratios((GIB,), (4096,)), "median <= 2.0",
              lambda low, mid, high: mid <= 2.0)


class Command:
    def __init__(self, arguments):
        self.arguments = arguments

    def run(self, names, *words):
        command = [self.arguments.hugeclear, "bench", *words, "--format", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(f"{' '.join(words)}: {done.stderr.strip()}")
            return None
        return Run(json.loads(done.stdout), *names)


def measure(arguments):
    load, cpus = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > cpus / 2:
        print(f"the machine is busy (load {load:.1f} on {cpus} CPUs): threads suffer most")
    command, loops, table = Command(arguments), str(arguments.loops), Table()

    run = command.run(("function", "threads"), "frames", "-s", arguments.size, "-f", "base,parallel,clear", "-t", "1,2", "-l", loops)
    if run:
        judge_init(table, run, cpus)
    else:
        table.not_here("one pass / base", f"the descriptors of {arguments.size} don't fit")
    run = command.run(("function",), "frames", "-s", "1T", "-f", "deferred", "--descriptors", "fresh", "-l", "3")
    if run:
        judge_first(table, run)
    else:
        table.not_here("deferred, 1 TiB: the first frame", "the descriptors of 1 TiB don't fit")

    run = None
    for page in [arguments.page] if arguments.page else ["2M", "thp"]:
        run = run or command.run(("function", "then"), "arena", "-p", page, "-s", "256M", "-F", "2M", "-f", "any,clean,soon,later,mmap", "-l", loops)
        if run and run.samples("mmap", None):
            print(f"frames of 2 MiB: of {page} pages")
            judge_frames(table, run)
            break
        run = None
    if not run:
        table.not_here("2 MiB frames / mmap", "there are no huge pages")
    run = command.run(("frame",), "arena", "-p", "thp", "-s", "3G", "-F", "4K,1G", "-f", "pinned", "--then", "none", "-l", loops)
    if run:
        judge_orders(table, run)
    else:
        table.not_here("1 GiB frame / 4 KiB frame", "no memory of 3 GiB")
    print(f"{table.kept} kept, {table.missed} missed, {table.out_of_reach} out of reach of this machine")
    return 1 if table.missed else EXIT_LESS if table.kept == 0 else 0


def self_test():
    """The judgements, on numbers made up for them."""
    def missed(judge, *arguments):
        with contextlib.redirect_stdout(io.StringIO()):
            table = Table()
            judge(table, *arguments)
        return table.missed

    def made_up(names, *series):
        return Run({"runs": [{"case": dict(zip(names, key)), "metric": metric, "samples": samples}
                             for key, metric, samples in series]}, *names)

    def init(base, parallel, clear):
        names = ("function", "threads")
        return made_up(names, (("base", 2), "seconds", [base] * 4), (("parallel", 2), "seconds", [parallel] * 4),
                       (("clear", 1), "seconds", [clear] * 4), (("clear", 2), "seconds", [clear * 1.5] * 4))

    def frames(clean, written, later, soon, any_written=100.0):
        return made_up(("function", "then"), (("any", "write"), "seconds", [any_written] * 4), (("clean",), "seconds", [clean] * 4), (("clean", "write"), "seconds", [written] * 4),
                       (("later",), "seconds", [later] * 4), (("soon", "write"), "seconds", [soon] * 4),
                       (("mmap",), "seconds", [300.0] * 4), (("mmap", "write"), "seconds", [400.0] * 4))

    checks = {
        "4 times as fast, as fast as clearing": missed(judge_init, init(4.0, 1.0, 1.0), 2) == 0,
        "4 times as fast, clearing is faster": missed(judge_init, init(4.0, 1.0, 0.79), 2) == 2,
        "5 times as fast as base, 0.9 of clearing": missed(judge_init, init(5.0, 1.0, 0.9), 2) == 0,
        "4.9 times as fast": missed(judge_init, init(4.9, 1.0, 0.9), 2) == 1,
        "0.84 of clearing": missed(judge_init, init(5.0, 1.0, 0.84), 2) == 1,
        "the first frame after 19 ms": missed(judge_first, made_up(("function",), (("deferred",), "first_frame", [0.001, 0.019]))) == 0,
        "the first frame after 21 ms once": missed(judge_first, made_up(("function",), (("deferred",), "first_frame", [0.001, 0.021]))) == 1,
        "frames that are fast enough": missed(judge_frames, frames(1.0, 200.0, 150.0, 400.0)) == 0,
        "none of them fast enough": missed(judge_frames, frames(1.01, 201.0, 151.0, 401.0)) == 4,
        "writing alone takes half of mmap": missed(judge_frames, frames(1.0, 250.0, 150.0, 400.0, 240.0)) == 0,
        "and clean frames take longer": missed(judge_frames, frames(1.0, 270.0, 150.0, 400.0, 240.0)) == 1,
        "1 GiB at twice the cost": missed(judge_orders, made_up(("frame",), ((GIB,), "seconds", [2.0] * 4), ((4096,), "seconds", [1.0] * 4))) == 0,
        "1 GiB at more": missed(judge_orders, made_up(("frame",), ((GIB,), "seconds", [2.1] * 4), ((4096,), "seconds", [1.0] * 4))) == 1,
        "bounds lie about the median": bounds([1.0, 1.1, 0.9])[1] == statistics.median([1.0, 1.1, 0.9]),
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
    parser.add_argument("--size", default="256G")
    parser.add_argument("--loops", type=int, default=9)
    parser.add_argument("--page")
    return measure(parser.parse_args())


sys.exit(main())
