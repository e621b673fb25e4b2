#!/usr/bin/env python3
"""Prepares a run of clang-tidy: one command a source, where a build compiles many of them several times.

Writes BUILD/tidy/compile_commands.json and prints the sources' paths, each with a NUL behind it.

usage: tidy-commands.py BUILD
"""

import json
import pathlib
import sys

build = pathlib.Path(sys.argv[1])
commands = {}
for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
    commands.setdefault((pathlib.Path(command["directory"]) / command["file"]).resolve(), command)
folder = build / "tidy"
folder.mkdir(exist_ok=True)
(folder / "compile_commands.json").write_text(json.dumps(list(commands.values())), encoding="utf-8")
sys.stdout.write("".join(f"{path}\0" for path in sorted(commands)))
