"""Reads pickles of plain values piece by piece: dictionaries, lists, tuples, texts, bytes, numbers, None and truths.

Anything else that a pickle may contain (classes, functions, calls) is refused, so nothing of the file is ever run. The
opcodes are those of Python's ``pickletools``. The caller gets each dictionary when it is complete and may replace it
with a smaller value, so that a file of any size needs little memory.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from warpline.interchange.framework.unpacking import Readable

_KEYS = (str, bytes, int, float, type(None))
_PART_BYTES = 1 << 20
_MOST_BYTES = 64 << 20
"""The longest text or number."""
_MOST_STACK = 1 << 22
_GETS = re.compile(rb"(?:h.|j.{4})+", re.DOTALL)
_MARK = object()

Replace = Callable[[dict[Any, Any]], Any]
"""What to keep of a complete dictionary: itself, or anything smaller."""


class PickleError(ValueError):
    """The pickle is damaged, or holds more than plain values."""


class PlainPickle:
    """A pickle that is read from a stream."""

    def __init__(self, stream: Readable, replace: Replace, tick: Callable[[], None]) -> None:
        self._stream = stream
        self._replace = replace
        self._tick = tick
        self._buffer = b""
        self._at = 0
        self._memo: list[Any] = []
        self._open: dict[int, int] = {}
        """Memo positions of incomplete dictionaries, by identity."""

    def _take(self, count: int) -> bytes:
        if count > _MOST_BYTES:
            raise PickleError("a value is too large")
        if self._at + count > len(self._buffer):
            self._fill(count)
        part = self._buffer[self._at : self._at + count]
        self._at += count
        return part

    def _fill(self, count: int) -> None:
        parts = [self._buffer[self._at :]]
        size = len(parts[0])
        while size < count:
            self._tick()
            part = self._stream.read(max(_PART_BYTES, count - size))
            if not part:
                raise PickleError("the file ends early")
            parts.append(part)
            size += len(part)
        self._buffer, self._at = b"".join(parts), 0

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> bytes:
        text = bytearray()
        while (byte := self._take(1)) != b"\n":
            text += byte
            if len(text) > 1000:
                raise PickleError("a line is too long")
        return bytes(text)

    def load(self) -> Any:
        """The value. Raises PickleError and what reading raises."""
        try:
            return self._load()
        except (struct.error, IndexError, TypeError, KeyError, UnicodeDecodeError, OverflowError) as error:
            raise PickleError(f"damaged: {error}") from error

    def _load(self) -> Any:
        stack: list[Any] = []
        push = stack.append
        while True:
            code = self._take(1)
            if code in (b"h", b"j"):
                self._get_all(push)
            elif code == b"K":
                push(self._take(1)[0])
            elif code == b"M":
                push(self._number("<H"))
            elif code == b"J":
                push(self._number("<i"))
            elif code == b"\x8a":
                push(int.from_bytes(self._take(self._take(1)[0]), "little", signed=True))
            elif code in (b"\x94", b"q", b"r"):
                self._remember(stack[-1], code)
            elif code == b"(":
                push(_MARK)
            elif code in (b"u", b"s"):
                self._set_items(stack, code)
            elif code in (b"e", b"a"):
                self._append(stack, code)
            elif code == b"}":
                push({})
            elif code == b"]":
                push([])
            elif code == b".":
                return stack.pop()
            else:
                self._rare(stack, code)
            if len(stack) > _MOST_STACK:
                raise PickleError("it nests too deeply")

    def _get_all(self, push: Callable[[Any], None]) -> None:
        """Read values from the memo; long runs of them are the frames of stacks."""
        self._at -= 1
        if len(self._buffer) - self._at < 5 and self._buffer[self._at : self._at + 1] == b"j":
            self._fill(5)
        match = _GETS.match(self._buffer, self._at)
        if match is None:
            self._fill(5)
            match = _GETS.match(self._buffer, self._at)
        if match is None:
            raise PickleError("damaged")
        run, at, memo = match[0], 0, self._memo
        self._at = match.end()
        while at < len(run):
            if run[at] == 0x68:
                push(memo[run[at + 1]])
                at += 2
            else:
                push(memo[int.from_bytes(run[at + 1 : at + 5], "little")])
                at += 5

    def _remember(self, value: Any, code: bytes) -> None:
        place = len(self._memo)
        if code != b"\x94":
            number = self._take(1)[0] if code == b"q" else self._number("<I")
            if number < place:
                self._memo[number] = value
                return
            if number > place:
                raise PickleError("damaged")
        self._memo.append(value)
        if type(value) is dict:
            self._open[id(value)] = place

    def _items(self, stack: list[Any]) -> list[Any]:
        for at in range(len(stack) - 1, -1, -1):
            if stack[at] is _MARK:
                items = stack[at + 1 :]
                del stack[at:]
                return items
        raise PickleError("damaged")

    def _set_items(self, stack: list[Any], code: bytes) -> None:
        if code == b"u":
            items = self._items(stack)
        else:
            items = stack[-2:]
            del stack[-2:]
        target = stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise PickleError("damaged")
        for key, value in zip(items[::2], items[1::2], strict=True):
            # No tuples: hashing a deeply nested one would overflow the C stack.
            if not isinstance(key, _KEYS):
                raise PickleError("damaged")
            target[key] = value
        smaller = self._replace(target)
        if smaller is not target:
            stack[-1] = smaller
            place = self._open.pop(id(target), None)
            if place is not None:
                self._memo[place] = smaller

    def _append(self, stack: list[Any], code: bytes) -> None:
        items = self._items(stack) if code == b"e" else [stack.pop()]
        target = stack[-1]
        if type(target) is not list:
            raise PickleError("damaged")
        target += items

    def _rare(self, stack: list[Any], code: bytes) -> None:
        push = stack.append
        if code in (b"\x8c", b"X", b"\x8d"):
            size = self._number({b"\x8c": "<B", b"X": "<I", b"\x8d": "<Q"}[code])
            push(self._take(size).decode("utf-8", "surrogatepass"))
        elif code in (b"C", b"B", b"\x8e"):
            push(self._take(self._number({b"C": "<B", b"B": "<I", b"\x8e": "<Q"}[code])))
        elif code in (b"N", b"\x88", b"\x89"):
            push({b"N": None, b"\x88": True, b"\x89": False}[code])
        elif code == b"G":
            push(self._number(">d"))
        elif code == b"\x8b":
            push(int.from_bytes(self._take(self._number("<I")), "little", signed=True))
        elif code in (b"I", b"L"):
            text = self._line().rstrip(b"L")
            push({b"00": False, b"01": True}.get(text) if text in (b"00", b"01") else int(text))
        elif code == b"F":
            push(float(self._line()))
        elif code == b")":
            push(())
        elif code == b"t":
            push(tuple(self._items(stack)))
        elif code in (b"\x85", b"\x86", b"\x87"):
            count = code[0] - 0x84
            values = tuple(stack[-count:])
            del stack[-count:]
            push(values)
        elif code == b"\x80":
            if self._take(1)[0] > 5:
                raise PickleError("a newer version of pickle")
        elif code == b"\x95":
            self._take(8)  # the length of a frame
        elif code == b"0":
            stack.pop()
        elif code == b"2":
            push(stack[-1])
        elif code == b"l":
            push(self._items(stack))
        else:
            raise PickleError("it holds more than plain values, which Warpline does not build")
