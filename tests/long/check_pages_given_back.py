#!/usr/bin/env python3
"""./dev bench gives back the huge pages it reserved, however it ends. As root, with nobody else changing pools.

usage: check_pages_given_back.py
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "exports"))
import public_api  # noqa: E402

HUGECLEAR = ROOT / "build" / "release" / "tool" / "hugeclear"


def pools():
    """Pages of each size, by node and in all."""
    return {
        str(path): int(path.read_text(encoding="ascii"))
        for pattern in ("kernel/mm/hugepages/*/nr_hugepages", "devices/system/node/node*/hugepages/*/nr_hugepages")
        for path in pathlib.Path("/sys").glob(pattern)
    }


def default_interrupt():
    # What starts this may ignore ^C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def bench_with_pages(before):
    """A ./dev bench that has its pages, in a process group of its own as on a terminal."""
    bench = subprocess.Popen(["./dev", "bench"], cwd=ROOT, start_new_session=True, preexec_fn=default_interrupt,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for _ in range(600):
        if pools() != before or bench.poll() is not None:
            break
        time.sleep(0.1)
    # Into the measuring.
    time.sleep(1)
    return bench


def main():
    tap = public_api.Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return 0
    subprocess.run(["./dev", "build"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([HUGECLEAR, "reserve", "--recover"], check=True, stdout=subprocess.DEVNULL)
    before = pools()

    for name, to_group, number in [
        ("^C", True, signal.SIGINT),
        ("SIGTERM to ./dev alone", False, signal.SIGTERM),
        ("SIGHUP of a terminal that is closed", True, signal.SIGHUP),
    ]:
        bench = bench_with_pages(before)
        faults = [] if pools() != before else ["no pages were reserved"]
        began = time.monotonic()
        (os.killpg if to_group else os.kill)(bench.pid, number)
        out, _ = bench.communicate()
        if pools() != before:
            faults.append(f"left: {pools()}, before: {before}")
        if bench.returncode == 0:
            faults.append("exit code 0")
        if time.monotonic() - began > 20:
            faults.append("it went on for more than 20 seconds")
        tap.line(f"pages are given back after {name}", [*faults, out.decode()] if faults else [])

    bench = bench_with_pages(before)
    os.killpg(bench.pid, signal.SIGKILL)
    bench.communicate()
    time.sleep(1)
    tap.line("a SIGKILL leaves them", [] if pools() != before else ["nothing was left: this proves nothing"])
    bench = subprocess.Popen(["./dev", "bench"], cwd=ROOT, start_new_session=True, preexec_fn=default_interrupt,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out, _ = bench.communicate()
    tap.line("and the next start gives them back with its own",
             [] if pools() == before and bench.returncode == 0 else [f"left: {pools()}", out.decode()])
    return tap.plan()


sys.exit(main())
