"""What include/hugeclear offers, and the TAP lines that the checks about it print."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "hugeclear"


def headers():
    """File names of the public headers."""
    return sorted(path.name for path in HEADERS.glob("*.h"))


def functions_in(text):
    """Names of the functions that a header's text declares with HC_API."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.MULTILINE)
    declared = re.findall(r"\bHC_API\b[^;{(]*?(\w+)\s*\(", text)
    if len(declared) != len(re.findall(r"\bHC_API\b", text)):
        raise SystemExit("an HC_API that is not followed by the declaration of a function")
    return declared


def functions():
    names = []
    for header in headers():
        names += functions_in((HEADERS / header).read_text(encoding="utf-8"))
    return sorted(names)


def run(command, text=None):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Tap:
    """Counts and prints test lines; plan() at the end gives the exit code."""

    def __init__(self):
        self.count, self.failed = 0, 0

    def line(self, title, faults):
        self.count += 1
        self.failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.count} - {title}")
        for fault in faults:
            for part in str(fault).splitlines():
                print(f"# {part}")

    def skip(self, title, reason):
        self.count += 1
        print(f"ok {self.count} - {title} # SKIP {reason}")

    def plan(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0
