"""Helpers for exporter tests: write a part of a capture, list its content."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from warpline.interchange.export.exporter import ExportOptions
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.selection import ExportSelection
from warpline.storage import NO_ROW, Capture

TORCH = (
    "torch/facebookresearch+HolisticTraceAnalysis/tests/data/nccl_parser_config/nccl_data.json.gz",
    "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "torch/AMD-AGI+TraceLens/tests/traces/mi210/gpu_only_trace/gpu_only_trace.json.gz",
)
NSYS = (
    "nsys/GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite",
    "nsys/hpcgroup+pipit/pipit/tests/data/saxpy-mpi-cuda_nsys_perlmutter0.sqlite",
)
GENERIC = (
    "chrome_generic/catapult-project+catapult/tracing/test_data/thread_time_visualisation.json.gz",
    "chrome_generic/catapult-project+catapult/tracing/test_data/nestable_async.json",
)


def events_of(capture: Capture, kinds: set[str] | None = None) -> Counter[tuple[Any, ...]]:
    """Every event as (kind, name, start, duration)."""
    rows = np.arange(len(capture.events))
    starts, _ = capture.event_times(rows)
    names = capture.strings.get(capture.events.name.tolist())
    kind = [capture.kind_of_code[code] for code in capture.events.kind.tolist()]
    rows_of = zip(kind, names, starts.tolist(), capture.events.duration.tolist(), strict=True)
    return Counter(event for event in rows_of if kinds is None or event[0] in kinds)


def links_of(capture: Capture, *, loose: bool = True) -> Counter[tuple[Any, ...]]:
    """Every link as its kind and both events."""
    rows = np.arange(len(capture.events))
    starts, _ = capture.event_times(rows)
    names = capture.strings.get(capture.events.name.tolist())

    def end(row: int) -> tuple[Any, ...]:
        return ("outside",) if row == NO_ROW else (names[row], int(starts[row]))

    found = Counter(
        (capture.links.kind_name(kind), end(source), end(target))
        for source, target, kind in zip(
            capture.links.from_row.tolist(),
            capture.links.to_row.tolist(),
            capture.links.kind.tolist(),
            strict=True,
        )
    )
    return found if loose else Counter({key: n for key, n in found.items() if ("outside",) not in key})


def attributes_of(capture: Capture, kind: str) -> Counter[tuple[Any, ...]]:
    """Events of a kind with their attributes, texts and stacks spelt out."""
    table = capture.kinds[kind]
    texts = {spec.name for spec in table.spec.attributes if spec.dtype == "string"}
    found: Counter[tuple[Any, ...]] = Counter()
    for row in table.rows.tolist():
        values: list[Any] = []
        for name, value in sorted(table.at(row).items()):
            if value is not None and name in texts:
                value = capture.strings[value]
            elif value is not None and name == "stack":
                value = tuple(capture.stack_frames(value))
            if value is not None:
                values.append((name, value))
        found[int(capture.events.start[row]), *values] += 1
    return found


def rows_of(capture: Capture, kind: str) -> Counter[tuple[Any, ...]]:
    """For the events of a kind: roles and threads of their tracks, and counts of flags."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in capture.kinds[kind].rows.tolist():
        track = capture.tracks[capture.track_of_row(row)]
        tid = None if track.thread is None else capture.threads[track.thread].tid
        found[track.role, track.title if track.thread is None else tid, int(capture.events.flags[row])] += 1
    return found


def samples_of(capture: Capture) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for counter in capture.counters:
        known = np.isfinite(counter.values)
        pairs = zip(counter.times[known].tolist(), counter.values[known].tolist(), strict=True)
        found.setdefault(counter.name, []).extend(pairs)
    return {name: sorted(pairs) for name, pairs in found.items()}


def written(capture: Capture, out: Path, *selection: Any, **options: Any) -> Path:
    return export_capture(capture, out, ExportSelection(*selection), ExportOptions(**options))
