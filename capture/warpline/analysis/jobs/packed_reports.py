"""Reports as bytes: what travels from where a rank's capture lies, and what is kept of it."""

from __future__ import annotations

import sys
import zlib
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Report, Table, Texts, Values

FORMAT = 2
"""Counted up when what is packed changes."""
_NUMBERS = {"i": "<i8", "u": "<u8", "f": "<f8", "b": "|b1"}


def pack(report: Report) -> bytes:
    """A report as bytes, all of it but the events its rows stand for.

    A JSON object and, behind a zero byte, the columns one after the other; the whole of it compressed. Numbers are of
    eight bytes, texts are numbers of the texts in the object, what is masked has a byte a row.
    """
    head: dict[str, Any] = {"name": report.name, "title": report.title, "range_ns": report.range_ns}
    if isinstance(report.result, NotRecorded):
        head |= {"reason": report.result.reason, "remedy": report.result.remedy}
        return zlib.compress(orjson.dumps(head) + b"\0", 1)
    table = report.result
    body: list[bytes] = []
    head |= {
        "columns": [asdict(column) for column in table.columns],
        "rows": len(table),
        "data": {name: _packed(values, body) for name, values in table.data.items()},
        "depth": None if table.depth is None else table.depth.tolist(),
        "scope": table.scope,
        "notes": table.notes,
    }
    return zlib.compress(b"\0".join([orjson.dumps(head), b"".join(body)]), 1)


def unpack(packed: bytes) -> Report:
    """The report that `pack` made bytes of. Raises ValueError when they are none."""
    try:
        head, body = zlib.decompress(packed).split(b"\0", 1)
        found = orjson.loads(head)
        first, stop = found["range_ns"]
        return Report(found["name"], found["title"], (first, stop), _result(found, body))
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"no packed report: {error}") from error


def _packed(values: Values, body: list[bytes]) -> dict[str, Any]:
    if not isinstance(values, np.ndarray):
        codes, texts = _coded(values)
        body.append(codes.astype("<i4").tobytes())
        return {"texts": texts}
    gone = np.ma.getmaskarray(values)
    kind = values.dtype.kind
    body.append(np.ma.getdata(values).astype(_NUMBERS[kind]).tobytes())
    if gone.any():
        body.append(gone.tobytes())
    return {"kind": kind, "masked": bool(gone.any())}


def _coded(values: Any) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    if isinstance(values, Texts):
        distinct, codes = np.unique(values.codes, return_inverse=True)
        return codes.reshape(-1), [None if code < 0 else values.lookup(code) for code in distinct.tolist()]
    numbers: dict[str | None, int] = {}
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in values], np.int64)
    return codes, list(numbers)


def _result(found: dict[str, Any], body: bytes) -> Table | NotRecorded:
    if "reason" in found:
        return NotRecorded(found["reason"], found["remedy"])
    columns = tuple(Column(**(entry | {"role": Role(entry["role"])})) for entry in found["columns"])
    data: dict[str, Values] = {}
    at = 0
    for name, entry in found["data"].items():
        data[name], at = _values(entry, body, at, found["rows"])
    depth = None if found["depth"] is None else np.array(found["depth"], np.int16)
    return Table(columns, data, depth, scope=found["scope"], notes=tuple(found["notes"]))


def _values(entry: dict[str, Any], body: bytes, at: int, rows: int) -> tuple[Values, int]:
    if "texts" in entry:
        # Names that every rank has are kept once.
        texts = [None if text is None else sys.intern(text) for text in entry["texts"]]
        codes = np.frombuffer(body, "<i4", rows, at).astype(np.int64)
        if any(text is None for text in texts):
            return [texts[code] for code in codes.tolist()], at + 4 * rows
        return Texts(codes, texts.__getitem__), at + 4 * rows
    dtype = np.dtype(_NUMBERS[entry["kind"]])
    values = np.frombuffer(body, dtype, rows, at).copy()
    at += dtype.itemsize * rows
    if not entry["masked"]:
        return values, at
    gone = np.frombuffer(body, bool, rows, at).copy()
    return np.ma.MaskedArray(values, gone), at + rows
