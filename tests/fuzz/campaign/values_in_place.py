"""Other values in the columns of a capture, written over its bytes: a hundred times as fast as by the library."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from tests.fuzz.campaign.mutate_h5 import META_VALUES

_FLOATS = (float("nan"), float("inf"), float("-inf"), 1e308, -1e308, -0.0, 5e-324, 0.0, -1.0)
_TEXTS = (
    b"\xff",
    b"\x00",
    b"\x1b[2J",
    "\u202e".encode(),
    b"<b>",
    b"9",
    b"\n",
    b"=1+1",
    b"%s",
    b"{0}",
    b"a:1 b",
)


_DIRECTORIES = ("clocks/", "lanes/", "lod/levels/", "meta", "tracks/")
"""What is checked when a capture is opened: with another value in these nearly all are refused."""
_VALUES_SHARE = 0.8


class Column(NamedTuple):
    """Where the values of a column lie in its file."""

    name: str
    offset: int
    length: int
    dtype: np.dtype[Any]


@cache
def laid_out(seed: Path) -> tuple[bytes, tuple[Column, ...]]:
    """A file's bytes, and its columns that lie in one piece."""
    found: list[Column] = []

    def note(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and node.ndim == 1 and node.dtype.kind in "iufb" and len(node):
            offset = node.id.get_offset()
            if offset is not None:
                found.append(Column(name, offset, len(node), node.dtype))

    with h5py.File(seed) as file:
        file.visititems(note)
    return seed.read_bytes(), tuple(found)


def mostly_values(columns: tuple[Column, ...], rng: random.Random) -> tuple[Column, ...]:
    """Those in which another value leaves a capture that can mostly be opened, or seldom all."""
    if rng.random() > _VALUES_SHARE:
        return columns
    return tuple(column for column in columns if not column.name.startswith(_DIRECTORIES))


def mutate(seed: Path, target: Path, rng: random.Random, opens: bool = False) -> str:
    """Write a hostile copy, which can mostly be opened where ``opens``; returns what was done to it."""
    content, columns = laid_out(seed)
    data, done = changed(content, mostly_values(columns, rng) if opens else columns, rng)
    target.write_bytes(data)
    return done


def changed(content: bytes, columns: tuple[Column, ...], rng: random.Random) -> tuple[bytes, str]:
    """A file with other values where its columns lie, and which these are."""
    data = bytearray(content)
    done = []
    for column in rng.choices(columns, k=rng.choice([1, 1, 1, 2, 3, 8])) if columns else ():
        size = column.length * column.dtype.itemsize
        values = np.frombuffer(data, column.dtype, column.length, column.offset).copy()
        if column.name == "meta":
            raw = _meta(bytes(values.tobytes()), rng)
        elif column.name == "strings/data":
            raw = _texts(values.tobytes(), rng)
        else:
            raw = _values(values, columns, rng).tobytes()
        data[column.offset : column.offset + size] = raw[:size].ljust(size)
        done.append(column.name)
    return bytes(data), "+".join(done) or "nothing"


def _values(values: Any, columns: tuple[Column, ...], rng: random.Random) -> Any:
    """Some or all of the values replaced: by extremes, by each other, by what is nearly right."""
    n, action = len(values), rng.randrange(6)
    if action == 0:
        return values[::-1].copy()
    if action == 1:
        return np.full(n, rng.choice(values.tolist()), values.dtype)
    where = np.asarray([rng.randrange(n) for _ in range(rng.choice([1, 1, 2, n]))])
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values[where] = np.float64(rng.choice(_FLOATS)).astype(values.dtype)
        return values
    if values.dtype.kind == "b":
        values[where] = ~values[where]
        return values
    limit = np.iinfo(values.dtype)
    pool = [limit.min, limit.max, limit.max - 1, limit.max // 2, limit.max // 2 + 1, 0, 1, n, n - 1, n + 1]
    pool += [rng.choice(columns).length + rng.choice([-1, 0, 1]), rng.randrange(limit.min, limit.max)]
    if action == 2:
        with np.errstate(over="ignore"):
            values[where] += values.dtype.type(rng.choice([1, 2, 7]))
        return values
    values[where] = min(max(rng.choice(pool), limit.min), limit.max)
    return values


def _texts(raw: bytes, rng: random.Random) -> bytes:
    data, text = bytearray(raw), rng.choice(_TEXTS)
    if rng.random() < 0.3:
        return (text * (len(data) // len(text) + 1))[: len(data)]
    for _ in range(rng.choice([1, 3, 20])):
        at = rng.randrange(len(data))
        data[at : at + len(text)] = text
    return bytes(data[: len(raw)])


def _meta(raw: bytes, rng: random.Random) -> bytes:
    """A document as long as the one before, where that can be."""
    if rng.random() < 0.15:
        return raw[: rng.randrange(len(raw))]
    document = json.loads(raw)
    for _ in range(rng.randint(1, 3)):
        node: Any = document
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.6:
                node = node[key]
                continue
            node[key] = rng.choice(META_VALUES)
            break
    # What makes room for more than was there.
    for key in ("tool", "stderr_tail", "host", "working_directory"):
        if len(text := json.dumps(document).encode()) <= len(raw):
            return text
        document.pop(key, None)
    return text
