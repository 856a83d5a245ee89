"""Compile the scanner of the importers with sanitizers and run mutated traces through it."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
INTERCHANGE = REPOSITORY / "capture" / "warpline" / "interchange"
SHARED = INTERCHANGE / "framework" / "native"
SOURCES = sorted(INTERCHANGE.glob("**/native/*.c"))
_FLAGS = (
    "-std=c11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-shared", "-fPIC",
    "-fvisibility=hidden",
)  # fmt: skip


def build(folder: Path, *flags: str) -> Path:
    """The library with sanitizers in it; skips the test where they are not installed."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc, whose sanitizers are used")
    assert SOURCES
    library = folder / "libscan_sanitized.so"
    done = subprocess.run(
        [compiler, *_FLAGS, *flags, f"-I{SHARED}", "-o", str(library), *map(str, SOURCES)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the sanitizers are not installed: {done.stderr.strip()[-200:]}")
    return library


def runtime() -> str:
    """The library that must be loaded first; skips the test where it is missing."""
    answer = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(answer).is_absolute():
        pytest.skip("libasan.so is not installed")
    return answer


def unpacked(data_dir: Path, names: Sequence[str], folder: Path) -> list[Path]:
    """Traces as plain text, in files."""
    found = []
    for number, name in enumerate(names):
        content = (data_dir / name).read_bytes()
        path = folder / f"seed{number}.json"
        path.write_bytes((gzip.decompress(content) if name.endswith(".gz") else content)[:2_000_000])
        found.append(path)
    return found


def run(library: Path, seeds: Sequence[Path], first: int, count: int) -> None:
    """Fails with the sanitizer's report when it finds something."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("scanner_worker.py")), str(library), str(first), str(count),
         *map(str, seeds)],
        env={
            **os.environ,
            "LD_PRELOAD": runtime(),
            "ASAN_OPTIONS": "detect_leaks=0",
            # The interpreter's own allocator hides where a block ends.
            "PYTHONMALLOC": "malloc",
            "OPENBLAS_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout == f"{count} texts\n"
