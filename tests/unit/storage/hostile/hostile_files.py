"""Captures that are damaged on purpose, and what becomes of them in a process of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import orjson
from tests.unit.storage.hostile import hostile_worker

from warpline.storage import CaptureBuilder

REPOSITORY = Path(__file__).resolve().parents[4]


def write_sample(path: Path, *, compress: bool = False) -> Path:
    """A small capture with something in every table."""
    rng = np.random.default_rng(11)
    with CaptureBuilder(path, compress=compress) as builder:
        names = builder.strings(f"kernel_{i}" for i in range(20))
        process = builder.add_process(71, name="python", command="python train.py")
        thread = builder.add_thread(process, 72, name="main")
        builder.add_device(0, "GPU", properties={"sms": 132})
        cores = builder.track("cpu", role="cores", attributes={"model": "Zen", "sockets": 2})
        core = builder.track("cpu/0", role="core", parent=cores, attributes={"model": "Zen", "mhz": 2400.5})
        owner = builder.track("process/71.1", role="process", process=process)
        api = builder.track("process/71.1/thread/72.1", parent=owner, role="thread", thread=thread)
        clock = builder.add_clock("gpu", 1000)
        stream = builder.track("gpu/0/stream/7", role="stream", clock=clock, device=0)
        n = 1500
        start = np.cumsum(rng.integers(1, 500, n))
        calls = builder.add_events(api, "cuda_api", start, rng.integers(0, 400, n), rng.choice(names, n))
        work = builder.add_events(
            stream,
            "kernel",
            start + 1500,
            rng.integers(1, 300, n),
            rng.choice(names, n),
            attributes={
                "registers_per_thread": np.ma.MaskedArray(rng.integers(1, 200, n), rng.random(n) < 0.3)
            },
        )
        builder.add_events(core, "cpu_slice", start, 1, names[0], flags=32)
        builder.add_link_keys("launch", process, "from", np.arange(n), np.arange(calls, calls + n))
        builder.add_link_keys("launch", process, "to", np.arange(n), np.arange(work, work + n))
        builder.add_counter(core, "Utilization", "ratio", np.arange(600) * 500, rng.random(600))
        stack = builder.stack(int(names[0]))
        builder.stack(int(names[1]), stack)
        builder.add_pause(100, 200)
        builder.add_source("perf", True)
        builder.meta["command_line"] = ["python", "train.py"]
        return builder.finish()


def outcomes(paths: list[Path]) -> list[tuple[str, str]]:
    """What becomes of each file; fails at the first that crashes, hangs, leaks or ends without one clear line."""
    done = subprocess.run(
        [sys.executable, "-m", hostile_worker.__name__, *map(str, paths)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=60 + hostile_worker.SECONDS * len(paths),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    found = []
    for line in done.stdout.splitlines():
        path, state, message, peak, seconds = json.loads(line)
        assert state in {"open", "refused"}, f"{path}: {state}\n{message}"
        assert peak < hostile_worker.BYTES, f"{path}: {peak >> 20} MiB"
        assert seconds < hostile_worker.SECONDS, path
        if state == "refused":
            assert message.startswith(f"{path}: cannot be "), message
            assert "\n" not in message
            assert len(message) < 600
        found.append((state, message))
    assert len(found) == len(paths)
    assert done.stderr == ""
    return found


def replace(file: h5py.File, path: str, **options: Any) -> h5py.Dataset:
    del file[path]
    return file.create_dataset(path, **options)


def edit_meta(file: h5py.File, change: Callable[[dict[str, Any]], object]) -> None:
    document = orjson.loads(file["meta"][:].tobytes())
    change(document)
    replace(file, "meta", data=np.frombuffer(orjson.dumps(document), np.uint8))


def raw_meta(file: h5py.File, text: bytes) -> None:
    replace(file, "meta", data=np.frombuffer(text, np.uint8))


def virtual(file: h5py.File) -> None:
    n = len(file["events/start"])
    layout = h5py.VirtualLayout((n,), "<i8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (n,))
    del file["events/start"]
    file.create_virtual_dataset("events/start", layout)


def external_link(file: h5py.File) -> None:
    del file["events/start"]
    file["events/start"] = h5py.ExternalLink("/etc/passwd", "x")


def soft_link(file: h5py.File) -> None:
    del file["events/start"]
    file["events/start"] = h5py.SoftLink("/events/duration")


def bomb(file: h5py.File, path: str, dtype: str, n: int) -> None:
    # Each chunk is the same: packed once, written as it is.
    packed = zlib.compress(bytes(np.dtype(dtype).itemsize << 20), 9)
    filters = {"chunks": (1 << 20,), "compression": "gzip", "compression_opts": 9}
    bomb = replace(file, path, shape=(n,), dtype=dtype, **filters)
    for first in range(0, n, 1 << 20):
        bomb.id.write_direct_chunk((first,), packed)


def many_kinds(file: h5py.File) -> None:
    for index in range(300):
        group = file.create_group(f"kinds/k{index}")
        group.attrs["code"] = index


def deep_tracks(file: h5py.File) -> None:
    n = 5000
    del file["tracks/attributes"]
    for name, dataset in list(file["tracks"].items()):
        values = np.arange(n) - 1 if name == "parent" else np.arange(n) if name == "uri" else np.zeros(n)
        replace(file, f"tracks/{name}", data=values.astype(dataset.dtype))
    offsets = np.concatenate([[0], 1 + np.arange(n) * 5])
    replace(file, "strings/offset", data=offsets.astype("<u8"))
    replace(
        file, "strings/data", data=np.frombuffer("".join(f"{i:05}" for i in range(n + 1)).encode(), "|u1")
    )


def many_track_attributes(file: h5py.File) -> None:
    for index in range(1100):
        file.create_group(f"tracks/attributes/a{index}")


def many_track_values(file: h5py.File) -> None:
    """More values than a capture may have, each column within what an archive may claim."""
    node = file["tracks/attributes/model"]
    for name in ("track", "value"):
        attributes = dict(node[name].attrs)
        bomb(file, f"tracks/attributes/model/{name}", node[name].dtype.str, 3 << 20)
        node[name].attrs.update(attributes)


REFUSED: dict[str, tuple[Callable[[h5py.File], object], str]] = {
    "version": (lambda f: f.attrs.modify("version", 99), "format version 99"),
    "version type": (lambda f: f.attrs.create("version", np.bytes_("0")), "format version"),
    "version float": (lambda f: f.attrs.create("version", 0.5), "wrong type"),
    "format": (lambda f: f.attrs.create("format", np.bytes_("other")), "not a capture"),
    "text of variable length": (lambda f: f.attrs.create("uuid", "x"), "wrong type"),
    "format type": (lambda f: f.attrs.create("format", [1, 2, 3]), "wrong type"),
    "no format": (lambda f: f.attrs.pop("format"), "not a capture"),
    "uuid": (lambda f: f.attrs.create("uuid", np.bytes_("../../../etc/passwd")), "UUID"),
    "huge attribute": (lambda f: f.attrs.create("uuid", np.bytes_("x" * (2 << 20))), "too large"),
    "float times": (lambda f: replace(f, "events/start", data=np.zeros(4500)), "has type float64"),
    "big endian": (lambda f: replace(f, "events/start", data=np.zeros(4500, ">i8")), "has type >i8"),
    "short column": (lambda f: replace(f, "events/name", data=np.zeros(7, "<u4")), "has 7 entries"),
    "two dimensions": (lambda f: replace(f, "events/name", data=np.zeros((9, 500), "<u4")), "2 dimensions"),
    "scalar": (lambda f: replace(f, "meta", data=np.uint8(3)), "0 dimensions"),
    "strings": (lambda f: replace(f, "meta", data=["a", "b"]), "has type object"),
    "compound": (
        lambda f: replace(f, "events/kind", data=np.zeros(4500, [("a", "i4"), ("b", "f8")])),
        "has type",
    ),
    "no column": (lambda f: f.pop("events/flags"), "events/flags is missing"),
    "no group": (lambda f: f.pop("lanes"), "is missing"),
    "group for a column": (
        lambda f: (f.pop("events/start"), f.create_group("events/start")),
        "not a dataset",
    ),
    "unwritten and huge": (lambda f: replace(f, "meta", shape=(1 << 62,), dtype="|u1"), "claim|entries"),
    "chunked and huge": (
        lambda f: replace(f, "events/start", shape=(1 << 40,), dtype="<i8", chunks=(1 << 20,)),
        "claim",
    ),
    "virtual": (virtual, "other files"),
    "external": (
        lambda f: replace(
            f, "events/start", shape=(4500,), dtype="<i8", external=[("/etc/passwd", 0, 36000)]
        ),
        "other files",
    ),
    "external link": (external_link, "missing"),
    "soft link": (soft_link, "missing"),
    "lzf": (
        lambda f: replace(f, "events/start", data=np.zeros(4500, "<i8"), chunks=(100,), compression="lzf"),
        "filter other than",
    ),
    "fletcher": (
        lambda f: replace(f, "events/start", data=np.zeros(4500, "<i8"), chunks=(100,), fletcher32=True),
        "filter other than",
    ),
    "scale-offset": (
        lambda f: replace(f, "events/start", data=np.zeros(4500, "<i8"), chunks=(100,), scaleoffset=0),
        "filter other than",
    ),
    "bomb": (lambda f: bomb(f, "events/start", "<i8", 1 << 26), "times the size of the file"),
    "duplicate URIs": (lambda f: f["tracks/uri"].__setitem__(1, f["tracks/uri"][0]), "same URI"),
    "parent later": (lambda f: f["tracks/parent"].__setitem__(1, 2), "table of tracks"),
    "clock beyond": (lambda f: f["tracks/clock"].__setitem__(1, 77), "table of tracks"),
    "clock offset": (lambda f: f["clocks/offset"].__setitem__(1, 2**62), "table of clocks"),
    "attribute of a track that is not there": (
        lambda f: f["tracks/attributes/model/track"].__setitem__(1, 77),
        "attribute model of its tracks",
    ),
    "text of a track that is not there": (
        lambda f: f["tracks/attributes/model/value"].__setitem__(1, 2**31),
        "attribute model of its tracks",
    ),
    "attributes of tracks": (many_track_attributes, "110. attributes"),
    "values of attributes of tracks": (many_track_values, "at most 5 make sense"),
    "lanes overlap": (lambda f: f["lanes/first"].__setitem__(1, 0), "table of lanes"),
    "lane counts wrap": (
        lambda f: f["lanes/count"].__setitem__(slice(0, 2), [2**63 - 1, -(2**63) + 1]),
        "table of lanes",
    ),
    "lane depth": (lambda f: f["lanes/depth"].__setitem__(0, 3), "table of lanes"),
    "level": (lambda f: f["lod/levels/level"].__setitem__(0, 200), "level of detail"),
    "level place": (lambda f: f["lod/levels/first"].__setitem__(0, 2**62), "level of detail"),
    "kinds": (many_kinds, "describes 30. kinds|missing or damaged"),
    "kind code": (lambda f: f["kinds/kernel"].attrs.modify("code", 999), "code 999"),
    "kind code twice": (
        lambda f: f["kinds/kernel"].attrs.modify("code", f["kinds/cuda_api"].attrs["code"]),
        "same code",
    ),
    "deep tracks": (deep_tracks, "deep"),
    "link names": (lambda f: f["links"].attrs.create("kinds", np.bytes_("5")), "names of links"),
    "counter places": (lambda f: f["counters/first"].__setitem__(0, 2**62), "table of counters"),
    "meta": (lambda f: raw_meta(f, b"{"), "description"),
    "meta NaN": (lambda f: raw_meta(f, b'{"span_ns": [NaN, 1]}'), "description"),
    "meta nested": (lambda f: raw_meta(f, b"[" * 100_000), "description"),
    "meta list": (lambda f: raw_meta(f, b"[]"), "not an object"),
    "meta encoding": (lambda f: raw_meta(f, b'{"a": "\xff"}'), "description"),
    "span": (lambda f: edit_meta(f, lambda d: d.update(span_ns=[0, 1e300])), "span_ns"),
    "pid": (lambda f: edit_meta(f, lambda d: d["processes"][0].update(pid="x")), "pid is not a number"),
    "name": (lambda f: edit_meta(f, lambda d: d["processes"][0].update(name=5)), "name is not a text"),
    "tid": (lambda f: edit_meta(f, lambda d: d["threads"][0].update(tid=None)), "tid is missing"),
    "thread's process": (lambda f: edit_meta(f, lambda d: d["threads"][0].update(process=9)), "not there"),
    "property": (lambda f: edit_meta(f, lambda d: d["devices"][0].update(properties=[1])), "not a pair"),
    "pauses": (lambda f: edit_meta(f, lambda d: d.update(pauses_ns=[[1, 2, 3]])), "pauses_ns"),
    "sources": (lambda f: edit_meta(f, lambda d: d.update(sources="x")), "sources is not a list"),
}


def write_hostile(sample: Path, target: Path, change: Callable[[h5py.File], object]) -> Path:
    shutil.copy(sample, target)
    with h5py.File(target, "r+", libver="latest") as file:
        change(file)
    return target
