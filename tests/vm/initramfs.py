"""An initramfs: a cpio archive of the format that the kernel unpacks (Documentation/driver-api/early-userspace)."""

import os
import re
import stat
import subprocess


class Archive:
    def __init__(self):
        self.parts, self.folders, self.inode = [], set(), 0

    def _entry(self, name, mode, content=b""):
        self.inode += 1
        path = name.encode() + b"\0"
        fields = [self.inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        for part in (head, content):
            self.parts.append(part + b"\0" * (-len(part) % 4))

    def folder(self, name):
        if name and name not in self.folders:
            self.folder(os.path.dirname(name))
            self.folders.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, source, name):
        name = name.lstrip("/")
        self.folder(os.path.dirname(name))
        with open(source, "rb") as file:
            self._entry(name, stat.S_IFREG | 0o755, file.read())

    def program(self, source, name):
        """With the shared libraries that it names, where it looks for them."""
        self.file(source, name)
        listed = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
        for library in sorted(set(re.findall(r"(/\S+)", listed)) - self.folders):
            if os.path.isfile(library):
                self.folders.add(library)
                self.file(os.path.realpath(library), library)

    def bytes(self):
        self._entry("TRAILER!!!", 0)
        return b"".join(self.parts)
