#!/usr/bin/env python3
"""Passes on those of the NUL-separated paths on standard input that a build compiles.

usage: in-compile-commands.py BUILD
"""

import json
import pathlib
import sys

build = pathlib.Path(sys.argv[1])
commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
compiled = {(pathlib.Path(command["directory"]) / command["file"]).resolve() for command in commands}
for name in sys.stdin.read().split("\0"):
    if name and pathlib.Path(name).resolve() in compiled:
        sys.stdout.write(name + "\0")
