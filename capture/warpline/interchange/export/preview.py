"""Estimates the content and size of an export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warpline.interchange.export.exporter import Exporter, HasFixedPart
from warpline.interchange.export.selection import (
    ExportSelection,
    Int64Array,
    count_events,
    counter_slice,
    lane_slices,
)

if TYPE_CHECKING:
    from warpline.storage import Capture

_BYTES_OF_TABLES = 10_000
_SAMPLED_EVENTS = 400


@dataclass(frozen=True)
class Estimate:
    """Exact numbers of events and counter samples, and an estimated size."""

    events: int
    samples: int
    size_bytes: int


def estimate(
    capture: Capture, selection: ExportSelection, exporter: Exporter, *, is_packed: bool = False
) -> Estimate:
    """Estimates an export with a few searches per lane. ``is_packed``: compressed."""
    events = count_events(capture, selection)
    samples = 0
    for counter in capture.counters:
        if selection.has_track(counter.track):
            rows = counter_slice(capture, counter.index, selection)
            samples += rows.stop - rows.start
    model = exporter.size_model
    attributes, text_bytes = _sampled_content(capture, selection, events)
    per_event = model.per_event + model.per_attribute * attributes + model.per_text_byte * text_bytes
    size = events * per_event + samples * model.per_sample
    if isinstance(exporter, HasFixedPart):
        size += exporter.fixed_bytes(capture, selection)
    packed = size * (model.packed_ratio if is_packed else 1)
    return Estimate(events, samples, int(_BYTES_OF_TABLES + model.per_file + packed))


def _sampled_content(capture: Capture, selection: ExportSelection, events: int) -> tuple[float, float]:
    """Mean attributes and bytes of text per event, from a few hundred events across the selection."""
    step = max(1, events // _SAMPLED_EVENTS)
    parts: list[Int64Array] = []
    offset = 0
    for _, rows in lane_slices(capture, selection):
        parts.append(np.arange(rows.start + offset, rows.stop, step))
        offset = (offset - (rows.stop - rows.start)) % step
    chosen = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if not len(chosen):
        return 0.0, 0.0
    text_bytes = sum(map(len, capture.strings.get(capture.events.name[chosen].tolist())))
    attributes = 0
    kinds = capture.events.kind[chosen]
    for code in np.unique(kinds).tolist():
        table = capture.kinds.get(capture.kind_of_code.get(code, ""))
        if table is None:
            continue
        position = table.indices_of(chosen[kinds == code])
        for spec in table.spec.attributes:
            values, valid = table.taken(spec.name, position)
            attributes += int(valid.sum())
            if spec.dtype == "string":
                text_bytes += sum(map(len, capture.strings.get(values[valid].tolist())))
    return attributes / len(chosen), text_bytes / len(chosen)
