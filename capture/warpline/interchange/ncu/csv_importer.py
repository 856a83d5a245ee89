"""Importer for the CSV of Nsight Compute: kernels side by side, with their metrics."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from warpline.i18n import english, english_n
from warpline.interchange.framework.columns import MAX_TIME_NS, clean_text, integers
from warpline.interchange.framework.documents import text_lines
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.ncu.tables import KernelMetrics, header_of, kernels_of, number_of
from warpline.model import AttributeSpec, KindSpec
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_SIZE = re.compile(r"\D*(\d{1,10})\D+(\d{1,10})\D+(\d{1,10})\D*")
_LOOKED_AT = 1 << 16
_BATCH = 10_000


class NcuCsvImporter:
    """What ``ncu --csv`` prints, with ``--page raw`` or without."""

    name = "ncu-csv"
    title = english("Nsight Compute metrics (CSV)")
    patterns = ("*.csv",)
    position = 74

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if b"Kernel Name" not in head[:_LOOKED_AT]:
            return NO
        lines = head[:_LOOKED_AT].decode("utf-8", "replace").splitlines()
        return CERTAIN if header_of(lines) is not None else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        rows = _KernelRows(EventSink(builder, options))
        try:
            rows.add(kernels_of(text_lines(path, progress, cancelled)))
        except csv.Error as error:
            builder.add_warning(
                english("The file is damaged or ends early ({error}).", error=str(error)), is_loss=True
            )
        return rows.finish()


class _KernelRows:
    """Adds kernels one after the other."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._pending: list[tuple[int, int, int, int, int]] = []
        """Track, start, duration, name, metrics."""
        self._shapes: list[tuple[Any, ...]] = []
        self._now = self._timeless = 0
        payload = AttributeSpec("payload", "string", "Payload")
        sink.builder.add_kind(KindSpec("kernel", "", "gpu", "kernel", (payload,)))

    def add(self, kernels: Iterable[KernelMetrics]) -> None:
        """Adds kernels in their order."""
        for kernel in kernels:
            self._add(kernel)
            if len(self._pending) >= _BATCH:
                self._flush()
        self._flush()

    def _add(self, kernel: KernelMetrics) -> None:
        places, builder = kernel.places, self._sink.builder
        pid = _small(places.get("Process ID"), 1 << 31)
        process = self._sink.process(pid or "process", places.get("Process Name", ""))
        track = self._sink.stream(
            _small(places.get("Device"), 1 << 16) or 0,
            process,
            _small(places.get("Stream"), 1 << 31),
            context=_small(places.get("Context"), 1 << 31),
        )
        duration = kernel.duration_ns
        if duration is None or self._now + duration > MAX_TIME_NS:
            self._timeless += 1
            duration = 0
        values = {
            f"{name} [{unit}]" if unit else name: number_of(text)
            for name, (text, unit) in kernel.metrics.items()
        }
        metrics = clean_text(msgspec.json.encode(values).decode()) if values else ""
        name = builder.string(clean_text(places.get("Kernel Name", "")))
        self._pending.append((track, self._now, duration, name, builder.string(metrics)))
        registers = kernel.metrics.get("launch__registers_per_thread", ("", ""))[0]
        self._shapes.append(
            (*_size(places.get("Grid Size")), *_size(places.get("Block Size")), number_of(registers))
        )
        self._now += duration

    def _flush(self) -> None:
        if not self._pending:
            return
        track, start, duration, name, metrics = np.array(self._pending, np.int64).T
        shapes = list(zip(*self._shapes, strict=True))
        self._pending.clear()
        self._shapes.clear()
        names = [f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"]
        attributes: dict[str, Any] = {
            column: _uint32(values)
            for column, values in zip([*names, "registers_per_thread"], shapes, strict=True)
        }
        attributes["payload"] = np.ma.MaskedArray(metrics.astype(np.uint32), metrics == 0)
        self._sink.add(
            track, "kernel", start, start + duration, name.astype(np.uint32), attributes=attributes
        )

    def finish(self) -> ImportSummary:
        """Says what the report does not hold."""
        builder = self._sink.builder
        builder.add_warning(
            english(
                "The report says how long each kernel took, not when: kernels are drawn one after the "
                "other. Nsight Compute runs them alone, often several times, at fixed clocks."
            )
        )
        if self._timeless:
            builder.add_warning(
                english_n(
                    "{count:,} kernel has no duration, because gpu__time_duration.sum was not collected.",
                    "{count:,} kernels have no duration, because gpu__time_duration.sum was not collected.",
                    self._timeless,
                )
            )
        return self._sink.summary()


def _small(text: str | None, limit: int) -> int | None:
    value = number_of(text or "")
    return value if isinstance(value, int) and 0 <= value < limit else None


def _size(text: str | None) -> tuple[int | None, ...]:
    """``(256, 1, 1)`` as numbers."""
    match = _SIZE.fullmatch((text or "").replace(", ", " "))
    return tuple(int(part) for part in match.groups()) if match else (None, None, None)


def _uint32(values: tuple[Any, ...]) -> np.ma.MaskedArray[Any, Any]:
    column = integers(values)
    data = np.ma.getdata(column)
    return np.ma.MaskedArray(data, np.ma.getmaskarray(column) | (data < 0) | (data >= 1 << 32))


importer = NcuCsvImporter()
