"""Where values in files become ours: JSON, numbers in texts, numbers that name places of a table.

Whoever wrote a file may have meant harm. Python refuses a number of 4,301 digits with a ValueError that nobody expects
behind ``isdecimal``, and brackets in brackets with a RecursionError; a table as long as its largest key takes what
memory there is for one key of 2^32. What is read by these functions has the type they say, or raises what they say.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What steers terminals, what turns the direction of writing, halves of characters; line feeds and tabs may stay."""
_NUMBER = re.compile(r"(\d+)")
_DIGITS = 18
"""As many fit into 64 bits, whichever they are."""
_DEPTH = 32
_FORMULAS = frozenset("=+-@\t\r")
INT64 = range(-(1 << 63), 1 << 63)
"""Whole numbers that a column holds."""


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for everything that is none, however it is wrong."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("brackets lie in each other too deep") from error


def bounded(value: Any, depth: int = 0) -> Any:
    """A free value of JSON, None in place of numbers beyond 64 bits and of what lies deeper in it than anybody looks.

    So that it can be written again, by writers that take neither.
    """
    if isinstance(value, dict | list) and depth >= _DEPTH:
        return None
    if isinstance(value, dict):
        return {key: bounded(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [bounded(part, depth + 1) for part in value]
    return None if isinstance(value, int) and value not in INT64 else value


def number_in(text: str, otherwise: int = -1) -> int:
    """The number that a text of digits says, where it fits into 64 bits."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else otherwise


def visible(text: str) -> str:
    r"""A text in which characters that steer terminals stand as escapes: ``\u001b`` for ESC."""
    if text.isprintable():
        return text
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def one_line(text: str) -> str:
    """A text on one line, each character to be seen: names in it may hold anything."""
    return text if text.isprintable() else visible(" ".join(filter(None, map(str.strip, text.splitlines()))))


def natural_key(text: str) -> tuple[str | int, ...]:
    """A sort key under which "step 9" stands before "step 10"; case does not count."""
    # Texts and numbers take turns, so that only like is compared with like.
    parts = _NUMBER.split(text.casefold())
    return tuple(number_in(part, 10**_DIGITS) if place % 2 else part for place, part in enumerate(parts))


def spreadsheet_text(text: str) -> str:
    """A text as a spreadsheet takes it for one: those that begin like a formula get an apostrophe in front."""
    return "'" + text if text[:1] in _FORMULAS and text else text


def places_of(
    keys: npt.NDArray[np.integer[Any]], wanted: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """Where each wanted number [n] stands among ascending distinct keys; −1 for one that does not."""
    import numpy as np

    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    places = np.searchsorted(keys, wanted)
    return np.where(keys[np.minimum(places, len(keys) - 1)] == wanted, places, -1)
