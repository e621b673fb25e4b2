#!/usr/bin/env python3
"""Runs a command where some system calls fail, as in a container or on an old kernel.

usage: without_calls.py ERRNO COMMAND...    mbind, set_mempolicy, get_mempolicy and move_pages fail with ERRNO
       without_calls.py populate COMMAND... madvise(MADV_POPULATE_WRITE) fails with EINVAL
       without_calls.py thp COMMAND...      madvise(MADV_HUGEPAGE) does, as in a kernel built without THP

Exit code 77 with a reason where it can't be done here.
"""

import ctypes
import os
import platform
import struct
import sys

# AUDIT_ARCH_..., the four calls of memory policy, madvise
MACHINES = {
    "x86_64": (0xC000003E, (237, 238, 239, 279), 28),
    "aarch64": (0xC00000B7, (235, 237, 236, 239), 233),
}
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EINVAL = 22
# MADV_POPULATE_WRITE, MADV_HUGEPAGE
ADVICE = {"populate": 23, "thp": 14}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def skip(reason):
    print(reason, file=sys.stderr)
    sys.exit(77)


def load(offset):
    return (LOAD, 0, 0, offset)


def unless(value, steps):
    """Jumps over so many instructions where what was loaded isn't value."""
    return (JUMP_IF_EQUAL, 0, steps, value)


def program(words):
    arch, policy, madvise = MACHINES[platform.machine()]
    # Another architecture's numbers mean other calls: let them through.
    code = [load(4), (JUMP_IF_EQUAL, 1, 0, arch), (RETURN, 0, 0, ALLOW), load(0)]
    if words in ADVICE:
        # The third argument's low half, little-endian.
        code += [unless(madvise, 3), load(16 + 2 * 8), unless(ADVICE[words], 1), (RETURN, 0, 0, ERRNO | EINVAL)]
    else:
        for call in policy:
            code += [unless(call, 1), (RETURN, 0, 0, ERRNO | int(words))]
    return code + [(RETURN, 0, 0, ALLOW)]


def main():
    if platform.machine() not in MACHINES:
        skip(f"no numbers of system calls for {platform.machine()}")
    code = program(sys.argv[1])
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    fprog = ctypes.create_string_buffer(struct.pack("=H6xQ", len(code), ctypes.addressof(filters)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_void_p(ctypes.addressof(fprog)), 0, 0):
        skip(f"no system call filter here: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[2], sys.argv[2:])


main()
