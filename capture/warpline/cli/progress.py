"""Progress of long work on a terminal."""

from __future__ import annotations

import sys
from typing import Self

from warpline.terminal import steered
from warpline.untrusted import visible


class ProgressLine:
    """One line on a terminal, rewritten in place; nothing is shown if standard error is not a terminal."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._last:
            steered(sys.stderr).write("\r\033[K")
            sys.stderr.flush()

    def show(self, fraction: float, text: str) -> None:
        """Progress as importers and exporters report it."""
        line = f"{fraction:4.0%} {text}"
        if self._is_shown and line != self._last:
            steered(sys.stderr).write(f"\r\033[K{visible(line)}")
            sys.stderr.flush()
            self._last = line
