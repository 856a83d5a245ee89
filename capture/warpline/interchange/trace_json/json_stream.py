"""Read a trace in the Chrome JSON format piece by piece: bounded memory, whatever the size and the damage.

A trace is either an array of events or an object with the array under ``traceEvents`` and anything else around it.
Real files also end in the middle, miss the closing bracket, contain ``NaN`` and trailing commas, or bytes that are
not UTF-8; all of that is read as far as it goes and counted.
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
"""The largest member of the outer object that is kept."""
MAX_EVENT_BYTES = 16 << 20
"""The farthest an event may reach; what is longer is taken for damage."""

_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_BORDER_WINDOW = 1 << 16
_SHORT = 1 << 12
"""How much the decoder gets where the scanner cannot go on; four times as much each time in a row."""
_ARRAY_OF_OBJECTS_ENDS = re.compile(rb"\}\s*\]")


@dataclass
class StreamState:
    """What is known of the file besides its events; complete once all pieces have been taken."""

    header: dict[str, Any] = field(default_factory=dict)
    """The other members of the outer object, decoded."""
    truncated: str = ""
    """Why the file is taken to end early, empty when it does not."""
    damaged: int = 0
    """Pieces that are no JSON, counted while splitting; decoding may find more."""
    bytes_read: int = 0


class EventStream:
    """The events of one file as parts, each with whole events; :attr:`state` tells the rest.

    With a ``scanner``, a part is a `Scan`, valid until the next but one is taken. Without, or where it cannot go on, it
    is the text of an array, which may hold damaged events: the decoder saves what it can of it. About ``chunk_bytes``
    of text are looked at in one go. Iterate once; iterating raises ImportFormatError when the file
    holds no array of events at all.
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
                raise ImportFormatError(tr("{path}: neither a JSON array nor an object", path=self.path))

    def position(self) -> int:
        """How many bytes of the file, as it lies on the disk, have been used so far. Any thread may ask."""
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
        """Put what follows in the file into memory; 0 at the end of the file."""
        count = 0
        if self._stream is not None and not self._at_end:
            try:
                count = self._stream.readinto(room) or 0
            except UNPACKING_ERRORS as error:
                self._cut(english("the compressed file is damaged or ends early ({error})", error=error))
        self._at_end = not count
        self.state.bytes_read += count
        if self._raw is not None:
            self._position = self._raw.tell()
        return count

    def _skip(self, what: bytes) -> None:
        while True:
            self._buffer = self._buffer.lstrip(what)
            if self._buffer or not self._fill():
                return

    def _cut(self, reason: str) -> None:
        self.state.truncated = self.state.truncated or reason

    # the outer object

    def _object(self) -> Iterator[bytes | Scan]:
        found = False
        while True:
            self._skip(_SPACE + b",")
            if self._buffer[:1] == b"}":
                self._buffer = self._buffer[1:]
                self._skip(_SPACE)
                if self._buffer:
                    self._cut(english("there is more behind the end of the list of events"))
                break
            key = self._value() if self._buffer[:1] == b'"' else None
            self._skip(_SPACE)
            if not isinstance(key, str) or self._buffer[:1] != b":":
                self._cut(english("the file ends early, or is damaged, outside the list of events"))
                break
            self._buffer = self._buffer[1:]
            self._skip(_SPACE)
            if key == "traceEvents" and self._buffer[:1] == b"[":
                found = True
                self._buffer = self._buffer[1:]
                yield from self._events()
            else:
                self.state.header[key] = self._value()
        if not found:
            reason = self.state.truncated
            raise ImportFormatError(
                tr("{path}: no list of events (traceEvents) in it", path=self.path)
                + (f"; {reason}" if reason else "")
            )

    def _value(self) -> Any:
        """Take one JSON value off the front of the buffer; None when it is too large, cut or damaged."""
        size = 1 << 12
        while True:
            end = value_end(self._buffer[:size])
            if end is not None:
                text, self._buffer = self._buffer[:end], self._buffer[end:]
                return _decoded(text)
            if size < len(self._buffer):
                size *= 4
            elif len(self._buffer) > MAX_VALUE_BYTES or not self._fill():
                self._cut(english("a value outside the list of events is cut or too large"))
                self._buffer = b""
                self._at_end = True
                return None

    # the array of events

    def _events(self) -> Iterator[bytes | Scan]:
        """Parts of the array whose opening bracket has been taken; leaves the buffer behind its closing one."""
        wanted = self._chunk_bytes
        reach = _SHORT
        while True:
            if self._scanner is None:
                while len(self._buffer) < wanted and self._fill():
                    pass
            else:
                found = self._scan(self._scanner, wanted)
                if found is not None:
                    yield found
                    self._buffer = bytes(found.text[found.stop :])
                    if found.ended:
                        return
                    reach = _SHORT if found.stop > reach else reach
                    continue
                if border := self._strange(reach):
                    yield self._take(border)
                    reach = min(4 * reach, self._chunk_bytes)
                    continue
            if not self._at_end and (border := self._border()):
                yield self._take(border)
                continue
            self._buffer = self._buffer.lstrip(_SPACE)
            scan = scan_events(self._buffer)
            damaged = scan.broken or len(until_damaged(scan.pieces)) < len(scan.pieces)
            if damaged and (border := self._last_guess()):
                # Where the array ends is not to be trusted either.
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
                # A quotation mark too many hides every border; what looks like one is the better guess.
                wanted = self._chunk_bytes
                if border := self._last_guess():
                    yield self._take(border)
                else:
                    self.state.damaged += 1
                    self._buffer = b""

    def _scan(self, scanner: Scanner, wanted: int) -> Scan | None:
        """The events at the front of the buffer and of what follows; without any the buffer holds all that was read.

        What is read goes where the scanner has it: further copies of it would cost as much as reading.
        """
        size, filled = max(wanted, len(self._buffer)), len(self._buffer)
        room = scanner.memory(size)
        room[:filled] = self._buffer
        while filled < size and (count := self._read(room[filled:])):
            filled += count
        found = scanner.scan_memory(filled)
        if found is None:
            self._buffer = bytes(room[:filled])
        return found

    def _take(self, border: int) -> bytes:
        piece = b"[" + self._buffer[:border] + b"]"
        self._buffer = self._buffer[border:].lstrip(_SPACE + b",")
        return piece

    def _strange(self, reach: int) -> int:
        """Index just behind the first events, which are not for the scanner; 0 when only a full scan can tell."""
        front = self._buffer[:reach]
        exact = scan_events(front)
        clean = not exact.ended and not exact.broken
        if exact.pieces and clean and len(until_damaged(exact.pieces)) == len(exact.pieces):
            return len(front[: exact.used].rstrip(_SPACE + b","))
        return self._last_guess(reach)

    def _last_guess(self, reach: int = sys.maxsize) -> int:
        """Index just behind what looks like the last whole event in the buffer, or its front; 0 for none."""
        guess = 0
        for match in EVENT_BORDER.finditer(self._buffer, 0, reach):
            guess = match.start() + 1
        return guess

    def _border(self) -> int:
        """Index just behind the last event in the buffer, 0 when only a full scan can tell.

        What looks like the border of two events is one when the brackets before it balance and no array of objects
        ends before it.
        """
        start = max(0, len(self._buffer) - _BORDER_WINDOW)
        border = 0
        for match in EVENT_BORDER.finditer(self._buffer, start):
            border = match.start() + 1
        if not border:
            return 0
        # A border inside an event leaves the event's brace and an array's bracket open. Brackets inside of texts count
        # here, too: only a text that closes both kinds without opening them could hide such a border.
        for opening, closing in ((b"[", b"]"), (b"{", b"}")):
            if self._buffer.count(opening, 0, border) != self._buffer.count(closing, 0, border):
                return 0
        return 0 if _ARRAY_OF_OBJECTS_ENDS.search(self._buffer, 0, border) else border

    def _rest(self) -> Iterator[bytes]:
        """What is left at the end of the file without a closing bracket, which the format allows to miss."""
        rest = self._buffer.strip(_SPACE + b",")
        self._buffer = b""
        if not rest:
            self._cut(english("the list of events has no end"))
            return
        if mend(rest) is not None:
            self._cut(english("the list of events has no end"))
            yield b"[" + rest + b"]"
            return
        self._cut(english("the file ends inside an event"))
        borders = [match.start() + 1 for match in EVENT_BORDER.finditer(rest)]
        if borders:
            yield b"[" + rest[: borders[-1]] + b"]"
        else:
            self.state.damaged += 1


def _decoded(text: bytes) -> Any:
    """A value outside of the events; None when it is no JSON."""
    mended = mend(text)
    try:
        return None if mended is None else msgspec.json.decode(mended)
    except msgspec.MsgspecError:
        # A number beyond what a float holds somewhere in it.
        return json.loads(mended or b"null", parse_int=_number, parse_float=_number)


def _number(text: str) -> float | None:
    value = float(text)
    return (
        (int(text) if text.lstrip("-").isdecimal() and abs(value) < 1e18 else value)
        if math.isfinite(value)
        else None
    )
