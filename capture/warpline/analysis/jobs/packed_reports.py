"""Reports as bytes: what travels from where a rank's capture lies, and what is kept of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Report, Table, Values, python_values

FORMAT = 1
"""Counted up when what is packed changes."""


def pack(report: Report) -> bytes:
    """A report as JSON, all of it but the events its rows stand for."""
    head: dict[str, Any] = {"name": report.name, "title": report.title, "range_ns": report.range_ns}
    if isinstance(report.result, NotRecorded):
        return orjson.dumps(head | {"reason": report.result.reason, "remedy": report.result.remedy})
    table = report.result
    return orjson.dumps(
        head
        | {
            "columns": [asdict(column) for column in table.columns],
            "types": {name: _type_of(values) for name, values in table.data.items()},
            "data": {name: python_values(values) for name, values in table.data.items()},
            "depth": None if table.depth is None else table.depth.tolist(),
            "scope": table.scope,
            "notes": table.notes,
        }
    )


def unpack(packed: bytes) -> Report:
    """The report that `pack` made bytes of. Raises ValueError when they are none."""
    try:
        found = orjson.loads(packed)
        first, stop = found["range_ns"]
        return Report(found["name"], found["title"], (first, stop), _result(found))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no packed report: {error}") from error


def _result(found: dict[str, Any]) -> Table | NotRecorded:
    if "reason" in found:
        return NotRecorded(found["reason"], found["remedy"])
    columns = tuple(Column(**(entry | {"role": Role(entry["role"])})) for entry in found["columns"])
    data = {name: _values(values, found["types"][name]) for name, values in found["data"].items()}
    depth = None if found["depth"] is None else np.array(found["depth"], np.int16)
    return Table(columns, data, depth, scope=found["scope"], notes=tuple(found["notes"]))


def _type_of(values: Values) -> str:
    """The kind of numbers in a column as numpy calls it, empty for texts."""
    return values.dtype.kind if isinstance(values, np.ndarray) and values.dtype.kind in "iufb" else ""


def _values(values: list[Any], kind: str) -> Values:
    if not kind:
        return values
    dtype = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}[kind]
    gone = [value is None for value in values]
    plain: npt.NDArray[Any] = np.array([0 if value is None else value for value in values], dtype)
    return np.ma.MaskedArray(plain, gone) if any(gone) else plain
