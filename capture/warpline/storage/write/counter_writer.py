"""Writes `counters`: samples in time order, and their pyramid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.counters import counter_pyramid
from warpline.storage.columns.schema import COUNTER_COLUMNS, INTERPOLATIONS
from warpline.storage.write.builder_contents import CounterBuffer
from warpline.storage.write.outputs import Datasets
from warpline.storage.write.spill import SpillDirectory
from warpline.storage.write.table_writer import TextTable

Array = npt.NDArray[Any]
_SAMPLES, _COUNTERS = 1 << 16, 1 << 10
"""Written at once: each write that waits costs 1 kB, and counters can have one sample each."""


def write_counters(
    out: Datasets, counters: Sequence[CounterBuffer], texts: TextTable, spill: SpillDirectory
) -> None:
    """Writes all counters, one after the other."""
    group = out.file.create_group("counters")
    counts = [len(counter.times) for counter in counters]
    first = np.cumsum([0, *counts])
    directory = {
        "track": [counter.track for counter in counters],
        "name": [texts.id(counter.name) for counter in counters],
        "unit": [texts.id(counter.unit) for counter in counters],
        "interpolation": [INTERPOLATIONS.index(counter.interpolation) for counter in counters],
        "first": first[:-1],
        "count": counts,
    }
    for name, dtype in COUNTER_COLUMNS.items():
        out.put(group, name, np.asarray(directory[name], np.int64), dtype)
    times = out.empty(group, "time", "<i8", int(first[-1]))
    values = out.empty(group, "value", "<f8", int(first[-1]))
    pyramids = [spill.column("<f8") for _ in ("min", "max", "mean")]
    waiting: list[tuple[Array, Array]] = []
    begin = samples = 0

    def write_waiting() -> None:
        nonlocal begin, samples
        for dataset, parts in zip((times, values), zip(*waiting, strict=True), strict=True):
            out.write(dataset, begin, np.concatenate(parts))
        begin += samples
        waiting.clear()
        samples = 0

    for counter, count in zip(counters, counts, strict=True):
        if count:
            order = np.argsort(counter.times.read(), kind="stable")
            ordered = counter.values.read()[order]
            waiting.append((counter.times.read()[order], ordered))
            samples += count
            for column, level in zip(pyramids, counter_pyramid(ordered), strict=True):
                column.append(level)
        if samples >= _SAMPLES or len(waiting) >= _COUNTERS:
            write_waiting()
    if waiting:
        write_waiting()
    for name, column in zip(("min", "max", "mean"), pyramids, strict=True):
        out.put(group, name, column.read(), "<f8")
