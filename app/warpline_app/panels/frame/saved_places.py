"""Reads saved panel layouts from the settings file, ignoring invalid values."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QRect

_FARTHEST_PX = 1 << 20


def names(value: Any) -> list[str]:
    """The distinct texts of a list."""
    return (
        list(dict.fromkeys(name for name in value if isinstance(name, str)))
        if isinstance(value, list)
        else []
    )


def two_sizes(value: Any) -> list[int]:
    """Sizes of a splitter; empty if invalid."""
    numbers = _pixels(value, 2)
    return numbers if numbers and min(numbers) > 0 else []


def places(value: Any) -> dict[str, QRect]:
    """Window geometries by name."""
    found = value.items() if isinstance(value, dict) else ()
    return {name: QRect(*numbers) for name, place in found if (numbers := _pixels(place, 4))}


def _pixels(value: Any, count: int) -> list[int]:
    is_valid = (
        isinstance(value, list)
        and len(value) == count
        and all(isinstance(number, int) and abs(number) <= _FARTHEST_PX for number in value)
    )
    return value if is_valid else []
