"""Every C helper of ours under ASan and UBSan: in the tests that compare it with its twin, and on hostile inputs."""

from __future__ import annotations

import json
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
    "interchange/framework/test_message_tables.py",
    "analysis/test_intervals.py",
    "analysis/findings/test_engine.py",
    "analysis/framework/test_lane_gaps.py",
    "analysis/framework/test_lane_sweep.py",
    "analysis/framework/test_nested.py",
    "test_compiled.py",
)

AGENT = ("test_agent_nvtx.py", "test_agent_itt.py", "test_agent_cupti.py", "calls", "operators", "stacks")
"""Programs that the agent is loaded into, whose records are compared with what they did."""

HOSTILE = (
    "traces json-readers",
    "formats perfetto",
    "tables sqlite-rows",
    "twins names-twins",
    "twins levels-twins",
    "captures capture",
)
"""Rooms and targets of `guided` whose inputs end in C."""
_BLIND = 300
_FLAGS = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
_KEPT = REPOSITORY / "build" / "fuzz" / "guided" / "corpus"
"""What guidance has found to reach new places, where it has been looking."""


_PROGRAM = """
import os, socket, subprocess, sys, threading, time
import warpline
lock, (one, other) = threading.Lock(), socket.socketpair()
def work():
    for _ in range(100):
        with warpline.annotate("step"):
            sum(range(500)); time.sleep(0.0005)
def wait():
    for _ in range(300):
        with lock: sum(range(300))
def talk():
    for _ in range(200):
        one.send(b"x" * 10); other.recv(10)
threads = [threading.Thread(target=target) for target in (work, work, wait, wait, talk)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
subprocess.run([sys.executable, "-c", "pass"], check=True)
os.execv(sys.executable, [sys.executable, "-c", "print('done')"])
"""
"""Threads, locks, waits and ranges; a fork, a child, and another program in its place."""


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
            "CFLAGS": _FLAGS,
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
@pytest.mark.parametrize("name", [*(f"unit/{name}" for name in TWINS), *(f"native/{name}" for name in AGENT)])
def test_twins_and_the_agent_under_sanitizers(sanitized: Path, data_dir: Path, name: str) -> None:
    words = ("pytest", "-q", "-n0", "--timeout=0", "-pno:cacheprovider", f"tests/{name}")
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


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_a_recorded_program_under_sanitizers(sanitized: Path, data_dir: Path, tmp_path: Path) -> None:
    """The agent in it, and everything between its records and a capture."""
    words = ("warpline", "record", "-o", str(tmp_path / "run.h5"), "--", sys.executable, "-c", _PROGRAM)
    done = _run(sanitized, data_dir, *words)
    assert done.returncode == 0, (done.stderr + done.stdout)[-6000:]
    assert done.stdout == "done\n"
    assert "Sanitizer" not in done.stderr, done.stderr[-6000:]
    told = json.loads(
        _run(sanitized, data_dir, "warpline", "info", "--json", str(tmp_path / "run.h5")).stdout
    )
    assert told["kinds"]["range"] == 200
    assert {"osrt", "sample"} <= {kind for kind, count in told["kinds"].items() if count}


def _run(sanitized: Path, data_dir: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A module with the helpers of the copy, whose sanitizers must be loaded before everything else."""
    rooms = (sanitized, *(sanitized / room for room in ("capture", "app")))
    return subprocess.run(
        [sys.executable, "-P", "-m", *words],
        cwd=sanitized,
        env={
            **os.environ,
            "LD_PRELOAD": runtime(),
            # The agent is loaded for a trial by itself, too.
            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
            "CFLAGS": _FLAGS,
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
