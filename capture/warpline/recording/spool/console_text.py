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
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]")


class ConsoleText:
    """Collects terminal bytes and returns lines.

    A carriage return restarts the line, as progress bars expect; colours and cursor movements are removed. Memory is
    bounded: only the last lines are kept, and `dropped` counts the others.
    """

    def __init__(self, max_lines: int = MAX_LINES) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._lines: deque[str] = deque(maxlen=max_lines)
        self._line = ""
        self._restart = False
        self._new = 0
        self.dropped = 0

    def feed(self, data: bytes) -> None:
        """Add output of the program."""
        text = self._held + self._decoder.decode(data)
        partial = _PARTIAL_ESCAPE.search(text)
        self._held = ""
        if partial is not None:
            text, self._held = text[: partial.start()], partial.group()
        text = _ESCAPE.sub("", text).replace("\r\n", "\n")
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
                base = "" if self._restart else self._line
                self._restart = False
                self._line = (base + _CONTROL.sub("", piece))[:MAX_LINE_CHARACTERS]

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
