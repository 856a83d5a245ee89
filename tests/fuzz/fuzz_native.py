"""Every C helper of ours under ASan and UBSan: in the tests that compare it with its twin, and on hostile inputs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.scanner_tools import REPOSITORY, runtime

TWINS = (
    "timeline/test_timeline_lines.py",
    "storage/test_storage_strip.py",
    "interchange/nsys/test_sqlite_rows.py",
    "interchange/trace_json/test_scanner.py",
    "analysis/test_intervals.py",
    "analysis/findings/test_engine.py",
    "test_compiled.py",
)


HOSTILE = (
    "traces json-readers",
    "tables sqlite-rows",
    "twins names-twins",
    "twins levels-twins",
    "captures capture",
)
"""Rooms and targets of `guided` whose inputs end in C."""
_BLIND = 300
_KEPT = REPOSITORY / "build" / "fuzz" / "guided" / "corpus"
"""What guidance has found to reach new places, where it has been looking."""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout whose helpers are built with sanitizers."""
    runtime()
    folder = tmp_path_factory.mktemp("sanitized")
    for name in ("capture", "app", "tests", "resources", "scripts"):
        shutil.copytree(
            REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    done = subprocess.run(
        [sys.executable, "-P", str(folder / "scripts" / "build_native.py")],
        env={
            **os.environ,
            "CC": "gcc",
            "CFLAGS": "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the sanitizers are not installed: {done.stderr.strip()[-200:]}")
    return folder


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", TWINS)
def test_twins_under_sanitizers(sanitized: Path, data_dir: Path, name: str) -> None:
    words = ("pytest", "-q", "-n0", "--timeout=0", "-pno:cacheprovider", f"tests/unit/{name}")
    done = _run(sanitized, data_dir, *words)
    assert done.returncode == 0, (done.stderr + done.stdout)[-6000:]


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_inputs_under_sanitizers(sanitized: Path, data_dir: Path, tmp_path: Path, name: str) -> None:
    """Those that guidance has kept, and some that nobody has."""
    room, target = name.split()
    # What sanitizers take for themselves is no data of ours.
    words = ("tests.fuzz.guided.worker", room, target, "--memory", "0", "--work", str(tmp_path))
    done = _run(sanitized, data_dir, *words, "--data", str(data_dir), "--count", str(_BLIND), "--blind")
    assert done.returncode == 0, (done.stderr + done.stdout)[-6000:]
    assert not (tmp_path / "found.jsonl").exists(), (tmp_path / "found.jsonl").read_text()[-6000:]
    if (_KEPT / target).is_dir():
        done = _run(sanitized, data_dir, *words, "--replay", str(_KEPT / target))
        assert done.returncode == 0, (done.stderr + done.stdout)[-6000:]


def _run(sanitized: Path, data_dir: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A module with the helpers of the copy, whose sanitizers must be loaded before everything else."""
    rooms = (sanitized, *(sanitized / room for room in ("capture", "app")))
    return subprocess.run(
        [sys.executable, "-P", "-m", *words],
        cwd=sanitized,
        env={
            **os.environ,
            "LD_PRELOAD": runtime(),
            "ASAN_OPTIONS": "detect_leaks=0",
            # The interpreter's own allocator hides where a block ends.
            "PYTHONMALLOC": "malloc",
            "OPENBLAS_NUM_THREADS": "1",
            "CAMPAIGN_MIB": "3000",
            "PYTHONPATH": os.pathsep.join(map(str, rooms)),
            "WARPLINE_TEST_DATA": str(data_dir),
        },
        capture_output=True,
        text=True,
        check=False,
    )
