"""Holds the views of a capture to `capture.events()`: every row, every column."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

import warpline
from warpline.library.event_frame import EventFrame
from warpline.query.binding import Binder
from warpline.query.catalog import Catalog
from warpline.query.event_views import column_of, view_name
from warpline.query.examples import EXAMPLES
from warpline.query.guard import connect
from warpline.query.raw_tables import Keys
from warpline.storage import Capture

COMMON = {"id": "row", "ts": "start_ns", "dur": "duration_ns", "name": "name", "flags": "flags"}
"""Columns of views, and what they are called in Python."""
OF_TRACKS = {"uri": "track", "pid": "process_id", "tid": "thread_id", "device": "device", "stream": "stream"}


def binder_of(*captures: Capture) -> Binder:
    """Queries in this process: without its limits, at once."""
    keys = Keys()
    names = ["main", "b", "c"]
    catalogs = [Catalog(capture, name, keys) for capture, name in zip(captures, names, strict=False)]
    return Binder(connect(2 << 30, 2), catalogs)


def answer(binder: Binder, title: str) -> list[dict[str, Any]]:
    """Rows of the example of a title."""
    sql = next(example.sql for example in EXAMPLES if example.title == title)
    columns, _ = binder.run(sql)
    values = [column.python_values() for column in columns]
    return [
        dict(zip([column.name for column in columns], row, strict=True)) for row in zip(*values, strict=True)
    ]


def values_of(frame: EventFrame, name: str) -> list[Any]:
    """A column of the Python door as Python values, None where one is missing."""
    column = frame.column(name)
    values: list[Any] = column.codes.tolist()
    if column.texts is not None:
        values = [column.texts[code] if column.texts else None for code in values]
    if column.valid is None:
        return values
    return [value if valid else None for value, valid in zip(values, column.valid.tolist(), strict=True)]


def differences(reader: warpline.CaptureReader) -> list[str]:
    """Columns of views that differ from what Python returns."""
    capture = reader.storage
    binder = binder_of(capture)
    found = _different(binder, capture, "events", reader.events(), {**COMMON, "kind": "kind"})
    for kind, table in capture.kinds.items():
        frame = reader.events(kind)
        attributes = {
            column_of(kind, spec): f"{kind}_{spec.name}"
            if f"{kind}_{spec.name}" in frame.columns
            else spec.name
            for spec in table.spec.attributes
        }
        stacks = {column_of(kind, spec) for spec in table.spec.attributes if spec.dtype == "stack"}
        found += _different(binder, capture, view_name(kind), frame, COMMON | attributes, stacks)
    return found


def _different(
    binder: Binder,
    capture: Capture,
    view: str,
    frame: EventFrame,
    names: dict[str, str],
    stacks: Collection[str] = (),
) -> list[str]:
    tracks = [f"t.{name} AS t_{name}" for name in OF_TRACKS]
    shown = [f'v."{name}"' for name in names]
    result, _ = binder.run(
        f'SELECT {", ".join(shown + tracks)} FROM "{view}" v JOIN tracks t ON t.id = v.track_id ORDER BY v.id'
    )
    expected = [*names.values(), *OF_TRACKS.values()]
    found = []
    for column, name in zip(result, expected, strict=True):
        ours, theirs = column.python_values(), values_of(frame, name)
        if column.name in stacks:
            ours = [None if stack is None else _stack(capture, stack) for stack in ours]
        if not _same(ours, theirs):
            found.append(f"{view}.{column.name}: {ours[:3]} and {theirs[:3]}")
    return found


def _stack(capture: Capture, stack: int) -> str:
    return ";".join(reversed(capture.stack_frames(stack)))


def _same(ours: list[Any], theirs: list[Any]) -> bool:
    if ours == theirs:
        return True
    if len(ours) != len(theirs):
        return False
    return all(
        a == b or (isinstance(a, float) and np.isnan(a) and np.isnan(b))
        for a, b in zip(ours, theirs, strict=True)
    )
