"""Detects programs that the agent cannot enter because the loader does not preload it there."""

from __future__ import annotations

import os
import platform
import struct

from warpline.recording.agent.records import Closed

_HEADER = 64
_MACHINES = {"x86_64": 62, "aarch64": 183}
_INTERPRETER = 3  # p_type PT_INTERP of elf(5)
_AT_HEADERS = struct.Struct("<Q")
_SIZES = struct.Struct("<HH")


def why_closed(pid: int) -> tuple[str, Closed] | None:
    """The program of a process, and why the agent cannot enter it; None if the process has ended."""
    link = f"/proc/{pid}/exe"
    try:
        path = os.readlink(link)
    except PermissionError:
        # The kernel hides the file of set-uid programs and of other users' programs.
        return _name(pid), Closed.NOT_OURS
    except OSError:
        return None
    return path, _by_file(link)


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def _by_file(path: str) -> Closed:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return Closed.OPEN
    try:
        head = os.pread(descriptor, _HEADER, 0)
        if len(head) < _HEADER or head[:4] != b"\x7fELF":
            return Closed.OPEN
        machine = int.from_bytes(head[18:20], "little")
        if head[4] != 2 or machine != _MACHINES.get(platform.machine(), machine):
            return Closed.OTHER_MACHINE
        (offset,) = _AT_HEADERS.unpack_from(head, 32)
        size, count = _SIZES.unpack_from(head, 54)
        table = os.pread(descriptor, min(size * count, 1 << 16), offset)
    except OSError:
        return Closed.OPEN
    finally:
        os.close(descriptor)
    types = [int.from_bytes(table[at : at + 4], "little") for at in range(0, len(table), max(size, 1))]
    return Closed.OPEN if not types or _INTERPRETER in types else Closed.STATIC
