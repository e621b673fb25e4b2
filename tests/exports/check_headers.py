#!/usr/bin/env python3
"""Each public header compiles alone, as C17 and as C++17, without a warning, with every compiler that is there.

usage: check_headers.py
"""

import pathlib
import shutil
import sys
import tempfile

import public_api

WARNINGS = ["-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Werror", "-pedantic"]
# Twice: the guard. No _GNU_SOURCE: the headers are strict C.
TWICE = "#include <hugeclear/{0}>\n#include <hugeclear/{0}>\n"


def compile_faults(command, text):
    code, _, err = public_api.run([*command, "-"], text)
    return [err] if code != 0 else []


def linkage_faults(command):
    """C++ that takes the address of every function has to ask the linker for names that C made."""
    names = public_api.functions()
    text = "".join(f"#include <hugeclear/{header}>\n" for header in public_api.headers())
    text += "".join(f"extern decltype(&{name}) volatile take_{name};\n" for name in names)
    text += "".join(f"decltype(&{name}) volatile take_{name} = &{name};\n" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "linkage.o"
        faults = compile_faults([*command, "-c", "-o", target], text)
        if faults:
            return faults
        _, out, _ = public_api.run(["nm", "-u", "--format=posix", target])
    wanted = {line.split()[0] for line in out.splitlines()}
    return [f"not extern \"C\": {name}" for name in names if name not in wanted]


def main():
    tap = public_api.Tap()
    headers = public_api.headers()
    include = ["-I", public_api.HEADERS.parent]
    for compiler, language, standard in [
        ("gcc", "c", "c17"),
        ("clang", "c", "c17"),
        ("g++", "c++", "c++17"),
        ("clang++", "c++", "c++17"),
    ]:
        if not shutil.which(compiler):
            tap.skip(f"headers with {compiler}", f"{compiler} is not installed")
            continue
        command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, *include]
        for header in headers:
            tap.line(
                f"{header} alone, {compiler} -std={standard}",
                compile_faults([*command, "-fsyntax-only"], TWICE.format(header)),
            )
        if language == "c++":
            tap.line(f"functions have C names, {compiler}", linkage_faults(command))

    build = (public_api.HEADERS / "meson.build").read_text(encoding="utf-8")
    tap.line("every public header is installed", [header for header in headers if f"'{header}'" not in build])
    return tap.plan()


sys.exit(main())
