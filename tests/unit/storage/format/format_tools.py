"""What stands in a capture file, object by object, and what a capture answers, as values to compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from warpline.storage import Capture
from warpline.storage.columns.schema import ALIGNMENT

CHANGING = {"uuid", "writer"}
"""Root attributes that are another in every file."""


def layout(path: Path) -> dict[str, Any]:
    """For each object of a file: type, shape, form, whether it is aligned, content and attributes."""
    found: dict[str, Any] = {}

    def note(name: str, node: h5py.Group | h5py.Dataset) -> None:
        attributes = {
            key: (attribute_type(node, key), None if key in CHANGING else plain(node.attrs[key]))
            for key in node.attrs
        }
        if isinstance(node, h5py.Group):
            found[name] = ("group", attributes)
            return
        offset = node.id.get_offset()
        found[name] = (
            node.dtype.str,
            node.shape,
            node.chunks,
            node.compression,
            node.compression_opts,
            node.shuffle,
            offset is None or node.nbytes < ALIGNMENT or offset % ALIGNMENT == 0,
            attributes,
            # Compared as bytes: a gap of a counter is NaN.
            node[:].tobytes(),
        )

    with h5py.File(path) as file:
        note("", file)
        file.visititems(note)
    return found


def attribute_type(node: h5py.Group | h5py.Dataset, key: str) -> str:
    """Whether an attribute is a number or a text of fixed length, and of how many bytes."""
    held = h5py.h5a.open(node.id, key.encode()).get_type()
    if isinstance(held, h5py.h5t.TypeStringID):
        assert not held.is_variable_str()
        return "text" if key in CHANGING else f"text of {held.get_size()}"
    return str(held.dtype.str)


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def contents(capture: Capture) -> dict[str, Any]:
    """Everything a capture tells, other than which version it is of and what tracks are said to be."""
    kinds = {
        name: (
            table.spec.title,
            table.spec.category,
            table.spec.color,
            {
                spec.name: (spec.dtype, spec.title, spec.unit, dict(spec.enum))
                for spec in table.spec.attributes
            },
            {int(row): readable(capture, name, int(row)) for row in table.rows},
        )
        for name, table in capture.kinds.items()
    }
    lanes = capture.lanes
    low, high = capture.span
    return {
        "kinds": kinds,
        "times": [column.tolist() for column in (capture.events.start, capture.events.duration)],
        "flags": capture.events.flags.tolist(),
        # Numbers of kinds and texts are the file's own.
        "kind": [capture.kind_of_code[code] for code in capture.events.kind.tolist()],
        "names": [capture.strings[name] for name in capture.events.name.tolist()],
        "lanes": [column.tolist() for column in (lanes.track, lanes.depth, lanes.first, lanes.count)],
        "tracks": [{**vars(track), "attributes": None} for track in capture.tracks],
        "clocks": capture.clocks,
        "links": [
            (capture.links.kind_name(kind), source, target)
            for source, target, kind in zip(
                capture.links.from_row.tolist(),
                capture.links.to_row.tolist(),
                capture.links.kind.tolist(),
                strict=True,
            )
        ],
        "counters": [
            (counter.track, counter.name, counter.unit, counter.interpolation, counter.times.tolist(),
             np.nan_to_num(counter.values, nan=-7).tolist())
            for counter in capture.counters
        ],
        "stacks": [capture.stack_frames(stack) for stack in range(len(capture.stacks[0]))],
        "utilization": {
            track: np.nan_to_num(capture.utilization(track, low, high, 50), nan=-7).tolist()
            for track in capture.groups
        },
        "drawn": capture.query(np.arange(len(lanes)), low, high, 100).mark_row.tolist(),
        "meta": dict(capture.meta),
        "program_end": capture.program_end,
        "pauses": capture.pauses.tolist(),
    }  # fmt: skip


def readable(capture: Capture, kind: str, row: int) -> dict[str, Any]:
    """Attributes of an event, texts and stacks spelt out."""
    table = capture.kinds[kind]
    values = table.at(row)
    for spec in table.spec.attributes:
        if values[spec.name] is not None and spec.dtype == "string":
            values[spec.name] = capture.strings[values[spec.name]]
        elif values[spec.name] is not None and spec.dtype == "stack":
            values[spec.name] = capture.stack_frames(values[spec.name])
    return values
