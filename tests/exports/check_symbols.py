#!/usr/bin/env python3
"""The libraries export what the public headers declare, nothing less, nothing more.

usage: check_symbols.py SHARED_LIBRARY STATIC_LIBRARY
       check_symbols.py --self-test CC     a library with a planted fault of each kind has to be reported
"""

import pathlib
import re
import sys
import tempfile

import public_api

# The library can be embedded anywhere: the dynamic loader finds all it needs in libc.
NEEDED = re.compile(r"libc\.so\.6|ld-linux[-\w]*\.so\.\d")


def symbols(library, *options):
    code, out, err = public_api.run(["nm", *options, "--defined-only", "--format=posix", library])
    if code != 0:
        raise SystemExit(f"nm {library}: {err}")
    # "name[@@version] type value size"; a line of another form names a member of an archive.
    found = [line.split() for line in out.splitlines()]
    return {words[0].split("@")[0]: words[1] for words in found if len(words) >= 2 and len(words[1]) == 1}


def shared_faults(library, declared):
    exported = {name for name, kind in symbols(library, "-D").items() if kind != "A"}
    return [f"declared with HC_API, not exported: {name}" for name in sorted(set(declared) - exported)] + [
        f"exported, not declared with HC_API: {name}" for name in sorted(exported - set(declared))
    ]


def static_faults(library):
    return [
        f"global symbol without hc_ in front: {name}"
        for name in sorted(symbols(library, "-g"))
        if not name.startswith("hc_")
    ]


def needed_faults(library):
    code, out, err = public_api.run(["readelf", "-d", library])
    if code != 0:
        raise SystemExit(f"readelf {library}: {err}")
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", out)
    return [f"needs {name}" for name in names if not NEEDED.fullmatch(name)]


def self_test(cc):
    tap = public_api.Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def build(text, *options):
            library = folder / "planted.so"
            code, _, err = public_api.run([*cc, "-shared", "-fPIC", "-x", "c", "-", "-o", library, *options], text)
            if code != 0:
                raise SystemExit(err)
            return library

        whole = "void hc_a(void);\nvoid hc_a(void) {}\n"
        extra = whole + "int stray;\n"
        # Each row: title, what was found, what had to be found.
        tap.line("a library that fits passes", shared_faults(build(whole), ["hc_a"]))
        for title, found, expected in [
            ("a missing function", shared_faults(build(whole), ["hc_a", "hc_b"]), "not exported: hc_b"),
            ("a stray object", shared_faults(build(extra), ["hc_a"]), "not declared with HC_API: stray"),
            ("a name outside of the name space", static_faults(build(extra, "-nostdlib")), "hc_ in front: stray"),
            ("another library", needed_faults(build(whole, "-Wl,--no-as-needed", "-lm")), "needs libm.so.6"),
        ]:
            good = len(found) == 1 and expected in found[0]
            tap.line(f"{title} is reported", [] if good else [f"expected: {expected}; got: {found}"])

    text = "/* HC_API int no(void); */\n#define HC_API x\nHC_API const char *\nhc_yes(int (*f)(int));\n"
    found = public_api.functions_in(text)
    tap.line("declarations are read as a compiler does", [] if found == ["hc_yes"] else [found])
    return tap.plan()


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "--self-test":
        return self_test(arguments[1:])
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    shared, static = arguments
    tap = public_api.Tap()
    tap.line("the shared library exports what the headers declare", shared_faults(shared, public_api.functions()))
    tap.line("the shared library needs libc alone", needed_faults(shared))
    tap.line("every global symbol of the static library starts with hc_", static_faults(static))
    return tap.plan()


sys.exit(main(sys.argv[1:]))
