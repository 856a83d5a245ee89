"""Turns the terminal output of a program into lines of plain text."""

from __future__ import annotations

import codecs
import re
from collections import deque
from itertools import islice

MAX_LINES = 10_000
MAX_LINE_CHARACTERS = 4_000
# Control sequences of terminals (ECMA-48, ECMA-35): colours, cursor movements; window titles and other strings;
# character sets, which curses selects with ESC ( B; saved cursors, keypad modes.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^-~])"
)
_PARTIAL_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]+|[\]PX^_][^\x07\x1b]{0,200}\x1b?)?\Z")
# What moves the cursor to another row or column; a row may be named (H, f, d) or the next one (B, E, ESC D, ESC E).
_MOVE = re.compile(r"\n|\x1b\[(\d*)(?:;(\d*))?([Hf])|\x1b\[(\d*)([dG`])|\x1b(?:\[\d*[BE]|[DE])")
_BREAK = "\x1d"
_COLUMN = "\x1e"
_FIRST_COLUMN = 0x100
"""Column 1 follows `_COLUMN` as the character of this number"""
_MOST_COLUMNS = 1000
_BREAKS = re.compile(rf"(^|\n)?\r?(?:{_BREAK}(?:{_COLUMN}.)?)*{_BREAK}", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]")


class ConsoleText:
    """Collects terminal bytes and returns lines.

    A carriage return restarts the line, as progress bars expect; colours are removed. A program that moves the cursor
    gets a line for each row that it writes, in the order of writing. Memory is bounded: only the last lines are kept,
    and `dropped` counts the others.
    """

    def __init__(self, max_lines: int = MAX_LINES) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._lines: deque[str] = deque(maxlen=max_lines)
        self._line = ""
        self._restart = False
        self._row = 0
        self._new = 0
        self.dropped = 0

    def feed(self, data: bytes) -> None:
        """Add output of the program."""
        text = self._held + self._decoder.decode(data)
        partial = _PARTIAL_ESCAPE.search(text)
        self._held = ""
        if partial is not None:
            text, self._held = text[: partial.start()], partial.group()
        if "\x1b" in text:
            text = _ESCAPE.sub("", _MOVE.sub(self._moved, text))
            text = _BREAKS.sub(self._broken, text)
        text = text.replace("\r\n", "\n")
        *complete, rest = text.split("\n")
        # Lines that would be dropped at once are counted without parsing.
        surplus = max(0, len(complete) - (self._lines.maxlen or 0))
        if surplus:
            self._line = ""
            self._restart = False
            self.dropped += surplus
            self._new += surplus
            complete = complete[surplus:]
        if complete and "\r" not in text and _CONTROL.search(text) is None:
            # Plain lines, the usual case, are added in bulk.
            self._write(complete[0])
            self._end_line()
            self._extend([line[:MAX_LINE_CHARACTERS] for line in complete[1:]])
        else:
            for part in complete:
                self._write(part)
                self._end_line()
        self._write(rest)

    def _moved(self, found: re.Match[str]) -> str:
        """What stands for a movement of the cursor: a row's end, a column, or nothing within the row."""
        place, column, is_place, number, way = found.groups()
        if way in {"G", "`"}:
            return _to_column(number)
        if way == "d" or is_place:
            row = int(number or place or 1)
            if row == self._row:
                return _to_column(column) if is_place else ""
            self._row = row
            return _BREAK + (_to_column(column) if int(column or 1) > 1 else "")
        self._row += 1
        return "\n" if found.group() == "\n" else _BREAK

    def _broken(self, found: re.Match[str]) -> str:
        """The end of a row; none where nothing was written in it."""
        is_empty = found.group(1) == "\n" or (not found.start() and not self._line)
        return found.group(1) or "" if is_empty else "\n"

    def _extend(self, lines: list[str]) -> None:
        self.dropped += max(0, len(self._lines) + len(lines) - (self._lines.maxlen or 0))
        self._lines.extend(lines)
        self._new += len(lines)

    def _write(self, part: str) -> None:
        for index, piece in enumerate(part.split("\r")):
            if index:
                self._restart = True
            if piece:
                # The old line stays until something is printed over it.
                line = "" if self._restart else self._line
                self._restart = False
                first, *columns = piece.split(_COLUMN)
                line += _CONTROL.sub("", first)
                for text in columns:
                    line = line.ljust(ord(text[:1] or " ") - _FIRST_COLUMN) + _CONTROL.sub("", text[1:])
                self._line = line[:MAX_LINE_CHARACTERS]

    def _end_line(self) -> None:
        if len(self._lines) == self._lines.maxlen:
            self.dropped += 1
        self._lines.append(self._line)
        self._line = ""
        self._restart = False
        self._new += 1

    def take_new(self, limit: int = MAX_LINES) -> tuple[list[str], str, int]:
        """The lines completed since the last call, the unfinished line, and the number of lines left out before them.

        Returns the last ``limit`` lines at most.
        """
        count = min(self._new, len(self._lines), limit)
        skipped = self._new - count
        self._new = 0
        lines = list(islice(reversed(self._lines), count))
        return lines[::-1], self._line, skipped

    @property
    def text(self) -> str:
        """All kept lines, joined."""
        lines = [*self._lines, self._line] if self._line else list(self._lines)
        return "\n".join(lines)


def _to_column(number: str | None) -> str:
    """A column from 1 as `ConsoleText` keeps it in a text; the first one is a carriage return."""
    column = min(int(number or 1), _MOST_COLUMNS)
    return "\r" if column < 2 else _COLUMN + chr(_FIRST_COLUMN + column - 1)
