#!/usr/bin/env python3
"""Every option that --help of a verb lists is defined in its manual page, and the other way round.

usage: check_options.py HUGECLEAR | --self-test
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "exports"))
import public_api  # noqa: E402

MAN = public_api.ROOT / "man"


def options_of_help(text):
    """The names at the beginnings of lines: "  -s, --size SIZE  bytes"."""
    found = set()
    for line in text.splitlines():
        match = re.match(r" +((?:-\w, )?--[\w-]+|-\w)(?= |$)", line)
        if match:
            found |= set(match.group(1).split(", "))
    return found


def options_of_page(text):
    """The names that head a paragraph: "*-s*, *--size* _SIZE_"."""
    found = set()
    for line in text.replace("\\", "").splitlines():
        if re.fullmatch(r"\*-[\w-]+\*(, \*-[\w-]+\*)*( _\w+_)?", line):
            found |= set(re.findall(r"\*(-[\w-]+)\*", line))
    return found


def names_of_help(text):
    """What "  bench      measures ..." lists."""
    return [match.group(1) for match in re.finditer(r"^  ([a-z]+) +\S", text, re.MULTILINE) if match.group(1) != "help"]


def faults(shown, page, elsewhere=frozenset()):
    """elsewhere: defined in a page for several, where they may stand instead."""
    return [f"--help lists it, the page doesn't: {name}" for name in sorted(shown - page - elsewhere)] + [
        f"the page has it, --help doesn't: {name}" for name in sorted(page - shown)]


def self_test():
    tap = public_api.Tap()
    shown = options_of_help("usage: x [OPTION]\n\n  -s, --size SIZE  bytes, as --page\n      --thp\n  -c  cycles\n  word  x\n")
    tap.line("options of a help are found", [] if shown == {"-s", "--size", "--thp", "-c"} else [repr(shown)])
    page = options_of_page("*-s*, *--size* _SIZE_\n\tas *--page*\n\n*--nr\\_loops* _N_\n*--thp* is given\n")
    tap.line("options of a page are found", [] if page == {"-s", "--size", "--nr_loops"} else [repr(page)])
    found = faults(shown, page, {"-c"})
    want = ["--help lists it, the page doesn't: --thp", "the page has it, --help doesn't: --nr_loops"]
    tap.line("faults are found", [] if found == want else found)
    return tap.plan()


def help_of(command, *words):
    code, out, err = public_api.run([command, *words, "--help"])
    if code != 0 or err:
        raise SystemExit(f"{' '.join(words)} --help: exit code {code}: {err}")
    return out


def page_of(*words):
    path = MAN / ("-".join(["hugeclear", *words]) + ".1.scd")
    return options_of_page(path.read_text(encoding="utf-8")) if path.exists() else None


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    command = arguments[0]
    tap = public_api.Tap()
    top = help_of(command)
    tap.line("hugeclear", faults(options_of_help(top), page_of()))
    for verb in names_of_help(top):
        if verb != "bench":
            tap.line(f"hugeclear {verb}", faults(options_of_help(help_of(command, verb)), page_of(verb)))
            continue
        # The page of all benches has what is common to them, and what those without a page of their own have.
        common, left = page_of(verb), page_of(verb)
        for bench in names_of_help(help_of(command, verb)):
            shown, page = options_of_help(help_of(command, verb, bench)), page_of(verb, bench)
            tap.line(f"hugeclear {verb} {bench}", faults(shown, page or set(), common))
            left -= shown
        tap.line("hugeclear bench", [f"the page has it, no bench does: {name}" for name in sorted(left)])
    return tap.plan()


sys.exit(main(sys.argv[1:]))
