"""How many terminal columns texts of any language take."""

from __future__ import annotations

import unicodedata
from functools import lru_cache


def text_width(text: str) -> int:
    """Columns a terminal needs for a text: wide characters of East Asian scripts take two."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def fits(text: str, width: int) -> bool:
    """Whether a text needs at most ``width`` columns. Reads no more of it than it must."""
    if text.isascii():
        return len(text) <= width
    used = 0
    for character in text:
        used += _character_width(character)
        if used > width:
            return False
    return True


@lru_cache(maxsize=1 << 14)
def _character_width(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.combining(character) else 1


def padded(text: str, width: int) -> str:
    """The text padded with blanks to ``width`` columns; longer ones stay unchanged."""
    return text + " " * (width - text_width(text))
