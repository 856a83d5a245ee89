"""Helpers for Nsight tests: real exports, and synthetic ones."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

from warpline.interchange import import_files
from warpline.model import WarplineError
from warpline.storage import Capture, open_capture

FILES = (
    "D-W-Chiang+JACC.jl/4e6_async_1_trace.sqlite",
    "GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite",
    "GindaChen+nsys-ai/tests/fixtures/healthy_judged_1pct.sqlite",
    "NVIDIA+Fuser/fuser_da819b5f_report1.sqlite",
    "NVIDIA+Fuser/fuser_dff2c951_report3.sqlite",
    "hpcgroup+pipit/pipit/tests/data/saxpy-mpi-cuda_nsys_perlmutter0.sqlite",
)
H100, FUSER, PIPIT, JACC = FILES[1], FILES[3], FILES[5], FILES[0]


def make_export(path: Path, tables: dict[str, tuple[str, list[tuple[Any, ...]]]]) -> Path:
    with sqlite3.connect(path) as connection:
        strings = [(1, "outer"), (2, "inner"), (3, "cuBLAS_gemm"), (4, "read"), (5, "CPU waits")]
        for name, (columns, rows) in {"StringIds": ("id, value", strings), **tables}.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ",".join("?" * len(columns.split(",")))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    return path


TID = (1 << 24 | 1) + (7 << 24)  # process 8, thread 1
PID = TID & ~0xFFFFFF


def import_mutated(data_dir: Path, folder: Path, seed: int) -> None:
    """Changes some bytes of a real file; importing it gives a valid capture or a one-line error."""
    chance = random.Random(seed)
    content = bytearray((data_dir / "nsys" / chance.choice([FILES[2], FILES[4], FUSER])).read_bytes())
    for _ in range(chance.choice([1, 8, 64, 512])):
        at = chance.randrange(len(content))
        if chance.random() < 0.5:
            content[at] = chance.randrange(256)
        else:
            content[at : at + 8] = chance.randbytes(8)
    source = folder / "mutated.sqlite"
    source.write_bytes(content)
    try:
        out = import_files([source], folder / "out.h5", format="nsys")
    except WarplineError as error:
        assert "\n" not in str(error)  # noqa: PT017  # either outcome is right
    else:
        with open_capture(out) as capture:
            assert capture.duration_ns >= 0


def spelled(capture: Capture, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes with their text instead of string ids."""
    texts = {"domain", "category", "payload", "library"}
    return {
        key: capture.strings[value] if key in texts and value is not None else value
        for key, value in attributes.items()
    }
