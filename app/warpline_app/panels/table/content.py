"""What a table shows: columns over items 0 … n−1, kept apart from the widget; sorting by permutation; TSV and CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.model.frames import StackFrame, parse_frame
from warpline.model.progress import IsCancelled, Progress, check_cancelled

Int64Array = npt.NDArray[np.int64]
Items = npt.NDArray[np.integer]
"""Numbers of items; those of a column of a file keep its type, which saves a copy of millions."""
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class TableColumn:
    """One column over items 0 … n−1.

    ``text`` gives what a cell shows; ``raw`` what copying and exporting writes (the text by default). ``sort_values``
    makes the array, one entry per item, that sorting compares: numbers, or ranks of texts; without it the column does
    not sort. ``bar`` gives a share 0–1 that is drawn as a bar before the text. Numbers stand at the right.
    ``choices`` gives, for columns of few texts, a code per item and the text of each code: what filters compare;
    ``origin`` is what the values shown are counted from.
    ``frame`` gives the place in a file that a cell names, which a click on it shows.
    ``key`` tells the column from others where its title varies (with the unit that fits); the title by default.
    """

    title: str
    text: Callable[[int], str]
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
        """What stays the same while the title's unit changes."""
        return self.key or self.title

    def raw_text(self, item: int) -> str:
        """The cell as copying and exporting writes it."""
        return (self.raw or self.text)(item)


@dataclass(frozen=True)
class TableContent:
    """Columns, how many items there are, and which of them are shown in which order (None: all, as they come).

    ``is_ascending``: they are shown by ascending number, so that one among millions is found without looking at all.
    """

    columns: Sequence[TableColumn] = ()
    count: int = 0
    items: Items | None = None
    is_ascending: bool = False


def frame_of(text: Callable[[int], str]) -> Callable[[int], StackFrame | None]:
    """The places in files that the texts of a column name."""

    def frame(item: int) -> StackFrame | None:
        found = parse_frame(text(item))
        return found if found.file else None

    return frame


def text_ranks(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Rank of each text in the order of people (case folded): sort by these instead of by texts."""
    order = sorted(range(len(texts)), key=lambda index: (texts[index].casefold(), texts[index]))
    ranks = np.empty(len(texts), np.int64)
    ranks[order] = np.arange(len(texts))
    return ranks


def sorted_order(values: npt.NDArray[Any], items: Items | None, descending: bool) -> Items:
    """Items by their value, ties in the order they had; ``items`` None for all. Missing values (NaN) come last."""
    chosen = values if items is None else values[items]
    if descending:
        # Reversed twice, ties keep their order.
        order = len(chosen) - 1 - np.argsort(chosen[::-1], kind="stable")[::-1]
        if chosen.dtype.kind == "f":
            missing = np.isnan(chosen[order])
            order = np.concatenate([order[~missing], order[missing]])
    else:
        order = np.argsort(chosen, kind="stable")
    # Kept as long as the table shows it: in half the memory where the numbers fit.
    return order.astype(np.uint32 if len(order) <= 1 << 32 else np.int64) if items is None else items[order]


def tsv(columns: Sequence[TableColumn], items: Iterable[int]) -> str:
    """Rows as tab-separated text below a line of titles."""
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
    """Write rows as CSV, or as TSV when the name ends so; the file appears when it is complete.

    Raises OSError when it cannot be written, Cancelled.
    """
    from warpline.interchange.export.output_files import (
        replacing,
    )  # nobody waits for it where tables are shown

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
