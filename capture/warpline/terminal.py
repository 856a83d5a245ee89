"""Makes control characters in printed names and paths visible, so that they cannot control the terminal.

Names come from anybody's traces. An ESC in one could clear the screen, retitle the window or, on some terminals, type
commands. Standard error is always escaped; standard output only on a terminal, since programs read pipes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from warpline.untrusted import visible


class VisibleStream:
    """A text stream that writes control characters as escapes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Writes a text. Returns the length of the text as given."""
        self.stream.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def visible_streams() -> Iterator[None]:
    """Replaces standard output and standard error by `VisibleStream` within the context.

    Output to a stream that the process was started without is discarded.
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
    """The unguarded stream, for texts that control the terminal on purpose."""
    return stream.stream if isinstance(stream, VisibleStream) else stream
