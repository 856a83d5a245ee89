"""Reads values from untrusted files: JSON, numbers in texts, numbers that index a table.

A file may be hostile. Python raises ValueError for a number of 4,301 digits even after ``isdecimal``, and
RecursionError for deeply nested brackets. A table as long as its largest key exhausts memory for one key of 2^32.
These functions return the type they state and raise only what they state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Terminal controls, changes of writing direction and lone surrogates; line feeds and tabs are allowed."""
_NUMBER = re.compile(r"(\d+)")
_DIGITS = 18
"""Any number of so many digits fits into 64 bits."""
_DEPTH = 32
_NESTED = (dict, list)
_FORMULA = re.compile(r"[\s\x00-\x1f\ufeff;]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")
"""Spreadsheets pass over blanks and take full-width signs for signs; some begin a new cell at each semicolon."""
_LATER_FORMULA = re.compile(r"(;[\s\x00-\x1f\ufeff]*)(?=[=+@\uff1d\uff0b\uff20])")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
INT64 = range(-(1 << 63), 1 << 63)
"""Integers that fit into a column."""


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for anything that is not JSON."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("brackets are nested too deeply") from error


def bounded(value: Any, depth: int = 0) -> Any:
    """A JSON value with None in place of numbers beyond 64 bits and of values nested deeper than 32 levels.

    Writers of JSON refuse both.
    """
    if isinstance(value, _NESTED) and depth >= _DEPTH:
        return None
    if isinstance(value, dict):
        return {key: bounded(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [bounded(part, depth + 1) for part in value]
    return None if isinstance(value, int) and value not in INT64 else value


def number_in(text: str, otherwise: int = -1) -> int:
    """The number in a text of digits; ``otherwise`` for any other text and for numbers beyond 64 bits."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else otherwise


def visible(text: str) -> str:
    r"""The text with terminal controls as escapes: ``\u001b`` for ESC."""
    if text.isprintable():
        return text
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def one_line(text: str) -> str:
    """The text on one line, with every character visible."""
    return text if text.isprintable() else visible(" ".join(filter(None, map(str.strip, text.splitlines()))))


def listing(lines: Iterable[str]) -> str:
    r"""The lines as one text; a line end inside one, which came with a name, is shown as an escape (``\n``)."""
    return "\n".join(line if line.isprintable() else visible(line).replace("\n", "\\n") for line in lines)


def natural_key(text: str) -> tuple[str | int, ...]:
    """A sort key that puts "step 9" before "step 10" and ignores case."""
    # Texts and numbers alternate, so that texts are compared with texts and numbers with numbers.
    parts = _NUMBER.split(text.casefold())
    return tuple(number_in(part, 10**_DIGITS) if index % 2 else part for index, part in enumerate(parts))


def spreadsheet_text(text: str) -> str:
    """The text with an apostrophe before anything that a spreadsheet would take for a formula."""
    guarded = _LATER_FORMULA.sub(r"\1'", text)
    return "'" + guarded if _FORMULA.match(text) else guarded


def xml_text(text: str) -> str:
    """The text without characters that XML 1.0 forbids; U+FFFD stands for each."""
    return _NO_XML.sub("\ufffd", text)


def places_of(
    keys: npt.NDArray[np.integer[Any]], wanted: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """Index of each wanted number [n] among ascending distinct keys; −1 where it is missing."""
    import numpy as np

    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    places = np.searchsorted(keys, wanted)
    return np.where(keys[np.minimum(places, len(keys) - 1)] == wanted, places, -1)
