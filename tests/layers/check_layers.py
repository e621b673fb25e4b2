#!/usr/bin/env python3
"""Holds the layers: who includes what (layers.txt), one base name a file, no file over 800 lines.

usage: check_layers.py [SOURCE_ROOT]   check; TAP on standard output
       check_layers.py --self-test     plant each kind of fault in a small tree: each has to be reported
       check_layers.py --table         the layer rows as ARCHITECTURE.md shows them
"""

import pathlib
import re
import sys
import tempfile

MAX_LINES = 800
HERE = pathlib.Path(__file__).resolve().parent
SOURCE_SUFFIXES = {".c", ".h", ".py", ".sh", ".bats", ".S"}
# Folders whose files are data: other people's trees and seeds of fuzzers.
DATA_FOLDERS = {"fixtures", "corpus"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


class Layers:
    """layers.txt, read."""

    def __init__(self, text):
        self.layers, self.headers, self.libraries = {}, {}, {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            found = re.fullmatch(r"(layer|header|library)\s+(\S+):\s*(.*)", line)
            if not found:
                raise SystemExit(f"layers.txt:{number}: not a row: {line}")
            kind, name, items = found[1], found[2], found[3].split()
            if kind == "layer":
                self.layers[name] = [] if items == ["-"] else items
            elif kind == "header":
                self.headers[name] = items[0]
            else:
                self.libraries[name] = items

    def allowed(self, folder):
        """Folders, single headers and "public" that folder may include, itself among them."""
        reached, waiting = set(), [folder]
        while waiting:
            item = waiting.pop()
            if item not in reached:
                reached.add(item)
                waiting += self.layers.get(item, [])
        return reached


def sources(root, *tops):
    """Source files below these folders, as paths relative to root."""
    for top in tops:
        for path in sorted((root / top).rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and path.suffix in SOURCE_SUFFIXES and not DATA_FOLDERS & set(relative.parts):
                yield relative


def check_include(root, layers, path, style, name):
    """What is wrong with one #include of path, or None."""
    folder = path.parent.as_posix()
    allowed = layers.allowed(folder)
    top = path.parts[0]

    if style == "<":
        if name.startswith("hugeclear/"):
            header = name.removeprefix("hugeclear/")
            if not (root / "include" / name).is_file():
                return f"<{name}> is no public header"
            owner = layers.headers.get(header)
            if owner is None:
                return f"<{name}> has no header row in layers.txt"
            if top == "include" or "public" in allowed or owner in allowed:
                return None
            return f"<{name}> belongs to {owner}, which {folder} may not include"
        if name in layers.libraries and folder not in layers.libraries[name]:
            return f"{folder} may not use the library of <{name}>"
        if (root / "lib" / name).is_file() or (root / "tool" / name).is_file():
            return f'<{name}> is a header of this project: write it with ""'
        return None

    if top == "include":
        return f'"{name}": public headers include public headers alone, as <hugeclear/...>'
    target = next((base + "/" + name for base in (top, "lib") if (root / base / name).is_file()), None)
    if ".." in name or target is None:
        return f'"{name}" is not found: includes carry the folder, below lib/ or tool/'
    if pathlib.PurePath(target).parent.as_posix() in allowed or target in allowed:
        return None
    return f'{folder} may not include "{name}"'


def check_includes(root, layers):
    faults = []
    for path in sources(root, "lib", "tool", "include"):
        folder = path.parent.as_posix()
        if path.parts[0] != "include" and folder not in layers.layers:
            faults.append(f"{path}: {folder} has no row in layers.txt")
            continue
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            fault = found and check_include(root, layers, path, found[1], found[2])
            if fault:
                faults.append(f"{path}:{number}: {fault}")
    return faults


def check_names(root, _layers):
    faults, seen = [], {}
    for path in sources(root, "lib", "tool", "include", "tests", "examples"):
        if path.name in seen:
            faults.append(f"{path}: {seen[path.name]} has the same base name")
        seen.setdefault(path.name, path)
    return faults


def check_lengths(root, _layers):
    faults = []
    for path in sources(root, "lib", "tool", "include", "tests", "examples"):
        lines = (root / path).read_bytes().count(b"\n")
        if lines > MAX_LINES:
            faults.append(f"{path}: {lines} lines, at most {MAX_LINES}: what is its second subject?")
    return faults


def check_rows(root, layers):
    """Rows that name something that isn't there say less than they seem to."""
    faults = []
    for folder, items in layers.layers.items():
        if not (root / folder).is_dir():
            faults.append(f"layers.txt: {folder} is not there")
        for item in items:
            if item != "public" and item not in layers.layers and not (root / item).is_file():
                faults.append(f"layers.txt: {folder} may include {item}, which is no layer and no file")
    for header, folder in layers.headers.items():
        if folder not in layers.layers or not (root / "include/hugeclear" / header).is_file():
            faults.append(f"layers.txt: header {header}: {folder}: one of them is not there")
    return faults


def documented_rows(text, layers):
    """The rows of ARCHITECTURE.md's layer table: {folder: set of items}, in the words of layers.txt."""

    def plain(word):
        word = word.strip().strip("`").rstrip("/")
        if word == "public headers":
            return "public"
        return "lib/" + word if "lib/" + word in layers.layers else word

    rows, inside = {}, False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|"):
            inside = False
        elif [cell.lower() for cell in cells[:2]] == ["folder", "may include"]:
            inside = True
        elif inside and not set(cells[0]) <= set("-: "):
            items = {plain(word) for word in cells[1].split(",")}
            rows[plain(cells[0])] = items - {"-", "–", ""}
    return rows


def check_documented(root, layers):
    path = root / "ARCHITECTURE.md"
    if not path.is_file():
        return ["ARCHITECTURE.md is not there"]
    rows = documented_rows(path.read_text(encoding="utf-8"), layers)
    if not rows:
        return ["ARCHITECTURE.md has no table that starts '| folder | may include |'"]
    faults = []
    for folder in sorted(rows.keys() | layers.layers.keys()):
        there, here = rows.get(folder), layers.layers.get(folder)
        if there is None:
            faults.append(f"ARCHITECTURE.md has no row for {folder}")
        elif here is None:
            # A later layer may be announced, not built.
            if (root / folder).is_dir():
                faults.append(f"ARCHITECTURE.md has a row for {folder}, layers.txt has none")
        elif there != set(here):
            faults.append(
                f"ARCHITECTURE.md lets {folder} include {', '.join(sorted(there)) or '-'}; "
                f"layers.txt: {', '.join(sorted(here)) or '-'}"
            )
    return faults


CHECKS = {
    "every include is allowed by the layer table": check_includes,
    "the layer table names what is there": check_rows,
    "ARCHITECTURE.md shows the layer table": check_documented,
    "no two files share a base name": check_names,
    f"no file is longer than {MAX_LINES} lines": check_lengths,
}


def check(root, layers):
    print(f"1..{len(CHECKS)}")
    failed = False
    for number, (title, function) in enumerate(CHECKS.items(), 1):
        faults = function(root, layers)
        print(f"{'not ok' if faults else 'ok'} {number} - {title}")
        for fault in faults:
            print(f"# {fault}")
        failed |= bool(faults)
    return 1 if failed else 0


CLEAN_LAYERS = """
layer lib/base: -
layer lib/sys: lib/base
layer tool: public lib/base tool/bench
layer tool/bench: public lib/base tool/cli.h
header hugeclear.h: lib/base
header sys.h: lib/sys
library jansson.h: tool
"""

CLEAN_TREE = {
    "include/hugeclear/hugeclear.h": "#include <stddef.h>\n",
    "include/hugeclear/sys.h": "#include <hugeclear/hugeclear.h>\n",
    "lib/base/error.h": "#include <stddef.h>\n",
    "lib/base/error.c": '#include "base/error.h"\n#include <hugeclear/hugeclear.h>\n',
    "lib/sys/root.h": "",
    "lib/sys/root.c": '#include "sys/root.h"\n#include "base/error.h"\n#include <hugeclear/sys.h>\n',
    "tool/cli.h": "",
    "tool/status.c": '#include "cli.h"\n#include <jansson.h>\n#include "base/error.h"\n#include "bench/harness.h"\n',
    "tool/bench/harness.h": "",
    "tool/bench/harness.c": '#include "cli.h"\n#include "bench/harness.h"\n#include <hugeclear/sys.h>\n',
    "tests/fixtures/a/tree.sh": "",
    "tests/fixtures/b/tree.sh": "",
    "ARCHITECTURE.md": "| folder | may include | subject |\n|---|---|---|\n"
    "| `lib/base` | - | x |\n| `lib/sys` | base | x |\n"
    "| `tool/` | public headers, base, `tool/bench` | x |\n| `tool/bench` | public headers, base, `tool/cli.h` | x |\n"
    "| `lib/later` | sys | x |\n",
}

# Kind of fault, the file that plants it, its text, and a part of the report.
PLANTED = [
    ("an include upwards", "lib/base/up.c", '#include "sys/root.h"\n', 'lib/base may not include "sys/root.h"'),
    ("an indented include upwards", "lib/base/up.c", '#  include "sys/root.h"\n', "lib/base/up.c:1"),
    ("a public header of a higher layer", "lib/base/up.c", "#include <hugeclear/sys.h>\n", "belongs to lib/sys"),
    ("an internal header in the tool", "tool/in.c", '#include "sys/root.h"\n', 'tool may not include "sys/root.h"'),
    ("another file of tool in tool/bench", "tool/table.h", "", None),
    ("an include without its folder", "lib/base/near.c", '#include "error.h"\n', "includes carry the folder"),
    ("an include by dots", "lib/sys/dots.c", '#include "../base/error.h"\n', "includes carry the folder"),
    ("a project header in angle brackets", "lib/sys/angle.c", "#include <base/error.h>\n", 'write it with ""'),
    ("a public header that isn't there", "lib/sys/gone.c", "#include <hugeclear/gone.h>\n", "no public header"),
    ("an internal header in a public one", "include/hugeclear/sys.h", '#include "sys/root.h"\n', "public headers alone"),
    ("a library in the wrong layer", "lib/sys/json.c", "#include <jansson.h>\n", "may not use the library"),
    ("a folder without a row", "lib/extra/x.c", "", "lib/extra has no row"),
    ("a second file of one name", "tool/bench/root.c", "", "lib/sys/root.c has the same base name"),
    ("801 lines", "lib/sys/long.c", "\n" * (MAX_LINES + 1), "801 lines"),
    ("a row that differs", "ARCHITECTURE.md",
     CLEAN_TREE["ARCHITECTURE.md"].replace("| base |", "| - |"), "ARCHITECTURE.md lets lib/sys include -;"),
    ("a row that is missing", "ARCHITECTURE.md",
     CLEAN_TREE["ARCHITECTURE.md"].replace("| `lib/sys` | base | x |\n", ""), "no row for lib/sys"),
]  # fmt: skip


def faults_of(files, layers):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return [fault for function in CHECKS.values() for fault in function(root, layers)]


def self_test():
    layers = Layers(CLEAN_LAYERS)
    cases = [("a clean tree", {}, None)]
    for title, name, text, expected in PLANTED:
        files = {name: text}
        if expected is None:
            files["tool/bench/far.c"] = f'#include "{pathlib.PurePath(name).name}"\n'
            expected = "tool/bench may not include"
        cases.append((title, files, expected))

    print(f"1..{len(cases)}")
    failed = False
    for number, (title, files, expected) in enumerate(cases, 1):
        faults = faults_of(CLEAN_TREE | files, layers)
        # One planted fault, one report: a check that reports all and everything proves nothing.
        good = not faults if expected is None else len(faults) == 1 and expected in faults[0]
        print(f"{'ok' if good else 'not ok'} {number} - {title}{'' if expected is None else ' is reported'}")
        if not good:
            print(f"# expected: {expected}; got: {faults}")
        failed |= not good
    return 1 if failed else 0


def table(layers):
    print("| folder | may include |\n|---|---|")
    for folder, items in layers.layers.items():
        words = ["public headers" if item == "public" else f"`{item}`" for item in items]
        print(f"| `{folder}` | {', '.join(words) or '-'} |")
    return 0


def main(arguments):
    layers = Layers((HERE / "layers.txt").read_text(encoding="utf-8"))
    if arguments == ["--self-test"]:
        return self_test()
    if arguments == ["--table"]:
        return table(layers)
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__, file=sys.stderr)
        return 64
    return check(pathlib.Path(arguments[0]) if arguments else HERE.parents[1], layers)


sys.exit(main(sys.argv[1:]))
