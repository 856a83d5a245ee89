"""Captures that are plausible HDF5 and wrong in one to three ways."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tests.fuzz.campaign.coupled_values import coupled

Mutator = Callable[[h5py.File, str, random.Random], None]
DTYPES = ["i1", "u1", "<i2", ">i8", "<u8", "<i8", "<f4", "<f8", "f2", "<u4", "?", "S7", "S0", "V16", "c16"]


def _columns(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, node: found.append(name) if isinstance(node, h5py.Dataset) else None)
    return found


@cache
def _columns_of(seed: Path) -> tuple[str, ...]:
    with h5py.File(seed) as file:
        return tuple(_columns(file))


def _groups(file: h5py.File) -> list[str]:
    found: list[str] = [""]
    file.visititems(lambda name, node: found.append(name) if isinstance(node, h5py.Group) else None)
    return found


def _replace(file: h5py.File, name: str, **options: Any) -> Any:
    attributes = dict(file[name].attrs) if name in file else {}
    del file[name]
    made = file.create_dataset(name, **options)
    for key, value in attributes.items():
        made.attrs[key] = value
    return made


def wrong_type(file: h5py.File, name: str, rng: random.Random) -> None:
    n = len(file[name])
    choice = rng.randrange(8)
    if choice == 0:
        _replace(file, name, data=["text é"] * min(n, 50), dtype=h5py.string_dtype())
    elif choice == 1:
        _replace(file, name, shape=(n,), dtype=h5py.ref_dtype)
    elif choice == 2:
        _replace(file, name, shape=(n,), dtype=h5py.vlen_dtype(np.int32))
    elif choice == 3:
        _replace(file, name, shape=(n,), dtype=h5py.enum_dtype({"A": 1, "B": 2}, basetype="i4"))
    elif choice == 4:
        _replace(file, name, data=np.zeros(n, [("a", "i4"), ("b", "f8", (3,))]))
    elif choice == 5:
        _replace(
            file, name, data=np.zeros((n, 3), "i8"), dtype=np.dtype(("i8", (3,))), shape=(n,)
        ) if False else _replace(file, name, data=np.zeros((max(1, n // 2), 2), file[name].dtype))
    else:
        dtype = np.dtype(rng.choice(DTYPES))
        if dtype.itemsize == 0:
            dtype = np.dtype("S1")
        _replace(file, name, shape=(rng.choice([0, 1, n, n + 1]),), dtype=dtype)


def wrong_extent(file: h5py.File, name: str, rng: random.Random) -> None:
    dtype = file[name].dtype
    huge = rng.choice(
        [1 << 24, 1 << 32, 1 << 40, 1 << 48, (1 << 62) // max(1, dtype.itemsize), (1 << 63) - 1]
    )
    kind = rng.randrange(5)
    try:
        if kind == 0:
            _replace(file, name, shape=(huge,), dtype=dtype)
        elif kind == 1:
            _replace(
                file,
                name,
                shape=(huge,),
                dtype=dtype,
                chunks=(rng.choice([1, 1024, 1 << 20]),),
                compression="gzip",
            )
        elif kind == 2:
            _replace(file, name, shape=(huge,), dtype=dtype, chunks=(1 << 16,), maxshape=(None,), fillvalue=7)
        elif kind == 3:
            _replace(file, name, shape=(), dtype=dtype)
        else:
            made = _replace(file, name, shape=(0,), dtype=dtype, chunks=(64,), maxshape=(None,))
            made.resize((rng.choice([0, 5, 1 << 20]),))
    except (ValueError, OSError, TypeError):
        _replace(file, name, shape=(0,), dtype=dtype)


def storage(file: h5py.File, name: str, rng: random.Random) -> None:
    values = file[name][:]
    kind = rng.randrange(12)
    n = max(1, len(values))
    if kind == 0:
        _replace(file, name, data=values, chunks=(min(n, 100),), compression="gzip", shuffle=True)
    elif kind == 1:
        _replace(file, name, data=values, chunks=(min(n, 64),), compression="lzf")
    elif kind == 2:
        _replace(file, name, data=values, chunks=(min(n, 64),), fletcher32=True)
    elif kind == 3:
        _replace(
            file, name, shape=(n,), dtype=values.dtype, external=[("/etc/passwd", 0, n * values.itemsize)]
        )
    elif kind == 4:
        # Beside the file, wherever whoever tries it stands: later changes may write there.
        outside = f"{file.filename}.raw"
        _replace(file, name, shape=(n,), dtype=values.dtype, external=[(outside, 0, h5py.h5f.UNLIMITED)])
    elif kind == 5:
        layout = h5py.VirtualLayout((n,), values.dtype)
        layout[:] = h5py.VirtualSource(rng.choice(["/etc/passwd", "./other.h5", "."]), name, (n,))
        del file[name]
        file.create_virtual_dataset(name, layout)
    elif kind == 6:
        _compact(file, name, values)
    elif kind == 7:
        _unknown_filter(file, name, values, rng.choice([32000, 32001, 307, 305, 65535]), rng.random() < 0.5)
    elif kind == 8:
        _replace(file, name, data=values, chunks=(1,)) if n < 500 else None
    elif kind == 9 and values.dtype.kind in "iu":
        _replace(file, name, data=values, chunks=(min(n, 64),), scaleoffset=0)
    elif kind == 10:
        _replace(file, name, shape=(n,), dtype=values.dtype, chunks=(n + (1 << 24),), maxshape=(None,))
    else:
        made = _replace(file, name, shape=(n,), dtype=values.dtype, chunks=(n,), compression="gzip")
        made.id.write_direct_chunk((0,), random.Random(n).randbytes(rng.choice([0, 1, 100, 5000])))


def _compact(file: h5py.File, name: str, values: Any) -> None:
    if values.nbytes > 60_000:
        return
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((len(values),))
    kind = h5py.h5t.py_create(values.dtype, logical=True)
    del file[name]
    dataset = h5py.h5d.create(file.id, name.encode(), kind, space, plist)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values))


def _unknown_filter(file: h5py.File, name: str, values: Any, number: int, optional: bool) -> None:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((max(1, len(values)),))
    try:
        plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (1, 2, 3))
        space = h5py.h5s.create_simple((max(1, len(values)),))
        kind = h5py.h5t.py_create(values.dtype, logical=True)
        parent, _, leaf = name.rpartition("/")
        group = file[parent] if parent else file
        del file[name]
        dataset = h5py.h5d.create(group.id, leaf.encode(), kind, space, plist)
        if optional:
            dataset.write_direct_chunk((0,), b"abc") if False else None
    except (ValueError, OSError, RuntimeError):
        if name not in file:
            file.create_dataset(name, data=values)


def links(file: h5py.File, name: str, rng: random.Random) -> None:
    kind = rng.randrange(9)
    columns, groups = _columns(file), _groups(file)
    if kind == 0:
        del file[name]
        file[name] = h5py.SoftLink("/" + rng.choice(columns))
    elif kind == 1:
        del file[name]
        file[name] = h5py.SoftLink("/" + name)
    elif kind == 2:
        del file[name]
        file[name] = h5py.ExternalLink(rng.choice(["/etc/passwd", "x.h5", "/dev/zero", "."]), "/" + name)
    elif kind == 3:
        other = rng.choice(columns)
        if other != name:
            node = file[other]
            del file[name]
            file[name] = node
    elif kind == 4:
        group = rng.choice([g for g in groups if g] or [""])
        if group:
            file[group][f"loop{rng.randrange(99)}"] = file["/"]
    elif kind == 5:
        del file[name]
    elif kind == 6:
        del file[name]
        file.create_group(name)
    elif kind == 7:
        group = rng.choice([g for g in groups if g])
        del file[group]
        file.create_dataset(group, data=np.zeros(3))
    else:
        group = rng.choice([g for g in groups if g])
        other = rng.choice([g for g in groups if g])
        if not other.startswith(group) and not group.startswith(other):
            node = file[other]
            del file[group]
            file[group] = node


def attributes(file: h5py.File, name: str, rng: random.Random) -> None:
    nodes = [node for node in [*_groups(file), *_columns(file)] if len(file["/" + node].attrs)]
    node = file["/" + rng.choice(nodes)]
    key = rng.choice(list(node.attrs))
    value = rng.choice(
        [
            np.bytes_(""),
            np.bytes_("x" * rng.choice([1, 5000, 60000])),
            "variable é",
            [1, 2, 3],
            -1,
            2**63 - 1,
            255,
            256,
            1e300,
            np.nan,
            np.bytes_(b"\xff\xfe\x00"),
            np.bytes_("\u202e<script>".encode()),
            np.zeros((2, 2)),
            True,
            np.bytes_("{" * 2000),
            np.bytes_('{"1": "a", "999999999999999999999999": "b", "x": "c"}'),
            np.bytes_("../../../../tmp/evil"),
            np.bytes_("string"),
            np.bytes_("float64"),
            np.uint64(2**64 - 1),
        ]
    )
    if rng.random() < 0.15:
        del node.attrs[key]
    else:
        del node.attrs[key]
        try:
            node.attrs.create(key, value)
        except (ValueError, OSError, RuntimeError, TypeError):
            node.attrs[key] = 1


def version(file: h5py.File, name: str, rng: random.Random) -> None:
    file.attrs.modify("version", rng.choice([-1, 1, 2, 99, 2**31 - 1, 2**62]))


def extreme_values(file: h5py.File, name: str, rng: random.Random) -> None:
    for one in rng.sample(_columns(file), min(3, len(_columns(file)))):
        dataset = file[one]
        if dataset.ndim != 1 or not len(dataset) or dataset.dtype.kind not in "iuf" or len(dataset) > 1 << 22:
            continue
        values = dataset[:]
        count = rng.choice([1, 2, 10, len(values)])
        where = np.random.default_rng(rng.randrange(1 << 30)).integers(0, len(values), count)
        if values.dtype.kind == "f":
            pool: list[Any] = [np.nan, np.inf, -np.inf, 1e308, -1e308, -0.0, 5e-324]
            pool = [p if values.itemsize == 8 else np.float32(min(max(p, -3e38), 3e38)) for p in pool]
            values[where] = rng.choice(pool)
        else:
            limit = np.iinfo(values.dtype)
            pool = [
                limit.min,
                limit.max,
                limit.max - 1,
                limit.max // 2,
                limit.max // 2 + 1,
                0,
                1,
                len(values),
                len(values) - 1,
            ]
            if rng.random() < 0.3:
                values[where] = np.random.default_rng(rng.randrange(1 << 30)).integers(
                    limit.min, limit.max, count, values.dtype
                )
            else:
                values[where] = rng.choice(pool)
        if rng.random() < 0.2:
            values = values[::-1]
        dataset[...] = values


META_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
    1e300,
    0.5,
    "",
    "x",
    "x" * 70_000,
    [],
    {},
    [[]],
    [1, 2],
    ["a"],
    {"a": {"b": []}},
    "\u202e\x1b[31m",
    "9" * 5000,
]


def meta(file: h5py.File, name: str, rng: random.Random) -> None:
    document = json.loads(file["meta"][:].tobytes())
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            places.append((node, key))
            walk(value)

    walk(document)
    for _ in range(rng.randint(1, 4)):
        node, key = rng.choice(places)
        try:
            if rng.random() < 0.1:
                del node[key]
            else:
                node[key] = rng.choice(META_VALUES)
        except (KeyError, IndexError):
            pass
    text = json.dumps(document).encode()
    if rng.random() < 0.1:
        text = rng.choice(
            [
                b"",
                b"{",
                b"[" * 200_000,
                text[: rng.randrange(len(text))],
                text + b"x",
                b"null",
                b'{"span_ns":[0,1e999]}',
            ]
        )
    _replace(file, "meta", data=np.frombuffer(text, np.uint8))


MUTATORS = (
    wrong_type,
    wrong_extent,
    storage,
    links,
    attributes,
    version,
    extreme_values,
    extreme_values,
    coupled,
    coupled,
    meta,
    meta,
)


def mutate(seed: Path, target: Path, rng: random.Random, mutators: Sequence[Mutator] = MUTATORS) -> str:
    """Write a hostile copy; returns what was done to it. With other ``mutators`` only those are used."""
    shutil.copy(seed, target)
    if mutators is MUTATORS and rng.random() < 0.3:
        data = bytearray(target.read_bytes())
        for _ in range(rng.choice([1, 2, 8, 40])):
            reach = len(data) if rng.random() < 0.5 else min(len(data), 16384)
            data[rng.randrange(reach)] = rng.choice([0, 255, rng.randrange(256)])
        if rng.random() < 0.1:
            del data[rng.randrange(len(data)) :]
        target.write_bytes(data)
        return "bytes"
    done: list[str] = []
    with h5py.File(target, "r+", libver="latest") as file:
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            # To walk through a file takes longer than to open it: once for each seed.
            names = _columns(file) if done else _columns_of(seed)
            if not names:
                break
            mutator = rng.choice(mutators)
            try:
                mutator(file, rng.choice(names), rng)
                done.append(mutator.__name__)
                if mutator is wrong_extent:
                    break  # others would read and write what claims to be endless
            except (LookupError, ValueError, OSError, RuntimeError, TypeError, OverflowError) as error:
                done.append(f"{mutator.__name__}!{type(error).__name__}")
    if rng.random() < 0.05:
        content = target.read_bytes()
        target.write_bytes(content + b"\0" * rng.choice([1, 4096]))
    return "+".join(done)
