"""Finds the caller at each address, from the call frame information that compilers write.

As in the chapter *Call Frame Information* of DWARF 5 and *Exception Frames* of the Linux Standard Base.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.recording.symbols.elf import ElfFile

# DWARF register numbers. No compiler saves the x86-64 numbers on ARM, or the reverse.
_STACK_POINTER, _FRAME_POINTER, _RETURN_ADDRESS = 7, 6, 16
_ARM_STACK_POINTER, _ARM_FRAME_POINTER, _ARM_RETURN_ADDRESS = 31, 29, 30
_FRAME_POINTERS = (_FRAME_POINTER, _ARM_FRAME_POINTER)
_RETURN_ADDRESSES = (_RETURN_ADDRESS, _ARM_RETURN_ADDRESS)
_EXPRESSION, _NOBODY = -1, -2
_DATA_RELATIVE_32 = 0x3B
_U32, _I32 = struct.Struct("<I"), struct.Struct("<i")


@dataclass(frozen=True)
class FrameRule:
    """The frame's address is ``register`` + ``offset``; the return address is just below it.

    ``saved`` is the offset of the caller's saved frame pointer from the frame's address; None if it was not saved.
    """

    register: int
    offset: int
    saved: int | None

    @property
    def keeps_frame_pointer(self) -> bool:
        """Whether the frame pointer leads to the caller here."""
        if self.register in (_ARM_FRAME_POINTER, _ARM_STACK_POINTER):
            return self.saved is not None
        return self.register == _FRAME_POINTER and self.offset == 16 and self.saved == -16

    @property
    def is_by_stack_pointer(self) -> bool:
        """Whether the frame's address is relative to the stack pointer."""
        return self.register == _STACK_POINTER

    @property
    def is_by_frame_pointer(self) -> bool:
        """Whether the frame's address is relative to the frame pointer."""
        return self.register == _FRAME_POINTER

    @property
    def is_outermost(self) -> bool:
        """Whether the function has no caller: a thread starts with it."""
        return self.register == _NOBODY


