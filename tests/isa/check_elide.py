#!/usr/bin/env python3
"""A clear that nobody reads afterwards stays, whoever compiles the library and however.

Builds lib/clear and elide.c with gcc and clang, at -O2 without and at -O3 with link-time optimisation (with
HC_EVERY_BUILD set also the other way round; the rest of the library is taken as it is), and runs what comes out. A plain memset() in its place has to be missed.

usage: check_elide.py BUILD_ROOT STATIC_LIBRARY
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KEPT_OPTIONS = ("-I", "-D", "-m", "-std=", "-pthread", "-fvisibility=", "-fno-common")
# Seconds for one compiler run or one run of the program: far above what they take.
LIMIT = 120


def run(command, folder):
    """What was printed where the command failed, else None."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    return None if done.returncode == 0 else f"{done.stdout}exit code {done.returncode}: {shlex.join(map(str, command))}"


def sources(build):
    """(file, options) of lib/clear and of elide.c, as paths from the build's folder."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    found, includes = [], []
    for command in commands:
        file = (build / command["file"]).resolve()
        if command["output"].startswith("lib/") and file.parent.parts[-2:] == ("lib", "clear"):
            options = [word for word in shlex.split(command["command"]) if word.startswith(KEPT_OPTIONS)]
            found.append((file, options))
            includes = [word for word in options if word.startswith("-I")]
    return [*found, (HERE / "elide.c", ["-std=gnu17", "-D_GNU_SOURCE", *includes])]


def build_and_run(build, library, compiler, options, link_options, pool):
    """What went wrong, or None."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compiling, objects = [], []
        for file, own_options in sources(build):
            objects.append(folder / (file.stem + ".o"))
            command = [compiler, *own_options, *options, "-c", file, "-o", objects[-1]]
            compiling.append(pool.submit(run, command, build))
        wrong = [job.result() for job in compiling if job.result()]
        if wrong:
            return wrong[0]
        program = folder / "elide"
        return run([compiler, *options, *link_options, *objects, library, "-pthread", "-o", program], build) or run(
            [program], build
        )


# The options that each needs to link with link-time optimisation: clang's objects want one that reads them.
COMPILERS = {"gcc": [], "clang": ["-fuse-ld=lld"]}


def cases():
    """(title, compiler, options, options for the linker, whether a fault is planted)"""
    for compiler, linker in COMPILERS.items():
        for level in ("-O2", "-O3"):
            for lto in (False, True):
                # The weakest and the strongest optimiser of each; those between are for the long tier.
                if lto == (level == "-O3") or os.environ.get("HC_EVERY_BUILD"):
                    yield (f"{compiler} {level}{' -flto' if lto else ''}", compiler, [level, *(["-flto"] if lto else [])],
                           linker if lto else [], False)
        yield f"{compiler}: a memset() that goes is seen", compiler, ["-O2", "-DPLANTED"], [], True


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    build, library = (pathlib.Path(argument).resolve() for argument in arguments)
    count, failed = 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for title, compiler, options, linker, planted in cases():
            count += 1
            missing = [tool for tool in [compiler, *(["ld.lld"] if linker else [])] if not shutil.which(tool)]
            if missing:
                print(f"ok {count} - {title} # SKIP {missing[0]} is not installed")
                continue
            wrong = build_and_run(build, library, compiler, options, linker, pool)
            good = wrong is not None and "hc_clear : what was on the heap" in wrong if planted else wrong is None
            print(f"{'ok' if good else 'not ok'} {count} - {title}", flush=True)
            if not good:
                print("".join(f"# {line}\n" for line in (wrong or "nothing was seen").splitlines()), end="")
            failed += not good
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
