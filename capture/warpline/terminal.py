"""What is printed cannot steer a terminal: the one place where control characters of names and paths are made visible.

Names come from traces of anybody. An ESC in one could clear the screen, retitle the window or, on some terminals, type
for its user. Standard error is always text for people; standard output is, as long as it is a terminal: into a pipe go
the characters as they are, for programs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from warpline.untrusted import visible


class VisibleStream:
    """A text stream that writes control characters as escapes; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text; its own length, as callers expect."""
        self.stream.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def visible_streams() -> Iterator[None]:
    """Standard output and standard error as `VisibleStream` while the context lasts; what is written to one that the
    process was started without goes nowhere.
    """
    former = sys.stdout, sys.stderr
    with contextlib.ExitStack() as opened:
        out, error = (
            opened.enter_context(open(os.devnull, "w", encoding="utf-8")) if stream is None else stream
            for stream in former
        )
        try:
            sys.stdout = _visible(out) if out.isatty() else out
            sys.stderr = _visible(error)
            yield
        finally:
            sys.stdout, sys.stderr = former


def _visible(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, VisibleStream) else cast("TextIO", VisibleStream(stream))


def steered(stream: TextIO) -> TextIO:
    """The stream itself, for texts that steer the terminal on purpose."""
    return stream.stream if isinstance(stream, VisibleStream) else stream
