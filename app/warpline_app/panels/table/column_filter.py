"""Column filters: part of a text, a whole text, or a comparison of numbers or times."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model.times import parse_time
from warpline_app.panels.table.content import Items, TableColumn

_COMPARISON = re.compile(r"\s*(>=|<=|>|<|=)\s*(.+?)\s*$")
_BETWEEN = re.compile(r"\s*(.+?)\s*\.\.\s*(.+?)\s*$")
_SIZES = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "%": 0.01}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


@dataclass(frozen=True)
class ColumnFilter:
    """The required value of a column (by identity).

    Texts: a part (``copy``) or ``="the whole"``, alternatives as ``=file | =terminal``. Numbers: ``> 1ms``,
    ``1ms..2ms``, ``>= 64 KiB``.
    """

    column: str
    text: str


def can_filter(column: TableColumn) -> bool:
    """Whether the column can be filtered without asking every row for its text."""
    return column.choices is not None or (column.is_number and column.sort_values is not None)


def passing(column: TableColumn, text: str, items: Items | None) -> npt.NDArray[np.bool_]:
    """Whether each item's value passes; ``items`` None for all.

    Raises ValueError with a user-readable message for an invalid filter.
    """
    if column.choices is not None:
        codes, texts = column.choices()
        wanted = np.array([_text_passes(value, text) for value in texts] + [False], bool)
        chosen = codes if items is None else codes[items]
        # Codes come from files: an invalid code passes no filter.
        return wanted[np.where((chosen >= 0) & (chosen < len(texts)), chosen, len(texts))]
    if column.sort_values is None:
        raise ValueError(tr("{column} cannot be filtered", column=column.title))
    values = np.asarray(column.sort_values())
    chosen = (values if items is None else values[items]) - column.origin
    between = _BETWEEN.match(text)
    if between is not None:
        low, high = _number(between[1]), _number(between[2])
        return np.asarray((chosen >= low) & (chosen <= high))
    comparison = _COMPARISON.match(text)
    sign, number = (comparison[1], comparison[2]) if comparison is not None else ("=", text)
    return np.asarray(_OPERATORS[sign](chosen, _number(number)))


def _text_passes(value: str, text: str) -> bool:
    return any(_part_passes(value, part.strip()) for part in text.split(" | "))


def _part_passes(value: str, text: str) -> bool:
    if text.startswith("="):
        return value == text[1:].strip().strip('"')
    return text.casefold() in value.casefold()


def _number(text: str) -> float:
    """A number, a time (ns), a size (bytes) or a percentage (ratio)."""
    plain = text.strip().replace(",", "")
    try:
        return float(plain)
    except ValueError:
        pass  # it has a unit
    for unit, scale in _SIZES.items():
        if plain.lower().endswith(unit):
            try:
                return float(plain[: -len(unit)]) * scale
            except ValueError:
                break
    try:
        return float(parse_time(plain))
    except ValueError as error:
        raise ValueError(tr("{text} is not a number, a time (2ms) or a size (64 KiB)", text=text)) from error
