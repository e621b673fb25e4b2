#!/usr/bin/env python3
"""Each public function has its place in a manual page, an example, the version script, the change log and a test.

usage: check_documented.py [--self-test]
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "exports"))
import public_api  # noqa: E402

ROOT = public_api.ROOT


def words_of(*patterns):
    """All names that stand in files that match, found from the root."""
    words = set()
    for pattern in patterns:
        for path in ROOT.glob(pattern):
            words |= set(re.findall(r"\bhc_\w+", path.read_text(encoding="utf-8").replace("\\_", "_")))
    return words


def missing(functions, words):
    return [f"not there: {name}" for name in functions if name not in words]


def version_script_faults(functions, text):
    """The script names each function once, and nothing else: a wildcard would let a name slip out."""
    names = re.findall(r"^\s*([\w*?\[\]]+);", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL), re.MULTILINE)
    names = [name for name in names if name != "*"]
    faults = [f"not in the version script: {name}" for name in functions if name not in names]
    faults += [f"in the version script, not in a header: {name}" for name in names if name not in functions]
    return faults + [f"twice in the version script: {name}" for name in sorted(set(names)) if names.count(name) > 1]


def self_test():
    tap = public_api.Tap()
    script = "HC_1 {\nglobal:\n\thc_a;\n\thc_b_*;\n\thc_a;\nlocal:\n\t*;\n};\n"
    found = version_script_faults(["hc_a", "hc_c"], script)
    tap.line("faults of a version script are found", [] if [fault.split(": ")[1] for fault in found]
             == ["hc_c", "hc_b_*", "hc_a"] else found)
    found = missing(["hc_a", "hc_b"], {"hc_a", "hc_bc"})
    tap.line("a function without a place is found", [] if found == ["not there: hc_b"] else found)
    return tap.plan()


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    functions = public_api.functions()
    tap = public_api.Tap()
    for place, patterns in [
        ("a manual page", ["man/*.3.scd"]),
        ("an example", ["examples/*.c"]),
        ("the change log", ["CHANGELOG.md"]),
        ("a test", ["tests/*/*.c"]),
    ]:
        tap.line(f"every public function is named in {place}", missing(functions, words_of(*patterns)))
    script = (ROOT / "lib" / "hugeclear.map").read_text(encoding="utf-8")
    tap.line("the version script names every public function", version_script_faults(functions, script))
    return tap.plan()


sys.exit(main(sys.argv[1:]))
