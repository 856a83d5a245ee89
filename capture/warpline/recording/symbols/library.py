"""Checks for pyelftools, which reads ELF files."""

from __future__ import annotations

from importlib.util import find_spec

from warpline.i18n import english
from warpline.recording.unavailable import Unavailable


def require_elf_reader() -> None:
    """Raises Unavailable if pyelftools is not installed."""
    if find_spec("elftools") is None:
        raise Unavailable(
            english("native functions have no names: pyelftools is not installed"),
            english("pip install pyelftools, then: warpline record --again CAPTURE"),
        )
