#!/usr/bin/env python3
"""Runs hugeclear and its tests of nodes in a virtual machine, under plain emulation, and says what came of it, as TAP.

usage: run_vm.py MACHINE --kernel VMLINUZ --hugeclear STATIC --nodes VM_NODES
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from initramfs import Archive
from machines import MACHINES

SECONDS = 150
LINES = 40  # of what a failure shows


class Command:
    """What one command of the kernel's command line printed."""

    def __init__(self, words):
        self.words, self.text, self.results, self.code = words, "", "", None

    def document(self):
        return json.loads(self.results)


def kernel_line(machine):
    words = ["CMOCKA_MESSAGE_OUTPUT=TAP", "console=ttyS0", "quiet", "panic=-1", "rdinit=/init", "hugeclear.timeout=60"]
    words += [f'hugeclear.run="{command}"' for command in machine.commands]
    return " ".join(words)


def boot(machine, kernel, archive, log):
    """The lines of the console."""
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-nodefaults", "-no-user-config", "-no-reboot",
               "-display", "none", "-serial", "stdio", "-kernel", kernel, "-initrd", archive,
               "-append", kernel_line(machine), *machine.options]
    with open(log, "wb") as console:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
                           timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            console.write(b"\nthe machine was still there after %d s\n" % SECONDS)
    with open(log, "rb") as console:
        return console.read().decode(errors="replace").replace("\r", "").split("\n")


def commands_of(machine, lines):
    commands = [Command(words) for words in machine.commands]
    current, results = None, False
    for line in lines:
        mark = re.fullmatch(r".*-----(BEGIN|END) HUGECLEAR (COMMAND|RESULTS) (\d+)(?:: exit code (\d+))?-----", line)
        if mark:
            begins, what = mark[1] == "BEGIN", mark[2]
            command = commands[int(mark[3]) - 1]
            if what == "RESULTS":
                results = begins
            else:
                current = command if begins else None
                command.code = None if begins else int(mark[4])
        elif current and results:
            current.results += line + "\n"
        elif current:
            current.text += line + "\n"
    return commands


class Report:
    def __init__(self):
        self.nr = self.failed = 0

    def line(self, good, title, reason=""):
        self.nr += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.nr} - {title}")
        for text in reason.strip().split("\n")[-LINES:] if not good else []:
            print(f"# {text}")
        sys.stdout.flush()

    def tap(self, text):
        """The tests of a program that ran in there; all that it announced has to be there."""
        plan = re.search(r"^1\.\.(\d+)$", text, re.M)
        tests = re.findall(r"^(ok|not ok) \d+ - (.*)$", text, re.M)
        for result, title in tests:
            self.line(result == "ok", title, text)
        if not plan or int(plan[1]) != len(tests):
            self.line(False, f"all of {plan[1] if plan else 'the'} tests ran", text)


def judge(report, machine, commands):
    for number, command in enumerate(commands):
        title = machine.commands[number]
        check = machine.checks.get(number)
        if command.code is None:
            report.line(False, f"{title}: ends", command.text or "it didn't begin")
            continue
        if title.startswith("/vm_nodes"):
            report.tap(command.text)
            continue
        if not check:
            report.line(command.code == 0, f"{title}: exit code 0", f"exit code {command.code}\n{command.text}")
            continue
        try:
            check(command)
            report.line(True, f"{title}: {check.__doc__}")
        except (AssertionError, ValueError, LookupError, TypeError) as error:
            report.line(False, f"{title}: {check.__doc__}", f"{error!r}\nexit code {command.code}\n{command.text}{command.results}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("machine", choices=sorted(MACHINES))
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--hugeclear", required=True)
    parser.add_argument("--nodes", required=True)
    args = parser.parse_args()
    if not os.path.exists(args.kernel):
        print("1..0 # SKIP there is no kernel for it: ./dev test as root with a network fetches one")
        return 0
    if not shutil.which("qemu-system-x86_64"):
        print("1..0 # SKIP needs qemu-system-x86_64")
        return 0

    machine = MACHINES[args.machine]
    archive = Archive()
    archive.file(args.hugeclear, "init")
    archive.program(args.nodes, "vm_nodes")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "initramfs")
        with open(path, "wb") as file:
            file.write(archive.bytes())
        lines = boot(machine, args.kernel, path, os.path.join(folder, "console"))
    report = Report()
    commands = commands_of(machine, lines)
    judge(report, machine, commands)
    report.line(f"-----HUGECLEAR DONE: {len(commands)} commands run-----" in lines, "the last line says that all were run",
                "\n".join(lines))
    print(f"1..{report.nr}")
    if report.failed:
        print("\n".join("# " + line for line in lines[-LINES:]))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
