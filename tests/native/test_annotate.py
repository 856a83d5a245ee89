"""``warpline.annotate`` and ``warpline.mark``, in and outside of a recording."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.native.conftest import Session, names

from warpline.recording.sources.nvtx import records
from warpline.recording.sources.nvtx.pairing import match_push_pop, push_pop_records

PACKAGE = Path(__file__).parents[2] / "capture"

PROGRAM = """
import asyncio, os, sys, threading
import warpline

@warpline.annotate()
def named_after_itself(x):
    "documented"
    return x + 1

@warpline.annotate("decorated", color="red")
def decorated():
    with warpline.annotate("inside", color=0x102030):
        warpline.mark("moment ü", color="#0000ff")

@warpline.annotate("coroutine")
async def coroutine():
    await asyncio.sleep(0.001)
    return 5

@warpline.annotate("generator")
def generator():
    yield 1
    yield 2

async def main():
    return await asyncio.gather(coroutine(), coroutine())

assert named_after_itself(1) == 2
assert named_after_itself.__doc__ == "documented"
decorated()
assert asyncio.run(main()) == [5, 5]
assert list(generator()) == [1, 2]
again = warpline.annotate("again", color="no such colour")
for _ in range(3):
    with again:
        pass
try:
    with warpline.annotate("raises"):
        raise KeyError
except KeyError:
    pass
thread = threading.Thread(target=decorated)
thread.start()
thread.join()
if os.fork() == 0:
    decorated()
    os._exit(0)
os.wait()
"""


def test_ranges_and_marks_of_a_recorded_program(session: Session) -> None:
    session.run(sys.executable, "-c", PROGRAM, PYTHONPATH=str(PACKAGE))
    spool, child = sorted(session.spools(), key=lambda spool: spool.header.monotonic_ns)
    ranges = match_push_pop(push_pop_records(spool), 0, 1 << 62)
    assert not ranges.flags.any()
    found = [spool.text(int(name)) for name in ranges.name[np.argsort(ranges.start_ns)]]
    assert found == [
        "named_after_itself",
        "decorated",
        "inside",
        "again",
        "again",
        "again",
        "raises",
        "decorated",
        "inside",
    ]
    rich = spool.records(records.NVTX_RANGE_ATTRIBUTES, records.nvtx_range_attributes).values
    colors = {spool.text(row["name"]): int(row["color_argb"]) for row in rich}
    assert colors == {"decorated": 0xFFFF0000, "inside": 0xFF102030}
    assert names(spool, records.NVTX_MARK, records.nvtx_range_attributes) == ["moment ü"] * 2
    started = spool.records(records.NVTX_START, records.nvtx_start).values
    assert sorted(spool.text(name) for name in started["name"]) == ["coroutine", "coroutine", "generator"]
    assert len(spool.records(records.NVTX_END, records.nvtx_end).values) == 3
    inherited = match_push_pop(push_pop_records(child), 0, 1 << 62)
    assert sorted(child.text(int(name)) for name in inherited.name) == ["decorated", "inside"]


def plain(program: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(PACKAGE), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_outside_of_a_recording_a_decorated_function_is_itself() -> None:
    program = """
import warpline
def function(): pass
assert warpline.annotate("name")(function) is function
with warpline.annotate("name", color="red"): warpline.mark("moment")
"""
    plain(program)


def test_nothing_heavy_is_imported() -> None:
    program = """
import sys
before = set(sys.modules)
import warpline
warpline.annotate
print(*sorted(set(sys.modules) - before))
"""
    imported = set(plain(program).split())
    assert {"warpline", "warpline.annotation"} <= imported
    heavy = {"numpy", "h5py", "ctypes", "inspect", "asyncio", "PySide6", "warpline.model", "warpline.storage"}
    assert not imported & heavy


def test_an_agent_that_cannot_be_loaded_is_no_recording(tmp_path: Path) -> None:
    broken = tmp_path / "libwarpline_agent.so"
    broken.write_text("no library")
    program = "import warpline\nwith warpline.annotate('name'): print('runs')"
    assert plain(program, WARPLINE_AGENT=str(broken), WARPLINE_SPOOL=str(tmp_path)) == "runs\n"
