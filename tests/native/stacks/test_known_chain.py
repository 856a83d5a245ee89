"""Native stacks of a program whose calls are known, compiled as distributions compile: without frame pointers."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.native.conftest import compile_c
from tests.unit.recording.recording_tools import WARPLINE, needs_perf

from warpline.model.waits import WaitKind
from warpline.storage import Capture, open_capture

pytest.importorskip("elftools")

SOURCE = Path(__file__).parents[1] / "programs" / "chain.c"
CHAIN = ["inner", "middle", "outer", "main"]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    folder = tmp_path_factory.mktemp("chain")
    program = compile_c(folder / "chain", [SOURCE], "-O2", "-fomit-frame-pointer", "-pthread")
    output = folder / "run.h5"
    command = [*WARPLINE, "record", "-q", "-o", str(output), "--trace", "cpu,osrt,native", "--", str(program)]
    subprocess.run(command, capture_output=True, timeout=100, check=True)
    with open_capture(output) as capture:
        yield capture


def _functions(frames: list[str]) -> list[str]:
    """The names of the functions of the program, whose frames name a line of its source."""
    return [frame.partition(" ")[0] if f"({SOURCE}:" in frame else frame for frame in frames]


def _require_samples(capture: Capture) -> None:
    source = next(source for source in capture.sources if source.name == "native")
    if not source.enabled:
        pytest.skip(f"native stacks are refused here: {source.reason}")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere frame pointers are followed")
@needs_perf
def test_callers_are_found_without_frame_pointers(chain: Capture) -> None:
    _require_samples(chain)
    table = chain.kinds["cpu_sample"]
    stacks, _known = table.column("stack")
    is_cut, _known = table.column("is_cut")
    chains = {stack: _functions(chain.stack_frames(stack)) for stack in np.unique(stacks).tolist()}
    computing = [
        (frames, cut)
        for frames, cut in zip((chains[stack] for stack in stacks.tolist()), is_cut.tolist(), strict=True)
        if CHAIN[0] in frames
    ]
    assert computing
    for frames, cut in computing:
        at = frames.index(CHAIN[0])
        assert frames[at : at + 4] == CHAIN
        assert not cut
    # What follows main is the C library's, and the program's own begin.
    assert {frames[-1] for frames, _cut in computing} == {"_start [chain]"}


@needs_perf
def test_samples_share_the_time_on_a_core(chain: Capture) -> None:
    _require_samples(chain)
    table = chain.kinds["cpu_sample"]
    starts, _stops = chain.event_times(table.stored_rows)
    stacks, _known = table.column("stack")
    inside = sum(CHAIN[0] in _functions(chain.stack_frames(stack)) for stack in stacks.tolist())
    assert inside / len(starts) > 0.5


def test_a_wait_says_which_line_made_the_call(chain: Capture) -> None:
    lines = SOURCE.read_text("utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "nanosleep(" in line or "usleep(" in line)
    table = chain.kinds["osrt"]
    asleep = [
        table.at(int(row)) for row in table.stored_rows if table.at(int(row)).get("wait") == WaitKind.SLEEP
    ]
    assert [chain.strings[wait["caller"]] for wait in asleep] == [f"doze ({SOURCE}:{number})"]
    assert [chain.strings[wait["place"]] for wait in asleep] == [f"doze ({SOURCE}:{number})"]
    assert [chain.stack_frames(wait["stack"]) for wait in asleep] == [[f"doze ({SOURCE}:{number})"]]
