"""The content of a table, independent of its widget: columns over items 0 … n−1, sorting, TSV and CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model.frames import StackFrame, parse_frame
from warpline.model.progress import IsCancelled, Progress, check_cancelled

Int64Array = npt.NDArray[np.int64]
Items = npt.NDArray[np.integer]
"""Item numbers; those from a column of a file keep its type, which saves a copy of millions."""
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class TableColumn:
    """One column over items 0 … n−1.

    ``text`` is the cell's text, ``raw`` the copied and exported one (default: ``text``). ``sort_values`` returns one
    sortable value per item; without it, the column cannot be sorted. ``bar`` returns a share 0–1 drawn as a bar
    before the text. Numbers are right-aligned. ``choices``, for columns with few distinct texts, returns a code per
    item and the text of each code, for filters. ``origin`` is subtracted from values shown. ``frame`` returns the
    source location named by a cell, opened by a click. ``key`` identifies the column if its title varies (with the
    unit); default: the title.
    """

    title: str
    text: Callable[[int], str]
    _: KW_ONLY
    sort_values: Callable[[], npt.NDArray[Any]] | None = None
    raw: Callable[[int], str] | None = None
    bar: Callable[[int], float] | None = None
    color: Callable[[int], str | None] | None = None
    is_number: bool = False
    width: int = 110
    stretches: bool = False
    tooltip: Callable[[int], str] | None = None
    description: str = ""
    key: str = ""
    choices: Callable[[], tuple[npt.NDArray[Any], Sequence[str]]] | None = None
    origin: int = 0
    frame: Callable[[int], StackFrame | None] | None = None

    @property
    def identity(self) -> str:
        """An identifier that does not change with the title's unit."""
        return self.key or self.title

    def raw_text(self, item: int) -> str:
        """The cell as copied and exported."""
        return (self.raw or self.text)(item)


@dataclass(frozen=True)
class TableContent:
    """Columns, the number of items, and the items shown in order (None: all, unsorted).

    ``is_ascending``: items are in ascending order, so an item is found by binary search.
    """

    columns: Sequence[TableColumn] = ()
    count: int = 0
    items: Items | None = None
    is_ascending: bool = False


def frame_of(text: Callable[[int], str]) -> Callable[[int], StackFrame | None]:
    """The source locations named by a column's texts."""

    def frame(item: int) -> StackFrame | None:
        found = parse_frame(text(item))
        return found if found.file else None

    return frame


def text_ranks(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Sort rank of each text, ignoring case; sort by these instead of by texts."""
    order = sorted(range(len(texts)), key=lambda index: (texts[index].casefold(), texts[index]))
    ranks = np.empty(len(texts), np.int64)
    ranks[order] = np.arange(len(texts))
    return ranks


def sorted_order(values: npt.NDArray[Any], items: Items | None, descending: bool) -> Items:
    """Items ordered by value; stable, NaN last. ``items`` None for all."""
    chosen = values if items is None else values[items]
    if descending:
        # Reversing twice keeps the order of ties.
        order = len(chosen) - 1 - np.argsort(chosen[::-1], kind="stable")[::-1]
        if chosen.dtype.kind == "f":
            missing = np.isnan(chosen[order])
            order = np.concatenate([order[~missing], order[missing]])
    else:
        order = np.argsort(chosen, kind="stable")
    # Kept while the table is shown: uint32 halves the memory.
    return order.astype(np.uint32 if len(order) <= 1 << 32 else np.int64) if items is None else items[order]


def tsv(columns: Sequence[TableColumn], items: Iterable[int]) -> str:
    """Rows as tab-separated text with a header."""
    lines = ["\t".join(column.title for column in columns)]
    lines += ["\t".join(_flat(column.raw_text(item)) for column in columns) for item in items]
    return "\n".join(lines)


def _flat(text: str) -> str:
    return " ".join(text.split("\t")).replace("\n", " ")


def write_table(
    path: Path,
    columns: Sequence[TableColumn],
    items: Items,
    progress: Progress,
    is_cancelled: IsCancelled,
) -> Path:
    """Write rows as CSV, or as TSV if the name ends in .tsv; the file appears when complete.

    Raises OSError if it cannot be written, Cancelled.
    """
    from warpline.interchange.export.output_files import (
        replacing,
    )  # only needed here

    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([column.title for column in columns])
        for begin in range(0, len(items), _ROWS_AT_ONCE):
            check_cancelled(is_cancelled)
            progress(begin / len(items), tr("writing {name}", name=path.name))
            for item in items[begin : begin + _ROWS_AT_ONCE].tolist():
                writer.writerow([column.raw_text(item) for column in columns])
    return path
