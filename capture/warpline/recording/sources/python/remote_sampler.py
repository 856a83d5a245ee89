"""Samples the Python stacks of a running program from outside."""

from __future__ import annotations

import os
import struct
import time

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording import proc_files
from warpline.recording.agent.records import PYTHON_CODE, PYTHON_SAMPLE, PYTHON_STACK
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.python.remote_stacks import Frame, RemoteCode, RemotePython, attach_python
from warpline.recording.unavailable import Unavailable

PERIOD_NS = 10_000_000
DISCOVERY_PERIOD_NS = 500_000_000
_MOST_LOOKS = 3
_CODE = struct.Struct("<IIIi")
_STACK = struct.Struct("<IIIi")
_SAMPLE = struct.Struct("<QII")


class RemoteSampler(Collector):
    """Samples the Python processes of a tree. In the spool's chunks ``free`` is the process id."""

    def __init__(self, watched: Watched) -> None:
        """Raises Unavailable when memory cannot be read, or no process runs a supported Python."""
        self._root = watched.root_pid
        self._pythons: dict[int, RemotePython] = {}
        self._looked_at: dict[int, int] = {}
        self._find()
        if not self._pythons:
            raise Unavailable(
                english("no Python 3.11 to 3.15 in the program whose stacks can be read from outside")
            )
        self.writer = watched.writer("python")
        self._codes: dict[RemoteCode, int] = {}
        self._stacks: dict[tuple[int, int, int], int] = {}
        self._moved = 0
        self._paused = watched.starts_paused
        self._due = self._find_due = 0

    @property
    def period_ns(self) -> int:
        return PERIOD_NS

    def begin(self, *, paused: bool) -> None:
        self._paused = paused

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False

    def tick(self) -> None:
        """Sample every thread if a sample is due."""
        now = time.monotonic_ns()
        if self._paused or now < self._due:
            return
        self._due = max(self._due + PERIOD_NS, now)
        if now >= self._find_due:
            self._find_due = now + DISCOVERY_PERIOD_NS
            self._find()
        for pid, python in list(self._pythons.items()):
            if not os.path.exists(f"/proc/{pid}"):
                del self._pythons[pid]
                continue
            for tid, frames in python.stacks():
                self._write(pid, tid, frames)

    def close(self) -> None:
        self.writer.close()

    def report(self) -> Source:
        """The state of the source; stacks that changed while they were read count as lost."""
        return Source("python", True, self.writer.trouble, self.writer.lost + self._moved)

    def _find(self) -> None:
        """Find Python in new processes; a process that is just starting is checked again."""
        pids = {self._root}
        while fresh := proc_files.children(pids) - {os.getpid()}:
            pids |= fresh
        for pid in pids - self._pythons.keys():
            looks = self._looked_at[pid] = self._looked_at.get(pid, 0) + 1
            if looks > _MOST_LOOKS:
                continue
            try:
                python = attach_python(pid)
            except Unavailable:
                if pid == self._root:
                    raise
                continue
            if python is not None:
                self._pythons[pid] = python

    def _write(self, pid: int, tid: int, frames: list[Frame] | None) -> None:
        if frames is None:
            self._moved += 1
            return
        stack = 0
        for code, line in reversed(frames):
            stack = self._stack(stack, self._code(code), line)
        packed = _SAMPLE.pack(time.monotonic_ns(), tid, stack)
        self.writer.append_packed(PYTHON_SAMPLE, packed, free=pid)
        self.events += 1

    def _code(self, code: RemoteCode) -> int:
        number = self._codes.get(code)
        if number is None:
            number = self._codes[code] = len(self._codes) + 1
            name, file = self.writer.string(code.name), self.writer.string(code.file)
            self.writer.append_packed(PYTHON_CODE, _CODE.pack(number, name, file, code.first_line))
        return number

    def _stack(self, parent: int, code: int, line: int) -> int:
        key = parent, code, line
        number = self._stacks.get(key)
        if number is None:
            number = self._stacks[key] = len(self._stacks) + 1
            self.writer.append_packed(PYTHON_STACK, _STACK.pack(number, parent, code, line))
        return number
