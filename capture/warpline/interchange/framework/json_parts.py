"""Reads JSON documents that may be larger than memory: chosen values whole, chosen arrays some elements at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.i18n import english, tr
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, Readable

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

JsonPath = tuple[str | int, ...]
"""Keys and indices from the document to a value."""
Pattern = tuple[str, ...]
"""A path in which ``*`` stands for any key or index."""
MOST_BYTES = 64 << 20
"""The longest value or element; a longer one is damage."""
DECODING_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError)

_WINDOW_BYTES = 4096
_SPACE = b" \t\r\n"
_QUOTE, _COMMA, _ARRAY_END = b'",]'
_MARKED = np.zeros(256, bool)
_MARKED[list(b'"{}[],')] = True
_STEP = np.zeros(256, np.int64)
_STEP[list(b"{[")] = 1
_STEP[list(b"}]")] = -1
_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*+")[ \t\r\n]*:', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,\]}"\[{]+')

_T = TypeVar("_T")
_Int64Array = npt.NDArray[np.int64]


class JsonPart(NamedTuple):
    """A chosen value, or an array of some elements of a chosen array; ``text`` is JSON. Documents count from 0."""

    document: int
    path: JsonPath
    text: bytes


class _DamagedError(Exception):
    pass


class JsonParts:
    """The parts of a file of one JSON object, or of several behind each other. Iterate once.

    ``arrays`` and ``values`` say what to yield; everything else is passed over without being held. After iterating,
    ``damaged`` counts documents that are damaged or end early, and ``problem`` says what is wrong with the first. What
    precedes the damage is yielded; reading goes on at the next line that begins an object.
    """

    def __init__(
        self,
        source: Readable,
        *,
        arrays: Collection[Pattern] = (),
        values: Collection[Pattern] = (),
        chunk_bytes: int = 2 << 20,
    ) -> None:
        self._source = source
        self._chunk_bytes = chunk_bytes
        self._arrays = tuple(arrays)
        self._values = tuple(values)
        self._data = b""
        self._at = 0
        self._at_end = False
        self._document = -1
        self.damaged = 0
        self.problem = ""

    def __iter__(self) -> Iterator[JsonPart]:
        while self._peek():
            self._document += 1
            try:
                yield from self._value(())
            except _DamagedError as error:
                self.damaged += 1
                self.problem = self.problem or str(error)
                if not self._find_next():
                    return

    # Values

    def _value(self, path: JsonPath) -> Iterator[JsonPart]:
        first = self._peek()
        if first == b"[" and _fits(path, self._arrays):
            self._at += 1
            yield from self._elements(path)
        elif _fits(path, self._values):
            yield JsonPart(self._document, path, self._whole())
        elif first in (b"{", b"[") and (not path or _leads(path, (*self._arrays, *self._values))):
            self._at += 1
            yield from self._members(path, first == b"{")
        else:
            self._skip()

    def _members(self, path: JsonPath, is_object: bool) -> Iterator[JsonPart]:
        place = 0
        closing = b"}" if is_object else b"]"
        while True:
            if self._peek() == closing:
                self._at += 1
                return
            yield from self._value((*path, self._key() if is_object else place))
            place += 1
            after = self._peek()
            if after == b",":
                self._at += 1
            elif after != closing:
                raise _DamagedError(tr("it ends early") if not after else tr("a comma is missing"))

    def _key(self) -> str:
        while (match := _KEY.match(self._data, self._at)) is None:
            if len(self._data) - self._at > 1 << 16 or not self._fill():
                raise _DamagedError(tr("a key is missing"))
        self._at = match.end()
        try:
            return msgspec.json.decode(match[1], type=str)
        except DECODING_ERRORS as error:
            raise _DamagedError(str(error)) from error

    def _elements(self, path: JsonPath) -> Iterator[JsonPart]:
        wanted = self._first_bytes
        while True:
            self._need(wanted)
            text = self._data[self._at : self._at + wanted]
            positions, kinds, depth = _structure(text)
            closing = np.flatnonzero(depth < 0)
            if len(closing):
                stop = int(positions[closing[0]])
                if kinds[closing[0]] != _ARRAY_END:
                    raise _DamagedError(tr("a bracket is missing"))
            elif len(text) == wanted < self._chunk_bytes:
                wanted = self._longer(wanted)
                continue
            else:
                commas = positions[(kinds == _COMMA) & (depth == 0)]
                stop = int(commas[-1]) if len(commas) else -1
            if stop < 0:
                if len(text) < wanted:
                    raise _DamagedError(tr("it ends early"))
                wanted = _grown(wanted)
                continue
            wanted = self._chunk_bytes
            self._at += stop + 1
            if part := text[:stop].strip(_SPACE):
                yield JsonPart(self._document, path, b"[" + part + b"]")
            if len(closing):
                return

    def _whole(self) -> bytes:
        """The value at the front."""
        if self._peek() not in (b"{", b"[", b'"'):
            self._need(_WINDOW_BYTES)
            match = _SCALAR.match(self._data, self._at)
            if match is None:
                raise _DamagedError(tr("a value is missing"))
            self._at = match.end()
            return match[0]
        wanted = _WINDOW_BYTES
        while True:
            self._need(wanted)
            text = self._data[self._at : self._at + wanted]
            stop = _value_end(text)
            if stop:
                self._at += stop
                return text[:stop]
            if len(text) < wanted:
                raise _DamagedError(tr("it ends early"))
            wanted = _grown(wanted)

    def _skip(self) -> None:
        if self._peek() not in (b"{", b"["):
            self._whole()
            return
        depth = inside = 0
        wanted = self._first_bytes
        while True:
            self._need(wanted)
            held = self._data[self._at : self._at + wanted]
            text = held.rstrip(b"\\")  # the next character belongs to the last backslash
            if not text:
                if len(held) < wanted:
                    raise _DamagedError(tr("it ends early"))
                wanted = _grown(wanted)
                continue
            wanted = self._longer(wanted)
            positions, kinds, depths = _structure(text, inside)
            ends = np.flatnonzero((depths + depth == 0) & (kinds != _COMMA))
            if len(ends):
                self._at += int(positions[ends[0]]) + 1
                return
            depth += int(depths[-1]) if len(depths) else 0
            inside ^= _quotes(text) & 1
            self._at += len(text)

    # Bytes

    @property
    def _first_bytes(self) -> int:
        """The first window of an array. Most arrays are short: searching a whole chunk for each would be quadratic."""
        return min(self._chunk_bytes, _WINDOW_BYTES)

    def _longer(self, wanted: int) -> int:
        return min(4 * wanted, self._chunk_bytes)

    def _peek(self) -> bytes:
        """The next character that is no space; b"" at the end."""
        while True:
            while self._data[self._at : self._at + 1] in _BLANKS:
                self._at += 1
            if self._at < len(self._data) or not self._fill():
                return self._data[self._at : self._at + 1]

    def _need(self, count: int) -> None:
        while len(self._data) - self._at < count and self._fill():
            pass

    def _fill(self) -> bool:
        if self._at_end:
            return False
        try:
            part = self._source.read(self._chunk_bytes)
        except UNPACKING_ERRORS as error:
            self.problem = self.problem or str(error)
            part = b""
        self._at_end = not part
        self._data = self._data[self._at :] + part
        self._at = 0
        return bool(part)

    def _find_next(self) -> bool:
        """Go to the next line that begins an object."""
        while True:
            place = self._data.find(b"\n{", self._at)
            if place >= 0:
                self._at = place + 1
                return True
            self._at = max(self._at, len(self._data) - 1)
            if not self._fill():
                return False


def decode_elements(text: bytes, decoder: msgspec.json.Decoder[list[_T]]) -> tuple[list[_T], int]:
    """The elements of an array of a `JsonPart`, and how many were left out because they do not fit their type."""
    try:
        return decoder.decode(text), 0
    except DECODING_ERRORS:
        pass
    inner = text[1:-1]
    positions, kinds, depth = _structure(inner)
    commas = positions[(kinds == _COMMA) & (depth == 0)].tolist()
    found: list[_T] = []
    lost = 0
    for begin, stop in zip([0, *(place + 1 for place in commas)], [*commas, len(inner)], strict=True):
        try:
            found += decoder.decode(b"[" + inner[begin:stop] + b"]")
        except DECODING_ERRORS:
            lost += 1
    return found, lost


def add_damage(builder: CaptureBuilder, parts: JsonParts) -> None:
    """Notes damaged documents in the capture; call it after iterating."""
    if parts.damaged or parts.problem:
        builder.add_warning(
            english("The file is damaged or ends early ({error}).", error=parts.problem), is_loss=True
        )


_BLANKS = frozenset((b" ", b"\t", b"\r", b"\n"))


def _fits(path: JsonPath, patterns: tuple[Pattern, ...]) -> bool:
    return any(
        len(pattern) == len(path)
        and all(wanted in ("*", part) for wanted, part in zip(pattern, path, strict=True))
        for pattern in patterns
    )


def _leads(path: JsonPath, patterns: tuple[Pattern, ...]) -> bool:
    return any(
        len(pattern) > len(path)
        and all(wanted in ("*", part) for wanted, part in zip(pattern, path, strict=False))
        for pattern in patterns
    )


def _grown(wanted: int) -> int:
    if wanted >= MOST_BYTES:
        raise _DamagedError(tr("a value is longer than {size} MB", size=MOST_BYTES >> 20))
    return 4 * wanted


def _plain(text: bytes) -> bytes:
    """The text with escaped characters of strings replaced; as long as it was."""
    return text.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in text else text


def _quotes(text: bytes) -> int:
    return _plain(text).count(b'"')


def _structure(text: bytes, inside: int = 0) -> tuple[_Int64Array, npt.NDArray[np.uint8], _Int64Array]:
    """Positions and codes of brackets and commas outside strings, and the depth behind each.

    ``text`` must not begin behind a backslash; ``inside`` is 1 if it begins in a string.
    """
    codes: npt.NDArray[Any] = np.frombuffer(_plain(text), np.uint8)
    marks = np.flatnonzero(_MARKED[codes])
    kinds = codes[marks]
    is_quote = kinds == _QUOTE
    outside = ((np.cumsum(is_quote) + inside) & 1) == 0
    outside &= ~is_quote
    kinds = kinds[outside]
    return marks[outside], kinds, np.cumsum(_STEP[kinds])


def _value_end(text: bytes) -> int:
    """The end of the string, array or object at the front of a text; 0 if it is not in the text."""
    if text[:1] == b'"':
        return _plain(text).find(b'"', 1) + 1
    positions, kinds, depth = _structure(text)
    ends = np.flatnonzero((depth <= 0) & (kinds != _COMMA))
    return int(positions[ends[0]]) + 1 if len(ends) else 0
