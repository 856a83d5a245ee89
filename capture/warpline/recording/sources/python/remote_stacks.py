"""Reads the stacks of the Python threads of another process while it runs."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from warpline.recording.sources.python.remote_layout import RemoteLayout, find_layouts
from warpline.recording.sources.python.remote_memory import RemoteMemory

_FRAME_BYTES = 88
_THREAD_BYTES = 320
_MOST_FRAMES = 256
_MOST_THREADS = 4096
_POINTER = struct.Struct("<Q")
_NO_LOCATION, _LONG, _NO_COLUMNS, _ONE_LINE = 15, 14, 13, 10


@dataclass(frozen=True)
class RemoteCode:
    """A function: its name, file and first line, and its line table."""

    name: str
    file: str
    first_line: int
    instructions: int
    lines: bytes


Frame = tuple[RemoteCode, int]
"""A function and its current line (0: unknown)."""


class RemotePython:
    """The Python of one process."""

    def __init__(self, pid: int, layout: RemoteLayout, memory: RemoteMemory) -> None:
        self.pid = pid
        self._layout = layout
        self._memory = memory
        self._codes: dict[int, RemoteCode | None] = {}
        self._lines: dict[tuple[int, int], int] = {}

    def stacks(self) -> Iterator[tuple[int, list[Frame] | None]]:
        """Each thread's id and its frames, innermost first; None for a stack that changed while it was read."""
        memory, layout = self._memory, self._layout
        interpreter = memory.pointer(layout.runtime + layout.interpreters_head)
        thread = memory.pointer(interpreter + layout.threads_head) if interpreter else 0
        for _number in range(_MOST_THREADS):
            raw = memory.read(thread, _THREAD_BYTES) if thread else None
            if raw is None:
                return
            tid = _POINTER.unpack_from(raw, layout.thread_native_id)[0]
            if 0 < tid < 1 << 31:
                frames = self._frames(raw, thread)
                if frames is None or frames:
                    yield tid, frames
            thread = _POINTER.unpack_from(raw, layout.thread_next)[0]

    def _innermost(self, thread: bytes) -> int:
        layout = self._layout
        if layout.thread_frame:
            return int(_POINTER.unpack_from(thread, layout.thread_frame)[0])
        cframe = _POINTER.unpack_from(thread, layout.thread_cframe)[0]
        return self._memory.pointer(cframe + layout.cframe_frame) if cframe else 0

    def _frames(self, thread: bytes, address: int) -> list[Frame] | None:
        memory, layout = self._memory, self._layout
        frame = first = self._innermost(thread)
        head = b""
        codes: list[tuple[int, int]] = []
        for _depth in range(_MOST_FRAMES):
            if not frame:
                break
            raw = memory.read(frame, _FRAME_BYTES)
            if raw is None:
                return None
            head = head or raw
            if raw[layout.frame_owner] < 3:
                code = _POINTER.unpack_from(raw, layout.frame_code)[0] & ~7
                codes.append((code, _POINTER.unpack_from(raw, layout.frame_instruction)[0]))
            frame = _POINTER.unpack_from(raw, layout.frame_previous)[0]
        again = memory.read(address, _THREAD_BYTES) if first else thread
        if again is None or self._innermost(again) != first:
            return None
        if first and memory.read(first, _FRAME_BYTES) != head:
            return None
        frames = [self._frame(code, instruction) for code, instruction in codes]
        return None if None in frames else [frame for frame in frames if frame is not None]

    def _frame(self, address: int, instruction: int) -> Frame | None:
        if address not in self._codes:
            self._codes[address] = self._code(address)
        code = self._codes[address]
        if code is None:
            return None
        line = self._lines.get((address, instruction))
        if line is None:
            line = line_at(code.lines, code.first_line, instruction - code.instructions)
            self._lines[address, instruction] = line
        return code, line

    def _code(self, address: int) -> RemoteCode | None:
        memory, layout = self._memory, self._layout
        name = self._text(memory.pointer(address + layout.code_qualname))
        file = self._text(memory.pointer(address + layout.code_filename))
        first = memory.read(address + layout.code_first_line, 4)
        table = memory.pointer(address + layout.code_linetable)
        size = memory.pointer(table + layout.bytes_size) if table else 0
        lines = memory.read(table + layout.bytes_data, size) if 0 < size < 1 << 17 else b""
        if name is None or file is None or first is None:
            return None
        return RemoteCode(
            name, file, int.from_bytes(first, "little"), address + layout.code_instructions, lines or b""
        )

    def _text(self, address: int) -> str | None:
        memory, layout = self._memory, self._layout
        head = memory.read(address, 40) if address else None
        if head is None:
            return None
        length = _POINTER.unpack_from(head, layout.text_length)[0]
        state = int.from_bytes(head[layout.text_state : layout.text_state + 4], "little")
        kind, is_compact, is_ascii = state >> 2 & 7, state >> 5 & 1, state >> 6 & 1
        encoding = {1: "ascii" if is_ascii else "latin-1", 2: "utf-16-le", 4: "utf-32-le"}.get(kind)
        if not is_compact or encoding is None or not 0 < length <= 4096:
            return None
        raw = memory.read(address + (layout.text_ascii if is_ascii else layout.text_compact), length * kind)
        return None if raw is None else raw.decode(encoding, "replace")


def attach_python(pid: int) -> RemotePython | None:
    """The Python of a process, if its stacks can be read; otherwise None.

    A layout is accepted if it yields a thread whose functions have names and files. Raises Unavailable when the memory
    cannot be read.
    """
    memory = RemoteMemory(pid)
    for layout in find_layouts(memory):
        python = RemotePython(pid, layout, memory)
        for _attempt in range(3):
            if any(frames and all(code.file for code, _line in frames) for _tid, frames in python.stacks()):
                return python
    return None


def line_at(table: bytes, line: int, offset: int) -> int:
    """The line of the instruction at byte ``offset``, 0 if unknown.

    The table is that of CPython 3.11 and later (Objects/locations.md in its sources). Each entry begins with a byte
    that holds the code (bits 3-6) and the number of instructions minus one (bits 0-2), followed by numbers with 6
    bits per byte. Only the first byte of an entry has its top bit set.
    """
    position, place = 0, 0
    while place < len(table):
        head = table[place]
        place += 1
        code = head >> 3 & 15
        if code in {_LONG, _NO_COLUMNS}:
            value, shift = 0, 0
            while place < len(table):
                byte = table[place]
                place += 1
                value |= (byte & 63) << shift
                shift += 6
                if not byte & 64:
                    break
            line += -(value >> 1) if value & 1 else value >> 1
        elif _ONE_LINE <= code < _NO_COLUMNS:
            line += code - _ONE_LINE
        position += 2 * ((head & 7) + 1)
        if offset < position:
            return 0 if code == _NO_LOCATION else line
        while place < len(table) and not table[place] & 0x80:
            place += 1
    return 0
