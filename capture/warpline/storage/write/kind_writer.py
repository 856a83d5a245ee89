"""Writes `kinds`: the description, rows and attributes of each kind of event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import orjson

from warpline.model import AttributeSpec
from warpline.storage.columns.schema import EVENT_COLUMNS
from warpline.storage.write.builder_contents import KindBuffer
from warpline.storage.write.event_writer import KindOrder
from warpline.storage.write.outputs import ColumnNode, Datasets
from warpline.storage.write.spill import SpillColumn

_PIECE = 1 << 17


def write_kinds(
    out: Datasets, kinds: Sequence[KindBuffer], orders: Sequence[KindOrder], row_type: str
) -> None:
    """Write the kinds that have events, after `events`; ``orders`` by code."""
    group = out.file.create_group("kinds")
    rows: dict[int, ColumnNode] = {}
    for buffer in kinds:
        if not buffer.count:
            continue
        kind = group.create_group(buffer.spec.name)
        for key, value in (
            ("code", buffer.code),
            ("title", buffer.spec.title),
            ("category", buffer.spec.category),
            ("color", buffer.spec.color),
        ):
            out.set_attribute(kind, key, value)
        rows[buffer.code] = out.empty(kind, "row", row_type, buffer.count)
        order = orders[buffer.code]
        attributes, valid = kind.create_group("attributes"), kind.create_group("valid")
        for spec in buffer.spec.attributes:
            column = buffer.columns.get(spec.name)
            if column is None:
                continue
            column.fill(buffer.count)
            describe_attribute(
                out, _gather(out, attributes, spec.name, column.values, order, buffer.count), spec
            )
            if column.valid is not None:
                _gather(out, valid, spec.name, column.valid, order, buffer.count)
    _write_rows(out, rows)


def describe_attribute(out: Datasets, dataset: ColumnNode, spec: AttributeSpec) -> None:
    """Describes a column of values by its HDF5 attributes."""
    out.set_attribute(dataset, "title", spec.title)
    out.set_attribute(dataset, "unit", spec.unit)
    out.set_attribute(dataset, "type", spec.dtype)
    if spec.enum:
        named = {str(number): text for number, text in spec.enum.items()}
        out.set_attribute(dataset, "enum", orjson.dumps(named).decode())


def _gather(
    out: Datasets, group: ColumnNode, name: str, column: SpillColumn, order: KindOrder, count: int
) -> ColumnNode:
    dataset = out.empty(group, name, column.dtype.str, count)
    buffer = out.buffered(dataset)
    at = 0
    for values in order.gather(column.read()):
        buffer.put(at, values)
        at += len(values)
    buffer.flush()
    column.close()
    return dataset


def _write_rows(out: Datasets, datasets: Mapping[int, ColumnNode]) -> None:
    """The rows of each kind, ascending, from the column of kinds."""
    out.flush()
    kinds = out.view("events/kind", EVENT_COLUMNS["kind"])
    buffers = {code: (out.buffered(dataset), [0]) for code, dataset in datasets.items()}
    for first in range(0, len(kinds), _PIECE):
        piece = kinds[first : first + _PIECE]
        codes = np.flatnonzero(np.bincount(piece)).tolist()
        for code in codes:
            rows = (np.flatnonzero(piece == code) if len(codes) > 1 else np.arange(len(piece))) + first
            buffer, at = buffers[code]
            buffer.put(at[0], rows.astype(datasets[code].dtype))
            at[0] += len(rows)
    for buffer, _at in buffers.values():
        buffer.flush()
