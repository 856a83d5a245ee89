"""How much room texts of any language take on a terminal."""

from __future__ import annotations

import unicodedata


def text_width(text: str) -> int:
    """Columns a terminal needs for a text: wide characters of East Asian scripts take two."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text
    )


def padded(text: str, width: int) -> str:
    """The text with blanks behind it, ``width`` columns wide; longer ones stay as they are."""
    return text + " " * (width - text_width(text))
