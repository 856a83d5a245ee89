"""Frames of stacks as profilers write them: which function, which file, which line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

# ``fight (/srv/me/demo.py:56)`` is what the agent and py-spy write, ``train.py(12): main`` what torch does.
_FUNCTION_FIRST = re.compile(r"^(?P<function>.*?) ?\((?P<file>[^()]*[^()\s]):(?P<line>\d+)\)$", re.DOTALL)
_FILE_FIRST = re.compile(r"^(?P<file>[^()]+\.\w+)\((?P<line>\d+)\): (?P<function>.*)$", re.DOTALL)
_LIBRARY = re.compile(r"[/\\]lib(64)?[/\\]python\d|[/\\](site|dist)-packages[/\\]|^<")


@dataclass(frozen=True)
class StackFrame:
    """One frame. ``file`` is empty and ``line`` 0 where the text names none."""

    function: str
    file: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """``demo.py:56``; the function where no file is known."""
        if not self.file:
            return self.function
        return f"{self.file.replace(chr(92), '/').rpartition('/')[2]}:{self.line}"

    @property
    def is_own(self) -> bool:
        """Whether the line is the program's own: in a file, and not of Python's library or an installed package."""
        return bool(self.file) and _LIBRARY.search(self.file) is None


@lru_cache(maxsize=8192)
def parse_frame(text: str) -> StackFrame:
    """What a frame of a stack says; a text that names no file is a function."""
    found = _FUNCTION_FIRST.match(text) or _FILE_FIRST.match(text)
    if found is None:
        return StackFrame(text)
    return StackFrame(found["function"], found["file"], int(found["line"]))


def telling_frame(frames: Sequence[str]) -> StackFrame | None:
    """Of a stack (innermost frame first) the innermost line of the program itself, else the innermost line of all."""
    parsed = [frame for frame in map(parse_frame, frames) if frame.file]
    return next((frame for frame in parsed if frame.is_own), parsed[0] if parsed else None)
