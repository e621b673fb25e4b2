#!/usr/bin/env python3
"""What instructions the x86-64 objects of a build hold.

- Objects run on every x86-64 processor: nothing in them is beyond its baseline, but in the files of methods that
  need more (METHOD_FILES), and there only what the row names.
- Those are entered through their methods alone: no constructors, no symbol but the table's methods, nothing that
  the linker could take for a function of another file.
- Where a function stores past the cache, every way out of it leads through an sfence. Streaming stores, movdir64b
  and clzero are weakly ordered (Intel SDM volume 1, 10.4.6.2, and volume 2, MOVDIR64B; AMD APM volume 3, CLZERO):
  without the fence another thread sees a flag first and old bytes behind it.

usage: check_isa.py BUILD_ROOT          check; TAP on standard output
       check_isa.py --self-test CC      each planted fault has to be reported
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

FENCES = {"sfence", "mfence"}
STREAMING = re.compile(r"v?movnt(?!dqa$)\w+|v?maskmov(?:dqu|q)|movdir(?:64b|i)|clzero")
# Files of lib/clear and lib/arena that may hold more than the baseline, and what.
METHOD_FILES = {
    "x86_avx2.c": {"AVX"},
    "fill_x86_avx2.c": {"AVX"},
    "x86_avx512.c": {"AVX", "AVX-512"},
    "fill_x86_avx512.c": {"AVX", "AVX-512"},
    "x86_movdir64b.c": {"MOVDIR"},
    "x86_clzero.c": {"CLZERO"},
}
# The objects whose undefined symbols are the methods: the table, and who chooses how descriptors are filled.
METHOD_TABLES = ["methods_x86.c", "fill_x86.c"]
# Each has to be found in some object: a check that looks at nothing finds nothing. (Compilers differ in the type.)
STREAMING_KNOWN = ["movnti", "movnt(?:dq|ps|pd)", "vmovnt(?:dq|ps|pd)", "movdir64b", "clzero"]

# Classes of instructions beyond the baseline: by mnemonic, or by the registers. The first that fits.
BEYOND_BASELINE = [
    ("MOVDIR", re.compile(r"movdir64b|movdiri"), None),
    ("CLZERO", re.compile(r"clzero"), None),
    (
        "AVX-512",
        re.compile(
            r"k(?:mov|and|or|xor|not|shift|test|unpck|add|ortest|xnor)\w*[bwdq]"
            r"|vmovdq[au](?:8|16|32|64)|vp(?:x?or|andn?)[dq]|vpternlog[dq]"
        ),
        re.compile(r"%zmm|%[xy]mm(?:1[6-9]|2\d|3[01])|%k[0-7]\b"),
    ),
    # AVX by the v in front, which some system instructions have too.
    ("AVX", re.compile(r"v(?!err|erw|m[clpx]|mfunc|mread|mwrite|mresume|msave|mload|mrun)\w+"), re.compile(r"%ymm")),
    ("BMI", re.compile(r"mulx|pdep|pext|rorx|sarx|shlx|shrx|bzhi|andn|bextr|bls(?:i|r|msk)"), None),
    (
        "later than the baseline",
        re.compile(r"adcx|adox|movbe|crc32\w*|aes\w+|sha(?:1|256)\w+|pclmul\w+|popcnt\w*|lzcnt\w*|movntdqa"),
        None,
    ),
]
PREFIXES = {"lock", "rep", "repz", "repnz", "repe", "repne", "notrack", "bnd", "data16", "cs", "ds", "es", "addr32"}
SECTIONS_RUN_AT_START = re.compile(r"\.(?:init_array|preinit_array|ctors)\b")
# -m options that choose no instructions.
HARMLESS_OPTION = re.compile(r"-m(?:64|tune=.*|no-.*|cmodel=.*|fentry|branch-protection=.*)")


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


class Instruction:
    def __init__(self, address, mnemonic, operands):
        self.address, self.mnemonic, self.operands = address, mnemonic, operands
        # Set where objdump shows a direct target that no relocation will move.
        self.target = None
        found = re.match(r"([0-9a-f]+)\b", operands)
        if found and (mnemonic.startswith("j") or mnemonic.startswith("loop") or mnemonic.startswith("call")):
            self.target = int(found[1], 16)


def functions(path):
    """{name: [Instruction]} of an object."""
    found, body = {}, []
    for line in run(["objdump", "-dr", "--no-show-raw-insn", "-w", path]).splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            body = found.setdefault(head[1], [])
            continue
        relocation = re.match(r"\s+([0-9a-f]+):\s+(.*)", line)
        if not relocation:
            continue
        words = re.split(r"\t", relocation[2])
        # A relocation on a jump: its target is in another section or file.
        relocated = any(re.match(r"\s*[0-9a-f]*:?\s*R_X86_64", word) for word in words[1:])
        text = words[0].split("#")[0].split()
        while len(text) > 1 and (text[0] in PREFIXES or text[0].startswith("rex")):
            text = text[1:]
        if not text:
            continue
        instruction = Instruction(int(relocation[1], 16), text[0], " ".join(text[1:]))
        if relocated:
            instruction.target = None
        body.append(instruction)
    return found


def beyond_baseline(instruction):
    """The class of an instruction beyond the baseline, or None."""
    for kind, mnemonics, registers in BEYOND_BASELINE:
        if mnemonics.fullmatch(instruction.mnemonic) or (registers and registers.search(instruction.operands)):
            return kind
    return None


def baseline_faults(body, allowed=frozenset()):
    faults = []
    for instruction in body:
        kind = beyond_baseline(instruction)
        if kind and kind not in allowed:
            faults.append(f"{kind}: {instruction.mnemonic} {instruction.operands}")
    return faults


def successors(body):
    """For each instruction the indices of those that may follow it; None is the way out of the function."""
    index_at = {instruction.address: index for index, instruction in enumerate(body)}
    # Where an indirect jump may go: code that nothing falls into.
    ends = ("jmp", "ret", "ud2", "hlt")
    heads = [i for i in range(1, len(body)) if body[i - 1].mnemonic.startswith(ends)]

    following = []
    for index, instruction in enumerate(body):
        name = instruction.mnemonic
        after = [index + 1] if index + 1 < len(body) else [None]
        if name.startswith("ret"):
            following.append([None])
        elif name in ("ud2", "hlt"):
            following.append([])
        elif name.startswith(("j", "loop")):
            if instruction.target is not None:
                to = [index_at.get(instruction.target)]
            else:
                to = heads if instruction.operands.startswith("*") and heads else [None]
            following.append(to if name.startswith("jmp") else to + after)
        else:
            following.append(after)
    return following


def fence_faults(body):
    """Ways out of a function, as addresses, that a streaming store reaches without a fence."""
    following = successors(body)
    faults, seen = set(), set()
    waiting = [(i, i) for i, instruction in enumerate(body) if STREAMING.fullmatch(instruction.mnemonic)]
    while waiting:
        store, index = waiting.pop()
        for after in following[index]:
            if after is None:
                faults.add(f"{body[store].mnemonic} at {body[store].address:#x} reaches "
                           f"{body[index].mnemonic} at {body[index].address:#x} without a fence")  # fmt: skip
            elif body[after].mnemonic not in FENCES and after not in seen:
                seen.add(after)
                waiting.append((store, after))
    return sorted(faults)


def names(path, *options):
    """[(name, kind)] as nm tells."""
    lines = run(["nm", "--format=posix", *options, path]).splitlines()
    return [tuple(line.split()[:2]) for line in lines]


def entry_faults(path, methods):
    """What the object of a method shows to the linker besides the methods of the table."""
    faults = []
    if SECTIONS_RUN_AT_START.search(run(["objdump", "-h", path])):
        faults.append("has code that runs before the choice of a method (.init_array)")
    exported = 0
    for name, kind in names(path, "--defined-only"):
        if kind in "WwVvuCi":
            faults.append(f"{name} can stand for the same function of another file (weak, inline or common)")
        elif kind == "T" and name in methods:
            exported += 1
        elif kind.isupper() and kind not in "UA":
            faults.append(f"exports {name}, which the table of methods doesn't name")
    if not exported:
        faults.append("exports no method")
    return faults


class Tap:
    def __init__(self):
        self.count, self.failed = 0, 0

    def line(self, title, faults):
        self.count += 1
        self.failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.count} - {title}")
        for fault in faults:
            print(f"# {fault}")

    def plan(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def objects(build):
    """(path of the object, source file's name, instruction-set options) of all that lib/ and tool/ are made of now."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    for command in commands:
        path = build / command["output"]
        if command["output"].startswith(("lib/", "tool/")) and path.suffix == ".o":
            options = [word for word in command["command"].split() if re.match(r"-m\w", word)]
            source = pathlib.PurePath(command["file"]).name
            yield path, source, [option for option in options if not HARMLESS_OPTION.fullmatch(option)]


def check(build):
    tap, streaming = Tap(), set()
    found = list(objects(build))
    methods = {name for path, source, _ in found if source in METHOD_TABLES for name, _ in names(path, "-u")}
    for path, source, options in found:
        title = path.relative_to(build)
        code = functions(path)
        allowed = METHOD_FILES.get(source, set())
        faults = [f"{name}: {fault}" for name, body in code.items() for fault in baseline_faults(body, allowed)]
        faults += [f"is built with {option}" for option in options if not allowed or option.endswith("=native")]
        tap.line(f"{title} holds the baseline{''.join(' and ' + kind for kind in sorted(allowed))} alone", faults)
        if allowed:
            tap.line(f"{title} is entered through its methods alone", entry_faults(path, methods))
        for name, body in code.items():
            stores = {instruction.mnemonic for instruction in body if STREAMING.fullmatch(instruction.mnemonic)}
            if stores:
                streaming |= stores
                tap.line(f"{title} {name}: {', '.join(sorted(stores))} fenced", fence_faults(body))
    tap.line(
        "every streaming instruction was looked at",
        [f"no {known} in any object" for known in STREAMING_KNOWN if not any(re.fullmatch(known, n) for n in streaming)],
    )
    seen = {source for _, source, _ in found}
    tap.line(
        "every file of a method was looked at",
        [f"no object of {source}" for source in [*METHOD_FILES, *METHOD_TABLES] if source not in seen],
    )
    return tap.plan()


# Check, title, assembly, and what it has to report ("": nothing).
PLANTED = [
    ("fence", "a fence before the return", "movnti %rax,(%rdi)\nsfence\nret", ""),
    ("fence", "two ways out, both fenced", "1: movnti %rax,(%rdi)\ndec %rsi\njnz 1b\ntest %rdx,%rdx\njz 2f\nmov %rax,8(%rdi)\nsfence\nret\n2: mfence\nret", ""),
    ("fence", "a way out before the first store", "test %rsi,%rsi\njz 1f\nmovnti %rax,(%rdi)\nsfence\n1: ret", ""),
    ("fence", "a fence behind a call", "movnti %rax,(%rdi)\ncall memset@PLT\nsfence\nret", ""),
    ("fence", "a streaming load", "movntdqa (%rdi),%xmm0\nret", ""),
    ("fence", "no fence", "movnti %rax,(%rdi)\nret", "reaches ret"),
    ("fence", "no fence behind a short tail", "movntdq %xmm0,(%rdi)\ntest %rsi,%rsi\njz 1f\nsfence\n1: ret", "reaches ret"),
    ("fence", "a store behind the fence", "sfence\nmovntps %xmm0,(%rdi)\nret", "reaches ret"),
    ("fence", "a loop that is left from its middle", "1: movnti %rax,(%rdi)\ncmp %rsi,%rdi\nje 2f\njmp 1b\nsfence\n2: ret", "reaches ret"),
    ("fence", "a tail call", "movnti %rax,(%rdi)\njmp memset@PLT", "reaches jmp"),
    ("fence", "a conditional tail call", "movnti %rax,(%rdi)\njz memset@PLT\nsfence\nret", "reaches j"),
    ("fence", "a jump table", "movnti %rax,(%rdi)\njmp *%rdx\nsfence\nret\nmov %eax,%eax\nret", "reaches ret"),
    ("fence", "clzero without a fence", "clzero\nret", "reaches ret"),
    ("fence", "movdir64b without a fence", "movdir64b (%rsi),%rdi\nret", "reaches ret"),
    ("fence", "vmovntdq zmm without a fence", "vmovntdq %zmm0,(%rdi)\nret", "reaches ret"),
    ("fence", "a load fence alone", "movnti %rax,(%rdi)\nlfence\nret", "reaches ret"),
    ("baseline", "baseline code", "mov %rax,(%rdi)\nmovntdq %xmm1,(%rdi)\nrep stosb\ncpuid\nxgetbv\nsfence\nret", ""),
    ("baseline", "a ymm register", "vmovdqu %ymm0,(%rdi)\nret", "ymm"),
    ("baseline", "AVX with xmm registers", "vpxor %xmm0,%xmm0,%xmm0\nret", "vpxor"),
    ("baseline", "a zmm register", "vpxorq %zmm0,%zmm0,%zmm0\nret", "zmm"),
    ("baseline", "BMI2", "shlx %rax,%rbx,%rcx\nret", "shlx"),
    ("baseline", "movdir64b", "movdir64b (%rsi),%rdi\nret", "movdir64b"),
    ("baseline", "clzero", "clzero\nret", "clzero"),
    ("avx", "a ymm register where AVX is allowed", "vpxor %ymm0,%ymm0,%ymm0\nret", ""),
    ("avx", "a zmm register where AVX is allowed", "vpxorq %zmm0,%zmm0,%zmm0\nret", "AVX-512"),
    ("avx", "BMI2 where AVX is allowed", "bzhi %rax,%rbx,%rcx\nret", "BMI"),
    ("entry", "a method alone", "ret", ""),
    ("entry", "a constructor", "ret\n.section .init_array,\"aw\"\n.quad f", ".init_array"),
    ("entry", "another function", "ret\n.globl helper\nhelper: ret", "helper, which the table"),
    ("entry", "an inline function", "ret\n.weak helper\nhelper: ret", "helper can stand for"),
    ("entry", "data", "ret\n.data\n.globl table\ntable: .quad 0", "exports table, which the table"),
]  # fmt: skip


def self_test(cc):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "planted.s", pathlib.Path(folder) / "planted.o"
        for check_name, title, text, expected in PLANTED:
            method = "hc_method_planted"
            text = text.replace("quad f", f"quad {method}")
            source.write_text(f".text\n.globl {method}\n.type {method},@function\n{method}:\n{text}\n", encoding="utf-8")
            run([*cc, "-c", source, "-o", target])
            code = functions(target)
            if check_name == "entry":
                faults = entry_faults(target, {method})
            elif check_name == "fence":
                faults = [fault for body in code.values() for fault in fence_faults(body)]
            else:
                allowed = {"AVX"} if check_name == "avx" else set()
                faults = [fault for body in code.values() for fault in baseline_faults(body, allowed)]
            good = len(faults) >= 1 and expected in faults[0] if expected else not faults
            title = f"{title} {'is reported' if expected else 'passes'}"
            tap.line(title, [] if good else [f"expected: {expected or 'nothing'}; got: {faults}"])
    return tap.plan()


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "--self-test":
        return self_test(arguments[1:])
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 64
    return check(pathlib.Path(arguments[0]))


sys.exit(main(sys.argv[1:]))
