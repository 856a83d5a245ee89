"""Extends spool files for processes in a sandbox, which may not do so themselves (docs/spool.md, *Sandboxes*)."""

from __future__ import annotations

import contextlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from warpline.recording.spool.file_layout import (
    ALLOCATED_OFFSET,
    FINISHED_OFFSET,
    HEADER_BYTES,
    NEXT_OFFSET,
    PAGE,
)
from warpline.recording.spool.limits import has_no_writer

_STEP_BYTES = 4 << 20
"""A file is extended by this much at a time; a file being filled has at least this much left."""
_LEAST_BYTES = 512 << 10
"""Every file has at least this much left. A process begins with twice as much (spool.c)."""
_FREE_BYTES = 64 << 20
"""This much of the disk stays free: writing to a mapped page without disk space ends a process by SIGBUS."""
_PERIOD_NS = 20_000_000
_WRITER_PERIOD_NS = 1_000_000_000
_LIMITS = struct.Struct("<QQ")
_U64 = struct.Struct("<Q")


@dataclass
class _File:
    """A file whose processes are in a sandbox, as it was at the last look."""

    taken: int = 0
    due_ns: int = 0
    writer_due_ns: int = 0
    """When to check whether a process still has it mapped."""


class SandboxFiles:
    """The spool files in one directory whose processes are in a sandbox."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, _File] = {}
        self._left: set[str] = set()
        """Files that need no more looks: their processes have ended, they are full, or they are damaged."""
        self._due = 0

    @property
    def names(self) -> list[str]:
        """The files that are looked at."""
        return list(self._known)

    def extend(self, announced: int, now_ns: int) -> None:
        """Extend files that run out; ``announced`` is how many such files the control page counts."""
        if not announced or now_ns < self._due:
            return
        self._due = now_ns + _PERIOD_NS
        with contextlib.suppress(OSError):
            if announced > len(self._known) + len(self._left):
                self._find(now_ns)
            if self._known and not _has_room(self._directory):
                return
            for name, file in list(self._known.items()):
                if now_ns >= file.due_ns and not _look(self._directory / name, file, now_ns):
                    del self._known[name]
                    self._left.add(name)

    def _find(self, now_ns: int) -> None:
        for name in os.listdir(self._directory):
            is_new = name not in self._left and name not in self._known
            if is_new and name.startswith("agent.") and name.endswith(".spool"):
                with contextlib.suppress(OSError):
                    descriptor = os.open(self._directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
                    try:
                        raw = os.pread(descriptor, _LIMITS.size, ALLOCATED_OFFSET)
                    finally:
                        os.close(descriptor)
                    if len(raw) == _LIMITS.size and all(_LIMITS.unpack(raw)):
                        self._known[name] = _File(writer_due_ns=now_ns + _WRITER_PERIOD_NS)


def _has_room(directory: Path) -> bool:
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize >= _FREE_BYTES


def _look(path: Path, file: _File, now_ns: int) -> bool:
    """Extend one file by a step if its processes need it. False if they never will again, or it is damaged."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        header = os.pread(descriptor, HEADER_BYTES, 0)
        if len(header) < HEADER_BYTES:
            return False
        (taken,) = _U64.unpack_from(header, NEXT_OFFSET)
        allocated, mapped = _LIMITS.unpack_from(header, ALLOCATED_OFFSET)
        # The program may have overwritten the file.
        if not HEADER_BYTES <= taken <= allocated <= os.fstat(descriptor).st_size or allocated % PAGE:
            return False
        is_in_use, file.taken = file.taken not in {0, taken}, taken
        if allocated - taken < (_STEP_BYTES if is_in_use else _LEAST_BYTES):
            return _extend(descriptor, allocated, mapped)
    except OSError:
        return True  # a full disk may have room later
    finally:
        os.close(descriptor)
    if not is_in_use and now_ns >= file.writer_due_ns:
        file.writer_due_ns = now_ns + _WRITER_PERIOD_NS
        # Children that were forked in the sandbox may outlive the process that has finished the file.
        is_finished = header[FINISHED_OFFSET : FINISHED_OFFSET + 4] != bytes(4)
        file.due_ns = file.writer_due_ns if is_finished else 0
        return not has_no_writer(path)
    return True


def _extend(descriptor: int, allocated: int, mapped: int) -> bool:
    """Allocate and zero one more step. False if the file is full. Raises OSError."""
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
