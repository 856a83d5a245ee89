"""Opens tables of timed events in Warpline.

The file begins with the line ``thread,name,start_us,duration_us``; every further line is an event.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.interchange import ImportOptions, ImportSummary
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.model.track_factory import TrackFactory
from warpline.model.track_style import TRACE

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

HEADER = "thread,name,start_us,duration_us"
BATCH = 50_000


class CsvImporter:
    """What `warpline.interchange.framework.importer.Importer` asks for."""

    name = "csv-events"
    title = "Table of timed events (CSV)"
    patterns = ("*.csv",)

    def recognise(self, head: bytes, path: Path) -> float:
        """Content decides, never the name of the file."""
        del path
        return 1.0 if head.startswith(HEADER.encode()) else 0.0

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """Add every event; what cannot be understood is counted, not dropped silently."""
        # One vocabulary for the tracks of all captures: URIs, titles, roles, order.
        factory = TrackFactory(TRACE, options.prefix)
        process = builder.add_process(1, name=path.stem, rank=options.rank)
        process_track = factory.process(1, path.stem)
        top = builder.add_track(
            process_track, parent=options.group, process=process, rank=options.rank, clock=options.clock
        )
        tracks: dict[str, int] = {}
        bad = total = 0
        low: int | None = None
        high: int | None = None
        with path.open(newline="", encoding="utf-8", errors="replace") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None or ",".join(reader.fieldnames) != HEADER:
                raise ImportFormatError(f"{path}: the first line must be {HEADER}")
            while rows := [row for _, row in zip(range(BATCH), reader, strict=False)]:
                check_cancelled(cancelled)
                by_thread: dict[str, list[tuple[str, int, int]]] = {}
                for row in rows:
                    try:
                        start = round(float(row["start_us"]) * 1000)
                        duration = round(float(row["duration_us"]) * 1000)
                    except (TypeError, ValueError, OverflowError):
                        bad += 1
                        continue
                    if duration < 0 or abs(start) > 1 << 61 or duration > 1 << 61:
                        bad += 1
                        continue
                    by_thread.setdefault(row["thread"] or "?", []).append(
                        (row["name"] or "", start, duration)
                    )
                for thread, events in by_thread.items():
                    if thread not in tracks:
                        number = len(tracks) + 1
                        index = builder.add_thread(process, number, name=thread)
                        spec = factory.thread(process_track.uri, number, thread, place=number)
                        tracks[thread] = builder.add_track(spec, parent=top, process=process, thread=index)
                    names, starts, durations = zip(*events, strict=True)
                    start_array = np.array(starts, np.int64)
                    duration_array = np.array(durations, np.int64)
                    # One call per batch and track, never one per event.
                    builder.add_events(
                        tracks[thread], "range", start_array, duration_array, builder.strings(names)
                    )
                    total += len(events)
                    first, last = int(start_array.min()), int((start_array + duration_array).max())
                    low = first if low is None else min(low, first)
                    high = last if high is None else max(high, last)
                progress(0.5, f"{total:,} events")
        builder.add_skipped("lines", bad, "no numbers, or a negative duration")
        return ImportSummary(events=total, start_ns=low, stop_ns=high)


importer = CsvImporter()
