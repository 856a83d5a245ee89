"""Reports as text tables that fit a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from warpline.analysis.framework.cell_text import format_value, table_units
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.fitting import fit_names, shorten, shorten_apart, shorten_place
from warpline.analysis.framework.report import NotRecorded, Report, Table, Texts, Values
from warpline.i18n import tr, tr_n, translated
from warpline.i18n.width import text_width

_GAP = "  "
_SHORTEST_TEXT = 16


def write_text(
    report: Report, width: int, unit: str | None = None, limit: int | None = None, only: str = ""
) -> Iterator[str]:
    """The lines of a report at most ``width`` columns wide. Times are in ``unit``, by default one that suits the table.

    Shortens long names. Shows at most ``limit`` rows, then the number of all rows. ``only`` describes what is selected
    besides the time range.
    """
    yield from wrapped(f"{translated(report.title)} ({report.name})", width)
    if isinstance(report.result, NotRecorded):
        yield from wrapped(tr("not recorded: {reason}", reason=translated(str(report.result))), width, _GAP)
        return
    table = report.result
    if table.scope:
        scope = translated(table.scope)
        yield from wrapped(f"{scope}, {only}" if only else scope, width, _GAP)
    if not len(table):
        yield _GAP + tr("nothing to list")
    elif limit != 0:
        yield from _grid(table, width, unit, limit)
    yield ""
    if limit is not None and limit < len(table):
        yield _GAP + tr_n("{shown} of {count} row", "{shown} of {count} rows", len(table), shown=limit)
    for text in _footnotes(table):
        yield from wrapped(text, width, _GAP)


def _grid(table: Table, width: int, unit: str | None, limit: int | None) -> Iterator[str]:
    absent = set(_absent(table))
    columns = [column for column in table.columns if column.role is not Role.CODE and column not in absent]
    shown = table if limit is None or limit >= len(table) else table.part(0, limit)
    name = _name_place(table, columns)
    units = _units(shown)
    texts = []
    for index, column in enumerate(columns):
        own = unit or units.get(column.name, "ns")
        cells = [format_value(value, column, own) for value in shown.values(column.name)]
        if index == name and shown.depth is not None:
            # Deeper levels would be off screen, and their indentation takes memory by the square of the depth.
            indents = (2 * np.minimum(shown.depth, width)).tolist()
            cells = [" " * indent + cell for indent, cell in zip(indents, cells, strict=True)]
        is_text = _is_text(shown.data[column.name])
        texts.append(_Cells(_title(column, own), cells, is_text, column.is_place))
        if column.is_place:
            texts[-1].widen(width // 3)
    texts[name].widen(width // 3)
    for block in _blocks(texts, name, width):
        chosen = [texts[i] for i in block]
        widths = _widths(chosen, width)
        yield ""
        yield _line([cells.title for cells in chosen], chosen, widths)
        yield _line(["─" * room for room in widths], chosen, widths)
        fitting = [cells.fitting(room) for cells, room in zip(chosen, widths, strict=True)]
        for row in zip(*fitting, strict=True):
            yield _line(row, chosen, widths)


class _Cells:
    """One column as text, with its natural and its smallest width."""

    def __init__(self, title: str, texts: list[str], is_text: bool, is_place: bool) -> None:
        self.title = title
        self.is_place = is_place
        self.texts = texts
        self.is_text = is_text
        self.natural = max(text_width(title), max(map(text_width, texts), default=0))
        self.smallest = self.natural
        self.widen(_SHORTEST_TEXT)

    def widen(self, least: int) -> None:
        """Let texts be shortened to ``least`` columns; numbers are never shortened."""
        if self.is_text:
            self.smallest = min(self.natural, max(least, text_width(self.title)))

    def fitting(self, room: int) -> list[str]:
        """The texts in ``room`` columns: source lines without folders, kernels by short names."""
        if self.is_place:
            return shorten_apart([shorten_place(text, room) for text in self.texts], room)
        return fit_names(self.texts, room) if self.is_text else self.texts


def _footnotes(table: Table) -> Iterator[str]:
    wholes: dict[str, list[str]] = {}
    absent = _absent(table)
    for column in table.columns:
        if column.of and column not in absent:
            wholes.setdefault(column.of, []).append(translated(column.title))
    for whole, titles in wholes.items():
        yield tr("{columns} (%): of {whole}", columns=", ".join(titles), whole=translated(whole))
    # A time and its share have the same title.
    titles = list(
        dict.fromkeys(translated(column.title) for column in absent if column.role is not Role.REASON)
    )
    if titles:
        yield tr("Columns without a value, because it was not recorded: {columns}", columns=", ".join(titles))
    yield from map(translated, table.notes)


def _absent(table: Table) -> list[Column]:
    """Columns without any value, which would only take space."""
    return [column for column in table.columns if len(table) and _is_empty(table.data[column.name])]


def _is_empty(values: Values) -> bool:
    if isinstance(values, Texts):
        return bool((values.codes < 0).all())
    if not isinstance(values, np.ndarray):
        return all(value is None for value in values)
    missing = np.ma.getmaskarray(values)
    if values.dtype.kind == "f":
        missing = missing | np.isnan(np.ma.getdata(values))
    return bool(missing.all())


def largest_time(values: Values) -> float:
    """The largest absolute value of a column, 0 if it has none."""
    if not isinstance(values, np.ndarray) or not len(values):
        return 0.0
    largest = np.ma.max(np.ma.masked_invalid(np.abs(np.ma.asarray(values, np.float64))))
    return 0.0 if largest is np.ma.masked else float(largest)


def _units(table: Table) -> dict[str, str]:
    """The unit of each column of times."""
    names = [column.name for column in table.columns if column.unit == "ns"]
    return dict(zip(names, table_units([largest_time(table.data[name]) for name in names]), strict=True))


def _title(column: Column, unit: str) -> str:
    title = translated(column.title)
    if column.unit == "ns":
        return f"{title} ({'µs' if unit == 'us' else unit})"
    return f"{title} (%)" if column.unit == "ratio" else title


def _is_text(values: Values) -> bool:
    return not isinstance(values, np.ndarray)


def _name_place(table: Table, columns: Sequence[Column]) -> int:
    """The column that identifies a row: the first text of a tree, else the names, else the last text."""
    texts = [place for place, column in enumerate(columns) if _is_text(table.data[column.name])]
    if table.depth is None:
        named = [place for place in texts if columns[place].role is Role.NAME]
        return named[0] if named else texts[-1] if texts else 0
    return texts[0] if texts else 0


def wrapped(text: str, width: int, indent: str = "") -> Iterator[str]:
    """The text in lines of at most ``width`` columns, broken at spaces and inside words that are too long."""
    room = max(width - len(indent), 8)
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if text_width(joined) <= room:
            line = joined
            continue
        if line:
            yield indent + line
        line = ""
        for character in word:
            if text_width(line + character) > room:
                yield indent + line
                line = ""
            line += character
    yield indent + line


def _line(texts: Sequence[Any], columns: Sequence[_Cells], widths: list[int]) -> str:
    parts = []
    for text, column, width in zip(texts, columns, widths, strict=True):
        short = shorten(text, width)
        pad = " " * (width - text_width(short))
        parts.append(short + pad if column.is_text else pad + short)
    return (_GAP + _GAP.join(parts)).rstrip()


def _blocks(columns: Sequence[_Cells], name: int, width: int) -> Iterator[list[int]]:
    """Columns in blocks that fit the width, each with the names."""
    block: list[int] = []
    used = 0
    reserved = columns[name].smallest + len(_GAP)
    for index, column in enumerate(columns):
        if index == name:
            continue
        need = column.smallest + len(_GAP)
        if block and used + need + reserved > width:
            yield _placed(block, name)
            block, used = [], 0
        block.append(index)
        used += need
    yield _placed(block, name)


def _placed(block: list[int], name: int) -> list[int]:
    """The block with the names on the side where the report has them."""
    return sorted([*block, name]) if block and name < min(block) else [*block, name]


def _widths(columns: Sequence[_Cells], width: int) -> list[int]:
    widths = [column.smallest for column in columns]
    spare = width - sum(widths) - len(_GAP) * len(columns)
    # The last text column usually holds the names, so it grows first.
    for place in reversed(range(len(columns))):
        grow = max(0, min(columns[place].natural - widths[place], spare))
        widths[place] += grow
        spare -= grow
    return widths
