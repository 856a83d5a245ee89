"""Extends spool files for processes in a sandbox, which may not do so themselves (docs/spool.md, *Sandboxes*)."""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path

from warpline.recording.spool.file_layout import ALLOCATED_OFFSET, HEADER_BYTES, NEXT_OFFSET, PAGE

_STEP_BYTES = 4 << 20
"""A file gets so much at once, and so much is left for its process."""
_FREE_BYTES = 64 << 20
"""The disk keeps so much free: a process that writes to a mapped page that has no room ends by SIGBUS."""
_PERIOD_NS = 20_000_000
_LIMITS = struct.Struct("<QQ")
_U64 = struct.Struct("<Q")


class SandboxFiles:
    """The spool files in one directory whose processes are in a sandbox."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: set[str] = set()
        self._refused: set[str] = set()
        self._due = 0

    def extend(self, announced: int, now_ns: int) -> None:
        """Extend files that run out; ``announced`` is how many such files the control page counts."""
        if not announced or now_ns < self._due:
            return
        self._due = now_ns + _PERIOD_NS
        with contextlib.suppress(OSError):
            if announced > len(self._known) + len(self._refused):
                self._find()
            if self._known and not _has_room(self._directory):
                return
            for name in list(self._known):
                if not _extend(self._directory / name):
                    self._known.discard(name)
                    self._refused.add(name)

    def _find(self) -> None:
        for name in os.listdir(self._directory):
            if name.startswith("agent.") and name.endswith(".spool") and name not in self._refused:
                with contextlib.suppress(OSError):
                    descriptor = os.open(self._directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
                    try:
                        raw = os.pread(descriptor, _LIMITS.size, ALLOCATED_OFFSET)
                    finally:
                        os.close(descriptor)
                    if len(raw) == _LIMITS.size and _LIMITS.unpack(raw)[0]:
                        self._known.add(name)


def _has_room(directory: Path) -> bool:
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize >= _FREE_BYTES


def _extend(path: Path) -> bool:
    """Extend one file by a step if its process needs it. False if it never can be again, or is damaged."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        header = os.pread(descriptor, ALLOCATED_OFFSET + _LIMITS.size, 0)
        if len(header) < ALLOCATED_OFFSET + _LIMITS.size:
            return False
        (taken,) = _U64.unpack_from(header, NEXT_OFFSET)
        allocated, mapped = _LIMITS.unpack_from(header, ALLOCATED_OFFSET)
        # The program may have overwritten the file.
        if not HEADER_BYTES <= taken <= allocated <= os.fstat(descriptor).st_size or allocated % PAGE:
            return False
        if allocated - taken >= _STEP_BYTES:
            return True
        if allocated + _STEP_BYTES > mapped:
            return False
        os.posix_fallocate(descriptor, allocated, _STEP_BYTES)
        zeros = bytes(1 << 16)
        if all(
            os.pwrite(descriptor, zeros, at) == len(zeros)
            for at in range(allocated, allocated + _STEP_BYTES, len(zeros))
        ):
            os.pwrite(descriptor, _U64.pack(allocated + _STEP_BYTES), ALLOCATED_OFFSET)
        return True
    except OSError:
        return True  # a full disk may have room later
    finally:
        os.close(descriptor)
