"""Frames of stacks as profilers write them: which function, which file, which line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

# ``fight (/srv/me/demo.py:56)`` is what the agent and py-spy write, ``train.py(12): main`` what torch does.
_FUNCTION_FIRST = re.compile(r"^(?P<function>.*?) ?\((?P<file>[^()]*[^()\s]):(?P<line>\d+)\)$", re.DOTALL)
_FILE_FIRST = re.compile(r"^(?P<file>[^()]+\.\w+)\((?P<line>\d+)\): (?P<function>.*)$", re.DOTALL)
# ``deflate [libz.so.1]`` is what recordings write of native functions, ``[heap]`` of places without one.
_IN_MODULE = re.compile(r"^(?:(?P<function>.+) )?\[(?P<module>[^\[\]]+)\]$", re.DOTALL)
_THREADS_REST_IN = re.compile(
    r"[/\\](threading|queue|selectors|socket|ssl|subprocess|multiprocessing[/\\](connection|synchronize))\.py$"
)
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
_LIBRARY = re.compile(r"[/\\]lib(64)?[/\\]python\d|[/\\](site|dist)-packages[/\\]|^<")


def file_name(path: str) -> str:
    """The last part of a path, which may be of another system than this one."""
    return path.replace("\\", "/").rpartition("/")[2]


@dataclass(frozen=True)
class StackFrame:
    """One frame. ``file`` is empty and ``line`` 0 where the text names none.

    ``module`` is the library or program of a native function, whose line is not known; empty for others.
    """

    function: str
    file: str = ""
    line: int = 0
    module: str = ""

    @property
    def place(self) -> str:
        """``demo.py:56``; the function where no file is known, with the library it is in."""
        if not self.file:
            return f"{self.function} [{self.module}]".lstrip() if self.module else self.function
        return f"{file_name(self.file)}:{self.line}"

    @property
    def is_native(self) -> bool:
        """Whether it is a function of a library or program, and no line of a source."""
        return bool(self.module)

    @property
    def is_own(self) -> bool:
        """Whether the line is the program's own: in a file, and not of Python's library or an installed package."""
        return bool(self.file) and _LIBRARY.search(self.file) is None

    @property
    def telling(self) -> int:
        """How informative the line is: 3 the program's own, 2 of an installed package, 1 of Python's
        library, 0 of library code through which all threads wait, or a function without a file.
        """
        if not self.file:
            return 0
        if self.is_own:
            return 3
        if _INSTALLED.search(self.file):
            return 2
        return 0 if _THREADS_REST_IN.search(self.file) else 1


@lru_cache(maxsize=8192)
def parse_frame(text: str) -> StackFrame:
    """Parse a stack frame; a text that names no file is a function."""
    match = _FUNCTION_FIRST.match(text) or _FILE_FIRST.match(text)
    if match is None:
        inside = _IN_MODULE.match(text)
        if inside is not None:
            return StackFrame(inside["function"] or "", module=inside["module"])
        return StackFrame(text)
    return StackFrame(match["function"], match["file"], int(match["line"]))


def telling_frame(frames: Sequence[str]) -> StackFrame | None:
    """Of a stack (innermost frame first) the innermost of the lines that tell most; None where none has a file."""
    return max((frame for frame in map(parse_frame, frames) if frame.file), key=_telling, default=None)


def _telling(frame: StackFrame) -> int:
    return frame.telling
