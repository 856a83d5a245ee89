"""The data that a `CaptureBuilder` collects: columns that spill to disk, and the input of the assembler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import (
    AttributeSpec,
    Clock,
    Device,
    KindSpec,
    Packing,
    Process,
    Skipped,
    Source,
    Thread,
    Track,
)
from warpline.storage.columns.attribute_types import column_type
from warpline.storage.columns.schema import KIND_ROW_TYPES
from warpline.storage.write.runs import Run
from warpline.storage.write.spill import SpillColumn, SpillDirectory
from warpline.storage.write.string_ids import StringIds

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]


class AttributeColumn:
    """Values and validity of one attribute, in the order its events were added."""

    def __init__(self, spec: AttributeSpec, spill: SpillDirectory) -> None:
        self.values = spill.column(column_type(spec.dtype))
        self._spill = spill
        self._valid: SpillColumn | None = None
        whole = self.values.dtype.kind in "iu"
        limits = np.iinfo(self.values.dtype) if whole else None
        self.low, self.high = (int(limits.min), int(limits.max)) if limits else (0, -1)
        """Range of integers that the column can hold; empty for a column of other values."""

    def append(self, first: int, count: int, values: Array, valid: Array | None) -> None:
        """Values of the next ``count`` events from number ``first`` on; events since the last call are missing.

        ``values`` are copied; an array without dimension is the value of all. ``valid`` is uint8, None when every value
        exists.
        """
        self.fill(first)
        if valid is not None and self._valid is None:
            self._start_validity()
        if values.ndim:
            self.values.append_copy(values)
        else:
            self.values.append_one(values, count)
        if self._valid is not None:
            if valid is None:
                self._valid.append_one(1, count)
            else:
                self._valid.append_copy(valid)

    def append_one(self, first: int, value: int) -> None:
        """The value of the event number ``first``, between ``low`` and ``high``."""
        if len(self.values) < first:
            self.fill(first)
        self.values.append_one(value)
        if self._valid is not None:
            self._valid.append_one(1)

    def fill(self, count: int) -> None:
        """Marks events up to ``count`` without a value as missing."""
        gap = count - len(self.values)
        if gap <= 0:
            return
        if self._valid is None:
            self._start_validity()
        assert self._valid is not None
        self.values.append_one(0, gap)
        self._valid.append_one(0, gap)

    @property
    def valid(self) -> SpillColumn | None:
        """1 where a value exists; None when all do."""
        return self._valid

    def _start_validity(self) -> None:
        self._valid = self._spill.column("|u1")
        self._valid.append_one(1, len(self.values))


@dataclass
class KindBuffer:
    """A kind while it is written: number of events and columns of attributes."""

    spec: KindSpec
    code: int
    count: int = 0
    columns: dict[str, AttributeColumn] = field(default_factory=dict)


@dataclass(kw_only=True)
class CounterBuffer:
    """A counter while it is being written."""

    track: int
    name: str
    unit: str
    interpolation: str
    times: SpillColumn
    values: SpillColumn


@dataclass
class KeyBuffer:
    """Keys and event ids of one end of keyed links."""

    keys: SpillColumn
    ids: SpillColumn


@dataclass(frozen=True, kw_only=True)
class BuilderContents:
    """The input of the assembler. For ``event_columns`` and the other columns of events see `runs`."""

    path: Path
    compress: bool
    memory_budget_bytes: int
    uuid: str
    meta: dict[str, Any]
    span: tuple[int, int] | None
    spill: SpillDirectory
    strings: StringIds
    processes: Sequence[Process]
    threads: Sequence[Thread]
    devices: Sequence[Device]
    clocks: Sequence[Clock]
    sources: Sequence[Source]
    skipped: Sequence[Skipped]
    warnings: Sequence[str]
    pauses: Sequence[tuple[int, int]]
    kinds: Sequence[KindBuffer]
    tracks: Sequence[Track]
    packings: Sequence[Packing]
    n_events: int
    event_columns: Sequence[SpillColumn]
    origin_columns: Sequence[SpillColumn]
    runs: Mapping[int, Sequence[Run]]
    links: Mapping[str, tuple[SpillColumn, SpillColumn]]
    keys: Mapping[tuple[str, int, str], KeyBuffer]
    stacks: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]
    """Frame and parent of each."""
    counters: Sequence[CounterBuffer]

    @property
    def row_type(self) -> str:
        """The smallest type that holds every row number and the number of rows."""
        return next(dtype for dtype in KIND_ROW_TYPES if self.n_events <= np.iinfo(dtype).max)