class FrameRules:
    """The rules of one file. The file stays mapped."""

    def __init__(self, elf: ElfFile) -> None:
        """Raises OSError."""
        self._elf = elf
        self._data: bytes | mmap.mmap = b""
        self._starts: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._entries: npt.NDArray[np.int64] = np.empty(0, np.int64)
        if elf.frames is not None and elf.frame_index is not None:
            with Path(elf.path).open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._read_index()
        self.find = lru_cache(maxsize=1 << 16)(self._find)

    def _read_index(self) -> None:
        index = self._elf.frame_index
        assert index is not None
        raw = self._data[index.offset : index.offset + index.size]
        if len(raw) < 12 or raw[0] != 1 or raw[3] != _DATA_RELATIVE_32 or raw[2] != 3:
            return
        count = min(_U32.unpack_from(raw, 8)[0], (len(raw) - 12) // 8)
        pairs = np.frombuffer(raw, "<i4", 2 * count, 12).reshape(count, 2).astype(np.int64) + index.address
        self._starts, self._entries = pairs[:, 0], pairs[:, 1]

    def start_of(self, address: int) -> int | None:
        """The start of the function at an address, even if it has no name; None if unknown."""
        at = int(np.searchsorted(self._starts, address, "right")) - 1
        return int(self._starts[at]) if at >= 0 else None

    def _find(self, address: int) -> FrameRule | None:
        """The rule at an address; None if there is none."""
        at = int(np.searchsorted(self._starts, address, "right")) - 1
        if at < 0:
            return None
        try:
            return self._rule(int(self._entries[at]), address)
        except (IndexError, OverflowError, struct.error, ValueError):
            return None

    def _rule(self, entry: int, address: int) -> FrameRule | None:
        frames = self._elf.frames
        assert frames is not None
        at = frames.offset + entry - frames.address
        length, body = self._head(at)
        back = body
        body += 4
        common = _Common.read(self._data, back - _U32.unpack_from(self._data, back)[0])
        first, body = common.pointer(self._data, body, entry + body - at)
        size, body = common.pointer(self._data, body, 0, is_size=True)
        if not first <= address < first + size:
            return None
        if common.is_augmented:
            more, body = _unsigned(self._data, body)
            body += more
        machine = _Machine(common, address - first)
        machine.run(self._data, common.first, common.last, is_common=True)
        machine.initial = machine.state
        machine.run(self._data, body, back + length)
        return machine.rule()

    def _head(self, at: int) -> tuple[int, int]:
        """The length of an entry's body, and its start."""
        (length,) = _U32.unpack_from(self._data, at)
        if length in {0, 0xFFFF_FFFF}:
            raise ValueError("unsupported entry format")
        return length, at + 4


@dataclass(frozen=True, kw_only=True)
class _Common:
    """A common information entry (CIE), which several entries share."""

    code_step: int
    data_step: int
    encoding: int
    is_augmented: bool
    first: int
    last: int

    @staticmethod
    def read(data: bytes | mmap.mmap, at: int) -> _Common:
        (length,) = _U32.unpack_from(data, at)
        last = at + 4 + length
        version = data[at + 8]
        end = data.find(b"\0", at + 9)
        augmentation = bytes(data[at + 9 : end])
        body = end + (3 if version >= 4 else 1)
        code_step, body = _unsigned(data, body)
        data_step, body = _signed(data, body)
        _register, body = (data[body], body + 1) if version == 1 else _unsigned(data, body)
        encoding = 0
        if augmentation.startswith(b"z"):
            more, body = _unsigned(data, body)
            inner, body = body, body + more
            for letter in augmentation[1:]:
                if letter == ord("R"):
                    encoding, inner = data[inner], inner + 1
                elif letter == ord("L"):
                    inner += 1
                elif letter == ord("P"):
                    inner += 1 + {0: 8, 2: 2, 3: 4, 4: 8}.get(data[inner] & 7, 8)
        return _Common(
            code_step=code_step,
            data_step=data_step,
            encoding=encoding,
            is_augmented=augmentation.startswith(b"z"),
            first=body,
            last=last,
        )

    def pointer(
        self, data: bytes | mmap.mmap, at: int, own: int, *, is_size: bool = False
    ) -> tuple[int, int]:
        """A pointer of the entry, and the offset behind it; ``own`` is the pointer's own address."""
        form = self.encoding & 0x0F
        signed = form & 8 and not is_size
        size = {0: 8, 2: 2, 3: 4, 4: 8}.get(form & 7)
        if size is None:
            raise ValueError("unsupported pointer format")
        value = int.from_bytes(data[at : at + size], "little", signed=bool(signed))
        if not is_size and self.encoding & 0x70 == 0x10:
            value += own
        return value, at + size


class _Machine:
    """Runs the instructions of an entry up to an offset in its function."""

    def __init__(self, common: _Common, wanted: int) -> None:
        self._common, self._wanted = common, wanted
        self._at = 0
        # Register and offset of the frame's address, and offset of the saved frame pointer.
        self.state: tuple[int, int, int | None] = (_STACK_POINTER, 8, None)
        self.initial: tuple[int, int, int | None] = self.state
        self._kept: list[tuple[int, int, int | None]] = []

    def rule(self) -> FrameRule | None:
        register, offset, saved = self.state
        return None if register == _EXPRESSION else FrameRule(register, offset, saved)

    def run(self, data: bytes | mmap.mmap, at: int, end: int, *, is_common: bool = False) -> None:
        while at < end:
            code, at = data[at], at + 1
            step = 0
            if code >> 6 == 1:
                step = code & 63
            elif code in (2, 3, 4):
                width = 1 << (code - 2)
                step, at = int.from_bytes(data[at : at + width], "little"), at + width
            else:
                at = self._do(data, code, at)
                continue
            self._at += step * self._common.code_step
            if self._at > self._wanted and not is_common:
                return

    def _do(self, data: bytes | mmap.mmap, code: int, at: int) -> int:
        register, offset, saved = self.state
        low, high = code & 63, code >> 6
        if high == 2 or code in (0x05, 0x11):
            which, at = (low, at) if high == 2 else _unsigned(data, at)
            value, at = _signed(data, at) if code == 0x11 else _unsigned(data, at)
            if which in _FRAME_POINTERS:
                saved = value * self._common.data_step
        elif high == 3 or code in (0x06, 0x07, 0x08):
            which, at = (low, at) if high == 3 else _unsigned(data, at)
            if which in _FRAME_POINTERS:
                saved = self.initial[2] if code not in (0x07, 0x08) else None
            elif which in _RETURN_ADDRESSES and code == 0x07:
                register = _NOBODY
        elif code in (0x0C, 0x12):
            register, at = _unsigned(data, at)
            offset, at = self._offset(data, at, is_signed=code == 0x12)
        elif code == 0x0D:
            register, at = _unsigned(data, at)
        elif code in (0x0E, 0x13):
            offset, at = self._offset(data, at, is_signed=code == 0x13)
        elif code == 0x0A:
            self._kept.append(self.state)
        elif code == 0x0B and self._kept:
            register, offset, saved = self._kept.pop()
        elif code == 0x0F:
            register, at = _EXPRESSION, _after_block(data, at)
        elif code in (0x10, 0x16):
            which, at = _unsigned(data, at)
            at = _after_block(data, at)
            if which in _FRAME_POINTERS:
                register = _EXPRESSION
        elif code in (0x09, 0x14, 0x15):
            _which, at = _unsigned(data, at)
            _value, at = _unsigned(data, at)
        elif code == 0x2E:
            _value, at = _unsigned(data, at)
        elif code not in (0x00, 0x0B, 0x2D):
            raise ValueError(f"instruction {code:#x}")
        self.state = register, offset, saved
        return at

    def _offset(self, data: bytes | mmap.mmap, at: int, *, is_signed: bool) -> tuple[int, int]:
        if not is_signed:
            return _unsigned(data, at)
        value, at = _signed(data, at)
        return value * self._common.data_step, at


def _after_block(data: bytes | mmap.mmap, at: int) -> int:
    length, at = _unsigned(data, at)
    return at + length


def _unsigned(data: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    """A LEB128 number, and the offset behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _signed(data: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    first = at
    value, at = _unsigned(data, at)
    bits = 7 * (at - first)
    return (value - (1 << bits) if value >> (bits - 1) else value), at
