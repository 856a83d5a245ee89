"""Reads a Chrome JSON trace piece by piece, in bounded memory whatever its size and damage.

A trace is an array of events, or an object with that array under ``traceEvents``. Real files may be truncated, lack the
closing bracket, or contain ``NaN``, trailing commas or invalid UTF-8. They are read as far as possible, and losses are
counted.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from warpline.i18n import english, tr
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, Readable, unpacked
from warpline.interchange.trace_json.json_repair import (
    EVENT_BORDER,
    mend,
    scan_events,
    until_damaged,
    value_end,
)
from warpline.interchange.trace_json.scanner import Scan, Scanner
from warpline.model import ImportFormatError

MAX_VALUE_BYTES = 64 << 20
"""The largest member of the outer object to keep."""
MAX_EVENT_BYTES = 16 << 20
"""The longest event; anything longer counts as damage."""

_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_BORDER_WINDOW = 1 << 16
_SHORT = 1 << 12
"""Bytes for the decoder where the scanner stops; each time in a row, four times as many."""
_ARRAY_OF_OBJECTS_ENDS = re.compile(rb"\}\s*\]")


@dataclass
class StreamState:
    """Facts about the file besides its events; complete after the last piece."""

    header: dict[str, Any] = field(default_factory=dict)
    """The other members of the outer object, decoded."""
    truncated: str = ""
    """Why the file seems incomplete, empty if it does not."""
    damaged: int = 0
    """Pieces that are not JSON, counted while splitting; decoding may find more."""
    bytes_read: int = 0


class EventStream:
    """The events of a file as parts, each with whole events. `state` holds everything else. Iterate once.

    With a ``scanner``, a part is a `Scan`, valid until the next but one is taken. Without one, or where it stops, a
    part is the text of an array that may hold damaged events. About ``chunk_bytes`` of text are read at a time.
    Iterating raises ImportFormatError when the file holds no array of events.
    """

    def __init__(self, path: Path, chunk_bytes: int, scanner: Scanner | None = None) -> None:
        self.path = path
        self.state = StreamState()
        self._scanner = scanner
        self._position = 0
        self._chunk_bytes = chunk_bytes
        self._buffer = b""
        self._at_end = False
        self._stream: Readable | None = None
        self._raw: BinaryIO | None = None

    def __iter__(self) -> Iterator[bytes | Scan]:
        try:
            raw = self.path.open("rb")
        except OSError as error:
            raise ImportFormatError(f"{self.path}: {error.strerror or error}") from error
        with raw:
            self._raw = raw
            self._stream = unpacked(raw, self.path)
            self._fill()
            self._buffer = self._buffer.removeprefix(_BOM)
            self._skip(_SPACE)
            first = self._buffer[:1]
            self._buffer = self._buffer[1:]
            if first == b"[":
                yield from self._events()
            elif first == b"{":
                yield from self._object()
            else:
                raise ImportFormatError(tr("{path} is neither a JSON array nor an object", path=self.path))

    def position(self) -> int:
        """Bytes of the file (packed, as on disk) used so far. Safe to call from any thread."""
        return self._position

    # bytes

    def _fill(self) -> bool:
        """Append one chunk to the buffer; False at the end of the file."""
        if self._at_end or self._stream is None:
            return False
        room = bytearray(self._chunk_bytes)
        count = self._read(memoryview(room))
        self._buffer += memoryview(room)[:count]
        return count > 0

    def _read(self, room: memoryview) -> int:
        """Read on into memory; returns 0 at the end of the file."""
        count = 0
        if self._stream is not None and not self._at_end:
            try:
                count = self._stream.readinto(room) or 0
            except UNPACKING_ERRORS as error:
                self._cut(english("the compressed data is damaged or ends early ({error})", error=error))
        self._at_end = not count
        self.state.bytes_read += count
        if self._raw is not None:
            self._position = self._raw.tell()
        return count

    def _skip(self, characters: bytes) -> None:
        while True:
            self._buffer = self._buffer.lstrip(characters)
            if self._buffer or not self._fill():
                return

    def _cut(self, reason: str) -> None:
        self.state.truncated = self.state.truncated or reason

    # the outer object

    def _object(self) -> Iterator[bytes | Scan]:
        has_events = False
        while True:
            self._skip(_SPACE + b",")
            if self._buffer[:1] == b"}":
                self._buffer = self._buffer[1:]
                self._skip(_SPACE)
                if self._buffer:
                    self._cut(english("there is more text after the end of the trace"))
                break
            key = self._value() if self._buffer[:1] == b'"' else None
            self._skip(_SPACE)
            if not isinstance(key, str) or self._buffer[:1] != b":":
                self._cut(english("it ends early, or is damaged, outside the list of events"))
                break
            self._buffer = self._buffer[1:]
            self._skip(_SPACE)
            if key == "traceEvents" and self._buffer[:1] == b"[":
                has_events = True
                self._buffer = self._buffer[1:]
                yield from self._events()
            else:
                self.state.header[key] = self._value()
        if not has_events:
            reason = self.state.truncated
            raise ImportFormatError(
                tr("{path} has no list of events (traceEvents)", path=self.path)
                + (f"; {reason}" if reason else "")
            )

    def _value(self) -> Any:
        """Take a JSON value off the front of the buffer; None when it is too large, truncated or damaged."""
        size = 1 << 12
        while True:
            end = value_end(self._buffer[:size])
            if end is not None:
                text, self._buffer = self._buffer[:end], self._buffer[end:]
                return _decoded(text)
            if size < len(self._buffer):
                size *= 4
            elif len(self._buffer) > MAX_VALUE_BYTES or not self._fill():
                self._cut(english("a value outside the list of events is truncated or too large"))
                self._buffer = b""
                self._at_end = True
                return None

    # the array of events

    def _events(self) -> Iterator[bytes | Scan]:
        """Yields the array in parts, from its opening bracket on; then the buffer starts after the closing one."""
        wanted = self._chunk_bytes
        reach = _SHORT
        while True:
            if self._scanner is None:
                while len(self._buffer) < wanted and self._fill():
                    pass
            else:
                part = self._scan(self._scanner, wanted)
                if part is not None:
                    yield part
                    self._buffer = bytes(part.text[part.stop :])
                    if part.ended:
                        return
                    reach = _SHORT if part.stop > reach else reach
                    continue
                if border := self._unscannable(reach):
                    yield self._take(border)
                    reach = min(4 * reach, self._chunk_bytes)
                    continue
            if not self._at_end and (border := self._border()):
                yield self._take(border)
                continue
            self._buffer = self._buffer.lstrip(_SPACE)
            scan = scan_events(self._buffer)
            damaged = scan.broken or len(until_damaged(scan.pieces)) < len(scan.pieces)
            if damaged and (border := self._probable_border()):
                # Do not trust the end of the array either.
                yield self._take(border)
                continue
            if scan.pieces:
                yield b"[" + b",".join(scan.pieces) + b"]"
            self._buffer = self._buffer[scan.used :]
            if scan.ended:
                return
            if self._at_end:
                yield from self._rest()
                return
            wanted = self._chunk_bytes if scan.pieces else max(self._chunk_bytes, 2 * len(self._buffer))
            if wanted > MAX_EVENT_BYTES:
                # A surplus quotation mark hides every exact border, so use a probable one.
                wanted = self._chunk_bytes
                if border := self._probable_border():
                    yield self._take(border)
                else:
                    self.state.damaged += 1
                    self._buffer = b""

    def _scan(self, scanner: Scanner, wanted: int) -> Scan | None:
        """The next events; without any, the buffer holds everything that was read.

        Reads straight into the scanner's memory, because a copy would cost as much as reading.
        """
        size, filled = max(wanted, len(self._buffer)), len(self._buffer)
        room = scanner.memory(size)
        room[:filled] = self._buffer
        while filled < size and (count := self._read(room[filled:])):
            filled += count
        part = scanner.scan_memory(filled)
        if part is None:
            self._buffer = bytes(room[:filled])
        return part

    def _take(self, border: int) -> bytes:
        piece = b"[" + self._buffer[:border] + b"]"
        self._buffer = self._buffer[border:].lstrip(_SPACE + b",")
        return piece

    def _unscannable(self, reach: int) -> int:
        """Index after the first events, which the scanner refuses; 0 when only a full scan can tell."""
        front = self._buffer[:reach]
        exact = scan_events(front)
        clean = not exact.ended and not exact.broken
        if exact.pieces and clean and len(until_damaged(exact.pieces)) == len(exact.pieces):
            return len(front[: exact.used].rstrip(_SPACE + b","))
        return self._probable_border(reach)

    def _probable_border(self, reach: int = sys.maxsize) -> int:
        """Index after the last probable event in the first ``reach`` bytes of the buffer; 0 for none."""
        guess = 0
        for match in EVENT_BORDER.finditer(self._buffer, 0, reach):
            guess = match.start() + 1
        return guess

    def _border(self) -> int:
        """Index after the last event in the buffer, 0 when only a full scan can tell.

        A probable border is a real one if the brackets before it balance and no array of objects ends before it.
        """
        start = max(0, len(self._buffer) - _BORDER_WINDOW)
        border = 0
        for match in EVENT_BORDER.finditer(self._buffer, start):
            border = match.start() + 1
        if not border:
            return 0
        # A border inside an event leaves a brace and a bracket open. Brackets in strings count too, so only a string
        # that closes both kinds without opening them could hide such a border.
        for opening, closing in ((b"[", b"]"), (b"{", b"}")):
            if self._buffer.count(opening, 0, border) != self._buffer.count(closing, 0, border):
                return 0
        return 0 if _ARRAY_OF_OBJECTS_ENDS.search(self._buffer, 0, border) else border

    def _rest(self) -> Iterator[bytes]:
        """The last events of a file without a closing bracket, which is optional in the format."""
        rest = self._buffer.strip(_SPACE + b",")
        self._buffer = b""
        if not rest:
            self._cut(english("the list of events is not closed"))
            return
        if mend(rest) is not None:
            self._cut(english("the list of events is not closed"))
            yield b"[" + rest + b"]"
            return
        self._cut(english("it ends inside an event"))
        borders = [match.start() + 1 for match in EVENT_BORDER.finditer(rest)]
        if borders:
            yield b"[" + rest[: borders[-1]] + b"]"
        else:
            self.state.damaged += 1


def _decoded(text: bytes) -> Any:
    """A value outside the events; None when it is not JSON."""
    mended = mend(text)
    try:
        return None if mended is None else msgspec.json.decode(mended)
    except msgspec.MsgspecError:
        # It contains a number beyond the range of floats.
        return json.loads(mended or b"null", parse_int=_number, parse_float=_number)


def _number(text: str) -> float | None:
    value = float(text)
    return (
        (int(text) if text.lstrip("-").isdecimal() and abs(value) < 1e18 else value)
        if math.isfinite(value)
        else None
    )
