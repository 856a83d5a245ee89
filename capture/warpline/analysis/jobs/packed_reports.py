"""Packs reports as bytes, to send them from workers and to cache them."""

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
"""Increased whenever the packed data changes."""
_NUMBERS = {"i": "<i8", "u": "<u8", "f": "<f8", "b": "|b1"}


def pack(report: Report) -> bytes:
    """A report as bytes, without the targets of its rows.

    The bytes are compressed: a JSON object, a zero byte, then the columns. Numbers have eight bytes, texts are indices
    into the texts of the JSON object, masks have one byte per row.
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
    """The report from the bytes of `pack`. Raises ValueError for anything else."""
    try:
        head, body = zlib.decompress(packed).split(b"\0", 1)
        header = orjson.loads(head)
        start, stop = header["range_ns"]
        return Report(header["name"], header["title"], (start, stop), _result(header, body))
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"not a packed report: {error}") from error


def _packed(values: Values, body: list[bytes]) -> dict[str, Any]:
    if not isinstance(values, np.ndarray):
        codes, texts = _coded(values)
        body.append(codes.astype("<i4").tobytes())
        return {"texts": texts}
    mask = np.ma.getmaskarray(values)
    kind = values.dtype.kind
    body.append(np.ma.getdata(values).astype(_NUMBERS[kind]).tobytes())
    if mask.any():
        body.append(mask.tobytes())
    return {"kind": kind, "masked": bool(mask.any())}


def _coded(values: Any) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    if isinstance(values, Texts):
        distinct, codes = np.unique(values.codes, return_inverse=True)
        return codes.reshape(-1), [None if code < 0 else values.lookup(code) for code in distinct.tolist()]
    numbers: dict[str | None, int] = {}
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in values], np.int64)
    return codes, list(numbers)


def _result(header: dict[str, Any], body: bytes) -> Table | NotRecorded:
    if "reason" in header:
        return NotRecorded(header["reason"], header["remedy"])
    columns = tuple(Column(**(entry | {"role": Role(entry["role"])})) for entry in header["columns"])
    data: dict[str, Values] = {}
    at = 0
    for name, entry in header["data"].items():
        data[name], at = _values(entry, body, at, header["rows"])
    depth = None if header["depth"] is None else np.array(header["depth"], np.int32)
    return Table(columns, data, depth=depth, scope=header["scope"], notes=tuple(header["notes"]))


def _values(entry: dict[str, Any], body: bytes, at: int, rows: int) -> tuple[Values, int]:
    if "texts" in entry:
        # Interned, since all ranks share most names.
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
    mask = np.frombuffer(body, bool, rows, at).copy()
    return np.ma.MaskedArray(values, mask), at + rows
