"""Answers as short text: tables with a unit in the header of each column, and what could not be answered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from warpline.analysis.framework.column import Role
from warpline.analysis.framework.fitting import fit_names
from warpline.untrusted import listing, one_line

MOST_CHARACTERS = 12_000
"""Of an answer; clients refuse long ones."""
NAME_WIDTH = 80
NOTHING = "–"
_SCALES = {
    Role.DURATION: (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1)),
    Role.TIME: (("s", 1e9),),
    Role.SIZE: (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1)),
    Role.THROUGHPUT: (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1)),
    Role.SHARE: (("%", 0.01),),
    Role.RATIO: (("", 1.0),),
    Role.RATE: (("/s", 1.0),),
}


def not_recorded(reason: str, remedy: str = "") -> str:
    """The answer to what the capture does not hold."""
    lines = ["status: not_recorded", f"reason: {reason}"]
    return "\n".join([*lines, f"to record it: {remedy}"] if remedy else lines)


def scaled(title: str, role: Role, values: Sequence[Any]) -> list[str]:
    """The cells of a column below its title, all in one unit, which the title names; a dash for what is missing."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    sizes = sorted(abs(value) for value in numbers if value and math.isfinite(value))
    middle = sizes[len(sizes) // 2] if sizes else 0
    scales = _SCALES.get(role, (("", 1),))
    unit, scale = next(((unit, scale) for unit, scale in scales if middle >= scale), scales[-1])
    if role is Role.TIME:
        return [f"{title} s", *(NOTHING if value is None else f"{value / scale:.6f}" for value in values)]
    cells = [_cell(value, scale, is_plain=role not in _SCALES) for value in values]
    return [f"{title} {unit}".strip(), *cells]


def _cell(value: Any, scale: float, *, is_plain: bool) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and is_plain:
        return str(value)
    if isinstance(value, int | float):
        return number(value / scale)
    return str(value).replace("\t", " ").replace("\n", " ")


def number(value: float) -> str:
    """A number with about four digits, without trailing zeros."""
    if value == 0:
        return "0"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def table(columns: Iterable[Sequence[str]]) -> list[str]:
    """Columns, each with its title first, as lines with tabs between."""
    return ["\t".join(cells) for cells in zip(*columns, strict=True)]


def joined(lines: Iterable[str]) -> str:
    """Lines as one text. A line end inside one came with a name, and is shown as an escape; empty last lines go."""
    return listing(lines).rstrip("\n")


def names(texts: Sequence[str | None]) -> list[str]:
    """Names in at most `NAME_WIDTH` characters; different names stay different."""
    shown = [NOTHING if text is None else one_line(text).replace("\t", " ") for text in texts]
    return fit_names(shown, NAME_WIDTH)


def capped(text: str) -> str:
    """The answer, cut at `MOST_CHARACTERS` with a line that says so."""
    if len(text) <= MOST_CHARACTERS:
        return text
    note = "\n… cut: the answer is too long; ask for fewer rows or columns, a range, or a track"
    kept = text[: MOST_CHARACTERS - len(note)]
    return kept[: max(kept.rfind("\n"), len(kept) - 500)] + note


def paged(first: int, shown: int, total: int, unit: str = "rows") -> str:
    """Which rows are shown, and how to get the next; empty when all are."""
    if first == 0 and shown >= total:
        return ""
    more = f"; next: offset={first + shown}" if first + shown < total else ""
    return f"{unit} {first + 1 if shown else first}–{first + shown} of {total:,}{more}"
